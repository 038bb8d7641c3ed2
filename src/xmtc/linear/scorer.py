"""A scorer that holds one sparse linear classifier per node of a tree level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from xmtc.core.arrays import Array, Csr, Floats, Ints, Matrix, kernel_arrays
from xmtc.core.errors import StoreError
from xmtc.core.parts import Parts, csr_arrays
from xmtc.kernels.sparse_scores import score_nodes

MAX_WEIGHT = 1e15  # a bound for files from strangers, so that no sum overflows


@dataclass(frozen=True)
class LinearScorer:
    """Scores a node by the logistic function of w·x + b, so 0.5 is the decision boundary."""

    weights: Csr  # (features, nodes)
    biases: Floats  # (nodes,)

    @cached_property
    def _weights(self) -> Matrix:
        return kernel_arrays(self.weights)

    def score(self, encoded: Csr, candidates: Ints) -> Floats:
        """(texts, features) rows and (texts, width) nodes -> (texts, width) scores in 0 to 1."""
        margins = score_nodes(kernel_arrays(encoded), self._weights, self.biases, candidates)
        expit(margins, out=margins)
        return margins

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """What must be saved."""
        return {
            f"{prefix}.biases": self.biases,
            **csr_arrays(f"{prefix}.weights", self.weights),
        }

    @staticmethod
    def from_parts(parts: Parts, prefix: str, features: int, nodes: int) -> LinearScorer:
        """The scorer as it was saved, checked."""
        weights = parts.csr(f"{prefix}.weights", features, nodes)
        biases = parts.array(f"{prefix}.biases", np.float32, (nodes,))
        for numbers in (weights.data, biases):
            if max(numbers.max(initial=0), -numbers.min(initial=0)) > MAX_WEIGHT:
                raise StoreError(f"the weights of {prefix!r} are too large; the folder is damaged.")
        return LinearScorer(weights, biases)
