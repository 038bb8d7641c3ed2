"""Long texts by their strongest terms: the others cost time and tell little."""

from __future__ import annotations

import copy

import numpy as np

from xmtc.core.arrays import Csr, kernel_arrays
from xmtc.kernels.sparse_rows import largest_entries


def top_terms(features: Csr, terms: int | None) -> Csr:
    """Every row with its largest `terms` entries; None, or if none has more: the rows themselves.

    Lengths are not made 1 again, so what is left weighs as much as before.
    """
    if terms is None or len(features.data) <= terms:  # in all rows together: quicker to ask
        return features
    if features.shape[0] > 1 and np.diff(features.indptr).max(initial=0) <= terms:
        return features
    shorter = copy.copy(features)  # of the same shape; SciPy's checks would take as long as a text
    indptr, shorter.indices, shorter.data = largest_entries(kernel_arrays(features), terms)
    shorter.indptr = indptr.astype(features.indptr.dtype)
    return shorter
