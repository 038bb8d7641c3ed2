"""Balanced 2-means over sparse unit rows: splits rows into two halves that are each alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from xmtc.kernels.compiled import kernel
from xmtc.kernels.quickselect import in_order
from xmtc.kernels.types import Array, Floats, Ints, Longs, Matrix


class Stopping(NamedTuple):
    """When the passes end; the variants are those of the specification."""

    min_gain: float
    max_passes: int
    min_change: float


class Centres(NamedTuple):
    """The centres of the left and the right half."""

    sums: Array  # (features, 2) float64, of their rows
    direction: Floats  # (features,) from the left centre to the right one
    means: bool  # they are means of their rows, of any length; else sums of unit length


def split_in_half(
    matrix: Matrix,
    place_of: Ints,
    rows: Longs,
    centres: tuple[int, int],
    min_gain: float,
    max_passes: int,
    min_change: float = -1.0,
    means: bool = False,
) -> tuple[Longs, Longs, list[float]]:
    """(left, right, mean cosine to the own centre after each pass); left has floor(n / 2) rows.

    place_of: (features,) zeros to work on, and zeros again afterwards; one per thread.
    rows: the rows to split, ascending. centres: the two of them to start from, left and right.
    min_gain: stop when a pass improves the mean cosine by less (variant A of the specification),
    not with `means`; below 0, stop when no row changes sides (variant C).
    min_change: stop, before rows change sides, when the sum of the squared gaps is within this
    share of what it was a pass before (variant B); below 0: never.
    means: centres are the means of their rows, of any length, not unit-length sums: Euclidean
    2-means instead of spherical.
    """
    if len(rows) < 2:
        return rows[:0], rows, []
    stop = Stopping(min_gain, max_passes, min_change)
    first, second = np.searchsorted(rows, centres)
    side, gains = _split(Matrix(*matrix), place_of, rows, first, second, stop, means)
    return rows[~side], rows[side], gains.tolist()


@kernel
def split_like(
    matrix: Matrix,
    features: int,
    rows: Longs,
    halves: tuple[Longs, Longs],
    passes: int,
    means: bool,
) -> tuple[Longs, Longs]:
    """(left, right) halves of the rows: each goes where those of `halves` are alike, and then, in
    further passes, where those are that went there with it.

    rows: ascending. halves: left and right of some of them, as `split_in_half` finds them.
    """
    left, right = halves
    gap = np.empty(len(rows), np.float32)
    side = np.empty(len(rows), np.bool_)
    for _ in range(passes):
        sums = np.zeros((features, 2))
        centres = Centres(sums, np.empty(features, np.float32), means)
        for row in left:
            _add_row(matrix, row, 1.0, sums, 0)
        for row in right:
            _add_row(matrix, row, 1.0, sums, 1)
        _fill_direction(centres, len(left), len(right))
        _fill_gaps(matrix, rows, centres.direction, gap)
        _fill_sides(gap, side)
        left = rows[~side]
        right = rows[side]
    return left, right


@kernel
def nearest_centres(
    matrix: Matrix, features: int, rows: Longs, centre_rows: Longs, min_gain: float, max_passes: int
) -> Ints:
    """Spherical k-means: the cluster of each row, starting from the rows named by `centre_rows`.

    A row that is like no centre goes to cluster 0. A cluster of one row joins that row's next best
    cluster, so that no cluster has exactly one row; some may be empty.
    """
    indptr, columns, values = matrix
    clusters = len(centre_rows)
    centres = np.zeros((features, clusters), np.float32)  # the only dense thing
    for cluster in range(clusters):
        for entry in range(indptr[centre_rows[cluster]], indptr[centre_rows[cluster] + 1]):
            centres[columns[entry], cluster] = values[entry]
    cluster_of = np.zeros(len(rows), np.int32)
    similar = np.empty(clusters, np.float32)
    reached = -1.0
    for _ in range(max_passes):
        total = 0.0
        for place in range(len(rows)):
            _similarities(matrix, rows[place], centres, similar)
            best = 0
            for cluster in range(clusters):
                if similar[cluster] > similar[best]:
                    best = cluster
            cluster_of[place] = best if similar[best] > 0 else 0
            total += similar[cluster_of[place]]
        if total / len(rows) - reached < min_gain:
            break
        reached = total / len(rows)
        _recentre(matrix, rows, cluster_of, centres)
    sizes = np.zeros(clusters, np.int64)
    for place in range(len(rows)):
        sizes[cluster_of[place]] += 1
    for place in range(len(rows)):
        own = cluster_of[place]
        if sizes[own] == 1:
            _similarities(matrix, rows[place], centres, similar)
            best = -1
            for cluster in range(clusters):
                other = cluster != own and sizes[cluster] > 0
                if other and (best < 0 or similar[cluster] > similar[best]):
                    best = cluster
            if best >= 0:
                cluster_of[place] = best
                sizes[own] -= 1
                sizes[best] += 1
    return cluster_of


@kernel
def _gathered(matrix, rows, place_of):
    """These rows alone, side by side so that they come faster, and how many columns they have.

    Only those columns that occur, where dense centres would cost more than the rows themselves.
    """
    indptr, columns, values = matrix
    entries = 0
    for row in rows:
        entries += indptr[row + 1] - indptr[row]
    compact = entries < len(place_of)
    starts = np.zeros(len(rows) + 1, np.int64)
    new_columns = np.empty(entries, np.int32)
    new_values = np.empty(entries, np.float32)
    seen = np.empty(entries if compact else 0, np.int32)
    end = 0
    used = 0
    for place in range(len(rows)):
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            column = columns[entry]
            if compact:
                if place_of[column] == 0:
                    seen[used] = column
                    used += 1
                    place_of[column] = used
                column = place_of[column] - 1
            new_columns[end] = column
            new_values[end] = values[entry]
            end += 1
        starts[place + 1] = end
    for number in range(used):
        place_of[seen[number]] = 0
    return Matrix(starts, new_columns, new_values), used if compact else len(place_of)


@kernel
def _inverse(squared):
    return 1 / np.sqrt(squared) if squared > 0 else 1.0


@kernel
def _fill_sides(gap, side):
    """False for the smaller half; of equal gaps, the first go left."""
    left = len(gap) // 2
    limit = in_order(gap.copy(), left - 1)
    ties = left
    for place in range(len(gap)):
        ties -= gap[place] < limit
    for place in range(len(gap)):
        side[place] = gap[place] > limit
        if gap[place] == limit:
            side[place] = ties <= 0
            ties -= 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _fill_gaps(matrix, rows, direction, gap):
    """How much nearer each row is to the right centre than to the left one."""
    indptr, columns, values = matrix
    for place in range(len(rows)):
        total = np.float32(0)
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            total += values[entry] * direction[columns[entry]]
        gap[place] = total


@kernel
def _add_row(matrix, row, factor, sums, own):
    indptr, columns, values = matrix
    for entry in range(indptr[row], indptr[row + 1]):
        sums[columns[entry], own] += factor * values[entry]


@kernel
def _fill_direction(centres, left_rows, right_rows):
    """The direction of centres of so many rows; the sum of all rows' cosines to the left."""
    sums, direction, means = centres
    squares = np.zeros(2)
    both = 0.0
    for feature in range(len(sums)):
        left, right = sums[feature]
        squares[0] += left * left
        squares[1] += right * right
        both += left * right
    left_scale = _inverse(squares[0])
    right_scale = _inverse(squares[1])
    if means:
        left_scale = 1 / left_rows
        right_scale = 1 / right_rows
    for feature in range(len(sums)):
        direction[feature] = sums[feature, 1] * right_scale - sums[feature, 0] * left_scale
    return (squares[0] + both) * left_scale


@kernel
def _split(matrix, place_of, rows, first, second, stop, means):
    """Which rows go right, and the mean cosine of each pass.

    A pass needs only the difference of the two centres, and their sums change only by the rows
    that change sides, which soon are few.
    """
    matrix, features = _gathered(matrix, rows, place_of)
    count = len(rows)
    rows = np.arange(count)
    sums = np.zeros((features, 2))
    direction = np.zeros(features, np.float32)
    centres = Centres(sums, direction, means)
    _add_row(matrix, first, 1.0, sums, 0)
    _add_row(matrix, second, 1.0, sums, 1)
    _fill_direction(centres, 1, 1)
    to_left = _all_left(matrix, rows, sums)
    side = np.zeros(count, np.bool_)  # True: right
    new_side = np.zeros(count, np.bool_)
    gap = np.empty(count, np.float32)
    gains = np.empty(stop.max_passes)
    reached = -1.0
    passes = 0
    squared = 0.0
    while passes < stop.max_passes:
        _fill_gaps(matrix, rows, direction, gap)
        if stop.min_change >= 0:
            before = squared
            squared = 0.0
            for each in gap:
                squared += each * each
            if passes > 0 and abs(squared - before) <= stop.min_change * before:
                break
        _fill_sides(gap, new_side)
        total = to_left
        moved = passes == 0
        for place in range(count):
            total += gap[place] if new_side[place] else 0.0
            if new_side[place] != side[place]:
                moved = True
                to = 1 if new_side[place] else 0
                _add_row(matrix, place, 1.0, sums, to)
                _add_row(matrix, place, -1.0, sums, 1 - to)
                side[place] = new_side[place]
        gains[passes] = total / count
        passes += 1
        settled = not moved if stop.min_gain < 0 else gains[passes - 1] - reached < stop.min_gain
        if settled:
            break
        reached = gains[passes - 1]
        to_left = _fill_direction(centres, count // 2, count - count // 2)
    return side, gains[:passes]


@kernel
def _all_left(matrix, rows, sums):
    """Put all rows on the left; the sum of their cosines to the centre that was there."""
    centre = sums[:, 0].copy()
    sums.fill(0)
    for row in rows:
        _add_row(matrix, row, 1.0, sums, 0)
    total = 0.0
    square = 0.0
    for feature in range(len(centre)):
        total += sums[feature, 0] * centre[feature]
        square += centre[feature] * centre[feature]
    return total * _inverse(square)


@kernel
def _similarities(matrix, row, centres, out):
    indptr, columns, values = matrix
    out.fill(0)
    for entry in range(indptr[row], indptr[row + 1]):
        value = values[entry]
        centre = centres[columns[entry]]
        for cluster in range(len(out)):
            out[cluster] += value * centre[cluster]


@kernel
def _recentre(matrix, rows, cluster_of, centres):
    """Unit-length sums of the rows of each cluster; an empty cluster keeps its centre at zero."""
    indptr, columns, values = matrix
    centres.fill(0)
    for place in range(len(rows)):
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            centres[columns[entry], cluster_of[place]] += values[entry]
    lengths = np.zeros(centres.shape[1])
    for feature in range(len(centres)):
        for cluster in range(centres.shape[1]):
            lengths[cluster] += np.float64(centres[feature, cluster]) ** 2
    for feature in range(len(centres)):
        for cluster in range(centres.shape[1]):
            if lengths[cluster] > 0:
                centres[feature, cluster] /= np.sqrt(lengths[cluster])
