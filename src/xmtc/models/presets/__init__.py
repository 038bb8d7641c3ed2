"""Presets: published settings by name, each a TOML file in this folder.

kind = "linear_tree"
about = "Parabel (Prabhu et al., 2018): three balanced binary trees"
base = "parabel"             # optional: another preset, of which only some settings change

[settings]
trees = 3
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xmtc.core import config
from xmtc.core.errors import ConfigError, did_you_mean

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Preset:
    """A kind of model with settings that somebody published."""

    name: str
    kind: str
    about: str
    settings: dict[str, Any]  # those that differ from the kind's defaults


@cache
def names() -> tuple[str, ...]:
    """All presets, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(name: str) -> Preset:
    """The preset with this name."""
    if name not in names():
        alike = [each for each in names() if each.startswith(f"{name}-")]
        hint = f". Available: {', '.join(alike)}." if alike else did_you_mean(name, names()) or "."
        raise ConfigError(f"no preset {name!r}{hint} `xmtc presets` lists all.")
    values = config.read_toml(FOLDER / f"{name}.toml")
    settings = values.get("settings", {})
    if "base" in values:
        base = load(values["base"])
        return Preset(name, base.kind, values["about"], config.merged(base.settings, settings))
    return Preset(name, values["kind"], values["about"], settings)


def of_kind(kind: str, name: str) -> Preset:
    """The preset with this name for this kind. A preset of an ensemble goes with every kind that
    it is made of."""
    preset = load(name)
    kinds = {preset.kind}
    if preset.kind == "ensemble":
        kinds |= {kind_and_settings(member)[0] for member in preset.settings["members"]}
    if kind not in kinds:
        fitting = [each for each in names() if load(each).kind == kind]
        known = f" Available: {', '.join(fitting)}." if fitting else f" {kind} has no presets."
        raise ConfigError(
            f"the preset {name} is for {' and '.join(sorted(kinds))}, not {kind}.{known}"
        )
    return preset


def kind_and_settings(member: str) -> tuple[str, dict[str, Any]]:
    """ "lightxml-eurlex4k encoder.name=roberta-base" -> the kind, and its settings.

    The first word is a kind of model or a preset; what follows is read as after `--set`.
    """
    first, *pairs = member.split() or [""]
    changes = config.assignments(pairs)
    if first in names():
        preset = load(first)
        return preset.kind, config.merged(preset.settings, changes)
    return first, changes
