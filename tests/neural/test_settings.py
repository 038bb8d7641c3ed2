"""Settings of neural kinds: how many are shown, which combinations have no effect, presets."""

from __future__ import annotations

from dataclasses import replace

import pytest

import xmtc
from quick import training
from xmtc.core.config import from_dict, merged, settings_of, without_effect
from xmtc.data.planted import planted
from xmtc.models import presets
from xmtc.models.catalog import module_of
from xmtc.models.holdout import split_validation

KINDS = ("lightxml", "gudn", "aplc", "xml_cnn", "label_attention")


def config(kind, **changes):
    return from_dict(module_of(kind).Config, changes)


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_thirty_settings_are_shown_and_all_have_help(kind):
    rows = list(settings_of(config(kind)))
    assert sum(not row.published for row in rows) <= 30
    assert all(row.about for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_have_an_effect(kind):
    assert not list(without_effect(config(kind)))


def test_presets_have_an_effect(caplog):
    for name in presets.names():
        preset = presets.load(name)
        settings = config(preset.kind, **preset.settings)
        assert not list(without_effect(settings)), name
        if preset.kind in (*KINDS, "xbert", "xr_transformer"):
            split_validation(planted(texts=200), settings.training)
    assert not caplog.messages


@pytest.mark.parametrize(
    ("kind", "changes", "named"),
    [
        (
            "lightxml",
            {"encoder": {"published": {"cls_position": "first"}}},
            "encoder.published.cls",
        ),
        (
            "lightxml",
            {"encoder": {"max_chunks": 2, "published": {"long_texts": "head_tail"}}},
            "encoder.published.long_texts",
        ),
        (
            "lightxml",
            {"encoder": {"trainable_layers": None, "published": {"frozen_cache": None}}},
            "encoder.published.frozen_cache",
        ),
        (
            "lightxml",
            {"encoder": {"trainable_layers": 0}, "training": training(encoder_lr=1e-3)},
            "training.optimizer.encoder_lr",
        ),
        ("lightxml", {"training": training(epochs=0, encoder_lr=1e-3)}, "training.optimizer."),
        (
            "lightxml",
            {"training": training(dropout_off_after_validation=True)},
            "training.published.dropout_off",
        ),
        (
            "gudn",
            {"guides": {"published": {"labels_as": "one_hot", "order": "shuffled"}}},
            "guides.published.order",
        ),
        (
            "gudn",
            {"guides": {"published": {"feature_weight": 0.0, "distance": "paper"}}},
            "guides.published.distance",
        ),
        (
            "gudn",
            {
                "guides": {
                    "label_text": "both",
                    "published": {"feature_weight": 0.0, "link_weight": 0.0},
                }
            },
            "guides.label_text",
        ),
        ("aplc", {"clusters": (0.3, 0.7), "published": {"cuts": (5,)}}, "clusters"),
        ("label_attention", {"encoder": {"pooling": "max"}}, "encoder.pooling"),
        ("label_attention", {"arity": 4}, "arity"),
        (
            "label_attention",
            {"encoder": {"type": "pretrained", "published": {"pooled_layers": 2}}},
            "encoder.published.pooled_layers",
        ),
        ("xml_cnn", {"training": training(epochs=0, head_lr=0.1)}, "training.optimizer.head_lr"),
        (
            "xml_cnn",
            {"training": training(epochs=0, warmup_epochs=0, patience=7)},
            "training.patience",
        ),
        *(
            ("xr_transformer", {"training": training(epochs=0, **{name: value})}, f"training.{at}")
            for name, value, at in (
                ("batch_size", 7, "batch_size"),
                ("head_lr", 0.1, "optimizer.head_lr"),
                ("warmup", 0.3, "schedule"),
                ("metric", "P@1", "metric"),
            )
        ),
        ("ensemble", {"how": "round_robin", "missing": "zero"}, "missing"),
        ("ensemble", {"how": "rank_average", "missing": "zero"}, "missing"),
    ],
)
def test_settings_without_effect_are_named(kind, changes, named):
    found = list(without_effect(config(kind, **changes)))
    assert len(found) == 1
    assert found[0].startswith(named)


@pytest.mark.parametrize("kind", [*KINDS, "xbert", "xr_transformer"])
@pytest.mark.parametrize(
    ("name", "value"), [("metric", "P@3"), ("patience", 7), ("validate_every", 5)]
)
def test_settings_of_validation_are_reported_where_there_is_none(kind, name, value, caplog):
    changed = config(kind, training=training(**{name: value})).training
    split_validation(planted(texts=10), config(kind).training)
    split_validation(planted(texts=10), replace(changed, validation=0.5))
    assert not caplog.messages
    split_validation(planted(texts=10), changed)
    (message,) = caplog.messages
    assert message.startswith("training.")
    assert message.endswith(f"{name} has no effect: there is no validation data.")


def test_the_metric_of_an_ensemble_is_reported_where_there_is_no_validation_data(caplog):
    data = planted(texts=40, labels=4)
    members = ["most_frequent", "most_frequent"]
    xmtc.train("ensemble", data, members=members, metric="P@1", validation=0.5)
    xmtc.train("ensemble", data, members=members)
    assert not caplog.messages
    xmtc.train("ensemble", data, members=members, metric="P@1")
    assert caplog.messages == ["metric has no effect: there is no validation data."]


def test_an_own_encoder_is_a_type_and_keeps_no_settings_of_the_pretrained_one():
    encoder = config("lightxml", encoder="bilstm").encoder
    assert (encoder.TYPE, encoder.embedding_dim) == ("bilstm", 128)
    with pytest.raises(xmtc.ConfigError, match=r"no setting 'encoder\.trainable_layers'"):
        config("lightxml", encoder={"type": "bilstm", "trainable_layers": 2})
    changed = merged({"encoder": {"name": "minilm"}}, {"encoder": "cnn"})
    assert config("lightxml", **changed).encoder.TYPE == "cnn"


@pytest.mark.parametrize(
    ("kind", "encoder"), [("gudn", "bilstm"), ("xml_cnn", "cnn"), ("label_attention", "xttention")]
)
def test_a_kind_takes_only_encoders_that_work_for_it(kind, encoder):
    with pytest.raises(xmtc.ConfigError, match="encoder"):
        config(kind, encoder=encoder)
