"""`xmtc completion bash|zsh|fish`"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for SHELL.

    bash:  eval "$(xmtc completion bash)"     in ~/.bashrc
    """
    from xmtc.cli.app import app

    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(app, {}, "xmtc", "_XMTC_COMPLETE").source())
