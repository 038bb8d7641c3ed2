"""The options every command that reads a data set has, and the reading itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError

if TYPE_CHECKING:
    from xmtc.core.provenance import Provenance

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = [
    click.option("--format", "format_", help="Format of the file, if it is not recognised."),
    click.option("--text-column", help="Name of the field or column with the text."),
    click.option("--label-column", help="Name of the field or column with the labels."),
    click.option("--label-separator", help="What separates labels in a cell of a table."),
    click.option("--skip-bad", is_flag=True, help="Skip bad lines, and report how many."),
]


def reading_options(command: F) -> F:
    """Adds the options to a command; it passes them to `read` as they are."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read(path: str, split: str = "train", **options: Any) -> Dataset:
    """The data set at `path`; lines that were skipped are reported."""
    from xmtc.data.bad_lines import BadLines
    from xmtc.data.read import read_dataset

    skip_bad = options.pop("skip_bad")
    bad = BadLines(strict=not skip_bad, advice="To go on without bad lines, pass --skip-bad.")
    dataset = read_dataset(path, split=split, format=options.pop("format_"), bad=bad, **options)
    if bad.count:
        click.echo(f"{path}: {bad}", err=True)
    return dataset


@contextmanager
def about(path: str) -> Iterator[None]:
    """Errors about the data inside name this file."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def source(path: str, dataset: Dataset, split: str = "train", **options: Any) -> Provenance:
    """What a model remembers of the data set that `read` gave for the same arguments."""
    from xmtc.data.provenance_check import source_of

    return source_of(path, dataset, split=split, format=options.pop("format_"), **options)
