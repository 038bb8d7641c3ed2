"""linear_tree: the terms it reads, its settings and presets; tests/linear holds the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

import xmtc
from xmtc.core.config import from_dict, settings_of, without_effect
from xmtc.data.planted import planted
from xmtc.models import presets
from xmtc.models.linear_tree import LONG, MIN_TERMS, Config, LinearTree

WORDS = [f"word{number}" for number in range(400)]


def _trained(words_per_text: int, **settings: object) -> LinearTree:
    starts = range(0, 200, 2)
    texts = [" ".join(WORDS[start : start + words_per_text]) for start in starts]
    labels = [[f"label{start % 7}"] for start in starts]
    model = xmtc.train("linear_tree", xmtc.Dataset.of(texts, labels), settings)
    assert isinstance(model, LinearTree)
    return model


@pytest.mark.parametrize(("words", "terms"), [(4, MIN_TERMS), (20, LONG * 20), (60, 96), (120, 96)])
def test_long_texts_are_read_in_proportion_to_usual_ones(words: int, terms: int) -> None:
    model = _trained(words, text={"min_df": 1})
    assert model.max_terms == terms
    assert model.encode([" ".join(WORDS[:200])]).nnz == terms


def test_a_usual_text_is_read_whole() -> None:
    model = _trained(20, text={"min_df": 1})
    text = " ".join(WORDS[:20])
    assert model.encode([text]).nnz == 20


def test_without_a_limit_every_term_is_read() -> None:
    model = _trained(4, text={"min_df": 1}, max_terms=None)
    assert model.max_terms is None
    assert model.encode([" ".join(WORDS[:200])]).nnz == 200


def test_a_saved_model_reads_the_same_terms(tmp_path: Path) -> None:
    model = _trained(4, text={"min_df": 1})
    xmtc.save(model, tmp_path / "model")
    loaded = xmtc.load(tmp_path / "model")
    assert isinstance(loaded, LinearTree)
    assert loaded.max_terms == model.max_terms == MIN_TERMS


def _settings(preset: str) -> dict[str, object]:
    values = presets.load(preset).settings
    return {row.name: row.default for row in settings_of(from_dict(Config, values))}


@pytest.mark.parametrize("preset", ["parabel", "bonsai", "xr-linear", "plt"])
def test_presets_have_what_all_published_linear_trees_share(preset: str) -> None:  # spec 2.4, 6
    found = _settings(preset)
    assert (found["svm.tolerance"], found["svm.prune"]) == (0.1, 0.1)
    assert (found["max_terms"], found["published.vector_max_terms"]) == (None, None)
    assert (found["negatives"], found["path_exponent"], found["tree.max_leaf"]) == ("tfn", 1, 100)
    assert list(without_effect(from_dict(Config, presets.load(preset).settings))) == []


@pytest.mark.parametrize(
    ("preset", "method", "arity", "trees", "score", "cost", "iterations"),
    [
        ("parabel", "balanced", 2, 3, "path2", 1, 20),
        ("bonsai", "kmeans", 100, 3, "path2", 1, 20),
        ("xr-linear", "balanced", 16, 1, "path", 1, 100),
        ("plt", "balanced", 2, 1, "probability", 10, 100),
    ],
)
def test_presets_are_the_published_settings(  # spec 6.1, 6.2, 2.4, 6.6
    preset: str, method: str, arity: int, trees: int, score: str, cost: float, iterations: int
) -> None:
    found = _settings(preset)
    assert (found["tree.method"], found["tree.arity"], found["trees"]) == (method, arity, trees)
    assert (found["published.score"], found["svm.cost"]) == (score, cost)
    assert (found["svm.max_iterations"], found["svm.positive_cost"]) == (iterations, 1)
    assert (found["svm.published.loss"] == "logistic") == (preset == "plt")


def test_one_seed_changes_trees_and_classifiers() -> None:
    data = planted(texts=300, labels=60)
    tree = {"max_leaf": 4, "arity": 4}
    first, other = (xmtc.train("linear_tree", data, tree=tree, seed=seed) for seed in (0, 1))
    assert isinstance(first, LinearTree)
    assert isinstance(other, LinearTree)
    assert (first.forests[0].tree.parents[-1] != other.forests[0].tree.parents[-1]).any()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"parents": "file", "tree": {"arity": 4}}, "tree"),
        ({"parents": "file", "published": {"vectors": "text"}}, "published.vectors"),
        ({"tree": {"method": "random"}, "published": {"vectors": "text"}}, "published.vectors"),
        (
            {"tree": {"method": "random"}, "published": {"vector_max_terms": 9}},
            "published.vector_max_terms",
        ),
        ({"published": {"vectors": "text", "vector_max_terms": 9}}, "published.vector_max_terms"),
        ({"published": {"score": "label"}, "path_exponent": 0.4}, "path_exponent"),
        ({"published": {"search": "exact"}, "negatives": "tfn", "beam": 3}, "beam"),
        ({"tree": {"method": "kmeans", "published": {"stop": "gain"}}}, "tree.published.stop"),
        (
            {"text": {"analyzer": "char", "published": {"min_word_length": 3}}},
            "text.published.min_word_length",
        ),
    ],
)
def test_a_setting_that_does_nothing_is_named(changes: dict[str, object], name: str) -> None:
    sentences = list(without_effect(from_dict(Config, changes)))
    assert [sentence.split(" has no effect")[0] for sentence in sentences] == [name]
    assert list(without_effect(Config())) == []
