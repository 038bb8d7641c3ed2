"""Reads one long JSON list item by item, so that the list is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from xmtc.core.errors import DataError
from xmtc.core.progress import track
from xmtc.data.bad_lines import BadLines, excerpt
from xmtc.data.lines import BROKEN_GZIP, Parsed, broken_gzip, first_lines, open_bytes, parsed_rows

CHUNK = 1 << 20  # bytes read at a time
_DECODER = json.JSONDecoder()


def is_json_list(path: Path) -> bool:
    """Whether the file is one JSON list rather than an object per line."""
    return "".join(first_lines(path, 3)).lstrip().startswith("[")


def parsed_items(path: Path, parse: Callable[[Any], Parsed], bad: BadLines) -> Iterator[Parsed]:
    """What `parse` makes of each item; a `BadLine` it raises goes to `bad`."""
    with (
        track(f"reading {path.name}", path.stat().st_size) as advance,
        open_bytes(path, advance) as file,
    ):
        yield from parsed_rows(_items(path, file, bad), parse, path, bad)


def _items(path: Path, file: IO[bytes], bad: BadLines) -> Iterator[tuple[int, Any]]:
    """(line number, item) for each item; nothing can be read after broken JSON."""
    chunks = _chunks(path, file, bad)
    text = next(chunks, "")  # the part of the file that is in memory
    at = text.find("[") + 1  # where the next item starts
    line = 1 + text.count("\n", 0, at)
    problem: Exception | None
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            line += text[at] == "\n"
            at += 1
        if text.startswith("]", at):
            return
        try:
            item, end = _DECODER.raw_decode(text, at)
            # A bare number may go on in the next chunk; an object has its own end.
            complete = end < len(text) or isinstance(item, dict)
            problem = None
        except (ValueError, RecursionError) as error:
            complete = False
            problem = error
        # About as much again, so that a long item is decoded only a few times.
        more = "" if complete else "".join(islice(chunks, 1 + (len(text) - at) // CHUNK))
        if more:
            text = text[at:] + more
            at = 0
        elif problem is None:
            yield line, item
            line += text.count("\n", at, end)
            at = end
        else:
            what = f"not JSON ({problem}): {excerpt(text[at : at + 200])}. Nothing after is read."
            bad.add(path, line, what if at < len(text) else "the list has no end. Is it cut off?")
            return


def _chunks(path: Path, file: Any, bad: BadLines) -> Iterator[str]:
    """The text of the file in parts; damage ends it."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line = 1
    data = b"unread"
    while data:
        try:
            data = file.read1(CHUNK)
        except BROKEN_GZIP as problem:
            data = b""
            bad.add(path, line, broken_gzip(problem))
        try:
            chunk = decoder.decode(data, final=not data)
        except UnicodeDecodeError as problem:
            seen = problem.object[problem.start : problem.start + 20]
            raise DataError(f"{path}: not UTF-8 near {seen!r}. Save the file as UTF-8.") from None
        line += chunk.count("\n")
        if chunk:
            yield chunk
