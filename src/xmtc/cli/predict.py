"""`xmtc predict MODEL [FILE]`: texts in, labels out, in order, as fast as they come."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from xmtc.cli.show import print_json, print_table
from xmtc.core.errors import DataError

BATCH = 512  # texts ranked at once when they come faster than we answer


@click.command("predict")
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path(), default="-")
@click.option("-k", "k", default=5, show_default=True, type=click.IntRange(1),
              help="How many labels for each text.")  # fmt: skip
@click.option("--threshold", type=float, help="Only labels that score at least this.")
@click.option("--only", multiple=True, metavar="LABEL", help="Only this label; repeatable.")
@click.option("--exclude", multiple=True, metavar="LABEL", help="Never this label; repeatable.")
@click.option("--text", "texts", multiple=True, help="A text right here; repeatable.")
@click.option("--text-column", help="Name of the field with the text in JSON lines.")
@click.option("--skip-bad", is_flag=True, help="Answer bad lines with an error instead of ending.")
@click.option("--json/--table", "as_json", default=None,
              help="JSON lines, or a table (the default on a terminal).")  # fmt: skip
def command(
    model: str, file: str, k: int, threshold: float | None, only: tuple[str, ...],
    exclude: tuple[str, ...], texts: tuple[str, ...],
    text_column: str | None, skip_bad: bool, as_json: bool | None,
) -> None:  # fmt: skip
    """Tag the texts in FILE (default: standard input) with the labels of MODEL.

    Each line is a JSON object with a text, as in training data, or else a plain text. Answers come
    one JSON line per text, in the same order; an "id" or "uid" of the object is kept.
    """
    from xmtc.models import api

    loaded = api.load(model)
    as_json = not sys.stdout.isatty() if as_json is None else as_json
    source = enumerate(texts, 1) if texts else _lines(file)
    for batch in _batches(source):
        read = [_read(line, place, file, text_column, skip_bad) for place, line in batch]
        good = [item["text"] for item in read if "text" in item]
        answers = iter(api.predict(loaded, good, k, threshold, only=only or None, exclude=exclude))
        for item in read:
            named = next(answers) if "text" in item else []
            _print_json(item, named) if as_json else _print_table(item, named)
        sys.stdout.flush()


def _lines(file: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file, a .gz file, or standard input; blank ones are texts too."""
    if file == "-":
        yield from enumerate(_decoded(sys.stdin.buffer, "standard input"), 1)
        return
    from xmtc.data.lines import open_bytes

    with open_bytes(Path(file)) as stream:
        yield from enumerate(_decoded(stream, file), 1)


def _decoded(stream: IO[bytes], name: str) -> Iterator[str]:
    for place, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{name}:{place}: not UTF-8. Convert the file with iconv.") from error


def _batches(source: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Whatever has arrived, at least one line: a slow writer gets its answers at once."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=4 * BATCH)
    threading.Thread(target=_pump, args=(source, waiting), daemon=True).start()
    end: object = None
    while end is None:
        batch = [waiting.get()]
        while len(batch) < BATCH and not waiting.empty():
            batch.append(waiting.get())
        if not isinstance(batch[-1], tuple):
            end = batch.pop()
        if batch:
            yield batch
    if isinstance(end, BaseException):
        raise end


def _pump(source: Iterator[tuple[int, str]], waiting: queue.Queue[Any]) -> None:
    try:
        for item in source:
            waiting.put(item)
        waiting.put(True)
    except BaseException as error:
        waiting.put(error)


def _read(line: str, place: int, file: str, column: str | None, skip_bad: bool) -> dict[str, Any]:
    """{"text": ...} with the id that came with it, or {"error": ...}."""
    if not line.lstrip().startswith("{"):
        return {"text": line}
    from xmtc.data.bad import BadLine, excerpt
    from xmtc.data.rows import text_fields, text_of

    try:
        value = json.loads(line)
        fields = text_fields(value, column)
        if not fields:
            raise BadLine(f"no field {column or 'text'!r} in {excerpt(line)}.")
        kept = {name: value[name] for name in ("id", "uid") if name in value}
        return {**kept, "text": text_of(value, fields)}
    except (ValueError, RecursionError, BadLine) as error:
        sentence = f"{file}:{place}: {error}"
        if not skip_bad:
            raise DataError(f"{sentence} Mend the line, or pass --skip-bad.") from None
        return {"error": sentence}


def _print_json(item: dict[str, Any], named: list[tuple[str, float]]) -> None:
    kept = {name: value for name, value in item.items() if name != "text"}
    labels = [{"label": name, "score": round(score, 6)} for name, score in named]
    print_json({**kept, "labels": labels})


def _print_table(item: dict[str, Any], named: list[tuple[str, float]]) -> None:
    text = str(item.get("text", item.get("error")))
    short = text if len(text) < 90 else text[:87] + "..."
    print_table([short, "score"], [[name, f"{score:.3f}"] for name, score in named])
