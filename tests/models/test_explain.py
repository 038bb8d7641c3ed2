"""Explanations add up: bias and words together are the margin that made the score."""

from __future__ import annotations

import json

import click
import numpy as np
import pytest

import xmtc
from xmtc.cli.app import run
from xmtc.cli.explain import _highlighted
from xmtc.data.planted import planted


@pytest.fixture(scope="module", params=["one_vs_all", "linear_tree"])
def model(request):
    settings = {}
    if request.param == "linear_tree":
        settings = {"tree": {"max_leaf": 2, "arity": 2}, "published": {"score": "label"}}
    return xmtc.train(request.param, planted(labels=20), settings)


def test_the_last_margin_is_what_the_score_is_made_of(model):
    for text in planted(labels=20).texts[:20]:
        for explanation in xmtc.explain(model, text, k=4):
            margin = explanation.path[-1].margin
            assert explanation.score == pytest.approx(1 / (1 + np.exp(-margin)), abs=1e-4)


def test_the_words_planted_for_a_label_speak_for_it(model):
    best = xmtc.explain(model, "sign3a sign3b alpha beta", k=1)[0]
    assert best.label == "label 0003"
    assert {term for term, _ in best.path[-1].terms[:2]} == {"sign3a", "sign3b"}
    assert all(weight > 0 for _, weight in best.path[-1].terms[:2])


def test_the_path_leads_from_the_root_to_the_label():
    deep = xmtc.train("linear_tree", planted(labels=20), tree={"max_leaf": 2, "arity": 2})
    assert len(xmtc.explain(deep, "sign3a", k=1)[0].path) == deep.forests[0].tree.depth > 1


def test_a_path_score_is_the_product_along_the_path():
    data = planted(labels=20)
    tree = {"max_leaf": 2, "arity": 2}
    model = xmtc.train("linear_tree", data, tree=tree, path_exponent=0.7)
    for explanation in xmtc.explain(model, data.texts[0], k=3):
        score = 1.0
        for step in explanation.path:
            score = np.exp(-(max(0, 1 - step.margin) ** 3)) * score**0.7
        assert explanation.score == pytest.approx(score, abs=1e-4)


def test_a_model_that_does_not_read_cannot_explain():
    with pytest.raises(
        xmtc.ConfigError, match="most_frequent models cannot be explained"
    ) as caught:
        xmtc.explain(xmtc.train("most_frequent", planted()), "text")
    for kind in ("linear_tree", "one_vs_all", "xr_transformer", "ensemble"):
        assert kind in str(caught.value)
    assert "lightxml" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "unknown words only"])
def test_the_command_says_so_when_no_word_is_known(model, tmp_path, capsys, text):
    xmtc.save(model, tmp_path / "model")
    assert run(["explain", str(tmp_path / "model"), text, "-k", "1"]) == 0
    assert "no word of the text is known here; without any word" in capsys.readouterr().out


def test_the_command_shows_coloured_words_and_json(model, tmp_path, capsys):
    xmtc.save(model, tmp_path / "model")
    assert run(["explain", str(tmp_path / "model"), "sign3a of Alpha", "-k", "1"]) == 0
    output = capsys.readouterr().out
    assert "label 0003" in output
    assert "sign3a +" in output
    assert run(["explain", str(tmp_path / "model"), "sign3a", "--json", "-k", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_word_is_coloured_by_all_that_it_says():
    def painted(word, colour, bold=False):
        return click.style(word, fg=colour, bold=bold)

    weights = {"oil": 1.0, "olive oil": -0.1, "Palm": -0.8, "tree": 0.0}
    found = _highlighted("Oil of palm, Palm\ttree\x1b[2J", weights)
    assert found == (
        f"{painted('Oil', 'green', True)} of palm, {painted('Palm', 'red', True)} tree\ufffd[2J"
    )


def test_parts_of_words_colour_the_words_they_are_in():
    found = _highlighted("olives and oil", {"oliv": 1.0, "oi": -0.2, "nd": 0.1})
    assert found == " ".join(
        [
            click.style("olives", fg="green", bold=True),
            click.style("and", fg="green", bold=False),
            click.style("oil", fg="red", bold=False),
        ]
    )


def test_one_text_is_explained(model):
    with pytest.raises(xmtc.DataError, match="expected one text, got list"):
        xmtc.explain(model, ["sign3a"])


def test_a_text_in_no_encoding_is_explained_and_more_labels_than_there_are(model, tmp_path, capsys):
    xmtc.save(model, tmp_path / "model")
    given = ["explain", str(tmp_path / "model"), "sign3a caf\udce9", "-k", str(10**19)]
    assert run(given) == 0
    assert "sign3a caf\ufffd" in capsys.readouterr().out


def test_several_trees_say_whose_view_it_is():
    three = xmtc.train("linear_tree", planted(labels=20), trees=3)
    assert {each.by for each in xmtc.explain(three, "sign3a", k=1)[0].path} == {"tree 1 of 3"}
