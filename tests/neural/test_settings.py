"""Settings of neural kinds: how many are shown, which combinations have no effect, presets."""

from __future__ import annotations

import pytest

import xmtc
from quick import training
from xmtc.core.config import from_dict, merged, settings_of, without_effect
from xmtc.models import presets
from xmtc.models.catalog import module_of

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


def test_presets_have_an_effect():
    for name in presets.names():
        preset = presets.load(name)
        if preset.kind in KINDS:
            assert not list(without_effect(config(preset.kind, **preset.settings))), name


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
    ],
)
def test_settings_without_effect_are_named(kind, changes, named):
    found = list(without_effect(config(kind, **changes)))
    assert len(found) == 1
    assert found[0].startswith(named)


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
