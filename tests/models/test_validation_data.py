"""Given validation data: kinds select by it and are not trained on it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import xmtc
from quick import quick_settings, tiny_bert, training_config
from xmtc.core.config import merged
from xmtc.core.run import training_key
from xmtc.data.planted import planted
from xmtc.models.auto import search as auto
from xmtc.models.auto.probes import LearningSpeed
from xmtc.models.holdout import split_validation

NEURAL = ("lightxml", "gudn", "aplc", "xbert", "xr_transformer", "xml_cnn", "label_attention")
DATA = planted(texts=80, labels=8)


def dev(texts=20):
    """Texts of their own, each with a word and a label that training does not have."""
    fresh = planted(texts=texts, labels=8, seed=3)
    named = [[fresh.labels.names[label] for label in row.indices] for row in fresh.relevant]
    return xmtc.Dataset.of(
        [f"{text} unheard" for text in fresh.texts], [[*row, "a new label"] for row in named]
    )


def settings_of(kind):
    made = quick_settings(kind)
    return {**made, "training": {**made["training"], "epochs": 2}}  # which hold nothing out


@pytest.mark.parametrize("kind", NEURAL)
def test_checkpoints_are_chosen_by_it_and_all_other_texts_are_trained_on(kind, tmp_path):
    model = xmtc.train(kind, DATA, settings_of(kind), validation=dev(), run=tmp_path)
    assert model.trained_on.texts == len(DATA)
    assert model.labels.names == DATA.labels.names
    lines = [
        json.loads(line)
        for path in tmp_path.rglob("log.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert any("P@5" in line or "P@5" in line.get("figures", {}) for line in lines)
    if hasattr(model, "words"):
        columns = range(model.words.feature_count)
        assert "unheard" not in {model.words.term(column) for column in columns}


def test_it_is_taken_whole_whatever_share_the_settings_hold_out():
    dataset = DATA.with_validation(dev())
    for share in (None, 0.5):
        train, held_out = split_validation(dataset, training_config(validation=share))
        assert train is dataset
        assert held_out is dataset.validation
        assert held_out.labels == DATA.labels
    assert len(held_out) == 20
    assert held_out.relevant.shape[1] == len(DATA.labels)
    split_validation(dataset, training_config(schedule="plateau"))  # has what it waits for


def test_a_run_with_other_validation_data_is_another_run():
    keys = {
        training_key({}, data)
        for data in (DATA, DATA.with_validation(dev()), DATA.with_validation(dev(21)))
    }
    assert len(keys) == 3


def test_auto_compares_kinds_by_it_and_trains_on_all_else(monkeypatch):
    monkeypatch.setattr(auto, "learning_speed", lambda *_: LearningSpeed(0.0, 1e-6, 1e-6))
    encoder = f"encoder.name={tiny_bert()} encoder.max_tokens=16 encoder.trainable_layers=none"
    levels = "levels.arity=4 levels.max_leaf=3"
    optimizer = "training.optimizer.encoder_lr=3e-3 training.optimizer.head_lr=2e-2"
    config = auto.Config(
        max_epochs=1,
        max_validation_texts=12,
        overrides=(f"xr_transformer {encoder} {levels}", f"lightxml {encoder} {optimizer}"),
    )
    made = auto.choose(DATA.with_validation(dev()), config)
    assert "on 12 texts that no model was trained on" in made.why
    assert "were trained on them" not in made.why
    assert made.model.trained_on.texts == len(DATA)
    assert {each.name for each in made.tried if each.figures} >= {
        auto.TREE,
        auto.FROZEN,
        *auto.FINE_TUNED,
    }


def test_an_ensemble_learns_its_weights_from_it():
    kinds = {"members": ["most_frequent", "one_vs_all"], "how": "rank_average", "metric": "P@1"}
    equal = xmtc.train("ensemble", DATA, kinds)
    learned = xmtc.train("ensemble", DATA, kinds, validation=dev())
    assert equal.weights.tolist() == [0.5, 0.5]
    assert [member.kind for member in learned.members] == ["one_vs_all"]
    given = xmtc.train("ensemble", DATA, kinds, weights=[0.9, 0.1], validation=dev())
    assert np.allclose(given.weights, [0.9, 0.1])


@pytest.mark.parametrize("kind", ["linear_tree", "one_vs_all", "most_frequent"])
def test_kinds_without_validation_refuse_it(kind):
    with pytest.raises(xmtc.ConfigError, match=r"does not use validation data.*lightxml.*auto"):
        xmtc.train(kind, DATA, validation=dev())


@pytest.mark.parametrize(
    ("kind", "how", "setting"),
    [
        ("xbert", {"encoder": None}, "encoder=none"),
        ("xr_transformer", {"training": {"epochs": 0}}, "training.epochs=0"),
    ],
)
def test_settings_that_use_no_validation_data_are_named_in_a_warning(kind, how, setting, caplog):
    how = merged(quick_settings(kind), how)
    model = xmtc.train(kind, DATA, how, validation=dev())
    assert f"{setting} does not use validation data" in caplog.text
    caplog.clear()
    alone = xmtc.train(kind, DATA, how)
    assert "validation" not in caplog.text
    assert np.array_equal(model.rank(DATA.texts, 5).scores, alone.rank(DATA.texts, 5).scores)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (
            lambda: xmtc.Dataset.of(["a"], [["unknown label"]]),
            "the validation data has no label of the training data",
        ),
        (lambda: planted(texts=20, labels=8).texts, "validation: expected a Dataset, got list"),
        (lambda: xmtc.Dataset((), DATA.relevant, DATA.labels, DATA.relevant), "data features"),
    ],
)
def test_unusable_validation_data_is_refused(validation, message):
    with pytest.raises(xmtc.DataError, match=message):
        xmtc.train("ensemble", DATA, validation=validation())


def test_xbert_takes_no_matcher_that_knows_other_clusters(tmp_path):
    train, held_out = DATA.split(0.25, seed=0)
    how = settings_of("xbert")
    how["training"] |= {"validation": 0.25, "seed": 0}
    xmtc.train("xbert", DATA, how, run=tmp_path)
    assert len(list(tmp_path.rglob("matcher-*.safetensors"))) == 1
    # The same training and validation texts, but now labels are clustered without the latter.
    xmtc.train("xbert", train, how, validation=held_out, run=tmp_path / "other")
    names = {path.name for path in tmp_path.rglob("matcher-*.safetensors")}
    assert len(names) == 2
