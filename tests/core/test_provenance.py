"""A fingerprint tells the same data from changed data; provenance comes back from its folder."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from xmtc.api import remember
from xmtc.core.provenance import Provenance, provenance_from_dict
from xmtc.data.planted import planted

ROWS = st.lists(st.tuples(st.text(), st.sets(st.text(max_size=3), max_size=3)), min_size=1)


def of(rows):
    return xmtc.Dataset.of([text for text, _ in rows], [sorted(names) for _, names in rows])


@given(ROWS, st.randoms())
def test_the_numbers_of_the_labels_do_not_matter(rows, random):
    data = of(rows)
    names = list(data.labels.names)
    random.shuffle(names)
    assert data.named_in(xmtc.LabelSpace(tuple(names))).fingerprint == data.fingerprint


@given(ROWS, ROWS)
def test_other_texts_or_labels_have_another_fingerprint(rows, others):
    assert (of(rows).fingerprint == of(others).fingerprint) == (rows == others)


@given(ROWS, ROWS)
def test_merged_data_is_one_after_the_other(rows, others):
    assert of(rows).concat(of(others)).fingerprint == of(rows + others).fingerprint


def test_features_count_where_there_are_no_texts():
    first = planted(texts=20, labels=3)
    features = first.relevant * np.float32(2)
    given_features = xmtc.Dataset((), first.relevant, first.labels, features)
    other = replace(given_features, features=features * np.float32(2))
    assert given_features.fingerprint != other.fingerprint
    assert given_features.concat(other).features.shape == (40, 3)


@given(
    st.builds(Provenance, path=st.text(), format=st.none() | st.text(), texts=st.integers(0, 99))
)
def test_provenance_comes_back_from_its_dict(source):
    assert provenance_from_dict(asdict(source)) == source


@pytest.mark.parametrize("values", [3, None, [], {"path": 3}, {"texts": "many"}, {"run": "rm"}])
def test_provenance_of_the_wrong_form_is_refused(values):
    with pytest.raises(xmtc.ConfigError):
        provenance_from_dict(values)


@pytest.mark.parametrize("kind", ["most_frequent", "linear_tree", "one_vs_all"])
def test_a_saved_model_remembers_its_sources(kind, tmp_path):
    sources = (
        Provenance(path="/a", texts=20, sha256="x"),
        Provenance(path="/b\udc80", split="test", label_separator=""),
    )
    model = remember(xmtc.train(kind, planted(texts=20, labels=3)), sources)
    xmtc.save(model, tmp_path / "model")
    assert xmtc.load(tmp_path / "model").trained_on.sources == sources
