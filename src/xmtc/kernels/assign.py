"""Balanced 2-means over sparse unit rows: splits rows into two halves that are each alike."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Ints, Longs, Matrix


def split_in_half(
    matrix: Matrix,
    place_of: Ints,
    rows: Longs,
    centres: tuple[int, int],
    min_gain: float,
    max_passes: int,
) -> tuple[Longs, Longs, list[float]]:
    """(left, right, mean cosine to the own centre after each pass); left has floor(n / 2) rows.

    place_of: (features,) zeros to work on, and zeros again afterwards; one per thread.
    rows: the rows to split, ascending. centres: the two of them to start from.
    min_gain: stop when a pass improves the mean cosine by less (variant A of the specification);
    below 0, stop when no row changes sides (variant C).
    """
    if len(rows) < 2:
        return rows[:0], rows, []
    first, second = np.searchsorted(rows, centres)
    used, entries = len(place_of), _entry_count(matrix[0], rows)
    places = rows
    if entries < used:  # a dense centre would cost more than the rows themselves
        matrix, used = _compact(*matrix, rows, entries, place_of)
        places = np.arange(len(rows))
    side, gains = _split(*matrix, used, places, first, second, min_gain, max_passes)
    return rows[~side], rows[side], gains.tolist()


@njit(cache=True, nogil=True)
def _entry_count(indptr, rows):
    entries = 0
    for row in rows:
        entries += indptr[row + 1] - indptr[row]
    return entries


@njit(cache=True, nogil=True)
def _compact(indptr, columns, values, rows, entries, place_of):
    """The rows alone, with only the columns that occur in them, and how many these are."""
    starts = np.zeros(len(rows) + 1, np.int64)
    places, own = np.empty(entries, np.int32), np.empty(entries, np.float32)
    seen, end = np.empty(entries, np.int32), 0
    used = 0
    for place in range(len(rows)):
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            column = columns[entry]
            if place_of[column] == 0:
                seen[used] = column
                used += 1
                place_of[column] = used
            places[end], own[end] = place_of[column] - 1, values[entry]
            end += 1
        starts[place + 1] = end
    for number in range(used):
        place_of[seen[number]] = 0
    return (starts, places, own), used


@njit(cache=True, nogil=True)
def _centre(indptr, columns, values, rows, side, wanted, centre):
    """The unit-length sum of the rows on one side."""
    centre.fill(0)
    for place in range(len(rows)):
        if side[place] == wanted:
            for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
                centre[columns[entry]] += values[entry]
    length = 0.0
    for feature in range(len(centre)):
        length += np.float64(centre[feature]) * np.float64(centre[feature])
    if length > 0:
        scale = np.float32(1 / np.sqrt(length))
        for feature in range(len(centre)):
            centre[feature] *= scale


@njit(cache=True, nogil=True)
def _split(indptr, columns, values, features, rows, first, second, min_gain, max_passes):
    count = len(rows)
    left, right = np.zeros(features, np.float32), np.zeros(features, np.float32)
    for entry in range(indptr[rows[first]], indptr[rows[first] + 1]):
        left[columns[entry]] = values[entry]
    for entry in range(indptr[rows[second]], indptr[rows[second] + 1]):
        right[columns[entry]] = values[entry]
    side = np.zeros(count, np.bool_)  # True: right
    new_side = np.zeros(count, np.bool_)
    to_left, gap = np.empty(count), np.empty(count)
    reached, passes = -1.0, 0
    gains = np.empty(max_passes)
    while passes < max_passes:
        for place in range(count):
            towards_left, towards_right = 0.0, 0.0
            for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
                towards_left += values[entry] * left[columns[entry]]
                towards_right += values[entry] * right[columns[entry]]
            to_left[place], gap[place] = towards_left, towards_right - towards_left
        order = np.argsort(gap, kind="mergesort")  # stable: equal rows stay in order of their ids
        for place in range(count):
            new_side[order[place]] = place >= count // 2
        total, moved = 0.0, passes == 0
        for place in range(count):
            total += to_left[place] + (gap[place] if new_side[place] else 0.0)
            moved = moved or new_side[place] != side[place]
            side[place] = new_side[place]
        gains[passes] = total / count
        passes += 1
        if (min_gain < 0 and not moved) or gains[passes - 1] - reached < min_gain:
            break
        reached = gains[passes - 1]
        _centre(indptr, columns, values, rows, side, False, left)
        _centre(indptr, columns, values, rows, side, True, right)
    return side, gains[:passes]


def nearest_centres(
    matrix: Matrix, features: int, rows: Longs, centres: Longs, min_gain: float, max_passes: int
) -> Ints:
    """Spherical k-means: the cluster of each row, starting from the rows named by `centres`.

    A row that is like no centre goes to cluster 0. A cluster of one row joins that row's next best
    cluster, so that no cluster has exactly one row; some may be empty.
    """
    return _nearest(*matrix, features, rows, centres, min_gain, max_passes)


@njit(cache=True, nogil=True)
def _similarities(indptr, columns, values, row, centres, out):
    out.fill(0)
    for entry in range(indptr[row], indptr[row + 1]):
        value, centre = values[entry], centres[columns[entry]]
        for cluster in range(len(out)):
            out[cluster] += value * centre[cluster]


@njit(cache=True, nogil=True)
def _recentre(indptr, columns, values, rows, cluster_of, centres):
    """Unit-length sums of the rows of each cluster; an empty cluster keeps its centre at zero."""
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


@njit(cache=True, nogil=True)
def _nearest(indptr, columns, values, features, rows, centre_rows, min_gain, max_passes):
    clusters = len(centre_rows)
    centres = np.zeros((features, clusters), np.float32)  # the only dense thing
    for cluster in range(clusters):
        for entry in range(indptr[centre_rows[cluster]], indptr[centre_rows[cluster] + 1]):
            centres[columns[entry], cluster] = values[entry]
    cluster_of, similar = np.zeros(len(rows), np.int32), np.empty(clusters, np.float32)
    reached = -1.0
    for _ in range(max_passes):
        total = 0.0
        for place in range(len(rows)):
            _similarities(indptr, columns, values, rows[place], centres, similar)
            best = 0
            for cluster in range(clusters):
                if similar[cluster] > similar[best]:
                    best = cluster
            cluster_of[place] = best if similar[best] > 0 else 0
            total += similar[cluster_of[place]]
        if total / len(rows) - reached < min_gain:
            break
        reached = total / len(rows)
        _recentre(indptr, columns, values, rows, cluster_of, centres)
    sizes = np.zeros(clusters, np.int64)
    for place in range(len(rows)):
        sizes[cluster_of[place]] += 1
    for place in range(len(rows)):
        own = cluster_of[place]
        if sizes[own] == 1:
            _similarities(indptr, columns, values, rows[place], centres, similar)
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
