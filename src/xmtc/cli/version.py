"""`xmtc version`"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from xmtc.cli.output import json_option, print_json
from xmtc.version import VERSION

PARTS = ("numpy", "scipy", "numba", "safetensors", "torch", "transformers")


@click.command("version")
@json_option
def command(as_json: bool) -> None:
    """Print the version of xmtc and of what it runs on: paste it into bug reports."""
    known = {"xmtc": VERSION, "python": platform.python_version()}
    for part in PARTS:
        try:
            known[part] = version(part)  # without importing it
        except PackageNotFoundError:
            known[part] = "not installed"
    if as_json:
        print_json(known)
    else:
        click.echo(f"xmtc {VERSION}")
        click.echo(", ".join(f"{name} {known[name]}" for name in ("python", *PARTS)))
