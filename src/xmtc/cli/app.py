"""`xmtc`: finds the command, and turns every error of ours into one sentence and an exit code.

Exit codes: 0 it worked; 1 it did not, and the sentence says why; 2 the command was misspelt;
130 it was stopped (Ctrl-C).
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import shutil
import sys
from typing import Any

import click

from xmtc.core.errors import XmtcError, did_you_mean, memory_errors
from xmtc.version import VERSION

# command -> (module, one line for the overview, so that --help need not import the commands)
COMMANDS = {
    "train": ("xmtc.cli.train", "Train a model on a file of labelled texts."),
    "plan": ("xmtc.cli.plan", "Estimate time and memory of a training; fit settings to limits."),
    "predict": ("xmtc.cli.predict", "Tag texts with a trained model; streams JSON lines."),
    "evaluate": ("xmtc.cli.evaluate", "Measure a model on labelled texts it has not seen."),
    "compare": (
        "xmtc.cli.compare",
        "Compare models on the same texts: is a difference significant?",
    ),
    "explain": ("xmtc.cli.explain", "Show which words speak for and against a label."),
    "update": ("xmtc.cli.update", "Train a linear_tree on more texts and new labels."),
    "combine": ("xmtc.cli.combine", "Combine models into an ensemble, with learned weights."),
    "labels": ("xmtc.cli.labels", "Add labels to a linear_tree or a gudn, or remove some."),
    "inspect": ("xmtc.cli.inspect", "Show what is in a model folder."),
    "presets": ("xmtc.cli.presets", "List published settings by name, e.g. parabel."),
    "settings": ("xmtc.cli.settings", "List the settings of a kind of model."),
    "encoders": ("xmtc.cli.encoders", "List the encoders that neural models can use here."),
    "data": ("xmtc.cli.data", "Look at data sets: `data doctor`, `data convert`."),
    "demo": ("xmtc.cli.demo", "Train and try models on the data set that comes with xmtc."),
    "completion": ("xmtc.cli.completion", "Print a completion script for your shell."),
    "version": ("xmtc.cli.version", "Print the version."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, in the order a new user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or nothing if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with a hint for a misspelt command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS) or "."
            raise click.UsageError(f"no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, message="xmtc %(version)s")
@click.option("--threads", type=click.IntRange(1), help="How many threads work; default all cores.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
def app(threads: int | None, quiet: bool) -> None:
    """Extreme multi-label text classification: text in, label names out.

    Start with:  xmtc demo
    """
    from xmtc.core import progress
    from xmtc.core.threads import set_threads

    set_threads(threads)
    progress.show_progress(False if quiet else None)


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    try:
        with memory_errors():
            result: Any = app.main(arguments, prog_name="xmtc", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except (BrokenPipeError, SystemExit):  # the reader of our output went away, e.g. `| head`;
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # click and rich exit when they notice
        return 0
    except (KeyboardInterrupt, click.Abort):  # click makes the second of the first
        click.echo("xmtc: stopped.", err=True)
        return 130
    except (XmtcError, OSError, MemoryError) as error:
        click.echo(_wrapped(f"xmtc: {_sentence(error)}"), err=True)
        return 1


def _wrapped(message: str) -> str:
    """Broken between words on a terminal, one line otherwise."""
    if not sys.stderr.isatty():
        return message
    return click.wrap_text(message, shutil.get_terminal_size().columns, subsequent_indent="  ")


def _sentence(error: BaseException) -> str:
    if isinstance(error, XmtcError):
        return _in_flags(str(error))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return (
            f"{error.filename or 'a file'}: the disk is full. Free some space and run the same "
            "command again; finished work is not lost."
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'file'}: {error.strerror or error}"
    return (
        "out of memory. Linear kinds: use fewer features (--set text.min_df=5); neural ones: "
        "smaller batches (--set training.batch_size=8); or a larger machine."
    )


def _in_flags(sentence: str) -> str:
    """What the library calls `text_column=...` is `--text-column` here; `overwrite=True` a flag."""
    sentence = re.sub(r"\b(validation|minutes|memory)=(?=[;. ])", r"--\1", sentence)
    sentence = re.sub(r"\b([a-z_]+)=True\b", lambda m: f"--{m[1].replace('_', '-')}", sentence)
    return re.sub(r"\b([a-z_]+)=\.\.\.", lambda m: f"--{m[1].replace('_', '-')} ...", sentence)
