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
    """Each node attends to the words that concern it; layers that all share score what it sees."""

    level: int  # whose encoder's states it reads
    nodes: Floats  # (nodes, dim) what each looks for
    weights: tuple[Floats, ...]  # of the shared layers, (out, in); the last has one output
    biases: tuple[Floats, ...]

    def score(self, encoded: TokenStates, candidates: Ints) -> Floats:
        """(texts, width), from 0 to 1."""
        scores = np.empty(candidates.shape, np.float32)
        *inner, last = zip(self.weights, self.biases, strict=True)
        for row, wanted in enumerate(candidates):
            words = encoded.states[self.level][row][encoded.mask[row]]  # (tokens, dim)
            attention = softmax(self.nodes[wanted] @ words.T, axis=1)
            seen = np.asarray(attention @ words, np.float32)  # (nodes, dim)
            for weights, bias in inner:
                seen = np.maximum(seen @ weights.T + bias, 0)
            scores[row] = (seen @ last[0].T + last[1])[:, 0]
        return expit(scores, dtype=np.float32)  # type: ignore[no-any-return]

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
