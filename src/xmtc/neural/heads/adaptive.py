"""Adaptive probabilistic label clusters (APLC): an output layer that spends its work where labels
are frequent.

Labels are numbered by falling frequency. The first ones, the head, are scored for every text.
The others lie in tails, each behind a gate and read from an ever narrower vector. A text is
trained against the tails that contain one of its labels, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from scipy.sparse import issparse
from torch import Tensor, nn

from xmtc.core.arrays import Csr, csr_of_rows, label_counts, row_of_each_entry, starts_of
from xmtc.neural.heads.adaptive_scorer import AdaptiveScorer, FinishedTail, Layer, narrow_widths
from xmtc.neural.heads.flat import array, log_odds

Loss = Literal["document", "global", "sum"]
SPREAD = 0.02  # of the weights at first


class Tail(nn.Module):
    """Rare labels, read from a narrow vector."""

    def __init__(self, dim: int, narrow: int, labels: int, norm_relu: bool, bias: bool) -> None:
        super().__init__()
        self.down = nn.Linear(dim, narrow, bias=False)
        self.norm = nn.LayerNorm(narrow) if norm_relu else None
        self.out = nn.Linear(narrow, labels, bias=bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """(texts, dim) -> (texts, labels) logits"""
        narrow: Tensor = self.down(vectors)
        if self.norm is not None:
            narrow = F.relu(self.norm(narrow))
        logits: Tensor = self.out(narrow)
        return logits

    def finished(self) -> FinishedTail:
        """On plain arrays."""
        norm = None if self.norm is None else (array(self.norm.weight), array(self.norm.bias))
        return FinishedTail(array(self.down.weight), norm, _finished(self.out))


class Found(NamedTuple):
    """The relevant labels of a batch that lie in one cluster."""

    texts: Tensor  # (visiting texts,) which have one
    rows: Tensor  # (positives,) places in `texts`
    columns: Tensor  # (positives,) places in the cluster


class AdaptiveLabelClusters(nn.Module):
    """A head, and tails behind gates. A label's number is its rank by falling frequency."""

    def __init__(
        self,
        dim: int,
        sizes: Sequence[int],
        q: float = 2.0,
        *,
        norm_relu: bool = True,
        loss: Loss = "document",
        gate_loss: bool = True,
        bias: bool = False,
    ) -> None:
        """sizes: labels in the head and in each tail; see `cluster_sizes`.
        q: by how much each tail's vectors are narrower than those of the one before.
        norm_relu: LayerNorm and ReLU behind the narrowing: the authors' code, not the paper.
        loss: "document", each text's mean over its terms, then the mean over texts (the authors'
        code); "global", one mean over all terms (the paper); or the "sum".
        gate_loss: gates of tails that a text does not need are trained to be shut (the code); in
        the paper's text only gates that must be open are trained.
        bias: of every label and gate. Neither paper nor code has one.
        """
        super().__init__()
        self.sizes = tuple(sizes)
        self.starts = starts_of(list(sizes))
        self.loss_form = loss
        self.gate_loss = gate_loss
        widths = narrow_widths(dim, len(sizes) - 1, q)
        self.head = nn.Linear(dim, sizes[0] + len(widths), bias=bias)
        self.behind = nn.ModuleList(
            Tail(dim, narrow, labels, norm_relu, bias)
            for narrow, labels in zip(widths, sizes[1:], strict=True)
        )
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.normal_(part.weight, std=SPREAD)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)

    @property
    def tails(self) -> list[Tail]:
        """Behind their gates."""
        return cast(list[Tail], list(self.behind))

    @property
    def labels(self) -> int:
        """How many there are."""
        return int(self.starts[-1])

    def forward(self, vectors: Tensor, relevant: Csr | Sequence[Sequence[int]]) -> Tensor:
        """The loss of a batch. relevant: each text's label numbers, or (texts, labels)."""
        rows: Csr = relevant if issparse(relevant) else csr_of_rows(relevant, self.labels)
        if rows.nnz and not 0 <= rows.indices.min() <= rows.indices.max() < self.labels:
            raise ValueError(f"there are {self.labels:,} labels; give numbers below that, from 0")
        return self.loss(vectors, rows) / max(1, len(vectors))

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """The loss, summed over the texts."""
        found = self._found(relevant, vectors.device)
        logits = _wide(self.head(vectors))
        shut = logits.new_ones(len(vectors), len(self.tails))
        for place, visit in enumerate(found[1:]):
            shut[visit.texts, place] = 0.0
        weights = self._weights(shut)
        counted = shut * self.gate_loss
        gates = logits[:, self.sizes[0] :]  # once: each slice's gradient is as large as the logits
        total: Tensor = _HeadLoss.apply(logits, *found[0][1:], weights, counted)  # type: ignore[no-untyped-call]
        for place, (tail, visit) in enumerate(zip(self.tails, found[1:], strict=True)):
            if len(visit.texts):
                own = gates[visit.texts, place]
                scores = _wide(tail(vectors[visit.texts]))
                total = total + _TailLoss.apply(own, scores, *visit[1:], weights[visit.texts])  # type: ignore[no-untyped-call]
        return total

    def probabilities(self, vectors: Tensor) -> Tensor:
        """(texts, labels) of all labels: a small batch only. Tails count with their gates."""
        logits = _wide(self.head(vectors))
        gates = torch.sigmoid(logits[:, self.sizes[0] :])
        behind = [
            torch.sigmoid(_wide(tail(vectors))) * gates[:, place : place + 1]
            for place, tail in enumerate(self.tails)
        ]
        return torch.cat([torch.sigmoid(logits[:, : self.sizes[0]]), *behind], dim=1)

    @torch.no_grad()
    def start_at_frequency(self, relevant: Csr) -> None:
        """At first every text gets each label's frequency; needs a bias."""
        counts = label_counts(relevant)
        texts = relevant.shape[0]
        visits = np.array([len(found.texts) for found in self._found(relevant)[1:]], np.int64)
        head = np.concatenate([counts[: self.sizes[0]], visits])
        _start(self.head, log_odds(head, texts))
        for tail, start, size, visitors in zip(
            self.tails, self.starts[1:], self.sizes[1:], visits, strict=False
        ):
            _start(tail.out, log_odds(counts[start : start + size], int(visitors)))

    def scorer(self) -> AdaptiveScorer:
        """The finished layer on plain arrays, which ranks labels."""
        order = np.arange(self.labels, dtype=np.int32)
        tails = tuple(tail.finished() for tail in self.tails)
        return AdaptiveScorer(order, self.sizes, _finished(self.head), tails)

    def _found(self, relevant: Csr, device: torch.device | None = None) -> list[Found]:
        """The relevant labels by cluster. All texts visit the head."""
        rows = row_of_each_entry(relevant)
        labels = relevant.indices
        cluster = np.searchsorted(self.starts, labels, side="right") - 1
        found = []
        for place, start in enumerate(self.starts[:-1]):
            here = cluster == place
            texts = np.arange(relevant.shape[0])
            seen = rows[here]
            if place:
                texts, seen = np.unique(seen, return_inverse=True)
            arrays = (texts, seen, labels[here] - start)
            tensors = (torch.from_numpy(each.astype(np.int64)).to(device) for each in arrays)
            found.append(Found(*tensors))
        return found

    def _weights(self, shut: Tensor) -> Tensor:
        """(texts,) how much each text's terms count."""
        behind_gates = (1 - shut) @ shut.new_tensor(self.sizes[1:])
        terms = self.sizes[0] + behind_gates + (shut.sum(1) if self.gate_loss else 0)
        if self.loss_form == "document":
            return 1 / terms
        mean = 1.0 if self.loss_form == "sum" else len(terms) / terms.sum()
        return torch.ones_like(terms) * mean


class Hidden(nn.Module):
    """A layer between the encoder and an output layer: tanh, then dropout, as XLNet has it."""

    def __init__(
        self, dim: int, output: AdaptiveLabelClusters, dropout: float, rate: float
    ) -> None:
        """rate: at which this layer learns."""
        super().__init__()
        self.hidden = nn.Linear(dim, output.head.in_features)
        self.dropout = nn.Dropout(dropout)
        self.output = output
        nn.init.normal_(self.hidden.weight, std=SPREAD)
        nn.init.zeros_(self.hidden.bias)
        self.own_rates = {"hidden": (self.hidden, rate)}

    def forward(self, vectors: Tensor) -> Tensor:
        """(texts, dim) -> what the output layer reads"""
        read: Tensor = self.dropout(torch.tanh(self.hidden(vectors)))
        return read

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """The output layer's, summed over the texts."""
        return self.output.loss(self(vectors), relevant)

    def scorer(self) -> AdaptiveScorer:
        """Both layers finished."""
        return replace(self.output.scorer(), hidden=_finished(self.hidden))


class _HeadLoss(torch.autograd.Function):
    """Binary cross-entropy of the head's labels, and of the gates that should be shut.

    No array of targets; the gradient of the logits is made at once, since the loss is a sum.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, rows: Tensor, columns: Tensor, weights: Tensor, shut: Tensor
    ) -> Tensor:
        gates = logits.shape[1] - shut.shape[1]
        terms = F.logsigmoid(-logits)
        terms[rows, columns] = F.logsigmoid(logits[rows, columns])
        terms[:, gates:] *= shut
        loss = -(terms.sum(1) @ weights)
        change = torch.sigmoid(logits, out=terms)
        change[rows, columns] -= 1
        change[:, gates:] *= shut
        ctx.save_for_backward(change.mul_(weights.unsqueeze(1)))
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        (change,) = ctx.saved_tensors
        return change * upstream[0], None, None, None, None


class _TailLoss(torch.autograd.Function):
    """Binary cross-entropy of p = sigmoid(gate) sigmoid(logit), never through p itself.

    log p and log(1 - p) = log(sigmoid(-gate) + sigmoid(gate) sigmoid(-logit)) are added up from
    logarithms, so that neither rounds to 0 or 1.
    """

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, logits: Tensor, rows: Tensor, columns: Tensor, weights: Tensor
    ) -> Tensor:
        is_open, is_shut = (F.logsigmoid(x).unsqueeze(1) for x in (gates, -gates))
        positives = (rows, columns)
        log_no = F.logsigmoid(-logits)
        log_not = torch.logaddexp(is_shut, is_open + log_no)  # log(1 - p)
        odds = logits + log_no + is_open - log_not  # log(p / (1 - p))
        log_not[positives] = is_open[rows, 0] + F.logsigmoid(logits[positives])
        loss = -(log_not.sum(1) @ weights)
        # The change by a logit is p / (1 - p) sigmoid(-logit), but -sigmoid(-logit) where the
        # label is relevant; by a gate the same, with the gate in the logit's place.
        of_gate = torch.exp(odds + is_shut)
        of_gate[positives] = -torch.sigmoid(-gates)[rows]
        of_logit = odds.add_(log_no).exp_()
        of_logit[positives] = -torch.sigmoid(-logits[positives])
        ctx.save_for_backward(of_gate.sum(1) * weights, of_logit.mul_(weights.unsqueeze(1)))
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        of_gate, of_logit = ctx.saved_tensors
        return of_gate * upstream[0], of_logit * upstream[0], None, None, None


def _wide(logits: Tensor) -> Tensor:
    """Losses are computed in fp32 at least."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _start(layer: nn.Linear, odds: Tensor) -> None:
    layer.weight.zero_()
    layer.bias.copy_(odds)


def _finished(layer: nn.Linear) -> Layer:
    return Layer(array(layer.weight), None if layer.bias is None else array(layer.bias))
