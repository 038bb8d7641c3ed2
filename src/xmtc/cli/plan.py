"""`xmtc plan KIND DATA [--memory 4GB] [--minutes 10]`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xmtc.cli.data_options import read, reading_options
from xmtc.cli.model_options import memory_option, minutes_option, model_settings, setting_options
from xmtc.cli.output import json_option, megabytes, print_json, seconds
from xmtc.core.errors import ConfigError
from xmtc.core.files import write_text

if TYPE_CHECKING:
    from xmtc.planning.plan import Plan


@click.command("plan")
@click.argument("kind", metavar="KIND")
@click.argument("data", type=click.Path())
@memory_option
@minutes_option
@setting_options
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
    preset: str | None,
    config_file: str | None,
    pairs: tuple[str, ...],
    split: str,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Estimate time, memory and size of training KIND on DATA, and find settings within limits.

    A few classifiers are trained to see how fast this machine is. Neural kinds have no estimate.
    """
    from xmtc import plan
    from xmtc.core import config

    if out and Path(out).exists() and not overwrite:
        raise ConfigError(f"{out} is already there. Choose another name, or pass --overwrite.")
    kind, settings = model_settings(kind, preset, config_file, pairs)
    made = plan(kind, read(data, split, **reading), settings, memory=memory, minutes=minutes)
    if out:
        write_text(out, config.to_toml(made.settings))
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
        f"{megabytes(made.peak_bytes)} of memory; the model will take "
        f"{megabytes(made.model_bytes)}."
    )
    return "\n".join([text, *(f"Changed to fit: {change}" for change in made.changes)])
