"""`xmtc encoders`"""

from __future__ import annotations

import click

from xmtc.cli.output import json_option, print_json, print_table


@click.command("encoders")
@json_option
def command(as_json: bool) -> None:
    """List the encoders that neural models can use on this machine.

    Pretrained ones: `--set encoder.name=...`. Those trained from the texts: `--set encoder=bilstm`.

    xmtc downloads nothing by itself: `hf download NAME` puts an encoder where it is found.
    """
    from xmtc.neural.encoders.locate import usable
    from xmtc.neural.extra import require_neural

    require_neural("an encoder")
    found = usable()
    if as_json:
        print_json(
            [{"name": e.name, "about": e.about, "place": e.place and str(e.place)} for e in found]
        )
    else:
        rows = [[e.name, e.about, str(e.place or "")] for e in found]
        print_table(["encoder", "what it is", "where"], rows, words=3)
