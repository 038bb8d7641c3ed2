"""Long texts by their heaviest terms: the others cost time and say little."""

from __future__ import annotations

import copy

import numpy as np

from xmtc.core.arrays import Csr, kernel_arrays
from xmtc.kernels.sparse_rows import largest_entries


def top_terms(features: Csr, max_terms: int | None) -> Csr:
    """Every row with its largest entries, at most `max_terms` (None: all). They stay as they are:
    the rows do not get unit length again."""
    if max_terms is None or len(features.data) <= max_terms:  # in all rows together: quicker to ask
        return features
    if features.shape[0] > 1 and np.diff(features.indptr).max(initial=0) <= max_terms:
        return features
    shorter = copy.copy(features)  # of the same shape; SciPy's checks would take as long as a text
    indptr, shorter.indices, shorter.data = largest_entries(kernel_arrays(features), max_terms)
    shorter.indptr = indptr.astype(features.indptr.dtype)
    return shorter
