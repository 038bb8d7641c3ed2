"""Joined features: the words of a text beside what an encoder makes of it.

A linear classifier then weighs both: words that it saw, and meaning that the encoder knew before.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, as_csr, unit_rows


def concat(words: Csr, vectors: Floats, whole: bool = True, weight: float = 1.0) -> Csr:
    """(texts, features + dim): `words`, and behind them `vectors` (texts, dim).

    Each of the two blocks is brought to length 1, so that neither drowns the other. whole: then the
    joined rows too, as X-Transformer does; False: as XR-Transformer does, where both count more.
    weight: the length of the second block beside the first.
    """
    blocks = [unit_rows(words), as_csr(unit(vectors) * np.float32(weight))]
    rows = as_csr(sp.hstack(blocks, format="csr"))
    return unit_rows(rows) if whole else rows


def unit(vectors: Array) -> Floats:
    """Every row scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled
