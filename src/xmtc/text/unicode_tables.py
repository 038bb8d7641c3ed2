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
def folded(words: bool, lowercase: bool) -> Ints:
    """Code point -> its lower case (or itself), -1 for a separator.

    words: separators are what `\\w` does not match; else white space.
    """
    fold = np.arange(TABLE_SIZE, dtype=np.int32)
    for point in range(0x20000 if lowercase else 0):  # no letter beyond has two cases
        small = chr(point).lower()
        if len(small) == 1:
            fold[point] = ord(small)
    for point, char in enumerate(map(chr, range(TABLE_SIZE))):
        if not (char.isalnum() or char == "_") if words else char.isspace():
            fold[point] = -1
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
