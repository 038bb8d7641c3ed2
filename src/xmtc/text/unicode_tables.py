"""Which characters make up words, and their lower case: Python's own Unicode tables as an array.

A table ends before the private planes, where no letter and no upper case exists; what lies beyond
counts like the last entry. Two upper-case letters depend on their surroundings or become two
characters: texts that hold them are lower-cased by Python first.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from xmtc.core.arrays import Ints

TABLE_SIZE = 0x32400
IRREGULAR = ("\u0130", "\u03a3")  # İ becomes i and a dot; Σ becomes ς at the end of a word


@cache
def words(lowercase: bool) -> Ints:
    """Code point -> its lower case (or itself), -1 where `\\w` does not match it."""
    fold = _cases(lowercase)
    inside = np.fromiter((chr(point).isalnum() for point in range(TABLE_SIZE)), bool, TABLE_SIZE)
    inside[ord("_")] = True
    fold[~inside] = -1
    return fold


@cache
def visible(lowercase: bool) -> Ints:
    """Code point -> its lower case (or itself), -1 where it is white space."""
    fold = _cases(lowercase)
    fold[np.fromiter((chr(point).isspace() for point in range(TABLE_SIZE)), bool, TABLE_SIZE)] = -1
    return fold


def _cases(lowercase: bool) -> Ints:
    fold = np.arange(TABLE_SIZE, dtype=np.int32)
    for point in range(0x20000 if lowercase else 0):  # no letter beyond has two cases
        small = chr(point).lower()
        if len(small) == 1:
            fold[point] = ord(small)
    return fold


def regular(text: str) -> str:
    """The text, lower-cased already if it holds a letter that the table cannot lower."""
    if text.isascii() or not any(letter in text for letter in IRREGULAR):
        return text
    return text.lower()
