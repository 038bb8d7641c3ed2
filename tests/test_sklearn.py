"""XMTClassifier lives in scikit-learn: pipelines, clone, grid search, cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

import xmtc
from xmtc.data.planted import planted
from xmtc.sklearn import XMTClassifier


@pytest.fixture(scope="module")
def texts():
    return np.array(planted().texts, dtype=object)


@pytest.fixture(scope="module")
def named():
    dataset = planted()
    rows = np.empty(len(dataset), dtype=object)
    for i in range(len(dataset)):
        ids = dataset.relevant.indices[dataset.relevant.indptr[i] : dataset.relevant.indptr[i + 1]]
        rows[i] = [dataset.labels.names[j] for j in ids]
    return rows


def test_names_in_names_out(texts, named):
    model = XMTClassifier(k=5).fit(texts, named)
    predicted = model.predict(texts)
    right = np.mean([set(a) == set(b) for a, b in zip(predicted, named, strict=True)])
    assert right > 0.9
    assert model.score(texts, named) == 1.0
    assert set(model.classes_) == {name for row in named for name in row}


def test_a_matrix_in_a_matrix_out(texts, named):
    matrix = MultiLabelBinarizer().fit_transform(named)
    model = XMTClassifier().fit(texts, matrix)
    predicted = model.predict(texts)
    assert predicted.shape == matrix.shape
    assert (predicted.toarray() == matrix).mean() > 0.95
    proba = model.predict_proba(texts)
    assert proba.shape == matrix.shape
    assert 0 < proba.data.min() <= proba.data.max() <= 1
    assert model.score(texts, matrix) == 1.0


def test_it_sits_at_the_end_of_a_pipeline(texts, named):
    pipeline = make_pipeline(TfidfVectorizer(), XMTClassifier())
    pipeline.fit(texts, named)
    assert pipeline.score(texts, named) > 0.95


def test_a_clone_has_the_parameters_and_no_model(texts, named):
    original = XMTClassifier(k=3, settings={"svm": {"cost": 2}}).fit(texts, named)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert copy.get_params()["svm__cost"] == 2
    with pytest.raises(NotFittedError):
        copy.predict(texts)


def test_cross_validation(texts, named):
    matrix = MultiLabelBinarizer().fit_transform(named)
    assert cross_val_score(XMTClassifier(), texts, named, cv=3).mean() > 0.9
    assert cross_val_score(XMTClassifier(), list(texts), list(named), cv=3).mean() > 0.9
    assert cross_val_score(XMTClassifier(), texts, matrix, cv=3).mean() > 0.9
    assert cross_val_score(XMTClassifier(), texts, matrix, cv=3, scoring="f1_micro").mean() > 0.9


def test_grid_search_reaches_the_settings_of_the_model(texts, named):
    grid = GridSearchCV(XMTClassifier(), {"svm__cost": [1e-6, 1.0], "text__min_df": [1]}, cv=3)
    grid.fit(texts, named)
    assert grid.best_params_["svm__cost"] == 1.0
    assert grid.best_estimator_.model_.config.svm.cost == 1.0


def test_an_unknown_parameter_is_refused_with_a_hint(texts, named):
    with pytest.raises(xmtc.ConfigError, match=r"did you mean 'svm\.cost'"):
        XMTClassifier().set_params(svm__costs=1).fit(texts, named)


def test_the_kind_is_a_parameter_like_any_other(texts, named):
    model = XMTClassifier().set_params(kind="most_frequent", k=1, threshold=None).fit(texts, named)
    assert model.predict(texts[:2]) == [["label 0000"]] * 2


def test_lists_of_bits_and_frames_are_matrices(texts, named):
    matrix = MultiLabelBinarizer().fit_transform(named)
    expected = XMTClassifier().fit(texts, matrix).predict(texts).toarray()
    for written in (matrix.tolist(), pd.DataFrame(matrix)):
        assert (XMTClassifier().fit(texts, written).predict(texts).toarray() == expected).all()


@pytest.mark.parametrize("bad", ["one string", [None], np.array([["a", "b"]])], ids=str)
def test_what_is_not_texts_is_refused(texts, named, bad):
    model = XMTClassifier().fit(texts, named)
    with pytest.raises(xmtc.DataError):
        model.predict(bad)


def test_a_misspelt_parameter_is_refused_at_once():
    with pytest.raises(xmtc.ConfigError, match="no setting 'foo'"):
        XMTClassifier().set_params(foo=3)
