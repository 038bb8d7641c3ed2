"""Reads one long JSON list item by item, so that the list is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from xmtc.core.errors import DataError
from xmtc.core.progress import track
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.lines import BROKEN_GZIP, broken_gzip, first_lines, open_bytes

CHUNK = 1 << 20  # bytes read at a time
_START = re.compile(r"\s*\[?")
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()

Parsed = TypeVar("Parsed")


def is_json_list(path: Path) -> bool:
    """Whether the file is one JSON list rather than an object per line."""
    return "".join(first_lines(path, 3)).lstrip().startswith("[")


def parsed_items(path: Path, parse: Callable[[Any], Parsed], bad: BadLines) -> Iterator[Parsed]:
    """What `parse` makes of each item; a `BadLine` it raises goes to `bad`."""
    with (
        track(f"reading {path.name}", path.stat().st_size) as advance,
        open_bytes(path, advance) as file,
    ):
        window = _Window(path, file, bad)
        for item in window.items():
            try:
                yield parse(item)
            except BadLine as problem:
                bad.add(path, window.line_number(), problem)


class _Window:
    """The part of the list that is in memory: from the item being read to the end of a chunk."""

    def __init__(self, path: Path, file: Any, bad: BadLines) -> None:
        self.path = path
        self.file = file
        self.bad = bad
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        # text[start:at] is the item in hand
        self.text = ""
        self.start = 0
        self.at = 0
        self.lines_before = 0
        self.chunk = CHUNK

    def items(self) -> Iterator[Any]:
        """Each item in turn; nothing can be read after broken JSON."""
        self.grow()
        self.skip(_START)
        while self.at_item():
            try:
                item = self.decode()
            except (ValueError, RecursionError) as problem:
                seen = excerpt(self.text[self.at : self.at + 200])
                what = f"not JSON ({problem}): {seen}. Nothing after it can be read."
                self.bad.add(self.path, self.line_number(), what)
                return
            yield item

    def at_item(self) -> bool:
        """Move to the next item; False at the end of the list."""
        self.skip(_BETWEEN)
        while self.at == len(self.text):
            if not self.grow():
                self.bad.add(self.path, self.line_number(), "the list has no end. Is it cut off?")
                return False
            self.skip(_BETWEEN)
        return self.text[self.at] != "]"

    def decode(self) -> Any:
        """The item at `at`, with as many more chunks as it needs."""
        while True:
            try:
                item, end = _DECODER.raw_decode(self.text, self.at)
            except ValueError:
                if not self.grow():
                    raise
                continue
            # A bare number may go on in the next chunk; an object has its own end.
            if end < len(self.text) or isinstance(item, dict) or not self.grow():
                self.start = self.at
                self.at = end
                return item

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        self.start = self.at = found.end() if found else self.at

    def grow(self) -> bool:
        """Drop what was read and append a chunk, a larger one when an item does not fit."""
        self.chunk = CHUNK if self.at else self.chunk * 2
        chunk = self.read()
        self.lines_before += self.text.count("\n", 0, self.at)
        self.text = self.text[self.at :] + self.as_text(chunk)
        self.start = self.at = 0
        return bool(chunk)

    def read(self) -> bytes:
        parts = []
        wanted = self.chunk
        try:
            while wanted > 0 and (part := self.file.read1(wanted)):
                parts.append(part)
                wanted -= len(part)
        except BROKEN_GZIP as problem:
            self.bad.add(self.path, self.line_number(), broken_gzip(problem))
        return b"".join(parts)

    def as_text(self, chunk: bytes) -> str:
        try:
            return self.decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as problem:
            seen = problem.object[problem.start : problem.start + 20]
            raise DataError(
                f"{self.path}: not UTF-8 near {seen!r}. Save the file as UTF-8."
            ) from None

    def line_number(self) -> int:
        return 1 + self.lines_before + self.text.count("\n", 0, self.start)
