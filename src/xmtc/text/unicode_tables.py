"""Which characters make up words, and their lower case: Python's own Unicode tables as an array.

A table ends before the private planes, where no letter and no upper case exists; what lies beyond
counts like the last entry. Two upper-case letters depend on their surroundings or become two
characters: texts that hold them are lower-cased by Python first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from xmtc.core.arrays import Bytes, Ints, Longs, starts_of

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
    space = np.fromiter((chr(point).isspace() for point in range(TABLE_SIZE)), bool, TABLE_SIZE)
    fold[space] = -1
    return fold


def _cases(lowercase: bool) -> Ints:
    fold = np.arange(TABLE_SIZE, dtype=np.int32)
    for point in range(0x20000 if lowercase else 0):  # no letter beyond has two cases
        small = chr(point).lower()
        if len(small) == 1:
            fold[point] = ord(small)
    return fold


def utf8(texts: Sequence[str], lowercase: bool) -> tuple[Bytes, Longs]:
    """All texts as one array of UTF-8, and where each begins.

    lowercase: the tables will do that; here it is done for texts with a letter that they cannot.
    """
    if lowercase:
        texts = [
            text.lower()
            if not text.isascii() and any(letter in text for letter in IRREGULAR)
            else text
            for text in texts
        ]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    starts = starts_of([len(text) for text in encoded])
    return np.frombuffer(bytearray(b"").join(encoded), np.uint8), starts
