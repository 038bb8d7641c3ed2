"""Readers of a text's labels for GUDN: as one label text, or as a one-hot vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs, row_of_each_entry
from xmtc.neural.batches.token_layout import Batch
from xmtc.neural.batches.tokens import Cut, cached_tokens, tokenize
from xmtc.neural.devices import device
from xmtc.neural.encoders.frozen import BatchSource, source_of_others
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.settings import GuideConfig

HIDDEN = 256  # units of the network that stands for label texts in the one-hot ablation


class EncodedTexts(NamedTuple):
    """What was made of some texts: for the output layer, and for the feature guide."""

    vectors: Tensor  # (texts, dim) brought to the standard
    features: Tensor  # (texts, width)

    def at(self, places: Any) -> EncodedTexts:
        """Of the texts at these places."""
        return EncodedTexts(self.vectors[places], self.features[places])


Read = Callable[[TextEncoder, Batch], EncodedTexts]


class LabelReader(Protocol):
    """Reads the labels of texts."""

    def __call__(self, rows: Longs, read: Read) -> EncodedTexts:
        """One row per text. read: as the texts themselves are read."""


@dataclass(frozen=True)
class SetTexts:
    """Each distinct set of labels has one text, tokenized once; a batch reads each set once."""

    source: BatchSource
    set_of: Longs  # (texts,)

    def __call__(self, rows: Longs, read: Read) -> EncodedTexts:
        """See `LabelReader`."""
        sets, places = np.unique(self.set_of[rows], return_inverse=True)
        return read(self.source.encoder, self.source.batch(sets)).at(torch.from_numpy(places))


@dataclass(frozen=True)
class ShuffledTexts:
    """The same in an order of labels that is drawn each time. Nothing of it can be cached."""

    encoder: TextEncoder  # all of it: what frozen layers make depends on the order
    label_texts: Sequence[str]  # of each label
    relevant: Csr  # (texts, labels)
    cut: Cut

    def __call__(self, rows: Longs, read: Read) -> EncodedTexts:
        """See `LabelReader`."""
        texts = []
        for row in rows:
            labels = labels_of(self.relevant, row)
            order = torch.randperm(len(labels))  # by PyTorch, whose generator is in checkpoints
            texts.append(" ".join(self.label_texts[labels[place]] for place in order.tolist()))
        tokens = tokenize(texts, self.encoder.tokenizer, self.cut)
        batch = self.encoder.layout.batch(tokens, np.arange(len(rows))).to(device())
        return read(self.encoder, batch)


class OneHot(nn.Module):
    """The paper's ablation: instead of label texts, only which labels they are."""

    def __init__(self, labels: int, dim: int, width: int | None) -> None:
        """width: of the features, where they are not the vectors."""
        super().__init__()
        self.labels = nn.Embedding(labels, HIDDEN, sparse=True)
        nn.init.normal_(self.labels.weight, std=HIDDEN**-0.5)
        self.vectors = nn.Linear(HIDDEN, dim)
        self.features = None if width is None else nn.Linear(HIDDEN, width)

    def forward(self, relevant: Csr) -> EncodedTexts:
        """Of these rows of (texts, labels)."""
        on = self.labels.weight.device
        owner = torch.from_numpy(row_of_each_entry(relevant).astype(np.int64)).to(on)
        labels = torch.from_numpy(relevant.indices.astype(np.int64)).to(on)
        sums = self.labels.weight.new_zeros(relevant.shape[0], HIDDEN)
        hidden = torch.relu(sums.index_add(0, owner, self.labels(labels)))
        vectors = self.vectors(hidden)
        # The pooler, to whose output features are compared, ends in tanh.
        return EncodedTexts(
            vectors, vectors if self.features is None else self.features(hidden).tanh()
        )


@dataclass(frozen=True)
class OneHotReader:
    """Which labels a text has, through a small network."""

    network: OneHot
    relevant: Csr  # (texts, labels)

    def __call__(self, rows: Longs, read: Read) -> EncodedTexts:
        """See `LabelReader`."""
        encoded: EncodedTexts = self.network(self.relevant[rows])
        return encoded


def label_text_reader(
    source: BatchSource,
    encoder: TextEncoder,
    label_texts: Sequence[str],
    relevant: Csr,
    config: GuideConfig,
    cache: Path,
) -> LabelReader:
    """Label texts, read by the encoder whose trainable part the source has."""
    cut = label_cut(encoder, config)
    if config.published.order == "shuffled":
        return ShuffledTexts(encoder, label_texts, relevant, cut)
    set_of, first = distinct_sets(relevant)
    texts = [" ".join(label_texts[label] for label in labels_of(relevant, row)) for row in first]
    tokens = cached_tokens(texts, encoder.tokenizer, cut, cache)
    return SetTexts(source_of_others(source, encoder, tokens, cache), set_of)


def label_cut(encoder: TextEncoder, config: GuideConfig) -> Cut:
    """Where label texts end."""
    most = min(config.published.max_tokens, encoder.config.max_tokens)
    return Cut(most - encoder.layout.extra)


def distinct_sets(relevant: Csr) -> tuple[Longs, Longs]:
    """(texts,) the number of each text's set of labels, and (sets,) the first text that has it."""
    numbers: dict[bytes, int] = {}
    set_of = np.empty(relevant.shape[0], np.int64)
    first = list[int]()
    for row in range(relevant.shape[0]):
        key = labels_of(relevant, row).tobytes()
        if key not in numbers:
            numbers[key] = len(first)
            first.append(row)
        set_of[row] = numbers[key]
    return set_of, np.array(first, np.int64)


def labels_of(relevant: Csr, row: int) -> Any:
    """The labels of one text, ascending."""
    return relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
