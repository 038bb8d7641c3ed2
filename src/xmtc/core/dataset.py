"""Dataset: texts, the labels relevant to each, and what the labels are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Inputs, Ints, Longs, as_csr, csr, csr_of_rows, label_counts
from xmtc.core.digest import digest
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.core.provenance import Provenance

OTHER_TEXT_COLUMNS = ("document", "abstract")  # where there is neither text nor title nor content
LABEL_COLUMNS = ("labels", "label", "target_ind", "tags", "subjects")


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
        object.__setattr__(self, "relevant", _ones(self.relevant))
        rows, columns = self.relevant.shape
        if columns != len(self.labels):
            raise DataError(f"{columns} label columns but {len(self.labels)} label names")
        if len(self.texts) not in (rows, 0) or (rows and not self.texts and self.features is None):
            raise DataError(f"{len(self.texts)} texts but {rows} rows of labels")
        if self.features is not None and self.features.shape[0] != rows:
            raise DataError(f"{self.features.shape[0]} feature rows but {rows} rows of labels")
        if self.validation is not None and self.validation.labels != self.labels:
            raise DataError("validation data in another label space; give it to `with_validation`")

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
        if isinstance(texts, str):
            raise DataError("Dataset.of takes a list of texts; put the one text into a list")
        if labels is None:
            texts, labels = _columns(texts, text_column, label_column)
        if label_separator:
            labels = (_cut(row, label_separator) for row in labels)
        texts = list(texts)
        named = [_names(row, place) for place, row in enumerate(labels)]
        _check_rows(texts, named)
        space = LabelSpace(tuple(sorted({name for row in named for name in row})))
        if label_texts:
            space = space.with_texts(label_texts)
        rows = [[space.id_of[name] for name in row] for row in named]
        return Dataset(texts, csr_of_rows(rows, len(space)), space)

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
        sha = hashlib.sha256()
        names = self.labels.names
        indptr, indices = self.relevant.indptr, self.relevant.indices
        for row in range(len(self)):
            text = self.texts[row] if self.texts else ""
            relevant = indices[indptr[row] : indptr[row + 1]]
            parts = [text, *sorted(names[label] for label in relevant)]
            sha.update(
                "".join(f"{len(part)}:{part}" for part in parts).encode(errors="surrogatepass")
            )
            sha.update(b"\n")
        if not self.texts and self.features is not None:
            features = self.features
            sha.update(digest(features.indptr, features.indices, features.data).encode())
        return sha.hexdigest()

    def trained_on(self) -> TrainedOn:
        """How many texts there are, and how many carry each label."""
        return TrainedOn(len(self), label_counts(self.relevant))

    def take(self, rows: Ints | Longs | Sequence[int]) -> Dataset:
        """The texts at these positions, in this order; the label space stays."""
        if np.asarray(rows).dtype == bool:
            raise DataError("take wants positions, not a mask; use np.flatnonzero(mask)")
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
            raise DataError(f"cannot split off a share of {share}; choose one between 0 and 1")
        if len(self) < 2:
            raise DataError(f"cannot split {len(self)} texts in two; give at least 2")
        order = np.random.default_rng(seed).permutation(len(self))
        held_out = min(max(1, round(share * len(self))), len(self) - 1)
        return np.sort(order[held_out:]), np.sort(order[:held_out])

    def concat(self, other: Dataset) -> Dataset:
        """These texts and then the other's; labels that only the other has come last."""
        labels = self.labels.extended_by(other.labels.names)
        mine = self.named_in(labels)
        theirs = other.named_in(labels)
        return Dataset(
            [*self.texts, *other.texts],
            _stacked(mine.relevant, theirs.relevant),
            labels,
            None
            if self.texts or self.features is None or other.features is None
            else _stacked(self.features, other.features),
        )

    def with_validation(self, validation: Dataset) -> Dataset:
        """The same, with texts that trainings choose by and do not learn from.

        Labels that are not of this set are left out there: no model of it can find them.
        """
        mine, theirs = ("texts" if each.texts else "features" for each in (self, validation))
        if mine != theirs:
            raise DataError(f"the training data has {mine}, the validation data {theirs}.")
        truth = validation.named_in(self.labels)
        known = as_csr(truth.relevant[:, : len(self.labels)])
        if not known.nnz:
            raise DataError(
                "no text of the validation data has a label of the training data; there is nothing "
                "to choose by. Labels must be called the same in both."
            )
        return replace(self, validation=replace(truth, relevant=known, labels=self.labels))

    def named_in(self, labels: LabelSpace) -> Dataset:
        """The same truth in the ids of `labels`; names unknown there get ids after its own."""
        wide = labels.extended_by(self.labels.names)
        new_ids = np.array([wide.id_of[name] for name in self.labels.names], np.int32)
        indices = new_ids[self.relevant.indices]
        relevant = as_csr(csr(self.relevant.data, indices, self.relevant.indptr, len(wide)))
        return replace(self, relevant=relevant, labels=wide, validation=None)


def _ones(relevant: Csr) -> Csr:
    """Sorted, without repeats and without zeros, whoever made it; the caller's stays as it is."""
    clean = as_csr(relevant)
    if (clean.data == 0).any():
        clean = clean.copy()
        clean.eliminate_zeros()
    return clean


def _stacked(above: Csr, below: Csr) -> Csr:
    width = max(above.shape[1], below.shape[1])
    wide = [csr(part.data, part.indices, part.indptr, width) for part in (above, below)]
    return as_csr(sp.vstack(wide))


def text_fields(names: Iterable[str], asked: str | None) -> tuple[str, ...]:
    """The field that holds the text, or `title` and `content`, which are read as one text."""
    known = list(names)
    if asked is not None:
        return (asked,) if asked in known else ()
    if "text" in known:
        return ("text",)
    both = tuple(name for name in ("title", "content") if name in known)
    return both or tuple(name for name in OTHER_TEXT_COLUMNS if name in known)[:1]


def _columns(table: Any, text: str | None, label: str | None) -> tuple[list[str], list[Any]]:
    names = getattr(table, "column_names", None)
    names = names if isinstance(names, list) else getattr(table, "columns", None)
    if names is None:
        raise DataError(
            f"Dataset.of got a {type(table).__name__} and no labels. Give texts and a list of "
            "labels for each, or a pandas, polars or Hugging Face table."
        )
    names = [str(name) for name in names]
    fields = text_fields(names, text)
    label_name = next(
        (name for name in ((label,) if label else LABEL_COLUMNS) if name in names), ""
    )
    if not fields or not label_name:
        missing = ("labels", label, "label_column") if fields else ("text", text, "text_column")
        raise DataError(
            f"no column {missing[1] or missing[0]!r} among {', '.join(names)}. "
            f"Pass {missing[2]}=..."
        )
    decode = _class_names(table, label_name)
    rows = [_decoded(r, decode) for r in table[label_name]] if decode else list(table[label_name])
    cells = zip(*(table[field] for field in fields), strict=True)
    return [_joined(parts) for parts in cells], rows


def _joined(parts: tuple[Any, ...]) -> Any:
    """Title and content as one text; what is not a string is left for the check to name."""
    odd = [part for part in parts if not isinstance(part, str)]
    return odd[0] if odd else " ".join(part for part in parts if part)


def _class_names(table: Any, column: str) -> list[str]:
    """Hugging Face keeps class names beside integer columns; other tables have none."""
    features = getattr(table, "features", None)
    feature = features.get(column) if isinstance(features, dict) else None
    feature = getattr(feature, "feature", feature)
    return list(getattr(feature, "names", None) or [])


def _decoded(row: Any, class_names: list[str]) -> list[str]:
    return [class_names[number] for number in _many(row) if number >= 0]  # -1: not labelled


def _many(row: Any) -> Iterable[Any]:
    if row is None or (isinstance(row, float) and np.isnan(row)):  # how tables say "missing"
        return []
    return [row] if isinstance(row, str | int | np.integer) else row


def _cut(row: Any, separator: str) -> Any:
    """ "trade; fish" -> ["trade", "fish"]; what is not a string stays as it is."""
    if not isinstance(row, str):
        return row
    return [name for name in map(str.strip, row.split(separator)) if name]


def _names(row: Any, position: int) -> list[str]:
    row = _many(row)
    if isinstance(row, Iterable) and not isinstance(row, bytes):
        names = list(row)
        if all(isinstance(name, str | int | np.integer) for name in names):
            return [str(name) for name in names]
    raise DataError(
        f"the labels of text {position} are {row!r:.60}, not names. Give each text a list of "
        "strings; [] where it has none."
    )


def _check_rows(texts: list[Any], named: list[list[str]]) -> None:
    if len(texts) != len(named):
        raise DataError(f"{len(texts)} texts but labels for {len(named)}. Give each text a list.")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"text {position} is {type(text).__name__} ({text!r:.40}), not a string. "
                'Replace missing texts by "" or drop the row.'
            )
