"""Linear classifiers of siblings, side by side in chunks, and what they make of a text.

A chunk has a row for each feature that any sibling weighs: which siblings do, and how much. So that
a feature is found in a step or two, a chunk's features are cut into buckets of 2**width numbers,
about as many buckets as rows; `bucket_row` says where the rows of each begin.

A row is one number, feature and start of its cells together, so that it is read at once. Cells are
sibling, weight, sibling, weight... Where many siblings weigh a feature they are full instead: the
weights of all siblings in order, up to a whole number of vectors, which are added many at a time.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit

from xmtc.kernels.prefetch import fetch
from xmtc.kernels.simd import WIDTH, add_scaled
from xmtc.kernels.types import Array, Floats, Ints, Longs

# bucket_start, bucket_width (both by node), bucket_row
Buckets: TypeAlias = tuple[Longs, Longs, Ints]
# row_key, cells, and the bits of a cell that are a sibling's number
Rows: TypeAlias = tuple[Longs, Array, int]
# child_start, the three of Buckets, the three of Rows, scales, biases; a child's weight is that of
# the cell times the child's scale
Weights: TypeAlias = tuple[Longs, Longs, Longs, Ints, Longs, Array, int, Floats, Floats]

START_BITS = 32  # of a row's key, in pairs of cells; those above are the feature
START = (1 << START_BITS) - 1
FULLER = 2  # a row is full where that takes at most so many times the cells of its entries

IDENTITY, SIGMOID, HINGE = 0, 1, 2  # what becomes of w·x + b; HINGE is exp(-max(0, 1 - v)^power)
# how a child's score joins its parent's
MULTIPLY = 0
ADD = 1
CHILD = 2


def feature_buckets(row_start: Longs, row_feature: Ints, features: int) -> Buckets:
    """The buckets of every chunk; node n's chunk is the rows row_start[n] to row_start[n + 1]."""
    sparsity = max(features, 1) / np.maximum(np.diff(row_start), 1)
    widths = np.maximum(np.ceil(np.log2(sparsity)), 0).astype(np.int64)
    starts = np.zeros(len(row_start), np.int64)
    np.cumsum((max(features - 1, 0) >> widths) + 2, out=starts[1:])
    bucket_row = np.empty(starts[-1], np.int32)
    _fill_buckets(row_start, row_feature, starts, widths, bucket_row)
    return starts, widths, bucket_row


@njit(cache=True, nogil=True)
def _fill_buckets(row_start, row_feature, starts, widths, bucket_row):
    for node in range(len(widths)):
        row = row_start[node]
        for bucket in range(starts[node], starts[node + 1]):
            edge = (bucket - starts[node]) << widths[node]
            while row < row_start[node + 1] and row_feature[row] < edge:
                row += 1
            bucket_row[bucket] = row


def packed_rows(
    child_start: Longs,
    row_start: Longs,
    row_feature: Ints,
    entry_start: Longs,
    entry_sibling: Array,
    entry_value: Array,
) -> Rows:
    """The rows of all chunks as `fill_margins` reads them.

    child_start, row_start: by node. entry_sibling: in the smallest unsigned type; entry_value:
    float32 or int8; both by entry, those of row r from entry_start[r] on.
    """
    kind = entry_value.dtype
    if kind.kind == "i":  # as wide as a sibling's number needs
        kind = np.dtype(f"i{entry_sibling.dtype.itemsize}")
    widths = in_vectors(np.diff(child_start))
    row_key = np.zeros(len(row_feature) + 1, np.int64)
    _fill_starts(widths, row_start, entry_start, row_key)
    if row_key[-1] > START:
        raise OverflowError(f"{2 * row_key[-1]:,} cells: a row's key has room for {2 * START:,}.")
    cells = np.zeros(2 * int(row_key[-1]), kind)
    _fill_cells(widths, row_start, row_key, entry_start, entry_sibling, entry_value, cells)
    _add_features(row_feature, row_key)
    return row_key, cells, -1 if kind.kind == "f" else (1 << 8 * kind.itemsize) - 1


@njit(cache=True, nogil=True)
def in_vectors(children):
    """So many numbers, up to a whole number of vectors."""
    return (children + WIDTH - 1) // WIDTH * WIDTH


@njit(cache=True, nogil=True)
def first_cell(key):
    """Where the cells of the row with this key begin."""
    return 2 * (key & START)


@njit(cache=True, nogil=True)
def _fill_starts(widths, row_start, entry_start, starts):
    for node in range(len(widths)):
        for row in range(row_start[node], row_start[node + 1]):
            size = 2 * (entry_start[row + 1] - entry_start[row])
            full = widths[node]
            starts[row + 1] = starts[row] + (full if full <= FULLER * size else size) // 2


@njit(cache=True, nogil=True)
def _fill_cells(widths, row_start, row_key, entry_start, entry_sibling, entry_value, cells):
    for node in range(len(widths)):
        for row in range(row_start[node], row_start[node + 1]):
            first = cell = first_cell(row_key[row])
            full = first_cell(row_key[row + 1]) - first == widths[node]
            for entry in range(entry_start[row], entry_start[row + 1]):
                if full:
                    cells[first + np.int64(entry_sibling[entry])] = entry_value[entry]
                else:
                    cells[cell] = entry_sibling[entry]
                    cells[cell + 1] = entry_value[entry]
                    cell += 2


@njit(cache=True, nogil=True)
def _add_features(row_feature, row_key):
    for row in range(len(row_feature)):
        row_key[row] |= np.int64(row_feature[row]) << START_BITS


@njit(cache=True, nogil=True)
def room_for(texts, widest):
    """What `fill_margins` works on for any of these texts: margins, entries and their rows."""
    longest = 0
    for text in range(len(texts[0]) - 1):
        longest = max(longest, texts[0][text + 1] - texts[0][text])
    margins = np.empty(in_vectors(widest), np.float32)
    return margins, np.empty(longest, np.int64), np.empty(longest, np.int64)


@njit(cache=True, nogil=True)
def announce(texts, text, weights, node):
    """Say that `fill_margins` comes next: what it reads first is fetched meanwhile."""
    indptr, columns, _ = texts
    first_bucket = weights[1][node]
    width = weights[2][node]
    bucket_row = weights[3]
    for entry in range(indptr[text], indptr[text + 1]):
        fetch(bucket_row, first_bucket + (columns[entry] >> width))


@njit(cache=True, nogil=True)
def fill_margins(texts, text, weights, node, room):
    """w·x + b of a text for every child of a node, in order, in the first array of `room`.

    Time is spent waiting for memory. So each loop asks for what the next one reads, for all of the
    text's features at once.
    """
    indptr, columns, values = texts
    child_start, bucket_start, bucket_width, bucket_row, row_key = weights[:5]
    cells, sibling_bits, scales, biases = weights[5:]
    first_child = child_start[node] - 1
    first_bucket = bucket_start[node]
    children = child_start[node + 1] - child_start[node]
    width = bucket_width[node]
    margins, entries, rows = room
    for entry in range(indptr[text], indptr[text + 1]):
        fetch(row_key, bucket_row[first_bucket + (columns[entry] >> width)])
    found = 0
    for entry in range(indptr[text], indptr[text + 1]):
        bucket = first_bucket + (columns[entry] >> width)
        row = _row_of(columns[entry], row_key, bucket_row[bucket], bucket_row[bucket + 1], width)
        entries[found] = entry
        rows[found] = row
        found += row >= 0
    for place in range(found):
        fetch(cells, first_cell(row_key[rows[place]]))
    full = in_vectors(children)
    for child in range(full):
        margins[child] = 0
    for place in range(found):
        value = values[entries[place]]
        row = rows[place]
        start = first_cell(row_key[row])
        end = first_cell(row_key[row + 1])
        if end - start == full:
            add_scaled(margins, full, cells, start, value)
            continue
        # unsigned: numba need not ask whether the index counts from the end
        for cell in range(np.uint64(start), np.uint64(end), np.uint64(2)):
            sibling = np.uint64(np.int64(cells[cell]) & sibling_bits)
            margins[sibling] += value * np.float32(cells[cell + np.uint64(1)])
    for child in range(children):
        place = first_child + child
        margins[child] = margins[child] * scales[place] + biases[place]


@njit(cache=True, nogil=True)
def _row_of(wanted, row_key, row, last, width):
    """The row of a feature within its bucket, -1 when it has none."""
    if last - row == 1 << width:  # all of the bucket's features are there
        return row + (wanted & ((1 << width) - 1))
    high = last
    while row < high:
        middle = (row + high) >> 1
        if row_key[middle] >> START_BITS < wanted:
            row = middle + 1
        else:
            high = middle
    return row if row < last and row_key[row] >> START_BITS == wanted else -1


@njit(cache=True, nogil=True)
def from_above(score, rule):
    """What a node's score brings to its children's. rule: as in `beam_search`."""
    combine = rule[2]
    trust = rule[3]
    return score**trust if combine == MULTIPLY and trust != 1 else score


@njit(cache=True, nogil=True)
def joined(margin, above, rule):
    """A child's score: its own, joined with what comes from above."""
    transform, power, combine, _ = rule
    score = _transformed(margin, transform, power)
    if combine == MULTIPLY:
        return score * above
    return score + above if combine == ADD else score


@njit(cache=True, nogil=True)
def _transformed(value, transform, power):
    if transform == SIGMOID:
        return np.float32(1 / (1 + np.exp(-value)))
    if transform == HINGE:
        loss = max(np.float32(0), np.float32(1) - value)
        if power == 3:
            return np.float32(np.exp(-loss * loss * loss))
        return np.float32(np.exp(-(loss**power)))
    return value
