"""Counts terms in UTF-8 bytes: lower-case, cut into words or character n-grams, look up, count.

A text is first normalised into one buffer, " word word word ": every term, whether a word, several
words or some characters of one padded word, is then a span of that buffer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.term_table import (
    HASH_START,
    HASH_STEP,
    Spans,
    Table,
    finished_key,
    grown,
    hash_all,
    key_of,
    number_terms,
)
from xmtc.kernels.types import Bytes, Ints, Longs

SPACE = 32


class Analysis(NamedTuple):
    """How texts are cut into terms."""

    fold: Ints  # the lower case of each code point, -1 where it separates words
    min_chars: int  # of a word
    shortest: int  # n-gram
    longest: int
    of_characters: bool  # n-grams of characters; else of words
    buckets: int  # hash buckets that stand for terms, or 0


class TermCounts(NamedTuple):
    """Texts as counts of terms, and the terms."""

    indptr: Longs
    terms: Ints  # of each text in order of first appearance
    counts: Ints
    in_texts: Ints  # (terms,) in how many texts each occurs, when they are learned
    blob: Bytes  # of the learned terms, in order of first appearance; none with buckets
    starts: Longs


class TextScratch(NamedTuple):
    """Room for the longest text."""

    spans: Spans  # the normalised text and its terms
    word_at: Longs
    char_at: Longs
    ids: Longs  # of the terms


@kernel
def count_terms(
    text: Bytes, starts: Longs, analysis: Analysis, table: Table
) -> tuple[Longs, Ints, Ints]:
    """Count the known terms: CSR (indptr, terms, counts), terms in order of first appearance."""
    counted = term_counts(text, starts, analysis, table, False)
    return counted.indptr, counted.terms, counted.counts


@kernel
def term_counts(
    text: Bytes, starts: Longs, analysis: Analysis, table: Table, learn: bool
) -> TermCounts:
    """Count the terms of every text.

    text: all texts as UTF-8; text i is text[starts[i] : starts[i + 1]].
    table: the known terms, none where others are collected as they appear (`learn`).
    """
    buckets = analysis.buckets
    scratch = _scratch(starts, analysis)
    ids = scratch.ids
    known = 0 if learn else len(table.starts) - 1
    indptr = np.zeros(len(starts), np.int64)
    rows = np.empty(1 << 10, np.int32)
    counts = np.empty(1 << 10, np.int32)
    place_of = np.zeros(max(buckets, known, 1), np.int32)
    in_texts = np.zeros(len(place_of) if learn else 0, np.int32)
    for row in range(len(starts) - 1):
        first = indptr[row]
        terms = _cut(text, starts[row], starts[row + 1], analysis, scratch)
        if buckets > 0:
            hash_all(scratch.spans.keys, terms, buckets, ids)
        else:
            table, known = number_terms(table, known, scratch.spans, terms, learn, ids)
        place_of = grown(place_of, known)
        rows = grown(rows, first + terms)
        counts = grown(counts, first + terms)
        size = _tally(ids, terms, place_of, first, rows, counts)
        if learn:
            in_texts = grown(in_texts, known)
            for entry in range(first, size):
                in_texts[rows[entry]] += 1
        indptr[row + 1] = size
    learned = known if learn else 0
    return TermCounts(
        indptr,
        rows[: indptr[-1]].copy(),
        counts[: indptr[-1]].copy(),
        in_texts[: max(buckets, learned)].copy(),
        table.blob[: table.starts[learned]].copy(),
        table.starts[: learned + 1].copy(),
    )


@kernel
def _normalise(text, position, end, analysis, scratch):
    """Fill the buffer with " word word ", `word_at` with where each word begins, and one place more
    with where the next would, and `keys` with those of the words. Returns the number of words."""
    fold = analysis.fold
    out, _, _, keys = scratch.spans
    word_at = scratch.word_at
    out[0] = SPACE
    words = 0
    begin = 1
    while position < end:
        size = begin
        chars = 0
        packed = np.uint64(0)
        hashed = HASH_START
        while position < end:
            byte = text[position]
            if byte < 0x80:
                point = fold[byte]
                if point < 0:
                    break
                out[size] = point
                packed = (packed << np.uint64(8)) | np.uint64(point)
                hashed = (hashed ^ np.uint64(point)) * HASH_STEP
                size += 1
                position += 1
            else:
                point, width = _point(text, position, byte)
                point = _folded(fold, point)
                if point < 0:
                    break
                before = size
                size = _put(out, size, point)
                for place in range(before, size):
                    packed = (packed << np.uint64(8)) | np.uint64(out[place])
                    hashed = (hashed ^ np.uint64(out[place])) * HASH_STEP
                position += width
            chars += 1
        if chars >= analysis.min_chars:
            word_at[words] = begin
            keys[words] = finished_key(packed, hashed, size - begin)
            words += 1
            out[size] = SPACE
            begin = size + 1
        while position < end and text[position] < 0x80 and fold[text[position]] < 0:
            position += 1
        if position < end and text[position] >= 0x80:
            point, width = _point(text, position, text[position])
            if _folded(fold, point) < 0:
                position += width
    word_at[words] = begin
    return words


@kernel
def _folded(fold, point):
    """The lower case of a code point, -1 for a separator; past the table as its last entry."""
    if point < len(fold):
        return np.int64(fold[point])
    return point if fold[-1] >= 0 else np.int64(-1)


@kernel
def _point(text, position, byte):
    """(code point, bytes) of the character beyond ASCII that starts with `byte`."""
    second = np.int64(text[position + 1] & 0x3F)
    if byte < 0xE0:
        return (np.int64(byte & 0x1F) << 6) | second, 2
    third = np.int64(text[position + 2] & 0x3F)
    if byte < 0xF0:
        return (np.int64(byte & 0x0F) << 12) | (second << 6) | third, 3
    fourth = np.int64(text[position + 3] & 0x3F)
    return (np.int64(byte & 0x07) << 18) | (second << 12) | (third << 6) | fourth, 4


@kernel
def _put(out, size, point):
    """Append one character as UTF-8; returns the new size."""
    if point < 0x80:
        out[size] = point
        return size + 1
    if point < 0x800:
        out[size] = 0xC0 | (point >> 6)
    else:
        if point < 0x10000:
            out[size] = 0xE0 | (point >> 12)
        else:
            out[size] = 0xF0 | (point >> 18)
            size += 1
            out[size] = 0x80 | ((point >> 12) & 0x3F)
        size += 1
        out[size] = 0x80 | ((point >> 6) & 0x3F)
    out[size + 1] = 0x80 | (point & 0x3F)
    return size + 2


@kernel
def _char_spans(words, analysis, scratch):
    """n characters in a row inside a word and the spaces around it; a short word counts once."""
    buffer, begins, ends, _ = scratch.spans
    _, word_at, char_at, _ = scratch
    spans = 0
    for word in range(words):
        chars = 0
        for place in range(word_at[word] - 1, word_at[word + 1]):
            if buffer[place] & 0xC0 != 0x80:  # not a continuation byte: a character starts here
                char_at[chars] = place
                chars += 1
        char_at[chars] = word_at[word + 1]
        for n in range(analysis.shortest, analysis.longest + 1):
            for start in range(max(0, chars - n) + 1):
                begins[spans] = char_at[start]
                ends[spans] = char_at[min(start + n, chars)]
                spans += 1
            if chars <= n:
                break
    return spans


@kernel
def _cut(text, begin, end, analysis, scratch):
    """Cut one text into terms: fills the spans of `scratch`; returns how many."""
    buffer, begins, ends, keys = scratch.spans
    words = _normalise(text, begin, end, analysis, scratch)
    terms = 0
    if analysis.of_characters:
        terms = _char_spans(words, analysis, scratch)
    else:  # n words in a row; the space after the last one is left out
        for n in range(analysis.shortest, analysis.longest + 1):
            for word in range(words - n + 1):
                begins[terms] = scratch.word_at[word]
                ends[terms] = scratch.word_at[word + n] - 1
                terms += 1
    single_words = words if analysis.shortest == 1 and not analysis.of_characters else 0
    for term in range(single_words, terms):
        keys[term] = key_of(buffer, begins[term], ends[term])
    return terms


@kernel
def _scratch(starts, analysis):
    longest = 0
    for text in range(len(starts) - 1):
        longest = max(longest, starts[text + 1] - starts[text])
    room = 2 * longest + 4  # lower-casing can lengthen a character by half
    terms = room * (analysis.longest - analysis.shortest + 1)
    spans = Spans(
        np.empty(room, np.uint8),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.uint64),
    )
    return TextScratch(
        spans, np.empty(room, np.int64), np.empty(room, np.int64), np.empty(terms, np.int64)
    )


@kernel
def _tally(ids, size_of_ids, place_of, first, terms, counts):
    """Count equal ids into (terms, counts) from `first` on; returns the end. `place_of` holds
    1 + the place of each id in this row and is all zero before and after."""
    size = first
    for place in range(size_of_ids):
        term = ids[place]
        if term < 0:
            continue
        if place_of[term] == 0:
            terms[size] = term
            counts[size] = 1
            size += 1
            place_of[term] = size - first
        else:
            counts[first + place_of[term] - 1] += 1
    for entry in range(first, size):
        place_of[terms[entry]] = 0
    return size
