"""The encoder of a linear model: TF-IDF where there are texts, else the features as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Inputs, unit_rows
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.parts import Parts
from xmtc.text import tfidf
from xmtc.text.tfidf import Tfidf, TfidfConfig


@dataclass(frozen=True)
class GivenFeatures:
    """Passes feature rows on, scaled to length 1; for data sets that come without texts."""

    feature_count: int

    def term(self, column: int) -> str:
        """Given features have no names."""
        return f"#{column}"

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, features), checked."""
        if not sp.issparse(inputs):
            raise DataError(
                "expected a sparse matrix, got texts: this model was trained on features and "
                "cannot read texts. Give features, or train a model on texts."
            )
        return unit_rows(tfidf.checked_features(inputs, self.feature_count))

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """What must be saved."""
        return {f"{prefix}.feature_count": np.array([self.feature_count], np.int64)}


def learn_encoder(dataset: Dataset, config: TfidfConfig) -> tuple[Tfidf | GivenFeatures, Csr]:
    """The encoder that fits the data set, and its texts encoded."""
    if dataset.texts or dataset.features is None:
        return tfidf.learn(dataset.texts, config)
    encoder = GivenFeatures(dataset.features.shape[1])
    return encoder, encoder.encode(dataset.features)


def load_encoder(parts: Parts, prefix: str, config: TfidfConfig) -> Tfidf | GivenFeatures:
    """The encoder that `to_arrays` saved."""
    if f"{prefix}.feature_count" in parts.arrays:
        count = parts.array(f"{prefix}.feature_count", np.int64, (1,))
        if not 0 <= count[0] < 1 << 31:
            raise DataError(f"expected a number of features, got {count[0]}")
        return GivenFeatures(int(count[0]))
    return Tfidf.from_parts(parts, prefix, config)
