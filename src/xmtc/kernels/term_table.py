"""A table of terms: bytes of any length -> small numbers, in the order they were first seen.

An open-addressing hash table over three arrays: `slots` holds pairs of a term's key and 1 + its id,
`blob` and `starts` the bytes of all terms. The key of a short term is the term itself, so that most
look-ups end there; longer ones compare bytes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Bytes, Ints, Longs

LONGEST_PACKED = 7  # bytes of a term that fit into its key beside its length
HASHED = np.uint64(1 << 63)  # marks the keys of longer terms: FNV-1a
HASH_START = np.uint64(14695981039346656037)
HASH_STEP = np.uint64(1099511628211)


class Table:
    """The terms of a vocabulary, ready for look-up. Its arrays never change."""

    def __init__(self, blob: Bytes, starts: Longs) -> None:
        self.blob = blob
        self.starts = starts
        self.slots = _index(blob, starts)
        if not len(self.slots):
            raise ValueError("a term occurs twice")


def merge_terms(tables: list[tuple[Bytes, Longs]]) -> tuple[Bytes, Longs, list[Ints]]:
    """Several tables as one, in order of first appearance, and where each one's terms went."""
    blob = np.empty(1 << 16, np.uint8)
    starts = np.zeros(1 << 12, np.int64)
    slots = np.zeros(1 << 14, np.uint64)
    known = 0
    moved = []
    for other_blob, other_starts in tables:
        ids, blob, starts, slots, known = _merge(
            blob, starts, slots, known, other_blob, other_starts
        )
        moved.append(ids)
    return blob[: starts[known]].copy(), starts[: known + 1].copy(), moved


@njit(cache=True, nogil=True)
def finished_key(packed, hashed, size):
    """A term's key: short terms are their own bytes, long ones a hash with the top bit set."""
    if size <= LONGEST_PACKED:
        return packed | (np.uint64(size) << np.uint64(56))
    return hashed | HASHED


@njit(cache=True, nogil=True)
def key_of(buffer, begin, end):
    packed = np.uint64(0)
    hashed = HASH_START
    for place in range(begin, end):
        packed = (packed << np.uint64(8)) | np.uint64(buffer[place])
        hashed = (hashed ^ np.uint64(buffer[place])) * HASH_STEP
    return finished_key(packed, hashed, end - begin)


@njit(cache=True, nogil=True)
def _mixed(key):
    """The key with its bits spread, so that its low bits can choose a place."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@njit(cache=True, nogil=True)
def _find(slots, blob, starts, buffer, begin, end, key):
    """(place in slots, id), id -1 when the term is not there and the place is free."""
    mask = np.int64(len(slots) // 2 - 1)
    place = np.int64(_mixed(key)) & mask
    while True:
        term = np.int64(slots[2 * place + 1]) - 1
        if term < 0:
            return place, term
        if slots[2 * place] == key and (
            key < HASHED or _same(blob, starts[term], starts[term + 1], buffer, begin, end)
        ):
            return place, term
        place = (place + 1) & mask


@njit(cache=True, nogil=True)
def _same(blob, start, stop, buffer, begin, end):
    if stop - start != end - begin:
        return False
    for offset in range(stop - start):
        if blob[start + offset] != buffer[begin + offset]:
            return False
    return True


@njit(cache=True, nogil=True)
def _index(blob, starts):
    """Slots for a finished table, at most half full; none at all when a term occurs twice."""
    terms = len(starts) - 1
    capacity = 16
    while capacity < 2 * terms + 2:
        capacity *= 2
    slots = np.zeros(2 * capacity, np.uint64)
    for term in range(terms):
        key = key_of(blob, starts[term], starts[term + 1])
        place, twin = _find(slots, blob, starts, blob, starts[term], starts[term + 1], key)
        if twin >= 0:
            return slots[:0]
        slots[2 * place] = key
        slots[2 * place + 1] = np.uint64(term + 1)
    return slots


@njit(cache=True, nogil=True)
def grown(array, needed):
    """The array, or a copy twice as long or more when `needed` does not fit."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    for place in range(len(array)):  # a slice assignment would take seconds to compile
        larger[place] = array[place]
    return larger


@njit(cache=True, nogil=True)
def insert(slots, blob, starts, known, buffer, begin, end):
    """Append a new term as number `known`; the arrays may be replaced by longer ones."""
    size = starts[known]
    blob = grown(blob, size + end - begin)
    starts = grown(starts, known + 2)
    for place in range(begin, end):
        blob[size + place - begin] = buffer[place]
    starts[known + 1] = size + end - begin
    if 4 * (known + 1) > len(slots):
        return _index(blob, starts[: known + 2]), blob, starts
    key = key_of(buffer, begin, end)
    place, _ = _find(slots, blob, starts, buffer, begin, end, key)
    slots[2 * place] = key
    slots[2 * place + 1] = np.uint64(known + 1)
    return slots, blob, starts


@njit(cache=True, nogil=True)
def _merge(blob, starts, slots, known, other_blob, other_starts):
    begins = other_starts[:-1]
    ends = other_starts[1:]
    ids = np.empty(len(begins), np.int64)
    keys = np.empty(len(begins), np.uint64)
    for other in range(len(ids)):
        keys[other] = key_of(other_blob, begins[other], ends[other])
    done = 0
    while True:
        done = look_up(
            other_blob, begins, ends, keys, done, len(ids), slots, blob, starts, True, ids
        )
        if done == len(ids):
            return ids.astype(np.int32), blob, starts, slots, known
        slots, blob, starts = insert(
            slots, blob, starts, known, other_blob, begins[done], ends[done]
        )
        ids[done] = known
        known += 1
        done += 1


@njit(cache=True, nogil=True)
def look_up(out, begins, ends, keys, done, terms, slots, blob, starts, stop_at_new, ids):
    """Fill `ids` from place `done` on; returns where it stopped: at a new term, or at the end."""
    while done < terms:
        _, ids[done] = _find(slots, blob, starts, out, begins[done], ends[done], keys[done])
        if stop_at_new and ids[done] < 0:
            return done
        done += 1
    return done


@njit(cache=True, nogil=True)
def hash_all(keys, terms, buckets, ids):
    for term in range(terms):
        ids[term] = np.int64(_mixed(keys[term]) % np.uint64(buckets))
