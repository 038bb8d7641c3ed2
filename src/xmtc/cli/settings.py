"""`xmtc settings KIND`"""

from __future__ import annotations

import click

from xmtc.cli.output import json_option, print_json, print_table
from xmtc.models.catalog import TRAINABLE, module_of


@click.command("settings")
@click.argument("kind", metavar="KIND")
@click.option("--toml", "as_toml", is_flag=True, help="As a file for `train --config`.")
@json_option
def command(kind: str, as_toml: bool, as_json: bool) -> None:
    """List what can be set for KIND, with its default and what it does."""
    from xmtc.core import config

    cls = module_of(kind).Config
    rows = list(config.settings_of(cls()))
    if as_toml:
        click.echo(config.to_toml(cls()), nl=False)
    elif as_json:
        print_json({row.name: {"type": row.type, "default": row.default} for row in rows})
    elif not rows:
        click.echo(f"{kind} has no settings.")
    else:
        cells = [[row.name, row.type, str(row.default), row.about] for row in rows]
        print_table(["setting", "type", "default", "what it does"], cells, words=4)


command.epilog = "Kinds: " + ", ".join(TRAINABLE)
