"""Label vectors: a label described by its texts, by the labels beside it, or by its own text."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, as_csr, unit_rows
from xmtc.core.interfaces import Encoder
from xmtc.core.labels import LabelSpace


def pifa(features: Csr, relevant: Csr, weigh_texts: bool = False) -> Csr:
    """The sum of the texts that carry a label, as a unit-length vector.

    features: (texts, features). relevant: (texts, labels).
    weigh_texts: a text with n labels counts 1/√n for each (X-BERT's code, PECOS), instead of 1.
    Returns (labels, features). A label without texts gets a zero row.
    """
    weights = unit_rows(relevant) if weigh_texts else relevant
    return unit_rows(as_csr(weights.T @ features))


def cooccurrence(relevant: Csr) -> Csr:
    """(labels, labels): how often two labels share a text, rows of unit length, diagonal empty."""
    together = sp.coo_array(relevant.T @ relevant)
    apart = together.row != together.col
    entries = (together.data[apart], (together.row[apart], together.col[apart]))
    return unit_rows(as_csr(sp.coo_array(entries, shape=together.shape)))


def joint(features: Csr, relevant: Csr) -> Csr:
    """(labels, features + labels): `pifa` and `cooccurrence` side by side, of equal weight."""
    return unit_rows(as_csr(sp.hstack([pifa(features, relevant), cooccurrence(relevant)])))


def from_text(labels: LabelSpace, encoder: Encoder) -> Csr:
    """(labels, features): what the labels say, in the terms of the texts' own encoder."""
    said = [labels.text_of(label) for label in range(len(labels))]
    return unit_rows(as_csr(encoder.encode(said)))


def filled(vectors: Csr, others: Csr) -> Csr:
    """`vectors`, with its zero rows taken from `others`: labels without texts are placed too."""
    empty = np.diff(vectors.indptr) == 0
    return as_csr(vectors + sp.diags_array(empty.astype(np.float32)) @ others)
