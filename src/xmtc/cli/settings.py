"""`xmtc settings KIND`"""

from __future__ import annotations

import click

from xmtc.cli.model_options import model_settings, setting_options
from xmtc.cli.output import json_option, print_json, print_table
from xmtc.models.catalog import TRAINABLE


@click.command("settings")
@click.argument("kind", metavar="KIND")
@click.option("--all", "show_all", is_flag=True, help="Also those for papers and ablations.")
@click.option("--toml", "as_toml", is_flag=True, help="As a file for `train --config`.")
@setting_options
@json_option
def command(
    kind: str,
    show_all: bool,
    as_toml: bool,
    preset: str | None,
    config_file: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """List the settings of KIND with their values and what they do.

    Values are the defaults, or those of --preset, --config and --set. Settings under `published`
    exist for a paper's code or an ablation; they are listed with --all, or when they differ.
    """
    from xmtc.core import config

    kind, settings = model_settings(kind, preset, config_file, pairs)
    defaults = {row.name: row.default for row in config.settings_of(type(settings)())}
    rows = [
        row
        for row in config.settings_of(settings)
        if show_all or not row.published or row.default != defaults.get(row.name)
    ]
    if as_toml:
        click.echo(config.to_toml(settings), nl=False)
    elif as_json:
        print_json({row.name: {"type": row.type, "default": row.default} for row in rows})
    elif rows:
        cells = [[row.name, row.type, _shown(row.default), row.about] for row in rows]
        print_table(["setting", "type", "value", "what it does"], cells, words=4)
    else:
        click.echo(f"{kind} has no settings.")


def _shown(value: object) -> str:
    """As it is written after --set."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


command.epilog = "Kinds: " + ", ".join(TRAINABLE)
