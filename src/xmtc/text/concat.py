"""Concatenated features: the terms of a text and, behind them, its vector by an encoder.

A linear classifier then weighs both: terms that it saw, and meaning that the encoder knows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, as_csr, unit_rows


def concat(terms: Csr, vectors: Floats, whole: bool = True, weight: float = 1.0) -> Csr:
    """(texts, features) and (texts, dim) -> (texts, features + dim).

    Each of the two blocks has unit length, so that neither drowns the other. whole: the
    concatenated rows too, as in X-Transformer; not in XR-Transformer, where both count more.
    weight: the length of the vector, that of the terms being 1.
    """
    blocks = [unit_rows(terms), as_csr(unit(vectors) * np.float32(weight))]
    rows = as_csr(sp.hstack(blocks, format="csr"))
    return unit_rows(rows) if whole else rows


def unit(vectors: Array) -> Floats:
    """Every row scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled
