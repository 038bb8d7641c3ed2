"""The options every command that reads a data set has, and the reading itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

import click

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.provenance import Provenance, Reading

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = [
    click.option(
        f"--{field.name.replace('_', '-')}",
        help=field.metadata["about"],
        is_flag=isinstance(field.default, bool),
    )
    for field in fields(Reading)
    if field.name != "split"
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

    advice = "To go on without bad lines, pass --skip-bad."
    bad = BadLines(strict=not options["skip_bad"], advice=advice)
    dataset = read_dataset(path, split=split, bad=bad, **options)
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
    from xmtc.data.training_sources import provenance_of

    return provenance_of(path, dataset, split=split, **options)
