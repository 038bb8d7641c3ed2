"""AttentionScorer: the finished output layer of label-wise attention, on plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, softmax

from xmtc.core.arrays import Array, Floats, Ints
from xmtc.core.parts import Parts
from xmtc.neural.batches.token_states import TokenStates


@dataclass(frozen=True)
class AttentionScorer:
    """Each node looks at the words that concern it; layers shared by all judge what it sees."""

    level: int  # whose encoder's states it reads
    nodes: Floats  # (nodes, dim) what each looks for
    weights: tuple[Floats, ...]  # of the shared layers, (out, in); the last has one output
    biases: tuple[Floats, ...]

    def score(self, encoded: TokenStates, candidates: Ints) -> Floats:
        """(texts, width), from 0 to 1."""
        scores = np.empty(candidates.shape, np.float32)
        for row, wanted in enumerate(candidates):
            words = encoded.states[self.level][row][encoded.mask[row]]  # (tokens, dim)
            scores[row] = self._judged(self._seen(words, wanted))
        return expit(scores, dtype=np.float32)  # type: ignore[no-any-return]

    def _seen(self, words: Floats, nodes: Ints) -> Floats:
        """(nodes, dim) the weighted mean of the words, by how much each node cares for them."""
        cares = softmax(self.nodes[nodes] @ words.T, axis=1)
        return np.asarray(cares @ words, np.float32)

    def _judged(self, seen: Floats) -> Floats:
        *inner, last = zip(self.weights, self.biases, strict=True)
        for weights, bias in inner:
            seen = np.maximum(seen @ weights.T + bias, 0)
        return np.asarray((seen @ last[0].T + last[1])[:, 0], np.float32)

    def to_arrays(self, name: str) -> dict[str, Array]:
        """What must be saved."""
        arrays: dict[str, Array] = {f"{name}.nodes": self.nodes}
        for place, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"{name}.layer{place}.weights": weights, f"{name}.layer{place}.bias": bias}
        return arrays


def load_attention(
    parts: Parts, level: int, nodes: int, dim: int, hidden: tuple[int, ...]
) -> AttentionScorer:
    """The scorer that `to_arrays` described, checked."""
    name = f"level{level}"
    sizes = (dim, *hidden, 1)
    layers = [
        (
            parts.array(f"{name}.layer{place}.weights", np.float32, (out, into)),
            parts.array(f"{name}.layer{place}.bias", np.float32, (out,)),
        )
        for place, (into, out) in enumerate(pairwise(sizes))
    ]
    looks = parts.array(f"{name}.nodes", np.float32, (nodes, dim))
    weights, biases = zip(*layers, strict=True)
    return AttentionScorer(level, looks, tuple(weights), tuple(biases))
