"""Settings of all kinds: few are shown, all are explained, and presets are settings like others."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from math import inf
from typing import get_args, get_origin, get_type_hints

import pytest

from quick import preset
from xmtc.api import resolve
from xmtc.core import config
from xmtc.core.errors import ConfigError
from xmtc.models import presets
from xmtc.models.catalog import KINDS, TRAINABLE, module_of

SMALL = ("eurlex4k", "wiki10", "amazoncat", "wiki500k")
NEURAL = ("lightxml", "gudn", "aplc", "xml_cnn", "label_attention")
SHOWN = {  # at most
    "linear_tree": 24,
    "one_vs_all": 24,
    **dict.fromkeys(NEURAL, 30),
    "xbert": 45,
    "xr_transformer": 45,
    "auto": 10,
    "ensemble": 10,
}


def rows_of(kind):
    return list(config.settings_of(module_of(kind).Config()))


@pytest.mark.parametrize("kind", TRAINABLE)
def test_every_setting_is_explained(kind):
    assert [row.name for row in rows_of(kind) if not row.about.strip()] == []


@pytest.mark.parametrize("kind", SHOWN)
def test_few_settings_are_shown(kind):
    assert len([row for row in rows_of(kind) if not row.published]) <= SHOWN[kind]


@pytest.mark.parametrize("kind", TRAINABLE)
def test_off_is_none(kind):
    """No number stands for off."""
    for row in rows_of(kind):
        assert row.default not in (-1, ""), row.name
        assert not isinstance(row.default, int) or row.default < 1 << 62, row.name
        assert "0: off" not in row.about, row.name


def classes_in(cls):
    """A settings class and all that its fields may hold, variants and groups that are off too."""
    yield cls
    for hint in get_type_hints(cls).values():
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner):
                yield from classes_in(inner)


@pytest.mark.parametrize("kind", TRAINABLE)
def test_every_number_is_checked(kind):
    """With a bound, also where a subclass has another default."""
    for cls in classes_in(module_of(kind).Config):
        hints = get_type_hints(cls)
        for field in fields(cls):
            if {hints[field.name], *get_args(hints[field.name])} & {int, float}:
                if get_origin(hints[field.name]) is tuple:
                    continue  # checked by its class
                low, high, above, below = field.metadata["bounds"]
                assert (low, above) != (None, None), (cls, field.name)
                bad = low - 1 if low is not None else above
                with pytest.raises(ConfigError, match=field.name):
                    cls(**{field.name: bad})
                if (high, below) != (None, None) and (high or below) != inf:
                    with pytest.raises(ConfigError, match=field.name):
                        cls(**{field.name: high + 1 if below is None else below})


@pytest.mark.parametrize("name", presets.names())
def test_a_preset_gives_the_settings_of_its_kind(name):
    preset = presets.load(name)
    kind, settings = resolve(preset.kind, preset=name)
    assert kind == preset.kind
    assert isinstance(settings, module_of(kind).Config)
    assert preset.about
    assert len(preset.about) <= 100
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert settings != module_of(kind).Config()


@pytest.mark.parametrize("name", [n for n in presets.names() if presets.load(n).kind == "ensemble"])
def test_members_of_a_preset_are_kinds_with_settings(name):
    members = presets.load(name).settings["members"]
    assert len(members) >= 2
    for member in members:
        kind, values = presets.kind_and_settings(member)
        assert kind in KINDS
        resolve(kind, values)
        assert presets.of_kind(kind, name).kind == "ensemble"


def test_every_published_system_has_a_preset():
    known = set(presets.names())
    assert {"parabel", "bonsai", "xr-linear", "plt", "dismec", "xml-cnn"} <= known
    for system, data_sets in {
        "lightxml": ("eurlex4k", "amazoncat", "wiki10", "wiki500k", "amazon670k"),
        "xbert": ("eurlex4k", "wiki10", "amazoncat", "wiki500k"),
        "x-transformer": ("eurlex4k", "wiki10", "amazoncat", "wiki500k"),
        "xr-transformer": ("eurlex4k", "wiki10", "amazoncat", "wiki500k", "amazon670k", "amazon3m"),
        "aplc": ("eurlex4k", "amazoncat", "wiki10", "wiki500k", "amazon670k"),
        "gudn": ("eurlex4k", "wiki10", "amazoncat", "wiki500k"),
        "attentionxml": ("eurlex4k", "wiki10", "amazoncat", "wiki500k", "amazon670k"),
    }.items():
        for data_set in data_sets:
            assert any(name.startswith(f"{system}-{data_set}") for name in known), (
                system,
                data_set,
            )


@pytest.mark.parametrize(
    ("name", "how", "depth", "missing"),
    [
        *((f"xbert-{data}-six", "average", 20, "zero") for data in SMALL),
        *((f"x-transformer-{data}", "average", 10, "zero") for data in SMALL),
        ("xr-transformer-eurlex4k-trio", "softmax", 25, "zero"),
        ("xr-transformer-wiki10-trio", "rank_average", 100, "floor"),
        ("xr-transformer-amazoncat-trio", "softmax", 200, "zero"),
        ("xr-transformer-wiki500k-trio", "sigmoid", 50, "zero"),
        ("xr-transformer-amazon670k-trio", "softmax", 75, "zero"),
        ("xr-transformer-amazon3m-trio", "rank_average", 50, "floor"),
    ],
)
def test_ensembles_combine_as_published(name, how, depth, missing):
    """Ranks have no floor, so missing is left at its default there."""
    _, settings = resolve("ensemble", preset=name)
    assert (settings.how, settings.depth, settings.missing) == (how, depth, missing)


@pytest.mark.parametrize("data", ["eurlex4k", "wiki10", "amazoncat"])
def test_small_ensembles_of_xr_transformer_have_three_encoders(data):
    encoders = [each.encoder for each in preset(f"xr-transformer-{data}-trio")]
    assert [(each.name, each.pooling) for each in encoders] == [
        ("bert-base-uncased", "pooler"),
        ("roberta-base", "pooler"),
        ("xlnet-base-cased", "cls"),
    ]


@pytest.mark.parametrize("data", ["wiki500k", "amazon670k", "amazon3m"])
def test_large_ensembles_of_xr_transformer_have_three_seeds(data):
    found = preset(f"xr-transformer-{data}-trio")
    assert [(each.training.seed, each.ranker.seed) for each in found] == [(0, 0), (1, 1), (2, 2)]
    assert {each.encoder.name for each in found} == {"bert-base-uncased"}


@pytest.mark.parametrize(
    ("data", "steps", "texts"),
    [
        ("eurlex4k", 2_600, 15_449),
        ("wiki10", 2_400, 14_146),
        ("amazoncat", 45_000, 1_186_239),
        ("wiki500k", 60_000, 1_779_881),
        ("amazon670k", 20_000, 490_449),
        ("amazon3m", 30_000, 1_717_899),
    ],
)
def test_epochs_of_xr_transformer_are_the_published_steps_of_256_texts(data, steps, texts):
    training = preset(f"xr-transformer-{data}").training
    assert (training.batch_size, training.epochs) == (256, round(steps * 256 / texts))


@pytest.mark.parametrize("name", ["parabel", "bonsai", "plt", "xr-linear", "dismec"])
def test_published_linear_models_have_weights_of_32_bits(name):
    assert preset(name).weight_type == "float32"


def test_what_is_given_wins_over_a_preset():
    _, settings = resolve("linear_tree", {"trees": 2, "beam": 7}, "parabel", {"beam": 5})
    assert (settings.trees, settings.beam, settings.tree.arity) == (2, 5, 2)


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("linear_tree", "parabell", "no preset 'parabell'; did you mean 'parabel'?"),
        ("one_vs_all", "parabel", "for linear_tree, not one_vs_all. Available: dismec."),
        ("most_frequent", "parabel", "most_frequent has no presets."),
    ],
)
def test_a_preset_that_does_not_fit_is_refused(kind, name, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        resolve(kind, preset=name)
