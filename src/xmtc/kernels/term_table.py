"""A table of terms: bytes of any length -> small numbers, in the order they were first seen.

An open-addressing hash table over three arrays: `slots` holds pairs of a term's key and 1 + its id,
`blob` and `starts` the bytes of all terms. The key of a short term is the term itself, so that most
look-ups end there; longer ones compare bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.types import Array, Bytes, Ints, Longs

LONGEST_PACKED = 7  # bytes of a term that fit into its key with its length
HASHED = np.uint64(1 << 63)  # marks the keys of longer terms: FNV-1a
HASH_START = np.uint64(14695981039346656037)
HASH_STEP = np.uint64(1099511628211)


class Table(NamedTuple):
    """The terms of a vocabulary."""

    slots: Array  # uint64
    blob: Bytes
    starts: Longs  # (terms + 1,) where each term begins in `blob`


class Spans(NamedTuple):
    """Terms as pieces of a buffer, with their keys."""

    buffer: Bytes
    begins: Longs
    ends: Longs
    keys: Array  # uint64


@kernel
def table_of(blob: Bytes, starts: Longs) -> Table:
    """The terms of a finished vocabulary, ready for look-up."""
    slots = _index(blob, starts)
    if len(slots) == 0:
        raise ValueError("a term occurs twice")
    return Table(slots, blob, starts)


@kernel
def empty_table() -> Any:
    """A table without terms, with room for some."""
    return Table(
        np.zeros(1 << 14, np.uint64), np.empty(1 << 16, np.uint8), np.zeros(1 << 12, np.int64)
    )


def merge_terms(tables: list[tuple[Bytes, Longs]]) -> tuple[Bytes, Longs, list[Ints]]:
    """Several vocabularies as one, in order of first appearance, and where each one's terms went.

    tables: the bytes of the terms and where each begins.
    """
    if len(tables) == 1:
        blob, starts = tables[0]
        return blob, starts, [np.arange(len(starts) - 1, dtype=np.int32)]
    merged = empty_table()
    known = 0
    moved = []
    for blob, starts in tables:
        ids, merged, known = _merge(merged, known, blob, starts)
        moved.append(ids)
    return merged.blob[: merged.starts[known]].copy(), merged.starts[: known + 1].copy(), moved


@kernel
def finished_key(packed, hashed, size):
    """A term's key: short terms are their own bytes, long ones a hash with the top bit set."""
    if size <= LONGEST_PACKED:
        return packed | (np.uint64(size) << np.uint64(56))
    return hashed | HASHED


@kernel
def key_of(buffer, begin, end):
    packed = np.uint64(0)
    hashed = HASH_START
    for place in range(begin, end):
        packed = (packed << np.uint64(8)) | np.uint64(buffer[place])
        hashed = (hashed ^ np.uint64(buffer[place])) * HASH_STEP
    return finished_key(packed, hashed, end - begin)


@kernel
def _mixed(key):
    """The key with its bits spread, so that its low bits can choose a place."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@kernel
def _find(table, buffer, begin, end, key):
    """(place in slots, id), id -1 when the term is not there and the place is free."""
    slots, blob, starts = table
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


@kernel
def _same(blob, start, stop, buffer, begin, end):
    if stop - start != end - begin:
        return False
    for offset in range(stop - start):
        if blob[start + offset] != buffer[begin + offset]:
            return False
    return True


@kernel
def _index(blob, starts):
    """Slots for a finished table, at most half full; none at all when a term occurs twice."""
    terms = len(starts) - 1
    capacity = 16
    while capacity < 2 * terms + 2:
        capacity *= 2
    slots = np.zeros(2 * capacity, np.uint64)
    table = Table(slots, blob, starts)
    for term in range(terms):
        key = key_of(blob, starts[term], starts[term + 1])
        place, known = _find(table, blob, starts[term], starts[term + 1], key)
        if known >= 0:
            return slots[:0]
        slots[2 * place] = key
        slots[2 * place + 1] = np.uint64(term + 1)
    return slots


@kernel
def grown(array, needed):
    """The array, or a copy twice as long or more, with zeros, when `needed` does not fit."""
    if needed <= len(array):
        return array
    larger = np.zeros(max(needed, 2 * len(array)), array.dtype)
    for place in range(len(array)):  # a slice assignment would take seconds to compile
        larger[place] = array[place]
    return larger


@kernel
def _insert(table, known, buffer, begin, end):
    """The table with a new term as number `known`; its arrays may be replaced by longer ones."""
    size = table.starts[known]
    blob = grown(table.blob, size + end - begin)
    starts = grown(table.starts, known + 2)
    for place in range(begin, end):
        blob[size + place - begin] = buffer[place]
    starts[known + 1] = size + end - begin
    if 4 * (known + 1) > len(table.slots):
        return Table(_index(blob, starts[: known + 2]), blob, starts)
    table = Table(table.slots, blob, starts)
    key = key_of(buffer, begin, end)
    place, _ = _find(table, buffer, begin, end, key)
    table.slots[2 * place] = key
    table.slots[2 * place + 1] = np.uint64(known + 1)
    return table


@kernel
def _merge(table, known, blob, starts):
    """Where each term went, the table with all of them, and how many it holds."""
    ids = np.empty(len(starts) - 1, np.int64)
    keys = np.empty(len(ids), np.uint64)
    for term in range(len(ids)):
        keys[term] = key_of(blob, starts[term], starts[term + 1])
    spans = Spans(blob, starts[:-1], starts[1:], keys)
    table, known = number_terms(table, known, spans, len(ids), True, ids)
    return ids.astype(np.int32), table, known


@kernel
def number_terms(table, known, spans, terms, learn, ids):
    """Fill `ids`; new terms are inserted (`learn`) or get -1. The table, and how many it holds."""
    done = _look_up(table, spans, 0, terms, learn, ids)
    while done < terms:
        table = _insert(table, known, spans.buffer, spans.begins[done], spans.ends[done])
        ids[done] = known
        known += 1
        done = _look_up(table, spans, done + 1, terms, learn, ids)
    return table, known


@kernel
def _look_up(table, spans, done, terms, stop_at_new, ids):
    """Fill `ids` from place `done` on; returns where it stopped: at a new term, or at the end."""
    buffer, begins, ends, keys = spans
    while done < terms:
        _, ids[done] = _find(table, buffer, begins[done], ends[done], keys[done])
        if stop_at_new and ids[done] < 0:
            break
        done += 1
    return done


@kernel
def hash_all(keys, terms, buckets, ids):
    for term in range(terms):
        ids[term] = np.int64(_mixed(keys[term]) % np.uint64(buckets))
