"""Label vectors: a label described by its texts, by the labels it occurs with, or by its text."""

from __future__ import annotations

import re
from urllib.parse import unquote

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, as_csr, kernel_arrays, stacked_rows, unit_rows
from xmtc.core.interfaces import Encoder
from xmtc.core.labels import LabelSpace
from xmtc.core.threads import blocks, in_threads
from xmtc.kernels.sparse_rows import unit_sums

SIGNS = re.compile(r"[\s,.:;\\'/@#?!\[\]&$_*]+")
LABELS_PER_BLOCK = 256  # summed by one thread at a time


def pifa(
    features: Csr, relevant: Csr, weigh_texts: bool = False, max_terms: int | None = None
) -> Csr:
    """The sum of the texts that carry a label, as a unit-length vector.

    features: (texts, features). relevant: (texts, labels).
    weigh_texts: a text with n labels counts 1/√n for each (X-BERT's code, PECOS), instead of 1.
    max_terms: of a label, the largest; None: all.
    Returns (labels, features). A label without texts gets a zero row.
    """
    weights = unit_rows(relevant) if weigh_texts else relevant
    groups = kernel_arrays(as_csr(weights.T))
    rows = kernel_arrays(features)
    width = features.shape[1]
    most = width if max_terms is None else max_terms
    sums = in_threads(
        lambda labels: unit_sums(groups, *labels, rows, width, most),
        blocks(relevant.shape[1], LABELS_PER_BLOCK),
    )
    return stacked_rows(sums, width)


def cooccurrence(relevant: Csr) -> Csr:
    """(labels, labels): how often two labels share a text, rows of unit length, diagonal empty."""
    counts = sp.coo_array(relevant.T @ relevant)
    apart = counts.row != counts.col
    entries = (counts.data[apart], (counts.row[apart], counts.col[apart]))
    return unit_rows(as_csr(sp.coo_array(entries, shape=counts.shape)))


def joint(features: Csr, relevant: Csr) -> Csr:
    """(labels, features + labels): `pifa` and `cooccurrence` concatenated, of equal weight."""
    return unit_rows(as_csr(sp.hstack([pifa(features, relevant), cooccurrence(relevant)])))


def pifa_of_vectors(vectors: Array, relevant: Csr, weigh_texts: bool = False) -> Csr:
    """PIFA-neural: `pifa`, where texts are dense vectors (texts, dim), such as an encoder's."""
    weights = unit_rows(relevant) if weigh_texts else relevant
    return unit_rows(as_csr(weights.T @ vectors))


def from_text(labels: LabelSpace, encoder: Encoder, unit: bool = True) -> Csr:
    """(labels, features): the label texts, encoded as texts are.

    unit: of length 1; False: as the encoder makes them, for Euclidean clusters.
    """
    vectors = as_csr(encoder.encode([labels.text_of(label) for label in range(len(labels))]))
    return unit_rows(vectors) if unit else vectors


def cleaned(labels: LabelSpace) -> LabelSpace:
    """The labels with texts that are words only, as X-BERT cleans them before it reads them.

    %20 and the like become what they stand for; signs become spaces; an empty text becomes <unk>.
    """
    texts = (unquote(labels.text_of(label)) for label in range(len(labels)))
    cleaned_texts = tuple(SIGNS.sub(" ", text).strip() or "<unk>" for text in texts)
    return LabelSpace(labels.names, cleaned_texts)


def filled(vectors: Csr, others: Csr) -> Csr:
    """`vectors`, with its zero rows taken from `others`: labels without texts are placed too."""
    empty = np.diff(vectors.indptr) == 0
    return as_csr(vectors + sp.diags_array(empty.astype(np.float32)) @ others)
