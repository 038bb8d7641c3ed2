"""Linear classifiers by dual coordinate descent, SIBLINGS at a time.

Siblings share the rows they learn from, so one pass over a row's non-zeros serves all of them:
their weights lie side by side, (features, SIBLINGS), and one vector instruction moves them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Longs
from xmtc.kernels.vectors import WIDTH, add_rows, add_to_rows

SIBLINGS = WIDTH  # classifiers solved together: 16 float32 fill a cache line
NEWTON_STEPS = 8  # of one logistic coordinate, at most
CALM = 0.1  # a row rests while every sibling's gradient there is below this share of the tolerance


@dataclass(frozen=True)
class Rows:
    """The training texts as the solver reads them."""

    indptr: Longs
    columns: Ints
    values: Floats
    square_lengths: Floats  # (rows,)


@dataclass(frozen=True)
class Start:
    """Where the descent begins: a solution for rows that are all negative, or all zeros."""

    weights: Floats  # (features,)
    bias: float
    alphas: Floats  # (rows,)


def solve_block(
    rows: Rows,
    positives: tuple[Longs, Ints],
    start: Start,
    costs: tuple[float, float],
    tolerance: float,
    max_passes: int,
    seed: int,
    logistic: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Classifiers for up to SIBLINGS labels over the same rows.

    Minimises ½‖w‖² + ½b² + Σ c_i loss(y_i (w·x_i + b)) for each label, until the gradients of a
    whole pass lie within `tolerance`, or for `max_passes` passes. The loss of a margin m is
    max(0, 1 - m)², or ln(1 + exp(-m)) when `logistic`.
    positives: (starts, rows); label j belongs to rows[starts[j] : starts[j + 1]].
    costs: c_i of positive and of negative rows.
    Returns weights (features, SIBLINGS), biases (SIBLINGS,) and alphas (rows, SIBLINGS).
    """
    starts, positive_rows = positives
    if not 1 <= len(starts) - 1 <= SIBLINGS:
        raise ValueError(f"{len(starts) - 1} labels in a block of {SIBLINGS}")
    return _solve(
        rows.indptr, rows.columns, rows.values, rows.square_lengths, starts, positive_rows,
        start.weights, np.float32(start.bias), start.alphas, np.float32(0.5 / costs[0]),
        np.float32(0.5 / costs[1]), np.float32(tolerance), max_passes, seed, logistic,
    )  # fmt: skip


def large_weights(
    weights: Floats, labels: int, threshold: float, most: int | None = None
) -> tuple[Ints, Ints, Floats]:
    """(features, siblings, values) of the weights not below the threshold, `most` per label."""
    limits = np.full(SIBLINGS, threshold, np.float32)
    if most is not None and most < len(weights):
        ranked = np.partition(np.abs(weights), len(weights) - most, axis=0)
        limits = np.maximum(limits, ranked[len(weights) - most])
    return _large(weights, labels, limits)


@njit(cache=True, nogil=True, fastmath=True)
def _margins(columns, values, first, last, weights, biases, margins):
    for j in range(SIBLINGS):
        margins[j] = biases[j]
    add_rows(columns, values, first, last, weights, margins)


@njit(cache=True, nogil=True, fastmath=True)
def _add(columns, values, first, last, change, weights, biases):
    for j in range(SIBLINGS):
        biases[j] += change[j]
    add_to_rows(columns, values, first, last, change, weights)


@njit(cache=True, nogil=True)
def _repeated(column):
    """(n,) -> (n, SIBLINGS)"""
    wide = np.empty((len(column), SIBLINGS), np.float32)
    for row in range(len(column)):
        for j in range(SIBLINGS):
            wide[row, j] = column[row]
    return wide


@njit(cache=True, nogil=True)
def _mark_positives(indptr, columns, values, starts, rows, signs, alphas, weights, biases):
    """Flip the sign of each label's own rows and take back what they put into its weights."""
    for j in range(len(starts) - 1):
        for row in rows[starts[j] : starts[j + 1]]:
            for entry in range(indptr[row], indptr[row + 1]):
                weights[columns[entry], j] += alphas[row, j] * values[entry]
            biases[j] += alphas[row, j]
            signs[row, j] = 1
            alphas[row, j] = 0


@njit(cache=True, nogil=True, fastmath=True)
def _descend(row_signs, row_alphas, margins, working, length, diagonals, extremes, change):
    """One coordinate step of every sibling on one row. `change` is what it adds to the weights per
    unit of the row; returns the largest projected gradient."""
    unrest = np.float32(0)
    for j in range(SIBLINGS):
        sign, alpha = row_signs[j], row_alphas[j]
        diagonal = diagonals[0] if sign > 0 else diagonals[1]
        gradient = (sign * margins[j] - 1 + diagonal * alpha) * working[j]
        projected = gradient if alpha > 0 else min(gradient, np.float32(0))
        extremes[0, j] = min(extremes[0, j], projected)
        extremes[1, j] = max(extremes[1, j], projected)
        new = max(alpha - gradient / (length + diagonal), np.float32(0))
        change[j] = (new - alpha) * sign
        unrest = max(unrest, abs(projected))
    return unrest


@njit(cache=True, nogil=True)
def _descend_logistic(row_signs, row_alphas, margins, working, length, diagonals, extremes, change):
    """The same for logistic loss: each alpha lies between 0 and its cost (Yu, Huang, Lin 2011)."""
    unrest = np.float32(0)
    for j in range(SIBLINGS):
        sign, alpha = row_signs[j], np.float64(row_alphas[j])
        cost = 0.5 / (diagonals[0] if sign > 0 else diagonals[1])
        margin, side = np.float64(sign * margins[j]), 1.0
        start = alpha
        if 0.5 * length * (cost - 2 * alpha) + margin < 0:  # the other end is nearer
            start, side = cost - alpha, -1.0
        start = min(max(start, 1e-12 * cost), cost * (1 - 1e-12))
        z = start if cost - start >= 0.5 * cost else 0.1 * start
        gradient = length * (z - start) + side * margin + np.log(z / (cost - z))
        first = margin + np.log(max(alpha, 1e-12 * cost) / max(cost - alpha, 1e-12 * cost))
        for _ in range(NEWTON_STEPS):
            if abs(gradient) < 1e-6:
                break
            better = z - gradient / (length + cost / (cost - z) / z)
            z = 0.1 * z if better <= 0 else min(better, cost * (1 - 1e-12))
            gradient = length * (z - start) + side * margin + np.log(z / (cost - z))
        step = side * (z - start) * working[j]
        change[j] = step * sign
        # How far the step leads, in units of a gradient: log ratios have no natural scale.
        unrest = max(
            unrest, np.float32(min(abs(first), abs(step) * (length + 4 / cost)) * working[j])
        )
        extremes[1, j] = max(extremes[1, j], np.float32(abs(step) * (length + 4 / cost)))
    return unrest


@njit(cache=True, nogil=True)
def _solve(
    indptr, columns, values, square_lengths, positive_starts, positive_rows, start_weights,
    start_bias, start_alphas, positive_diagonal, negative_diagonal, tolerance, max_passes, seed,
    logistic,
):  # fmt: skip
    rows, labels = len(indptr) - 1, len(positive_starts) - 1
    weights = _repeated(start_weights)
    alphas = _repeated(start_alphas)
    biases = np.full(SIBLINGS, start_bias, np.float32)
    signs = np.full((rows, SIBLINGS), np.float32(-1))
    _mark_positives(
        indptr, columns, values, positive_starts, positive_rows, signs, alphas, weights, biases
    )
    diagonals = (positive_diagonal, negative_diagonal)
    margins, change = np.empty(SIBLINGS, np.float32), np.zeros(SIBLINGS, np.float32)
    extremes = np.zeros((2, SIBLINGS), np.float32)  # lowest and highest gradient of a pass
    working = np.zeros(SIBLINGS, np.float32)
    for j in range(labels):
        working[j] = 1
    calm = tolerance * np.float32(CALM)
    active, size = np.arange(rows), rows
    np.random.seed(seed)  # numba's own generator of this thread, not NumPy's
    for _ in range(max_passes):
        whole = size == rows
        extremes.fill(0)
        np.random.shuffle(active[:size])
        place = 0
        while place < size:
            row = active[place]
            first, last = indptr[row], indptr[row + 1]
            _margins(columns, values, first, last, weights, biases, margins)
            length = square_lengths[row] + np.float32(1)
            if logistic:
                unrest = _descend_logistic(
                    signs[row], alphas[row], margins, working, length, diagonals, extremes, change
                )
            else:
                unrest = _descend(
                    signs[row], alphas[row], margins, working, length, diagonals, extremes, change
                )
            if unrest > calm:
                for j in range(SIBLINGS):
                    alphas[row, j] += change[j] * signs[row, j]
                _add(columns, values, first, last, change, weights, biases)
                place += 1
            else:  # rests until all rows are looked at again
                size -= 1
                active[place], active[size] = active[size], active[place]
        spread = np.float32(0)
        for j in range(SIBLINGS):
            spread = max(spread, extremes[1, j] - extremes[0, j])
        if size == 0 or spread <= tolerance:
            if whole:
                break
            size = rows
    return weights, biases, alphas


@njit(cache=True, nogil=True)
def _large(weights, labels, limits):
    count = 0
    for feature in range(len(weights)):
        for j in range(labels):
            count += abs(weights[feature, j]) >= limits[j]
    features, siblings = np.empty(count, np.int32), np.empty(count, np.int32)
    values = np.empty(count, np.float32)
    place = 0
    for feature in range(len(weights)):
        for j in range(labels):
            if abs(weights[feature, j]) >= limits[j]:
                features[place], siblings[place] = feature, j
                values[place] = weights[feature, j]
                place += 1
    return features, siblings, values
