"""Random forests and texts, and a forest's levels as plain dense scorers to compare with."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import as_csr
from xmtc.labels.trees import TreeConfig, build_tree
from xmtc.linear.forest import Chunk, forest_of

FEATURES = 30


class DenseLevel:
    """One level of a forest as a plain scorer: dense weights, one column per node."""

    def __init__(self, forest, level, score):
        start = 1 + sum(len(parents) for parents in forest.tree.parents[:level])
        nodes = forest.tree.children[level].nodes
        self.weights = np.zeros((forest.feature_count, len(nodes)))
        self.biases = np.zeros(len(nodes))
        inner = sum([1, *(len(parents) for parents in forest.tree.parents)][:level])
        for parent in range(len(forest.tree.children[level].start) - 1):
            first_child = forest.child_start[inner + parent]
            for row in range(*forest.row_start[inner + parent : inner + parent + 2]):
                for entry in range(*forest.entry_start[row : row + 2]):
                    slot = first_child - start + forest.entry_sibling[entry]
                    weight = forest.entry_value[entry] * forest.scales[start - 1 + slot]
                    self.weights[forest.row_feature[row], nodes[slot]] = weight
        self.biases[nodes] = forest.biases[start - 1 : start - 1 + len(nodes)]
        self.score_mode = score

    def score(self, encoded, candidates):
        margins = (encoded @ self.weights + self.biases)[
            np.arange(encoded.shape[0])[:, None], np.maximum(candidates, 0)
        ]
        loss = np.maximum(0, 1 - margins)
        if self.score_mode in ("label", "probability"):
            return (1 / (1 + np.exp(-margins))).astype(np.float32)
        return np.exp(-(loss ** (3 if self.score_mode == "path" else 2))).astype(np.float32)


def random_forest(seed, labels=40, arity=3):
    """Any weights over any tree, also with nodes that have no weights at all."""
    rng = np.random.default_rng(seed)
    vectors = as_csr(sp.random_array((labels, 12), density=0.3, rng=rng, dtype=np.float32))
    method = ["random", "frequency", "kmeans"][seed % 3]
    config = TreeConfig(method=method, arity=arity, max_leaf=arity)
    tree = build_tree(vectors, rng.integers(0, 9, labels), config, seed)
    chunks = []
    for children in tree.children:
        for count in np.diff(children.start):
            dense = rng.normal(size=(FEATURES, count)) * (rng.random((FEATURES, count)) < 0.3)
            rows, siblings = np.nonzero(dense)
            columns, counts = np.unique(rows, return_counts=True)
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            chunks.append(
                Chunk(
                    columns.astype(np.int32),
                    starts,
                    siblings.astype(np.int32),
                    dense[rows, siblings].astype(np.float32),
                    rng.normal(size=count).astype(np.float32),
                )
            )
    return forest_of(tree, chunks, FEATURES)


def random_texts(seed, texts=17):
    rng = np.random.default_rng(seed + 1)
    return as_csr(sp.random_array((texts, FEATURES), density=0.3, rng=rng, dtype=np.float32))
