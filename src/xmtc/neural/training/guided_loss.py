"""GUDN's guides: label texts pass through the encoder too and add two losses to a text's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from xmtc.neural import distributed
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.distributed import Share
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.heads.two_level import TwoLevel
from xmtc.neural.settings import GuideConfig
from xmtc.neural.training.label_texts import EncodedTexts, LabelReader, OneHotReader
from xmtc.neural.training.task import LabelTask, Net, head_loss


@dataclass(frozen=True)
class GuidedLoss:
    """The loss on texts, on their label texts, and of the distance between both vectors."""

    labels: LabelReader
    guides: GuideConfig

    def __call__(self, task: LabelTask, share: Share) -> Tensor:
        """Summed over these texts."""
        net = task.net
        published = self.guides.published

        def read(encoder: TextEncoder, batch: Batch) -> EncodedTexts:
            return self._read(net, encoder, batch)

        text = read(task.source.encoder, task.batch(share.rows))
        labels = self.labels(share.rows, read)
        vectors = net.dropout(text.vectors)

        def of_head(*inputs: Tensor) -> Tensor:
            return head_loss(net.head, share, inputs, task.relevant, task.config)

        losses = {"text": of_head(vectors)}
        if published.link_weight:
            # LabelCandidates, where not all labels are, are those of the text itself.
            chosen_by = [vectors.detach()] if isinstance(net.head, TwoLevel) else []
            losses["link"] = of_head(net.dropout(labels.vectors), *chosen_by)
        if published.feature_weight:
            losses["feature"] = self._feature_loss(task, share, text, labels)
        for name, loss in losses.items():
            task.details[f"{name}_loss"] = float(loss.detach()) / len(share.rows)
        weighted = [getattr(published, f"{name}_weight") * loss for name, loss in losses.items()]
        return torch.stack(weighted).sum()

    def _read(self, net: Net, encoder: TextEncoder, batch: Batch) -> EncodedTexts:
        if self.guides.needs_pooler:
            vectors, features = encoder.with_pooled(batch)
            return EncodedTexts(net.standardized(vectors), features)
        vectors = net.standardized(encoder(batch))
        return EncodedTexts(vectors, vectors)

    def _feature_loss(
        self, task: LabelTask, share: Share, text: EncodedTexts, labels: EncodedTexts
    ) -> Tensor:
        """A text without labels has none."""
        has_labels = np.diff(task.relevant.indptr)[share.counted(share.rows)] > 0
        places = torch.from_numpy(np.flatnonzero(has_labels))
        pairs = text.features[places], labels.features[places]
        if self.guides.published.distance == "paper":
            # The loop divides by the texts, as the paper does; a cross-entropy that is summed over
            # texts there is not divided, so that the distance is divided twice next to it.
            batch = 1 if task.net.head.mean else len(share.rows) * distributed.count()
            return half_square(*pairs) * (int(has_labels.sum()) / batch)
        return mean_square(*pairs) * int(has_labels.sum())


def guided(task: LabelTask, labels: LabelReader, guides: GuideConfig) -> LabelTask:
    """The task with guides; the network of the one-hot ablation is trained with the rest."""
    task = replace(task, loss_function=GuidedLoss(labels, guides))
    if not isinstance(labels, OneHotReader):
        return task
    task.net.add_module("one_hot", labels.network)  # checkpoints contain it
    return replace(task, more_parts={"one_hot": (labels.network, task.config.optimizer.head_lr)})


def half_square(texts: Tensor, labels: Tensor) -> Tensor:
    """The feature loss as the paper's equation 2 has it: squares, summed, over twice the texts."""
    return (texts.float() - labels.float()).square().sum() / max(1, 2 * len(texts))


def mean_square(texts: Tensor, labels: Tensor) -> Tensor:
    """The feature loss as the authors' code has it: the mean over all numbers of all texts."""
    return (texts.float() - labels.float()).square().sum() / max(1, texts.numel())
