"""MinHash: short signatures of texts that agree as often as their three-word runs do.

Words are what stands between bytes up to the space character. Chinese and Japanese write without
spaces, so each character from U+3000 to U+9FFF is a word of its own.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from xmtc.kernels.compiled import kernel
from xmtc.kernels.term_table import HASH_START, HASH_STEP
from xmtc.kernels.topk import insert_best
from xmtc.kernels.types import Bytes, Ints, Longs

Hashes: TypeAlias = npt.NDArray[np.uint64]
Signatures: TypeAlias = npt.NDArray[np.uint32]

PLACES = 128  # numbers in a signature; the estimate of a 0.9 overlap errs by 0.03
BAND = 8  # texts are compared when 8 numbers in a row agree, in one of 16 bands
REACH = 32  # and then with this many texts before them, however many agree

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ZERO = np.uint64(0)

# One permutation of the 32-bit numbers per place: value -> value * odd + shift.
_RANDOM = np.random.Generator(np.random.PCG64(20160813))
_FACTORS = _RANDOM.integers(0, 2**31, PLACES, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
_SHIFTS = _RANDOM.integers(0, 2**32, PLACES, dtype=np.uint32)


@kernel
def fingerprints(buffer: Bytes, indptr: Longs) -> tuple[Longs, Hashes, Signatures]:
    """Texts end to end, text i at buffer[indptr[i]:indptr[i + 1]] -> one row for each:

    (texts,) words; (texts,) a hash of the sequence of words; (texts, PLACES) signatures.
    """
    texts = len(indptr) - 1
    words = np.zeros(texts, np.int64)
    wholes = np.zeros(texts, np.uint64)
    signatures = np.full((texts, PLACES), np.uint32(0xFFFFFFFF), np.uint32)
    longest = 0
    for text in range(texts):
        longest = max(longest, indptr[text + 1] - indptr[text])
    room = np.empty(longest // 2 + 1, np.uint64)
    for text in range(texts):
        runs, words[text], wholes[text] = _read_runs(buffer, indptr[text], indptr[text + 1], room)
        signature = signatures[text]
        for run in range(runs):
            value = np.uint32(room[run] >> np.uint64(32))
            for place in range(PLACES):
                permuted = np.uint32(value * _FACTORS[place] + _SHIFTS[place])
                signature[place] = min(signature[place], permuted)
    return words, wholes, signatures


def overlap(first: Bytes, second: Bytes) -> float:
    """Jaccard overlap of the sets of three-word runs of two texts, 0 to 1."""
    runs = _runs_of(first)
    others = _runs_of(second)
    shared = len(np.intersect1d(runs, others, assume_unique=True))
    return shared / max(1, len(runs) + len(others) - shared)


def likely_partners(signatures: Signatures, limit: int, least: int, count: int) -> Ints:
    """For each text the `count` most similar ones before it and before `limit`, best first.

    Texts that agree in fewer than `least` places are not similar. (texts, count), padded with -1.
    """
    partners = np.full((len(signatures), count), -1, np.int32)
    agreed = np.full((len(signatures), count), least - 1, np.int32)
    for band in range(PLACES // BAND):
        keys = _band_keys(signatures, band * BAND)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        _fill_partners(signatures, keys, order, limit, partners, agreed)
    return partners


@kernel
def _read_runs(buffer, start, stop, runs):
    """Fills `runs` with the hash of each three-word run; shorter texts are one run."""
    words = 0
    before = _ZERO
    last = _ZERO
    whole = _ZERO
    place, word = _next_word(buffer, start, stop)
    while place >= 0:
        if words >= 2:
            runs[words - 2] = _mixed(_mixed(before + _GOLDEN) + _mixed(last) + word)
        words += 1
        before = last
        last = word
        whole = _mixed(whole + word)
        place, word = _next_word(buffer, place, stop)
    if words in (1, 2):
        runs[0] = whole
    return max(words - 2, min(words, 1)), words, whole


@kernel
def _next_word(buffer, place, stop):
    """(the place after the next word, its hash), or (-1, 0) when there is none."""
    while place < stop and buffer[place] <= 32:
        place += 1
    if place == stop:
        return -1, _ZERO
    value = HASH_START
    end = place + 1
    if _is_word_itself(buffer[place]):
        end = min(place + 3, stop)
    else:
        while end < stop and buffer[end] > 32 and not _is_word_itself(buffer[end]):
            end += 1
    for at in range(place, end):
        value = (value ^ np.uint64(buffer[at])) * HASH_STEP
    return end, _mixed(value)


@kernel
def _is_word_itself(byte):
    return 0xE3 <= byte <= 0xE9  # the first of the three bytes of U+3000 to U+9FFF


@kernel
def _mixed(value):
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@kernel
def _runs_of(text):
    """The hashes of the three-word runs of one text, each once."""
    room = np.empty(len(text) // 2 + 1, np.uint64)
    runs, _, _ = _read_runs(text, 0, len(text), room)
    return np.unique(room[:runs])


@kernel
def _band_keys(signatures, start):
    keys = np.zeros(len(signatures), np.uint64)
    for text in range(len(signatures)):
        for place in range(start, start + BAND):
            keys[text] = _mixed(keys[text] + np.uint64(signatures[text, place]))
    return keys


@kernel
def _fill_partners(signatures, keys, order, limit, partners, agreed):
    known = 0  # where the texts before `limit` of this bucket end, as far as we have walked
    bucket = 0
    for at in range(len(order)):
        text = order[at]
        if keys[text] != keys[order[bucket]]:
            bucket = known = at
        for earlier in range(max(bucket, known - REACH), known):
            other = order[earlier]
            if other not in partners[text]:
                same = 0
                for place in range(PLACES):
                    same += signatures[text, place] == signatures[other, place]
                insert_best(partners[text], agreed[text], partners.shape[1], other, same)
        if text < limit:
            known = at + 1
