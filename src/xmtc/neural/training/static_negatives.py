"""Static negatives, an ablation of LightXML's paper: first clusters are learned, then labels.

First the encoder is trained with the generator alone. Then both are frozen and choose the
candidates on which the discriminator is trained: on the same text vectors, or with a fine-tuned
copy of the encoder.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr
from xmtc.neural.distributed import Share
from xmtc.neural.encoders.frozen import BatchSource
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.heads.two_level import TwoLevel
from xmtc.neural.training.prepared import Prepared, fine_tune
from xmtc.neural.training.task import LabelTask, head_loss


class GeneratorOnly(nn.Module):
    """The clusters' layer is trained, the labels' layer is not."""

    def __init__(self, head: TwoLevel) -> None:
        super().__init__()
        self.layers = head
        _train_generator(head, True)

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """Of the clusters, summed over the texts."""
        true_clusters = self.layers.tree.relevant_at(0, relevant)
        return self.layers.generator.loss_of(self.layers.generator(vectors), true_clusters)


class DiscriminatorOnly(nn.Module):
    """The labels' layer is trained, the clusters' layer chooses candidates."""

    def __init__(self, head: TwoLevel) -> None:
        super().__init__()
        self.layers = head
        _train_generator(head, False)

    def loss(self, vectors: Tensor, relevant: Csr, chosen_by: Tensor | None = None) -> Tensor:
        """Of the candidates, summed over the texts. chosen_by: vectors that the generator reads."""
        with torch.no_grad():
            logits = self.layers.generator(vectors if chosen_by is None else chosen_by)
        true_clusters = self.layers.tree.relevant_at(0, relevant)
        return self.layers.label_loss(vectors, relevant, logits, true_clusters)


def train_with_static_negatives(
    prepared: Prepared,
    head: TwoLevel,
    relevant: Csr,
    dropout: float,
    measure: Callable[[TextEncoder], dict[str, float]],
    *,
    own_encoder: bool,
) -> TextEncoder:
    """Train both layers; returns the encoder whose vectors labels are scored with.

    measure: validation metrics of the model whose labels read this encoder's vectors.
    """
    clusters = prepared.task(GeneratorOnly(head), relevant, dropout, dict)
    fine_tune(prepared, clusters)
    encoder = copy.deepcopy(prepared.encoder) if own_encoder else prepared.encoder
    second = prepared.with_encoder(encoder)
    prepared.encoder.requires_grad_(False)
    labels = second.task(DiscriminatorOnly(head), relevant, dropout, partial(measure, encoder))
    loss = partial(_label_loss, clusters.source)
    second = replace(second, run=prepared.run.below("discriminator"))
    fine_tune(second, replace(labels, loss_function=loss))
    return encoder


def _label_loss(chooser: BatchSource, task: LabelTask, share: Share) -> Tensor:
    """The discriminator's loss. chooser: the frozen encoder."""
    net = task.net
    with torch.no_grad():
        chosen_by = net.standardized(chooser.encoder.eval()(chooser.batch(share.rows)))
    vectors = net.dropout(net.standardized(net.encoder(task.batch(share.rows))))
    return head_loss(net.head, share, [vectors, chosen_by], task.relevant, task.config)


def _train_generator(head: TwoLevel, wanted: bool) -> None:
    head.generator.requires_grad_(wanted)
    for part in (head.bottleneck, head.labels):
        part.requires_grad_(not wanted)
