"""Settings of all kinds: few are shown, all are explained, and presets are settings like others."""

from __future__ import annotations

import re

import pytest

from xmtc.api import resolve
from xmtc.core import config
from xmtc.core.errors import ConfigError
from xmtc.models import presets
from xmtc.models.catalog import KINDS, TRAINABLE, module_of

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
    assert [row.name for row in rows_of(kind) if row.default in (-1, "")] == []


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
        "xr-transformer": ("eurlex4k", "wiki10", "amazoncat", "wiki500k", "amazon670k"),
        "aplc": ("eurlex4k", "amazoncat", "wiki10", "wiki500k", "amazon670k"),
        "gudn": ("eurlex4k", "wiki10", "amazoncat", "wiki500k"),
        "attentionxml": ("eurlex4k", "wiki10", "amazoncat", "wiki500k", "amazon670k"),
    }.items():
        for data_set in data_sets:
            assert any(name.startswith(f"{system}-{data_set}") for name in known), (
                system,
                data_set,
            )


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
