"""Reads one long JSON list item by item, so that the list is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from xmtc.core.errors import DataError
from xmtc.core.progress import track
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.lines import BROKEN_GZIP, Parsed, broken_gzip, first_lines, open_bytes

CHUNK = 1 << 20  # bytes read at a time
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


def is_json_list(path: Path) -> bool:
    """Whether the file is one JSON list rather than an object per line."""
    return "".join(first_lines(path, 3)).lstrip().startswith("[")


def parsed_items(path: Path, parse: Callable[[Any], Parsed], bad: BadLines) -> Iterator[Parsed]:
    """What `parse` makes of each item; a `BadLine` goes to `bad`, broken JSON ends the reading."""
    text = ""  # the part of the file that is in memory
    line = 1  # in which it begins
    at = 0  # where in it the next item starts

    def add_bad(problem: object) -> None:
        bad.add(path, line + text.count("\n", 0, at), problem)

    with (
        track(f"reading {path.name}", path.stat().st_size) as advance,
        open_bytes(path, advance) as file,
    ):
        chunks = _chunks(path, file, add_bad)
        text = next(chunks, "")
        at = text.find("[") + 1
        while True:
            between = _BETWEEN.match(text, at)
            at = between.end() if between else at
            if text.startswith("]", at):
                return
            problem: Exception | None = None
            try:
                item, end = _DECODER.raw_decode(text, at)
                # A bare number may go on in the next chunk; an object has its own end.
                complete = end < len(text) or isinstance(item, dict)
            except (ValueError, RecursionError) as error:
                complete = False
                problem = error
            # About as much again, so that a long item is decoded only a few times.
            more = "" if complete else "".join(islice(chunks, 1 + (len(text) - at) // CHUNK))
            if more:
                line += text.count("\n", 0, at)
                text = text[at:] + more
                at = 0
            elif problem is None:
                try:
                    yield parse(item)
                except BadLine as bad_item:
                    add_bad(bad_item)
                at = end
            else:
                what = f"not JSON ({problem}): {excerpt(text[at : at + 200])}. Reading ends here."
                add_bad(what if at < len(text) else "the list has no end. Is it cut off?")
                return


def _chunks(path: Path, file: Any, add_bad: Callable[[str], None]) -> Iterator[str]:
    """The text of the file in parts; damage ends it."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    data = b"unread"
    while data:
        try:
            data = file.read1(CHUNK)
        except BROKEN_GZIP as problem:
            data = b""
            add_bad(broken_gzip(problem))
        try:
            chunk = decoder.decode(data, final=not data)
        except UnicodeDecodeError as problem:
            seen = problem.object[problem.start : problem.start + 20]
            raise DataError(f"{path}: not UTF-8 near {seen!r}. Save the file as UTF-8.") from None
        if chunk:
            yield chunk
