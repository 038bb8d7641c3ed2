"""`xmtc presets`"""

from __future__ import annotations

import click

from xmtc.cli.output import json_option, print_json, print_table


@click.command("presets")
@click.argument("kind", metavar="[KIND]", required=False)
@json_option
def command(kind: str | None, as_json: bool) -> None:
    """List published settings by name, of KIND or of all kinds.

    Use one with `xmtc train KIND DATA --preset NAME --out FOLDER`; --set goes on top.
    """
    from xmtc.models import presets
    from xmtc.models.catalog import module_of

    if kind is not None:
        module_of(kind)  # says when there is no such kind
    found = [each for each in map(presets.load, presets.names()) if kind in (None, each.kind)]
    if as_json:
        print_json(
            [
                {
                    "name": each.name,
                    "kind": each.kind,
                    "about": each.about,
                    "settings": each.settings,
                }
                for each in found
            ]
        )
    elif found:
        rows = [[each.name, each.kind, each.about] for each in found]
        print_table(["preset", "kind", "what it is"], rows, words=3)
    else:
        click.echo(f"{kind} has no presets.")
