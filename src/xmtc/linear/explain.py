"""Explanations: which words of a text spoke for a label and which against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Csr, Floats, Ints
from xmtc.linear.forest import Forest


@dataclass(frozen=True)
class Evidence:
    """What one classifier made of a text: its margin is the bias plus all weights."""

    bias: float
    terms: tuple[tuple[str, float], ...]  # strongest first; below 0 speaks against
    by: str = ""  # which member of an ensemble or which tree, where there are several

    @property
    def margin(self) -> float:
        """Above 0 the classifier says yes."""
        return self.bias + sum(weight for _, weight in self.terms)


def of_path(forest: Forest, text: Csr, label: int, name: Callable[[int], str]) -> list[Evidence]:
    """The evidence of every classifier from the root down to the label. name: of a feature."""
    path = []
    node = label
    for level in range(forest.tree.depth - 1, -1, -1):
        parent = int(forest.tree.parents[level][node])
        children = forest.tree.children[level]
        siblings = children.nodes[children.start[parent] : children.start[parent + 1]]
        path.append((level, parent, int(np.flatnonzero(siblings == node)[0])))
        node = parent
    found = []
    for level, parent, place in reversed(path):
        node = parent + (1 + sum(map(len, forest.tree.parents[: level - 1])) if level else 0)
        bias = float(forest.biases[forest.child_start[node] - 1 + place])
        terms = _weights(forest, node, place, text.indices) * text.data
        order = np.argsort(-np.abs(terms), kind="stable")
        spoke = [(name(int(text.indices[at])), float(terms[at])) for at in order if terms[at] != 0]
        found.append(Evidence(bias, tuple(spoke)))
    return found


def _weights(forest: Forest, node: int, place: int, features: Ints) -> Floats:
    """The weights that the child at `place` among a node's children has for these features."""
    first, last = forest.row_start[node : node + 2]
    rows = first + np.searchsorted(forest.row_feature[first:last], features)
    weights = np.zeros(len(features), np.float32)
    scale = forest.scales[forest.child_start[node] - 1 + place]
    for at, (row, feature) in enumerate(zip(rows, features, strict=True)):
        if row < last and forest.row_feature[row] == feature:
            begin, end = forest.entry_start[row : row + 2]
            own = np.flatnonzero(forest.entry_sibling[begin:end] == place)
            weights[at] = scale * forest.entry_value[begin + own[0]] if len(own) else 0
    return weights
