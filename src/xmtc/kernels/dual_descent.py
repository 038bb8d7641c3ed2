"""Linear classifiers by dual coordinate descent, SIBLINGS at a time.

Siblings share the rows they are trained on, so one pass over a row's non-zeros serves all of them:
their weights lie side by side, (features, SIBLINGS), and one vector instruction moves them all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmtc.kernels.compiled import kernel
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
    fetch,
)
from xmtc.kernels.sparse_rows import TrainingRows
from xmtc.kernels.types import Floats, Ints, Longs

SIBLINGS = WIDTH  # classifiers solved together: 16 float32 fill a cache line
NEWTON_STEPS = 16  # of one logistic coordinate, at most
SETTLED = 0.5  # resting rows are looked at again when gradients have shrunk to this share
NEAR = 1 << 12  # features whose weights stay in the cache; of more, they are fetched ahead
SMALLEST = float(np.finfo(np.float32).tiny)  # a weight of 0 has no effect
REST = 0.1  # a row rests while every sibling's gradient there is below this share of the tolerance


class Positives(NamedTuple):
    """The rows of each label: label j has rows[starts[j] : starts[j + 1]]."""

    starts: Longs
    rows: Ints
    relevance: Floats  # of each row, times its cost; empty where all count the same


class Start(NamedTuple):
    """Where the descent begins: a solution for rows that are all negative, or all zeros."""

    weights: Floats  # (features,)
    bias: float
    alphas: Floats  # (rows,)


class Problem(NamedTuple):
    """What is minimised for each label: ½‖w‖² + ½b² + Σ c_i loss(y_i (w·x_i + b)).

    The loss of a margin m is max(0, 1 - m)², or ln(1 + exp(-m)) when `logistic`. The descent ends
    when the gradients of a whole pass lie within `tolerance`.
    """

    positive_cost: float
    negative_cost: float
    tolerance: float
    max_iterations: int  # passes over the rows
    logistic: bool


class Block(NamedTuple):
    """Up to SIBLINGS classifiers while they are solved."""

    weights: Floats  # (features, SIBLINGS)
    biases: Floats  # (SIBLINGS,)
    alphas: Floats  # (rows, SIBLINGS)
    positive: Ints  # (rows,) uint16: bit j is set where the row carries sibling j
    diagonals: Floats  # 1 / (2 cost) of positive siblings: one row for all, or one per row
    state: Floats  # (5, SIBLINGS): see `simd`


@kernel
def solve(
    rows: TrainingRows, positives: Positives, start: Start, problem: Problem, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Classifiers of some labels over the same rows, SIBLINGS of them at a time.

    Returns weights (blocks, features, SIBLINGS), biases (labels,) and the alphas (rows, SIBLINGS)
    of the last block.
    """
    labels = len(positives.starts) - 1
    features = len(start.weights)
    blocks = -(-labels // SIBLINGS)
    weights = _lines(blocks * features).reshape(blocks, features, SIBLINGS)
    alphas = _lines(len(rows.indptr) - 1)
    biases = np.full((blocks, SIBLINGS), np.float32(start.bias))
    for block in range(blocks):
        _repeat(start.weights, weights[block])
        _repeat(start.alphas, alphas)
        first = block * SIBLINGS
        starts = positives.starts[first : min(first + SIBLINGS, labels) + 1]
        relevance = positives.relevance
        if len(relevance):
            relevance = relevance[starts[0] : starts[-1]]
        own = Positives(starts - starts[0], positives.rows[starts[0] : starts[-1]], relevance)
        state = _lines(5)
        state[:] = 0
        state[WORKING, : len(starts) - 1] = 1
        solving = Block(
            weights[block],
            biases[block],
            alphas,
            np.zeros(len(alphas), np.uint16),
            _diagonals(own, len(alphas), np.float32(0.5 / problem.positive_cost)),
            state,
        )
        _mark_positives(rows, own, solving)
        _descend_block(rows, solving, problem, np.uint64(seed + first))
    return weights, biases.ravel()[:labels], alphas


@kernel
def large_weights(
    weights: Floats, labels: int, threshold: float, max_weights: int
) -> tuple[Ints, Longs, Ints, Floats]:
    """The weights not below the threshold, the largest of each label: by feature, then by label.

    weights: (blocks, features, SIBLINGS). max_weights: of a label; of equals, the first stay.
    Returns the features that have any (rows,), where the entries of each begin (rows + 1,), and the
    label and value of each entry.
    """
    if max_weights < weights.shape[1]:
        weights = weights.copy()
        marks = np.empty(weights.shape[1], np.bool_)
        for block in range(len(weights)):
            for j in range(SIBLINGS):
                mark_largest(weights[block, :, j].copy(), max_weights, marks)
                for feature in range(weights.shape[1]):
                    if not marks[feature]:
                        weights[block, feature, j] = 0
    least = np.float32(max(threshold, SMALLEST))
    features = np.empty(weights.shape[1], np.int32)
    starts = np.zeros(weights.shape[1] + 1, np.int64)
    room = 0
    for weight in weights.ravel():
        room += abs(weight) >= least
    siblings = np.empty(room, np.int32)
    values = np.empty(room, np.float32)
    row = 0
    place = 0
    for feature in range(weights.shape[1]):
        for block in range(len(weights)):
            for j in range(min(SIBLINGS, labels - block * SIBLINGS)):
                if abs(weights[block, feature, j]) >= least:
                    siblings[place] = block * SIBLINGS + j
                    values[place] = weights[block, feature, j]
                    place += 1
        if place > starts[row]:
            features[row] = feature
            row += 1
            starts[row] = place
    ends = starts[: row + 1].copy()
    return features[:row].copy(), ends, siblings[:place].copy(), values[:place].copy()


@kernel
def _lines(count):
    """(count, SIBLINGS), each row in one cache line: a row across two takes twice the time."""
    memory = np.empty((count + 1) * SIBLINGS, np.float32)
    first = (-memory.ctypes.data // 4) % SIBLINGS
    return memory[first : first + count * SIBLINGS].reshape(count, SIBLINGS)


@kernel
def _repeat(column, wide):
    """(n,) into (n, SIBLINGS)."""
    for row in range(len(column)):
        for j in range(SIBLINGS):
            wide[row, j] = column[row]


@kernel
def _mark_positives(rows, positives, block):
    """Note each label's own rows and take back what they put into its weights as negatives."""
    indptr, columns, values, _ = rows
    weights = block.weights
    alphas = block.alphas
    starts = positives.starts
    for j in range(len(starts) - 1):
        for row in positives.rows[starts[j] : starts[j + 1]]:
            if alphas[row, j] != 0:
                for entry in range(indptr[row], indptr[row + 1]):
                    weights[columns[entry], j] += alphas[row, j] * values[entry]
                block.biases[j] += alphas[row, j]
            block.positive[row] |= np.uint16(1 << j)
            alphas[row, j] = 0


@kernel
def _diagonals(positives, rows, diagonal):
    """1 / (2 cost) of positive siblings: one row for all, or one per row if relevances differ."""
    starts, own_rows, relevance = positives
    diagonals = np.full((rows if len(relevance) else 1, SIBLINGS), diagonal)
    if len(relevance):
        for j in range(len(starts) - 1):
            for place in range(starts[j], starts[j + 1]):
                diagonals[own_rows[place], j] = diagonal / relevance[place]
    return diagonals


@kernel
def _descend_logistic(row, which, block, scalars):
    """As `descend`, for logistic loss: an alpha lies between 0 and its cost (Yu, Huang, Lin 2011).

    Rows always count as moved, until their steps are small.
    """
    length, negative_diagonal, rest = scalars
    _, biases, alphas, positive, diagonals, state = block
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
        moved |= min(abs(first) * state[WORKING, j], far) > rest
        state[HIGHEST, j] = max(state[HIGHEST, j], np.float32(far))
    if moved:
        for j in range(SIBLINGS):
            sign = np.float32(1) if (positive[row] >> j) & 1 else np.float32(-1)
            alphas[row, j] += state[CHANGE, j] * sign
            biases[j] += state[CHANGE, j]
    return moved


@kernel
def _shuffle(numbers, random):
    """Fisher and Yates, with a congruential generator: its state after."""
    for place in range(len(numbers) - 1, 0, -1):
        random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = ((random >> np.uint64(33)) * np.uint64(place + 1)) >> np.uint64(31)
        numbers[place], numbers[other] = numbers[other], numbers[place]
    return random


@kernel
def _descend_block(rows, block, problem, random):
    """Move the weights, biases and alphas of a block to the optimum."""
    indptr, columns, values, square_lengths = rows
    weights, biases, alphas, positive, diagonals, state = block
    tolerance = np.float32(problem.tolerance)
    negative_diagonal = np.float32(0.5 / problem.negative_cost)
    rest = tolerance * np.float32(REST)
    active = np.arange(len(alphas))
    size = len(active)
    goal = tolerance
    for _ in range(problem.max_iterations):
        whole = size == len(active)
        for j in range(SIBLINGS):
            state[LOWEST, j] = state[HIGHEST, j] = 0
        random = _shuffle(active[:size], random)
        place = 0
        while place < size:
            row = active[place]
            if len(weights) > NEAR and place + 2 < size:  # the next rows are fetched meanwhile
                fetch(columns, indptr[active[place + 2]])
                fetch(values, indptr[active[place + 2]])
                following = active[place + 1]
                for entry in range(indptr[following], indptr[following + 1]):
                    fetch(weights, np.int64(columns[entry]) * SIBLINGS)
            first = indptr[row]
            last = indptr[row + 1]
            add_rows(columns, values, first, last, weights, biases, state)
            scalars = (square_lengths[row] + np.float32(1), negative_diagonal, rest)
            which = row if len(diagonals) > 1 else 0
            if problem.logistic:
                moved = _descend_logistic(row, which, block, scalars)
            else:
                moved = descend(row, positive, alphas, diagonals, which, scalars, state, biases)
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
            size = len(active)
