"""The command line: one file per command, imported only when it is called."""

from xmtc.cli.app import main

__all__ = ["main"]
