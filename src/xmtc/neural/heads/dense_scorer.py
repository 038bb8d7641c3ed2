"""DenseScorer: the finished output layer of a level, on plain arrays; ranking needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from xmtc.core.arrays import Array, Floats, Ints
from xmtc.core.parts import Parts
from xmtc.kernels.dense_scores import chosen_dots

BLOCK = 8192  # texts that are read at a time


@dataclass(frozen=True)
class Standard:
    """Brings text vectors to mean 0 and spread 1, which is how output layers learn quickly."""

    center: Floats  # (dim,)
    spread: float

    @staticmethod
    def of(vectors: Floats) -> Standard:
        """So that these vectors have, over all, mean 0 and spread 1."""
        center = vectors.mean(0)
        blocks = (vectors[start : start + BLOCK] for start in range(0, len(vectors), BLOCK))
        squares = sum(float(np.square(block - center).sum(dtype=np.float64)) for block in blocks)
        return Standard(center, (squares / max(1, vectors.size)) ** 0.5 or 1.0)

    def folded(self, weights: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Weights and bias that give from raw vectors what these give from standard ones."""
        raw = weights / np.float32(self.spread)
        return raw, bias - raw @ self.center


@dataclass(frozen=True)
class Bottleneck:
    """What narrows a text's vector before labels are scored."""

    weights: Floats  # (narrow, dim)
    bias: Floats  # (narrow,)
    sigmoid: bool = False

    def __call__(self, vectors: Floats) -> Floats:
        """(texts, dim) -> (texts, narrow)"""
        narrow: Floats = vectors @ self.weights.T + self.bias
        return expit(narrow) if self.sigmoid else narrow


@dataclass(frozen=True)
class DenseScorer:
    """The probability of each candidate node: the logistic function of its weights and bias."""

    weights: Floats  # (nodes, dim)
    bias: Floats | None = None  # (nodes,)
    bottleneck: Bottleneck | None = None
    margins: bool = False  # scores are w·x + b instead

    def score(self, encoded: Floats, candidates: Ints) -> Floats:
        """(texts, width), from 0 to 1; margins have no bounds."""
        vectors = self.read(encoded)
        nodes = np.arange(len(self.weights))
        if candidates.shape[1] == len(nodes) and (candidates == nodes).all():
            scores = vectors @ self.weights.T
        else:
            scores = chosen_dots(vectors, self.weights, candidates)
        if self.bias is not None:
            scores = scores + self.bias[candidates]
        if self.margins:
            return scores  # type: ignore[no-any-return]
        return expit(scores, dtype=np.float32)  # type: ignore[no-any-return]

    def read(self, encoded: Floats) -> Floats:
        """(texts, dim) what the weights are multiplied with."""
        return encoded if self.bottleneck is None else self.bottleneck(encoded)

    def of_raw(self, standard: Standard | None) -> DenseScorer:
        """The same scores from vectors that were not brought to this standard."""
        if standard is None:
            return self
        if self.bottleneck is not None:
            narrow = self.bottleneck
            weights, bias = standard.folded(narrow.weights, narrow.bias)
            return replace(self, bottleneck=Bottleneck(weights, bias, narrow.sigmoid))
        assert self.bias is not None
        weights, bias = standard.folded(self.weights, self.bias)
        return replace(self, weights=weights, bias=bias)

    def to_arrays(self, name: str) -> dict[str, Array]:
        """What must be saved."""
        arrays = {f"{name}.weights": self.weights}
        if self.bias is not None:
            arrays[f"{name}.bias"] = self.bias
        if self.bottleneck is not None:
            arrays[f"{name}.narrow.weights"] = self.bottleneck.weights
            arrays[f"{name}.narrow.bias"] = self.bottleneck.bias
        return arrays


def load_generator(parts: Parts, name: str, nodes: int, dim: int) -> DenseScorer:
    """The scorer of a level that has a bias and reads the whole vector."""
    weights = parts.array(f"{name}.weights", np.float32, (nodes, dim))
    return DenseScorer(weights, parts.array(f"{name}.bias", np.float32, (nodes,)))


def load_discriminator(
    parts: Parts, name: str, labels: int, dim: int, sigmoid: bool
) -> DenseScorer:
    """The scorer of labels behind a bottleneck."""
    bias = parts.array(f"{name}.narrow.bias", np.float32, (None,))
    narrow = parts.array(f"{name}.narrow.weights", np.float32, (len(bias), dim))
    weights = parts.array(f"{name}.weights", np.float32, (labels, len(bias)))
    return DenseScorer(weights, None, Bottleneck(narrow, bias, sigmoid))
