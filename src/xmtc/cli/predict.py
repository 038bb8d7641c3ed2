"""`xmtc predict MODEL [FILE]`: texts in, labels out, in order, as fast as they come."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, Any

import click

from xmtc.cli.output import int8_option, print_json, print_table
from xmtc.core.errors import DataError

BATCH = 512  # lines of a file that are ranked at once
CHUNK = 1 << 16  # bytes of standard input read at once


@click.command("predict")
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path(), default="-")
@click.option(
    "-k",
    "k",
    default=5,
    show_default=True,
    type=click.IntRange(1),
    help="How many labels for each text.",
)
@click.option("--threshold", type=float, help="Only labels that score at least this.")
@click.option("--only", multiple=True, metavar="LABEL", help="Only this label; repeatable.")
@click.option("--exclude", multiple=True, metavar="LABEL", help="Never this label; repeatable.")
@click.option("--text", "texts", multiple=True, help="A text right here; repeatable.")
@click.option("--text-column", help="Name of the field or column with the text.")
@click.option("--skip-bad", is_flag=True, help="Answer bad lines with an error instead of ending.")
@click.option(
    "--json/--table",
    "as_json",
    default=None,
    help="JSON lines, or a table (the default on a terminal).",
)
@int8_option
def command(
    model: str,
    file: str,
    k: int,
    threshold: float | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    texts: tuple[str, ...],
    text_column: str | None,
    skip_bad: bool,
    as_json: bool | None,
    int8: bool,
) -> None:
    """Tag the texts in FILE (default: standard input) with the labels of MODEL.

    FILE has JSON lines, a table (CSV, TSV, Parquet) or one text per line. Answers come
    one JSON line per text, in the same order; an "id" or "uid" of the object is passed on.
    """
    from xmtc import api
    from xmtc.data.read import is_table

    if texts and file != "-":
        raise click.UsageError(f"give either a file ({file}) or --text, not both")
    loaded = api.load(model, int8)
    as_json = not sys.stdout.isatty() if as_json is None else as_json
    given = [text.encode(errors="surrogateescape") for text in texts]  # the bytes that came in
    source = iter([given]) if texts else _batches(file, text_column)
    column = None if is_table(file) else text_column  # of a table it is read already
    place = 0
    for lines in source:
        read = [_read(line, place + i, file, column) for i, line in enumerate(lines, 1)]
        place += len(lines)
        # Without --skip-bad, what comes before the first bad line is still answered.
        until_bad = read if skip_bad else takewhile(lambda item: "error" not in item, read)
        good = [item["text"] for item in until_bad if "text" in item]
        answers = iter(api.predict(loaded, good, k, threshold, only=only or None, exclude=exclude))
        for item in read:
            if "error" in item and not skip_bad:
                raise DataError(f"{item['error']} Fix the line, or pass --skip-bad.")
            named = next(answers) if "text" in item else []
            _print_json(item, named) if as_json else _print_table(item, named)
        sys.stdout.flush()


def _batches(file: str, column: str | None) -> Iterator[list[bytes]]:
    """The lines of a file or of standard input, or the rows of a table, several at a time."""
    if file == "-":
        if sys.stdin.isatty():
            click.echo("Type a text and press Enter; Ctrl-D ends.", err=True)
        yield from _arriving(sys.stdin.fileno())
        return
    from xmtc.data.lines import open_bytes
    from xmtc.data.read import is_table, read_texts

    if Path(file).is_dir():
        raise DataError(f"{file} is a folder. Give a file of texts.")
    if not Path(file).exists():
        raise DataError(f"there is no file {file}. For a text right here, use --text.")
    if is_table(file):
        rows = (json.dumps({"text": text}).encode() for text in read_texts(file, column))
        yield from _in_batches(rows)
    else:
        with open_bytes(Path(file)) as stream:
            yield from _in_batches(stream)


def _in_batches(lines: Iterator[bytes] | IO[bytes]) -> Iterator[list[bytes]]:
    lines = iter(lines)
    while batch := list(islice(lines, BATCH)):
        yield batch


def _arriving(descriptor: int) -> Iterator[list[bytes]]:
    """Whatever lines have arrived: a slow writer is answered at once, a fast one in batches."""
    rest = b""
    while chunk := os.read(descriptor, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _read(line: bytes, place: int, file: str, column: str | None) -> dict[str, Any]:
    """{"text": ...} with the id that came with it, or {"error": ...}."""
    from xmtc.data.bad_lines import BadLine
    from xmtc.data.row import text_row

    try:
        return text_row(line.rstrip(b"\r\n"), column)
    except BadLine as error:
        return {"error": f"{'standard input' if file == '-' else file}:{place}: {error}"}


def _print_json(item: dict[str, Any], named: list[tuple[str, float]]) -> None:
    passed_on = {name: value for name, value in item.items() if name != "text"}
    labels = [{"label": name, "score": round(score, 6)} for name, score in named]
    print_json({**passed_on, "labels": labels})


def _print_table(item: dict[str, Any], named: list[tuple[str, float]]) -> None:
    text = str(item.get("text", item.get("error")))
    short = text if len(text) < 90 else text[:87] + "..."
    rows = [[name, f"{score:.3f}"] for name, score in named]
    print_table([short, "score"], rows or [["(no label scores that high)", ""]])
