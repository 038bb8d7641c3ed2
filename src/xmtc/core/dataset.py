"""Dataset: texts, the labels relevant to each, and what the labels are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Inputs, Ints, Longs, as_csr, csr, label_counts
from xmtc.core.digest import digest, digest_of_texts
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.core.provenance import Provenance, Reading


@dataclass(frozen=True)
class TrainedOn:
    """What a model saw in training; propensities and frequency bands are made from it."""

    texts: int
    label_counts: Longs  # (labels,) how many training texts carry each label
    sources: tuple[Provenance, ...] = ()  # where the texts came from, if that is known


@dataclass(frozen=True, repr=False)
class Dataset:
    """Row `i` of `relevant` marks the labels of `texts[i]`.

    A set that came as a feature matrix only has no texts; models that read features take it.
    """

    texts: Sequence[str]
    relevant: Csr  # (texts, labels), 1 where the label belongs to the text
    labels: LabelSpace
    features: Csr | None = None  # (texts, features), when the file brought its own
    validation: Dataset | None = None  # see `with_validation`

    def __post_init__(self) -> None:
        relevant = as_csr(self.relevant)
        if (relevant.data == 0).any():
            relevant = relevant.copy()  # the caller's stays as it is
            relevant.eliminate_zeros()
        object.__setattr__(self, "relevant", relevant)
        rows, columns = self.relevant.shape
        texts = len(self.texts)
        names = len(self.labels)
        if columns != names:
            raise DataError(f"expected {columns} label names, one per column; got {names}.")
        if texts not in (rows, 0) or (rows and not texts and self.features is None):
            raise DataError(f"expected {rows} texts, one per row of labels; got {texts}.")
        if self.features is not None and self.features.shape[0] != rows:
            got = self.features.shape[0]
            raise DataError(f"expected {rows} feature rows, one per row of labels; got {got}.")
        if self.validation is not None and self.validation.labels != self.labels:
            raise DataError("the validation data has other labels. Pass it to `with_validation`.")

    @staticmethod
    def of(
        texts: Any,
        labels: Iterable[Iterable[str] | str] | None = None,
        *,
        label_texts: dict[str, str] | None = None,
        text_column: str | None = None,
        label_column: str | None = None,
        label_separator: str | None = None,
    ) -> Dataset:
        """From lists, or from a table: a pandas or polars frame, a Hugging Face dataset.

        `Dataset.of(texts, [["olive oil"], ["trade", "fish"]])`
        `Dataset.of(frame, text_column="body", label_column="tags")`
        `Dataset.of(texts, ["trade; fish", "olive oil"], label_separator=";")`
        """
        from xmtc.data.frames import dataset_of  # the one import that points up: decision 0016

        reading = Reading(
            text_column=text_column, label_column=label_column, label_separator=label_separator
        )
        return dataset_of(texts, labels, label_texts, reading)

    def __len__(self) -> int:
        return int(self.relevant.shape[0])

    def __repr__(self) -> str:
        return f"Dataset({len(self):,} texts, {len(self.labels):,} labels)"

    @property
    def inputs(self) -> Inputs:
        """What a model reads: the texts, or the features of a set without texts."""
        return self.texts if self.texts or self.features is None else self.features

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 over every text with the names of its labels; label order does not matter."""
        return digest_of_texts(self._fingerprint_parts())

    def _fingerprint_parts(self) -> Iterator[str]:
        names = self.labels.names
        indices = self.relevant.indices
        for row, (start, end) in enumerate(pairwise(self.relevant.indptr.tolist())):
            yield self.texts[row] if self.texts else ""
            yield str(end - start)
            yield from sorted(names[label] for label in indices[start:end].tolist())
        if not self.texts and self.features is not None:
            features = self.features
            yield digest(features.indptr, features.indices, features.data)

    def trained_on(self) -> TrainedOn:
        """How many texts there are, and how many carry each label."""
        return TrainedOn(len(self), label_counts(self.relevant))

    def take(self, rows: Ints | Longs | Sequence[int]) -> Dataset:
        """The texts at these positions, in this order; the label space stays."""
        if np.asarray(rows).dtype == bool:
            raise DataError("expected positions, got a mask. Pass np.flatnonzero(mask).")
        rows = np.asarray(rows, np.int64)
        texts = [self.texts[row] for row in rows] if self.texts else ()
        features = None if self.features is None else self.features[rows]
        return replace(self, texts=texts, relevant=as_csr(self.relevant[rows]), features=features)

    def split(self, share: float, seed: int = 0) -> tuple[Dataset, Dataset]:
        """(the rest, a random `share` of the texts): training and validation data."""
        rest, drawn = self.split_rows(share, seed)
        return self.take(rest), self.take(drawn)

    def split_rows(self, share: float, seed: int = 0) -> tuple[Longs, Longs]:
        """The positions of the texts of both parts of `split`, ascending."""
        if not 0 < share < 1:
            raise DataError(f"expected a share between 0 and 1 to split off, got {share}.")
        if len(self) < 2:
            raise DataError(f"expected at least 2 texts to split, got {len(self)}.")
        order = np.random.default_rng(seed).permutation(len(self))
        held_out = min(max(1, round(share * len(self))), len(self) - 1)
        return np.sort(order[held_out:]), np.sort(order[:held_out])

    def concat(self, other: Dataset) -> Dataset:
        """These texts and then the other's; labels that only the other has come last."""
        labels = self.labels.extended_by(other.labels.names)
        first = self.named_in(labels)
        second = other.named_in(labels)
        features = None
        if not self.texts and first.features is not None and second.features is not None:
            features = _stacked(first.features, second.features)
        texts = [*self.texts, *other.texts]
        return Dataset(texts, _stacked(first.relevant, second.relevant), labels, features)

    def with_validation(self, validation: Dataset) -> Dataset:
        """The same, with validation data: texts to select by, not to train on.

        Labels that are not of this set are left out there: no model of it can find them.
        """
        trains_on, validates_on = (
            "texts" if each.texts else "features" for each in (self, validation)
        )
        if trains_on != validates_on:
            raise DataError(
                f"the training data has {trains_on}, the validation data {validates_on}. "
                "Both must have the same."
            )
        truth = validation.named_in(self.labels)
        known = as_csr(truth.relevant[:, : len(self.labels)])
        if not known.nnz:
            raise DataError(
                "the validation data has no label of the training data. Check that both spell "
                "labels alike."
            )
        return replace(self, validation=replace(truth, relevant=known, labels=self.labels))

    def named_in(self, labels: LabelSpace) -> Dataset:
        """The same truth in the ids of `labels`; names unknown there get ids after its own."""
        wide = labels.extended_by(self.labels.names)
        new_ids = np.array([wide.id_of[name] for name in self.labels.names], np.int32)
        indices = new_ids[self.relevant.indices]
        relevant = as_csr(csr(self.relevant.data, indices, self.relevant.indptr, len(wide)))
        return replace(self, relevant=relevant, labels=wide, validation=None)


def _stacked(above: Csr, below: Csr) -> Csr:
    width = max(above.shape[1], below.shape[1])
    wide = [csr(part.data, part.indices, part.indptr, width) for part in (above, below)]
    return as_csr(sp.vstack(wide))
