"""Linear classifiers of siblings, side by side in chunks, and what they make of a text.

A chunk has a row for each feature that any sibling weighs: which siblings do, and how much. So that
a feature is found in a step or two, a chunk's features are cut into buckets of 2**width numbers,
about as many buckets as rows; `bucket_row` says where the rows of each begin.

A row is one number, feature and start of its cells together, so that it is read at once. Cells are
sibling, weight, sibling, weight... Where many siblings weigh a feature they are full instead: the
weights of all siblings in order, up to a whole number of vectors, which are added many at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.simd import WIDTH, add_scaled, fetch
from xmtc.kernels.types import Array, Floats, Ints, Longs

START_BITS = 32  # of a row's key, in pairs of cells; those above are the feature
START = (1 << START_BITS) - 1
FULLER = 2  # a row is full where that takes at most so many times the cells of its entries


class Weights(NamedTuple):
    """The chunks of all nodes. A weight is its cell times the scale of its child."""

    child_start: Longs  # by node: its first child
    bucket_start: Longs  # by node
    bucket_width: Longs  # by node
    bucket_row: Ints  # by bucket
    row_key: Longs
    cells: Array
    sibling_bits: int  # of a cell that are a sibling's number
    scales: Floats  # by child
    biases: Floats  # by child


class Chunks(NamedTuple):
    """The chunks of all nodes as they are trained and saved; node n has the rows row_start[n] to
    row_start[n + 1] - 1, row r the entries entry_start[r] to entry_start[r + 1] - 1."""

    child_start: Longs
    row_start: Longs
    row_feature: Ints
    entry_start: Longs
    entry_sibling: Array  # in the smallest unsigned type
    entry_value: Array  # float32 or int8
    scales: Floats
    biases: Floats


class Rule(NamedTuple):
    """How a node is scored, v being w·x + b."""

    power: float  # of exp(-max(0, 1 - v)^power); 0: the logistic function of v instead
    along_path: bool  # times the parent's score
    exponent: float  # of the parent's score: 0 ignores the path


class Scratch(NamedTuple):
    """Room for one text at one node, used again for the next."""

    margins: Floats
    entries: Longs
    rows: Longs


@kernel
def pack_chunks(chunks: Chunks, features: int, cells: Array) -> Weights:
    """The chunks as `fill_margins` reads them. cells: an empty array of the type of the cells,
    float32, or integers that hold a sibling's number."""
    nodes = len(chunks.row_start) - 1
    widths = np.zeros(nodes, np.int64)
    starts = np.zeros(nodes + 1, np.int64)
    for node in range(nodes):
        rows = max(chunks.row_start[node + 1] - chunks.row_start[node], 1)
        while rows << widths[node] < features:
            widths[node] += 1
        starts[node + 1] = starts[node] + (max(features - 1, 0) >> widths[node]) + 2
    bucket_row = np.empty(starts[-1], np.int32)
    row_key = np.zeros(len(chunks.entry_start), np.int64)
    for node in range(nodes):
        full = in_vectors(chunks.child_start[node + 1] - chunks.child_start[node])
        first = chunks.row_start[node]
        last = chunks.row_start[node + 1]
        row = first
        for bucket in range(starts[node], starts[node + 1]):
            edge = (bucket - starts[node]) << widths[node]
            while row < last and chunks.row_feature[row] < edge:
                row += 1
            bucket_row[bucket] = row
        for row in range(first, last):
            size = 2 * (chunks.entry_start[row + 1] - chunks.entry_start[row])
            row_key[row + 1] = row_key[row] + (full if full <= FULLER * size else size) // 2
    if row_key[-1] > START:
        raise OverflowError("the trees have more weights than a row's key has room for")
    sibling_bits = (1 << (8 * cells.itemsize)) - 1
    cells = np.zeros(2 * row_key[-1], cells.dtype)
    _fill_cells(chunks, row_key, cells)
    for row in range(len(chunks.row_feature)):
        row_key[row] |= np.int64(chunks.row_feature[row]) << START_BITS
    return Weights(
        chunks.child_start,
        starts,
        widths,
        bucket_row,
        row_key,
        cells,
        sibling_bits,
        chunks.scales.copy(),
        chunks.biases.copy(),
    )


@kernel
def _fill_cells(chunks, row_start, cells):
    for node in range(len(chunks.row_start) - 1):
        full = in_vectors(chunks.child_start[node + 1] - chunks.child_start[node])
        for row in range(chunks.row_start[node], chunks.row_start[node + 1]):
            cell = 2 * row_start[row]
            is_full = 2 * row_start[row + 1] - cell == full
            for entry in range(chunks.entry_start[row], chunks.entry_start[row + 1]):
                sibling = np.int64(chunks.entry_sibling[entry])
                if is_full:
                    cells[cell + sibling] = chunks.entry_value[entry]
                else:
                    cells[cell] = sibling
                    cells[cell + 1] = chunks.entry_value[entry]
                    cell += 2


@kernel
def in_vectors(children):
    """So many numbers, up to a whole number of vectors."""
    return (children + WIDTH - 1) // WIDTH * WIDTH


@kernel
def first_cell(key):
    """Where the cells of the row with this key begin."""
    return 2 * (key & START)


@kernel
def scratch_for(texts, widest):
    """Room for any of these texts at a node of up to `widest` children."""
    longest = 0
    for text in range(len(texts.indptr) - 1):
        longest = max(longest, texts.indptr[text + 1] - texts.indptr[text])
    margins = np.empty(in_vectors(widest), np.float32)
    return Scratch(margins, np.empty(longest, np.int64), np.empty(longest, np.int64))


@kernel
def prefetch_node(texts, text, weights, node):
    """Say that `fill_margins` comes next: what it reads first is fetched meanwhile."""
    indptr, columns, _ = texts
    first_bucket = weights.bucket_start[node]
    width = weights.bucket_width[node]
    bucket_row = weights.bucket_row
    for entry in range(indptr[text], indptr[text + 1]):
        fetch(bucket_row, first_bucket + (columns[entry] >> width))


@kernel
def fill_margins(texts, text, weights, node, scratch):
    """w·x + b of a text for every child of a node, in order, into `scratch.margins`.

    Time is spent waiting for memory. So each loop asks for what the next one reads, for all of the
    text's features at once.
    """
    indptr, columns, values = texts
    margins, entries, rows = scratch
    bucket_row = weights.bucket_row
    row_key = weights.row_key
    cells = weights.cells
    sibling_bits = weights.sibling_bits
    scales = weights.scales
    biases = weights.biases
    first_child = weights.child_start[node] - 1
    children = weights.child_start[node + 1] - weights.child_start[node]
    first_bucket = weights.bucket_start[node]
    width = weights.bucket_width[node]
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
        start = first_cell(row_key[rows[place]])
        end = first_cell(row_key[rows[place] + 1])
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


@kernel
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


@kernel
def inherited(score, rule):
    """What a node's score brings to its children's."""
    return score**rule.exponent if rule.along_path and rule.exponent != 1 else score


@kernel
def child_score(margin, above, rule):
    """A child's score: its own, combined with what it inherits from above."""
    if rule.power == 0:
        score = np.float32(1 / (1 + np.exp(-margin)))
    else:
        loss = max(np.float32(0), np.float32(1) - margin)
        power = loss * loss * loss if rule.power == 3 else loss**rule.power
        score = np.float32(np.exp(-power))
    return score * above if rule.along_path else score
