"""xmtc in scikit-learn: `XMTClassifier` fits into pipelines, grid searches and cross-validation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmtc import api
from xmtc.core.arrays import Array, Csr, as_csr
from xmtc.core.config import from_dict, merged
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, MissingExtra
from xmtc.core.interfaces import Model
from xmtc.core.labels import LabelSpace
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.models import catalog

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtra(
        "xmtc.sklearn needs scikit-learn. Install it with: pip install 'xmtc[sklearn]'"
    ) from error


class XMTClassifier(BaseEstimator):  # type: ignore[misc]
    """Any model of xmtc as a scikit-learn classifier.

    X: texts, or a sparse feature matrix. y: a list of label names per text, or a 0/1 matrix.
    `predict` answers in the form that y had; `predict_proba` is sparse, (texts, labels), with the
    scores of the `k` best labels. `svm__cost=2` sets the setting svm.cost of the model.

    It is no `ClassifierMixin`: scikit-learn's splitters refuse lists of names from those.
    """

    def __init__(
        self,
        kind: str = "one_vs_all",
        k: int = 5,
        threshold: float | None = 0.5,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.k = k
        self.threshold = threshold
        self.settings = settings

    def fit(self, X: Any, y: Any) -> XMTClassifier:
        """Train a model."""
        self.named_ = not _is_matrix(y)
        self.model_: Model = api.train(self.kind, _dataset(X, y), self.settings or {})
        self.classes_ = np.array(self.model_.labels.names)
        return self

    def predict(self, X: Any) -> Any:
        """The labels of each text: those at or above the threshold among its k best."""
        ranking = self._rank(X)
        if self.threshold is not None:
            ranking = ranking.above(self.threshold)
        if self.named_:
            return [[name for name, _ in row] for row in ranking.named(self.model_.labels)]
        marked = _sparse(ranking, len(self.classes_))
        marked.data[:] = 1
        return marked.astype(np.int64)

    def predict_proba(self, X: Any) -> Csr:
        """(texts, labels), sparse: the scores of the k best labels, 0 elsewhere."""
        return _sparse(self._rank(X), len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """P@1, from 0 to 1: how often the first label is right."""
        if sample_weight is not None:
            raise DataError("XMTClassifier.score does not weigh texts; leave sample_weight out.")
        check_is_fitted(self, "model_")
        truth = _dataset(X, y, None if self.named_ else self.model_.labels)
        return float(api.evaluate(self.model_, truth, (1,)).metrics["P@1"]) / 100

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; the model's own settings appear as `svm__cost` and the like."""
        params: dict[str, Any] = super().get_params(deep=False)
        return {**params, **_flat(self._config())} if deep else params

    def set_params(self, **params: Any) -> XMTClassifier:
        """Set parameters; names with `__`, or of the model's own settings, go to the model."""
        own = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        nested: dict[str, Any] = self.settings or {}
        for name, value in params.items():
            if name not in own:
                nested = merged(nested, _nested(name.split("__"), value))
        self.settings = nested or None
        self._config()  # so that a misspelt name is refused now
        return self

    def _config(self) -> Any:
        return from_dict(catalog.module_of(self.kind).Config, self.settings or {})

    def _rank(self, X: Any) -> Ranking:
        check_is_fitted(self, "model_")
        return self.model_.rank(_inputs(X), self.k)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def _dataset(X: Any, y: Any, labels: LabelSpace | None = None) -> Dataset:
    inputs = _inputs(X)
    texts, features = ((), inputs) if sp.issparse(inputs) else (inputs, None)
    if _is_matrix(y):
        relevant = as_csr(y if sp.issparse(y) else np.asarray(y))
        labels = labels or LabelSpace(tuple(map(str, range(relevant.shape[1]))))
    else:
        named = Dataset.of([""] * len(y), y)
        relevant = named.relevant
        labels = named.labels
    return Dataset(texts, relevant, labels, features)


def _inputs(X: Any) -> Sequence[str] | Csr:
    if sp.issparse(X):
        return as_csr(X)
    if getattr(X, "ndim", 1) > 1:
        numbers = np.asarray(X)
        if numbers.dtype.kind not in "biuf":
            raise DataError(
                "X has several columns of text; give one list of texts, e.g. frame['text']."
            )
        return as_csr(numbers)
    texts = X if isinstance(X, str) else list(X)
    api.check_texts(texts)
    return texts


def _is_matrix(y: Any) -> bool:
    return sp.issparse(y) or getattr(y, "ndim", 1) == 2 or _is_rows_of_bits(y)


def _is_rows_of_bits(y: Any) -> bool:
    """A 0/1 matrix written as lists: rows of one length, both numbers and nothing else."""
    if not isinstance(y, list) or not y or not all(isinstance(row, list | tuple) for row in y):
        return False
    seen = {value for row in y for value in row if not isinstance(value, str)}
    return len({len(row) for row in y}) == 1 and seen == {0, 1}


def _sparse(ranking: Ranking, labels: int) -> Csr:
    rows, places = np.nonzero(ranking.labels != NO_LABEL)
    columns: Array = ranking.labels[rows, places]
    values = ranking.scores[rows, places]
    return as_csr(sp.coo_array((values, (rows, columns)), shape=(len(ranking), labels)))


def _flat(config: Any, prefix: str = "") -> dict[str, Any]:
    flat = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        name = prefix + field.name
        flat.update(_flat(value, f"{name}__") if dataclasses.is_dataclass(value) else {name: value})
    return flat


def _nested(path: list[str], value: Any) -> dict[str, Any]:
    return {path[0]: _nested(path[1:], value) if path[1:] else value}
