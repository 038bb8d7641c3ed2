"""The options of every command that takes a kind of model and its settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def setting_options(command: F) -> F:
    """Adds --preset, --config and --set; see `model_settings`."""
    for option in (
        click.option(
            "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting; repeatable."
        ),
        click.option(
            "--config", "config_file", type=click.Path(), help="Settings from a TOML file."
        ),
        click.option(
            "--preset", metavar="NAME", help="Published settings; `xmtc presets` lists them."
        ),
    ):
        command = option(command)
    return command


def model_settings(
    kind: str, preset: str | None, config_file: str | None, pairs: tuple[str, ...]
) -> tuple[str, Any]:
    """The kind that is trained and its settings: the preset's, then the file's, then --set."""
    from xmtc import api
    from xmtc.core import config

    values = config.read_toml(config_file) if config_file else {}
    return api.resolve(kind, values, preset, config.assignments(pairs))


def _bytes(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """4GB, 500MB or a plain number of bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", (value or "").strip().lower())
    if value is not None and not match:
        raise click.BadParameter(f"{value!r}: expected an amount of memory, e.g. 4GB or 500MB.")
    return float(match[1]) * UNITS[match[2]] if match else None


memory_option = click.option(
    "--memory", metavar="SIZE", callback=_bytes, help="Memory limit, e.g. 4GB; for linear kinds."
)
minutes_option = click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    help="Time limit; for linear kinds and auto.",
)
