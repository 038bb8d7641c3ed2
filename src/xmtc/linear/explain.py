"""Explanations: which words of a text spoke for a label and which against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Csr, Floats, Ints
from xmtc.linear.forest import Forest
from xmtc.linear.scorer import LinearScorer


@dataclass(frozen=True)
class Evidence:
    """What one classifier made of a text: its margin is the bias plus all weights."""

    bias: float
    terms: tuple[tuple[str, float], ...]  # strongest first; below 0 speaks against
    by: str = ""  # which member of an ensemble or which tree says so, where there are several

    @property
    def margin(self) -> float:
        """Above 0 the classifier says yes."""
        return self.bias + sum(weight for _, weight in self.terms)


def of_label(scorer: LinearScorer, text: Csr, label: int, name: Callable[[int], str]) -> Evidence:
    """The evidence of the label's own classifier. text: one row."""
    weights = np.zeros(text.nnz)
    for place, feature in enumerate(text.indices):
        begin, end = scorer.weights.indptr[feature : feature + 2]
        found = np.searchsorted(scorer.weights.indices[begin:end], label)
        if found < end - begin and scorer.weights.indices[begin + found] == label:
            weights[place] = scorer.weights.data[begin + found]
    return _evidence(float(scorer.biases[label]), text.indices, weights * text.data, name)


def of_path(forest: Forest, text: Csr, label: int, name: Callable[[int], str]) -> list[Evidence]:
    """The evidence of every classifier from the root down to the label."""
    found = []
    for parent, child in _steps(forest, label):
        place = child - int(forest.child_start[parent])
        bias = float(forest.biases[child - 1])
        weights = _weights(forest, parent, place, text.indices)
        found.append(_evidence(bias, text.indices, weights * text.data, name))
    return found


def _steps(forest: Forest, label: int) -> list[tuple[int, int]]:
    """(parent, child) numbers in the forest, from the root to the label."""
    starts = np.cumsum([0, 1, *map(len, forest.tree.parents)])
    slot = int(np.flatnonzero(forest.tree.children[-1].nodes == label)[0])
    steps = []
    node = int(forest.tree.parents[-1][label])
    child = int(starts[forest.tree.depth]) + slot
    for level in range(forest.tree.depth - 1, -1, -1):
        parent = int(starts[level]) + node
        steps.append((parent, child))
        child = parent
        node = int(forest.tree.parents[level - 1][node]) if level else 0
    return steps[::-1]


def _weights(forest: Forest, parent: int, sibling: int, features: Ints) -> Floats:
    """The weights that one child of a node has for these features."""
    first, last = forest.row_start[parent : parent + 2]
    rows = first + np.searchsorted(forest.row_feature[first:last], features)
    weights = np.zeros(len(features), np.float32)
    scale = forest.scales[forest.child_start[parent] - 1 + sibling]
    for place, (row, feature) in enumerate(zip(rows, features, strict=True)):
        if row < last and forest.row_feature[row] == feature:
            begin, end = forest.entry_start[row : row + 2]
            mine = np.flatnonzero(forest.entry_sibling[begin:end] == sibling)
            weights[place] = scale * forest.entry_value[begin + mine[0]] if len(mine) else 0
    return weights


def _evidence(
    bias: float, features: Sequence[int] | Ints, weights: Floats, name: Callable[[int], str]
) -> Evidence:
    order = np.argsort(-np.abs(weights), kind="stable")
    spoke = [place for place in order if weights[place] != 0]
    return Evidence(bias, tuple((name(int(features[i])), float(weights[i])) for i in spoke))
