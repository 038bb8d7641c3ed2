"""What linear_tree reads of a text; the contract suite and tests/linear hold the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

import xmtc
from xmtc.models.linear_tree import LONG, MIN_TERMS, LinearTree

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
