"""The heaviest terms of long texts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.arrays import as_csr
from xmtc.text.top_terms import top_terms


@given(st.integers(0, 999), st.integers(1, 9))
def test_the_largest_stay_in_their_places_and_of_equals_the_first(seed, terms):
    rows = np.random.default_rng(seed).integers(-3, 4, (6, 9)).astype(np.float32)
    order = np.argsort(-np.abs(rows), axis=1, kind="stable")
    stays = np.argsort(order, axis=1) < terms
    found = top_terms(as_csr(rows), terms)
    assert (found.toarray() == rows * stays).all()
    assert found.has_sorted_indices


def test_short_texts_are_not_copied():
    rows = as_csr(np.eye(4))
    assert top_terms(rows, 1) is rows
    assert top_terms(rows, None) is rows
