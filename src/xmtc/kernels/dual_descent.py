"""Linear classifiers by dual coordinate descent, SIBLINGS at a time.

Siblings share the rows they learn from, so one pass over a row's non-zeros serves all of them:
their weights lie side by side, (features, SIBLINGS), and one vector instruction moves them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from xmtc.kernels.prefetch import fetch
from xmtc.kernels.quickselect import mark_largest
from xmtc.kernels.simd import (
    CHANGE,
    HIGHEST,
    LOWEST,
    MARGIN,
    WIDTH,
    WORKING,
    add_rows,
    add_to_rows,
    descend,
)
from xmtc.kernels.types import Floats, Ints, Longs

SIBLINGS = WIDTH  # classifiers solved together: 16 float32 fill a cache line
NEWTON_STEPS = 16  # of one logistic coordinate, at most
SETTLED = 0.5  # resting rows are looked at again when gradients have shrunk to this share
NEAR = 1 << 12  # features whose weights stay in the cache; of more, they are fetched ahead
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


def solve(
    rows: Rows,
    positives: tuple[Longs, Ints],
    start: Start,
    costs: tuple[float, float],
    tolerance: float,
    max_passes: int,
    seed: int,
    logistic: bool = False,
    relevance: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Classifiers of some labels over the same rows, SIBLINGS of them at a time.

    Minimises ½‖w‖² + ½b² + Σ c_i loss(y_i (w·x_i + b)) for each label, until the gradients of a
    whole pass lie within `tolerance`, or for `max_passes` passes. The loss of a margin m is
    max(0, 1 - m)², or ln(1 + exp(-m)) when `logistic`.
    positives: (starts, rows); label j belongs to rows[starts[j] : starts[j + 1]].
    costs: c_i of positive and of negative rows. relevance: of each positive, times its cost.
    Returns weights (blocks, features, SIBLINGS), biases (labels,) and the alphas (rows, SIBLINGS)
    of the last block.
    """
    return _solve(
        rows.indptr,
        rows.columns,
        rows.values,
        rows.square_lengths,
        *positives,
        np.empty(0, np.float32) if relevance is None else relevance,
        start.weights,
        np.float32(start.bias),
        start.alphas,
        np.float32(0.5 / costs[0]),
        np.float32(0.5 / costs[1]),
        np.float32(tolerance),
        max_passes,
        seed,
        logistic,
    )


def large_weights(
    weights: Floats, labels: int, threshold: float, most: int | None = None
) -> tuple[Ints, Longs, Ints, Floats]:
    """The weights not below the threshold, `most` per label: by feature, then by label.

    weights: (blocks, features, SIBLINGS). Returns the features that have any (rows,), where the
    entries of each begin (rows + 1,), and the label and value of each entry.
    """
    least = max(threshold, float(np.finfo(np.float32).tiny))  # a weight of 0 says nothing
    if most is not None and most < weights.shape[1]:
        weights = weights.copy()
        _drop_small(weights, most)
    return _large(weights, labels, np.float32(least))


@njit(cache=True, nogil=True)
def _lines(count):
    """(count, SIBLINGS), each row in one cache line: a row across two takes twice the time."""
    memory = np.empty((count + 1) * SIBLINGS, np.float32)
    first = (-memory.ctypes.data // 4) % SIBLINGS
    return memory[first : first + count * SIBLINGS].reshape(count, SIBLINGS)


@njit(cache=True, nogil=True)
def _repeat(column, wide):
    """(n,) into (n, SIBLINGS)."""
    for row in range(len(column)):
        for j in range(SIBLINGS):
            wide[row, j] = column[row]


@njit(cache=True, nogil=True)
def _mark_positives(indptr, columns, values, starts, rows, positive, alphas, weights, biases):
    """Note each label's own rows and take back what they put into its weights as negatives."""
    for j in range(len(starts) - 1):
        for row in rows[starts[j] : starts[j + 1]]:
            if alphas[row, j] != 0:
                for entry in range(indptr[row], indptr[row + 1]):
                    weights[columns[entry], j] += alphas[row, j] * values[entry]
                biases[j] += alphas[row, j]
            positive[row] |= np.uint16(1 << j)
            alphas[row, j] = 0


@njit(cache=True, nogil=True)
def _diagonals(starts, rows, relevance, count, positive_diagonal):
    """1 / (2 cost) of positive siblings: one row for all, or one per row if relevances differ."""
    diagonals = np.full((count if len(relevance) else 1, SIBLINGS), positive_diagonal)
    if len(relevance):
        for j in range(len(starts) - 1):
            for place in range(starts[j], starts[j + 1]):
                diagonals[rows[place], j] = positive_diagonal / relevance[place]
    return diagonals


@njit(cache=True, nogil=True)
def _descend_logistic(row, positive, alphas, diagonals, which, scalars, state, biases):
    """As `descend`, for logistic loss: an alpha lies between 0 and its cost (Yu, Huang, Lin 2011).

    Rows always count as moved, until their steps are small.
    """
    length, negative_diagonal, calm = scalars
    moved = False
    for j in range(SIBLINGS):
        carries = (positive[row] >> j) & 1
        sign = np.float32(1) if carries else np.float32(-1)
        alpha = np.float64(alphas[row, j])
        cost = 0.5 / (diagonals[which, j] if carries else negative_diagonal)
        margin = np.float64(sign * state[MARGIN, j])
        side = 1.0
        start = alpha
        if 0.5 * length * (cost - 2 * alpha) + margin < 0:  # the other end is nearer
            start = cost - alpha
            side = -1.0
        start = min(max(start, 1e-12 * cost), cost * (1 - 1e-12))
        z = start if cost - start >= 0.5 * cost else 0.1 * start
        # Beyond it the gradient is above 0. Steps from near 0, where alphas begin, lead there
        # slowly; from there, the first one leads below the root, and the next ones up to it.
        beyond = min(cost / (1 + np.exp(side * margin)), 0.5 * cost)
        if start < 0.1 * beyond:
            z = beyond
        gradient = length * (z - start) + side * margin + np.log(z / (cost - z))
        first = margin + np.log(max(alpha, 1e-12 * cost) / max(cost - alpha, 1e-12 * cost))
        for _ in range(NEWTON_STEPS):
            if abs(gradient) < 1e-6:
                break
            better = z - gradient / (length + cost / (cost - z) / z)
            z = 0.1 * z if better <= 0 else min(better, cost * (1 - 1e-12))
            gradient = length * (z - start) + side * margin + np.log(z / (cost - z))
        step = side * (z - start) * state[WORKING, j]
        state[CHANGE, j] = step * sign
        # How far the step leads, in units of a gradient: log ratios have no natural scale.
        far = abs(step) * (length + 4 / cost)
        moved |= min(abs(first) * state[WORKING, j], far) > calm
        state[HIGHEST, j] = max(state[HIGHEST, j], np.float32(far))
    if moved:
        for j in range(SIBLINGS):
            sign = np.float32(1) if (positive[row] >> j) & 1 else np.float32(-1)
            alphas[row, j] += state[CHANGE, j] * sign
            biases[j] += state[CHANGE, j]
    return moved


@njit(cache=True, nogil=True)
def _shuffle(numbers, random):
    """Fisher and Yates, with a congruential generator: its state after."""
    for place in range(len(numbers) - 1, 0, -1):
        random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = ((random >> np.uint64(33)) * np.uint64(place + 1)) >> np.uint64(31)
        numbers[place], numbers[other] = numbers[other], numbers[place]
    return random


@njit(cache=True, nogil=True)
def _solve(
    indptr,
    columns,
    values,
    square_lengths,
    starts,
    positive_rows,
    relevance,
    start_weights,
    start_bias,
    start_alphas,
    positive_diagonal,
    negative_diagonal,
    tolerance,
    max_passes,
    seed,
    logistic,
):
    labels = len(starts) - 1
    features = len(start_weights)
    blocks = -(-labels // SIBLINGS)
    weights = _lines(blocks * features).reshape(blocks, features, SIBLINGS)
    alphas = _lines(len(indptr) - 1)
    biases = np.full((blocks, SIBLINGS), start_bias)
    for block in range(blocks):
        _repeat(start_weights, weights[block])
        _repeat(start_alphas, alphas)
        first = block * SIBLINGS
        mine = starts[first : min(first + SIBLINGS, labels) + 1]
        some = relevance[mine[0] : mine[-1]] if len(relevance) else relevance
        _solve_block(
            indptr,
            columns,
            values,
            square_lengths,
            mine - mine[0],
            positive_rows[mine[0] : mine[-1]],
            some,
            positive_diagonal,
            negative_diagonal,
            tolerance,
            max_passes,
            np.uint64(seed + first),
            logistic,
            weights[block],
            biases[block],
            alphas,
        )
    return weights, biases.ravel()[:labels], alphas


@njit(cache=True, nogil=True)
def _announce(indptr, columns, values, row, after, weights):
    """Say which rows come next: what they read is fetched meanwhile."""
    fetch(columns, indptr[after])
    fetch(values, indptr[after])
    for entry in range(indptr[row], indptr[row + 1]):
        fetch(weights, np.int64(columns[entry]) * SIBLINGS)


@njit(cache=True, nogil=True)
def _solve_block(
    indptr,
    columns,
    values,
    square_lengths,
    positive_starts,
    positive_rows,
    relevance,
    positive_diagonal,
    negative_diagonal,
    tolerance,
    max_passes,
    random,
    logistic,
    weights,
    biases,
    alphas,
):
    """Classifiers of up to SIBLINGS labels: weights, biases and alphas are moved to the optimum."""
    rows = len(indptr) - 1
    labels = len(positive_starts) - 1
    positive = np.zeros(rows, np.uint16)
    _mark_positives(
        indptr, columns, values, positive_starts, positive_rows, positive, alphas, weights, biases
    )
    diagonals = _diagonals(positive_starts, positive_rows, relevance, rows, positive_diagonal)
    state = _lines(5)
    state[:] = 0
    state[WORKING, :labels] = 1
    calm = tolerance * np.float32(CALM)
    active = np.arange(rows)
    size = rows
    goal = tolerance
    for _ in range(max_passes):
        whole = size == rows
        for j in range(SIBLINGS):
            state[LOWEST, j] = state[HIGHEST, j] = 0
        random = _shuffle(active[:size], random)
        place = 0
        while place < size:
            row = active[place]
            if len(weights) > NEAR and place + 2 < size:
                _announce(indptr, columns, values, active[place + 1], active[place + 2], weights)
            first = indptr[row]
            last = indptr[row + 1]
            add_rows(columns, values, first, last, weights, biases, state)
            scalars = (square_lengths[row] + np.float32(1), negative_diagonal, calm)
            which = row if len(relevance) else 0
            step = (row, positive, alphas, diagonals, which, scalars, state, biases)
            moved = _descend_logistic(*step) if logistic else descend(*step)
            if moved:
                add_to_rows(columns, values, first, last, state[CHANGE], weights)
                place += 1
            else:  # rests until all rows are looked at again
                size -= 1
                active[place], active[size] = active[size], active[place]
        spread = np.float32(0)
        for j in range(SIBLINGS):
            spread = max(spread, state[HIGHEST, j] - state[LOWEST, j])
        if whole:
            if spread <= tolerance:
                break
            goal = max(tolerance, spread * np.float32(SETTLED))
        if size == 0 or spread <= goal:
            size = rows


@njit(cache=True, nogil=True)
def _drop_small(weights, most):
    """Set all but the `most` largest weights of each label to 0; of equals, the first stay."""
    marks = np.empty(weights.shape[1], np.bool_)
    for block in range(len(weights)):
        for j in range(SIBLINGS):
            mark_largest(weights[block, :, j].copy(), most, marks)
            for feature in range(weights.shape[1]):
                if not marks[feature]:
                    weights[block, feature, j] = 0


@njit(cache=True, nogil=True)
def _large(weights, labels, least):
    blocks = len(weights)
    count = 0
    used = 0
    for feature in range(weights.shape[1]):
        before = count
        for block in range(blocks):
            for j in range(min(SIBLINGS, labels - block * SIBLINGS)):
                count += abs(weights[block, feature, j]) >= least
        used += count > before
    features = np.empty(used, np.int32)
    starts = np.zeros(used + 1, np.int64)
    siblings = np.empty(count, np.int32)
    values = np.empty(count, np.float32)
    row = 0
    place = 0
    for feature in range(weights.shape[1]):
        for block in range(blocks):
            for j in range(min(SIBLINGS, labels - block * SIBLINGS)):
                if abs(weights[block, feature, j]) >= least:
                    siblings[place] = block * SIBLINGS + j
                    values[place] = weights[block, feature, j]
                    place += 1
        if place > starts[row]:
            features[row] = feature
            row += 1
            starts[row] = place
    return features, starts, siblings, values
