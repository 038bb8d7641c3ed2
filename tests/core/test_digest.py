"""The fingerprint: equal for equal content, different for everything else."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from xmtc.core.digest import digest, digest_of_file, digest_of_texts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(values, values)
def test_different_values_have_different_digests(first, second):
    assume(repr(first) != repr(second))
    assume(not (isinstance(first, dict) and first == second))  # in another order
    assert digest(first) != digest(second)


@given(st.dictionaries(st.text(), st.integers()))
def test_the_order_of_a_dict_does_not_matter(items):
    assert digest(dict(reversed(items.items()))) == digest(items)


@given(st.lists(st.text()), st.lists(st.text()))
def test_texts_differ_where_their_limits_do(first, second):
    assume(first != second)
    assert digest_of_texts(first) != digest_of_texts(second)


@pytest.mark.parametrize(
    "other",
    [
        np.arange(6, dtype=np.int64),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.arange(1, 7, dtype=np.int32),
    ],
)
def test_arrays_differ_by_type_shape_and_values(other):
    assert digest(np.arange(6, dtype=np.int32)) != digest(other)
    assert digest(other) == digest(np.asfortranarray(other))


def test_half_characters_have_a_digest_too():
    assert digest("\ud800") != digest("\ud801")
    assert digest_of_texts(["\ud800"]) != digest_of_texts(["\ud801"])


def test_a_files_digest_is_its_sha256(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * (3 << 20))
    assert digest_of_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
