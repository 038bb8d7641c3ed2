"""`xmtc plan KIND DATA [--memory 4GB] [--minutes 10]`"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.output import json_option, megabytes, print_json, seconds
from xmtc.core.errors import ConfigError
from xmtc.models.catalog import PLANNED

if TYPE_CHECKING:
    from xmtc.planning.plan import Plan

UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def _in_bytes(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """4GB, 500M or a plain number, as bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", (value or "").strip().lower())
    if value is not None and not match:
        raise click.BadParameter(f"{value!r} is not an amount of memory; write e.g. 4GB or 500MB.")
    return float(match[1]) * UNITS[match[2]] if match else None


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_in_bytes,
    help="Most memory to use, e.g. 4GB; not for neural kinds.",
)
minutes_option = click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    help="Longest time to train; of what needs PyTorch, for `xmtc train auto` only.",
)


@click.command("plan")
@click.argument("kind", metavar="KIND")
@click.argument("data", type=click.Path())
@memory_option
@minutes_option
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting; repeatable.")
@click.option("--config", "config_file", type=click.Path(), help="Settings from a TOML file.")
@click.option("--split", default="train", show_default=True, help="Which part of a data folder.")
@click.option("--out", type=click.Path(), help="TOML file for the settings, for `train --config`.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is already there.")
@reading_options
@json_option
def command(
    kind: str,
    data: str,
    memory: float | None,
    minutes: float | None,
    pairs: tuple[str, ...],
    config_file: str | None,
    split: str,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Estimate time, memory and size of training KIND on DATA, and find settings within limits.

    A few classifiers are trained to see how fast this machine is.
    """
    from xmtc.core import config
    from xmtc.planning.plan import plan

    if out and Path(out).exists() and not overwrite:
        raise ConfigError(f"{out} is already there. Choose another name, or pass --overwrite.")
    values = config.merged(
        config.read_toml(config_file) if config_file else {}, config.assignments(pairs)
    )
    made = plan(kind, read(data, split, **reading), values, memory=memory, minutes=minutes)
    if out:
        Path(out).write_text(config.to_toml(made.settings), encoding="utf-8")
    if as_json:
        print_json(
            {
                "kind": kind,
                "seconds": round(made.seconds, 1),
                "cpu_seconds": round(made.cpu_seconds, 1),
                "peak_bytes": made.peak_bytes,
                "model_bytes": made.model_bytes,
                "changes": list(made.changes),
                "settings": config.to_dict(made.settings),
            }
        )
    else:
        click.echo(described(made))


def described(made: Plan) -> str:
    """The plan in a sentence or two."""
    text = (
        f"Training {made.kind} will take about {seconds(made.seconds)} and "
        f"{megabytes(made.peak_bytes)} of memory; the model will have "
        f"{megabytes(made.model_bytes)}."
    )
    return "\n".join([text, *(f"Changed to fit: {change}" for change in made.changes)])


command.epilog = f"Kinds: {', '.join(PLANNED)}. Of neural kinds there is no estimate."
