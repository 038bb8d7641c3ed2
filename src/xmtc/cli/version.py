"""`xmtc version`"""

from __future__ import annotations

import platform

import click

from xmtc.cli.show import json_option, print_json
from xmtc.version import VERSION


@click.command("version")
@json_option
def command(as_json: bool) -> None:
    """Print the version of xmtc and of what it runs on: paste it into bug reports."""
    from importlib.metadata import version

    parts = ("numpy", "scipy", "numba", "safetensors")
    known = {"xmtc": VERSION, "python": platform.python_version(), **{p: version(p) for p in parts}}
    if as_json:
        print_json(known)
    else:
        click.echo(f"xmtc {VERSION}")
        click.echo(", ".join(f"{name} {known[name]}" for name in ("python", *parts)))
