"""GuidedTask: GUDN's two guides beside the loss of an output layer. Only training knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs
from xmtc.neural import distributed
from xmtc.neural.batches.layout import Batch, thinned
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import GuideConfig, TrainingConfig
from xmtc.neural.training.label_texts import LabelSide, OneHotSide, Reading
from xmtc.neural.training.task import LabelTask, Net, head_loss


@dataclass(frozen=True)
class GuidedTask:
    """A LabelTask whose texts are compared with what their labels say."""

    task: LabelTask
    side: LabelSide
    guides: GuideConfig
    details: dict[str, float] = field(default_factory=dict)  # of the last batch, by text

    def __post_init__(self) -> None:
        if isinstance(self.side, OneHotSide):
            self.net.add_module("one_hot", self.side.network)  # it is taught and kept with the rest

    @property
    def net(self) -> Net:
        """Everything that learns."""
        net: Net = self.task.net
        return net

    @property
    def config(self) -> TrainingConfig:
        """How it learns."""
        return self.task.config

    @property
    def relevant(self) -> Csr:
        """(texts, labels)"""
        return self.task.relevant

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """Those of the task, and the network of the one-hot ablation."""
        if isinstance(self.side, OneHotSide):
            return {
                **self.task.parts,
                "one_hot": (self.side.network, self.config.optimizer.head_lr),
            }
        return self.task.parts

    def batches(self, epoch: int) -> Sequence[Longs]:
        """As without guides."""
        return self.task.batches(epoch)

    def measure(self) -> dict[str, float]:
        """As without guides."""
        return self.task.measure()

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        source = self.task.source
        guides = self.guides.published
        batch = thinned(source.batch(rows), self.config.published.token_fraction)
        text = self._read(source.encoder, batch)
        labels = self.side(rows, self._read)
        seen = self.net.dropout(text.vectors)
        losses = {"text": self._head_loss(rows, seen)}
        if guides.link_weight:
            # Candidates, where not all labels are, are those of the text itself.
            losses["link"] = self._head_loss(rows, self.net.dropout(labels.vectors), seen.detach())
        if guides.feature_weight:
            losses["feature"] = self._feature_loss(rows, text, labels)
        for name, loss in losses.items():
            self.details[f"{name}_loss"] = float(loss.detach()) / len(rows)
        weighed = [getattr(guides, f"{name}_weight") * loss for name, loss in losses.items()]
        return torch.stack(weighed).sum()

    def _read(self, encoder: TextEncoder, batch: Batch) -> Reading:
        if self.guides.needs_pooler:
            vectors, features = encoder.with_pooled(batch)
            return Reading(self.net.standardised(vectors), features)
        vectors = self.net.standardised(encoder(batch))
        return Reading(vectors, vectors)

    def _head_loss(self, rows: Longs, *vectors: Tensor) -> Tensor:
        return head_loss(self.net.head, rows, vectors, self.relevant, self.config)

    def _feature_loss(self, rows: Longs, text: Reading, labels: Reading) -> Tensor:
        """A text without labels is drawn nowhere."""
        drawn = np.diff(self.relevant.indptr)[rows] > 0
        places = torch.from_numpy(np.flatnonzero(drawn))
        pairs = text.features[places], labels.features[places]
        if self.guides.published.distance == "paper":
            # The loop divides by the texts, as the paper does; a cross-entropy that is summed over
            # texts there is not divided, so that the distance is divided twice beside it.
            batch = 1 if self.net.head.mean else len(rows) * distributed.count()
            return half_square(*pairs) * (int(drawn.sum()) / batch)
        return mean_square(*pairs) * int(drawn.sum())


def half_square(texts: Tensor, labels: Tensor) -> Tensor:
    """The feature loss as the paper's equation 2 has it: squares, summed, over twice the texts."""
    return (texts.float() - labels.float()).square().sum() / max(1, 2 * len(texts))


def mean_square(texts: Tensor, labels: Tensor) -> Tensor:
    """The feature loss as the authors' code has it: the mean over all numbers of all texts."""
    return (texts.float() - labels.float()).square().sum() / max(1, texts.numel())
