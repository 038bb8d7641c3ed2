"""Finished adaptive label clusters on plain arrays: which labels lie where, and the best of them.

Ranking opens a tail only for the texts whose gate could still beat their k-th label: a label
behind a gate never scores above it. So the answer is that of all labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from xmtc.core.arrays import Allowed, Array, Floats, Ints
from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.kernels.topk import best
from xmtc.neural.heads.dense_scorer import Standard

CELLS_PER_BLOCK = 1 << 22  # scores at once: bounds memory, not the answer
EPSILON = 1e-5  # of LayerNorm


def cluster_sizes(
    labels: int, shares: Sequence[float] = (), cuts: Sequence[int] = ()
) -> tuple[int, ...]:
    """How many labels lie in the head and in each tail; a cluster without labels is none.

    shares: of the labels, e.g. (0.5, 0.5). cuts, which come first: the ranks at which tails begin.
    """
    ends = list(cuts) or np.floor(np.cumsum(shares)[:-1] * labels + 1e-6).astype(int).tolist()
    inside = sorted({max(1, end) for end in ends if max(1, end) < labels})
    return tuple(np.diff([0, *inside, labels]).tolist())


def narrow_widths(dim: int, tails: int, q: float) -> list[int]:
    """How wide the vector is that each tail reads: dim / q, dim / q², ..."""
    widths = [int(dim // q**tail) for tail in range(1, tails + 1)]
    if widths and widths[-1] < 1:
        raise ConfigError(
            f"the last of {tails} tails would read a vector of no width: {dim} / {q:g}^{tails}. "
            "Take fewer clusters, a smaller factor, or wider vectors."
        )
    return widths


@dataclass(frozen=True)
class Layer:
    """A linear layer."""

    weights: Floats  # (out, in)
    bias: Floats | None = None  # (out,)

    def __call__(self, vectors: Floats) -> Floats:
        """(texts, in) -> (texts, out)"""
        made: Floats = vectors @ self.weights.T
        return made if self.bias is None else made + self.bias

    def only(self, rows: Array) -> Layer:
        """With these outputs."""
        return Layer(self.weights[rows], None if self.bias is None else self.bias[rows])


@dataclass(frozen=True)
class FinishedTail:
    """What narrows the vector, and the labels."""

    down: Floats  # (narrow, dim)
    norm: tuple[Floats, Floats] | None  # gain and bias of LayerNorm, before ReLU; None: neither
    out: Layer

    def __call__(self, vectors: Floats) -> Floats:
        """(texts, dim) -> (texts, labels) logits"""
        narrow = vectors @ self.down.T
        if self.norm is not None:
            narrow = narrow - narrow.mean(1, keepdims=True)
            narrow /= np.sqrt(np.square(narrow).mean(1, keepdims=True) + np.float32(EPSILON))
            narrow = np.maximum(narrow * self.norm[0] + self.norm[1], 0)
        return self.out(narrow)

    def only(self, rows: Array) -> FinishedTail:
        """With these labels."""
        return replace(self, out=self.out.only(rows))


@dataclass(frozen=True)
class Shape:
    """What the settings say of a finished layer."""

    dim: int  # of the text vectors
    sizes: tuple[int, ...]
    narrowing: float
    norm_relu: bool
    hidden: int  # 0: none
    bias: bool
    standardized: bool


@dataclass(frozen=True)
class AdaptiveScorer:
    """Head, gates and tails; a label's score is its probability, times its gate's in a tail."""

    order: Ints  # (labels,) the label at each rank
    sizes: tuple[int, ...]  # ranks in the head and in each tail
    head: Layer  # labels, then gates
    tails: tuple[FinishedTail, ...]
    hidden: Layer | None = None  # with tanh, before all others
    standard: Standard | None = None  # what vectors are brought to before

    def rank(self, encoded: Floats, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of each text."""
        return self.rank_and_count(encoded, k, allowed)[0]

    def rank_and_count(
        self, encoded: Floats, k: int, allowed: Allowed = None, prune: bool = True
    ) -> tuple[Ranking, Array]:
        """The k best labels of each text, and (texts, tails) which tails were opened for it.

        prune: False opens every tail that holds an allowed label; the answer is the same.
        """
        opened = np.zeros((len(encoded), len(self.tails)), bool)
        search = _Search(self, k, allowed, prune)
        size = max(1, min(CELLS_PER_BLOCK // search.widest, -(-len(encoded) // thread_count())))

        def rank_block(block: tuple[int, int]) -> Ranking:
            rows = slice(*block)
            return search.rank(self._read(encoded[rows]), opened[rows])

        ranked = in_threads(rank_block, blocks(len(encoded), size))
        return Ranking.stack(ranked or [Ranking.empty(0, k)]), opened

    def to_arrays(self) -> dict[str, Array]:
        """What must be saved."""
        arrays: dict[str, Array] = {"order": self.order, **_arrays("head", self.head)}
        for place, tail in enumerate(self.tails):
            arrays |= {f"tail{place}.down": tail.down, **_arrays(f"tail{place}", tail.out)}
            if tail.norm is not None:
                arrays[f"tail{place}.gain"], arrays[f"tail{place}.shift"] = tail.norm
        if self.hidden is not None:
            arrays |= _arrays("hidden", self.hidden)
        if self.standard is not None:
            arrays["center"] = self.standard.center
            arrays["spread"] = np.array([self.standard.spread], np.float32)
        return arrays

    def _read(self, vectors: Floats) -> Floats:
        if self.standard is not None:
            vectors = (vectors - self.standard.center) / np.float32(self.standard.spread)
        return vectors if self.hidden is None else np.tanh(self.hidden(vectors))


class _Search:
    """How many labels are ranked, and among which."""

    def __init__(self, scorer: AdaptiveScorer, k: int, allowed: Allowed, prune: bool) -> None:
        self.k = k
        self.prune = prune
        labels = np.split(scorer.order, np.cumsum(scorer.sizes)[:-1])
        rows = [np.arange(size) for size in scorer.sizes]
        if allowed is not None:
            rows = [np.flatnonzero(allowed[part]) for part in labels]
            labels = [part[own] for part, own in zip(labels, rows, strict=True)]
        self.labels = labels
        gates = np.arange(scorer.sizes[0], scorer.sizes[0] + len(scorer.tails))
        self.head = scorer.head
        self.tails = scorer.tails
        if allowed is not None:
            self.head = scorer.head.only(np.concatenate([rows[0], gates]))
            self.tails = tuple(map(FinishedTail.only, scorer.tails, rows[1:]))
        self.widest = max(len(part) for part in labels) + len(self.tails) + 1

    def rank(self, vectors: Floats, opened: Array) -> Ranking:
        """opened: (texts, tails), filled in."""
        scores = expit(self.head(vectors))
        labels = len(self.labels[0])
        found = self._best(0, scores[:, :labels])
        gates = scores[:, labels:]
        for tail in np.argsort(-gates.mean(0), kind="stable"):  # likely ones first: fewer follow
            least = found.scores[:, -1] if self.k else np.full(len(vectors), np.inf)
            # At equality too: equal scores rank by label, and the tail's may come first.
            texts = np.flatnonzero(gates[:, tail] >= least) if self.prune else np.arange(len(gates))
            if len(texts) and len(self.labels[1 + tail]):
                opened[texts, tail] = True
                behind = expit(self.tails[tail](vectors[texts])) * gates[texts, tail, None]
                more = self._best(1 + tail, behind)
                merged = best(
                    np.concatenate([found.labels[texts], more.labels], axis=1),
                    np.concatenate([found.scores[texts], more.scores], axis=1),
                    self.k,
                )
                found.labels[texts] = merged[0]
                found.scores[texts] = merged[1]
        return found

    def _best(self, cluster: int, scores: Floats) -> Ranking:
        labels = np.broadcast_to(self.labels[cluster], scores.shape)
        return Ranking(*best(labels, scores, self.k))


def load_scorer(parts: Parts, shape: Shape) -> AdaptiveScorer:
    """The layer that `to_arrays` saved, checked."""
    labels = sum(shape.sizes)
    read = shape.hidden or shape.dim
    order = parts.ids("order", labels, labels)
    if (np.bincount(order, minlength=labels) != 1).any():
        raise StoreError("array 'order' must name every label once. The folder is damaged.")
    widths = narrow_widths(read, len(shape.sizes) - 1, shape.narrowing)
    head = _layer(parts, "head", shape.sizes[0] + len(widths), read, shape.bias)
    tails = tuple(
        _tail(parts, f"tail{place}", shape, width, size)
        for place, (width, size) in enumerate(zip(widths, shape.sizes[1:], strict=True))
    )
    hidden = _layer(parts, "hidden", read, shape.dim, True) if shape.hidden else None
    standard = None
    if shape.standardized:
        spread = float(parts.array("spread", np.float32, (1,))[0])
        if spread <= 0:
            raise StoreError("array 'spread' must be above 0. The folder is damaged.")
        standard = Standard(parts.array("center", np.float32, (shape.dim,)), spread)
    return AdaptiveScorer(order, shape.sizes, head, tails, hidden, standard)


def _tail(parts: Parts, name: str, shape: Shape, width: int, labels: int) -> FinishedTail:
    down = parts.array(f"{name}.down", np.float32, (width, shape.hidden or shape.dim))
    norm = None
    if shape.norm_relu:
        gain, shift = (parts.array(f"{name}.{x}", np.float32, (width,)) for x in ("gain", "shift"))
        norm = (gain, shift)
    return FinishedTail(down, norm, _layer(parts, name, labels, width, shape.bias))


def _layer(parts: Parts, name: str, out: int, into: int, bias: bool) -> Layer:
    weights = parts.array(f"{name}.weights", np.float32, (out, into))
    return Layer(weights, parts.array(f"{name}.bias", np.float32, (out,)) if bias else None)


def _arrays(name: str, layer: Layer) -> dict[str, Array]:
    bias = {} if layer.bias is None else {f"{name}.bias": layer.bias}
    return {f"{name}.weights": layer.weights, **bias}
