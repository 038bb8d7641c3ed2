"""Reads a file line by line, packed or not, with a progress bar, and says where it is broken."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, TypeVar

from xmtc.core.errors import DataError
from xmtc.core.progress import Advance, track
from xmtc.data.bad_lines import BadLine, BadLines

BUFFER = 1 << 18  # bytes per read; a progress bar moves once per buffer
LONGEST = 1 << 20  # bytes of a line that a first look takes in
BOM = b"\xef\xbb\xbf"
BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)

Raw = TypeVar("Raw")
Parsed = TypeVar("Parsed")


def parsed_lines(path: Path, parse: Callable[[str], Parsed], bad: BadLines) -> Iterator[Parsed]:
    """What `parse` makes of each line that is not blank; a `BadLine` it raises goes to `bad`."""
    for number, line in read_lines(path, bad):
        try:
            text = decode(line)
            if text and not text.isspace():
                yield parse(text)
        except BadLine as problem:
            bad.add(path, number, problem)


def parsed_rows(
    rows: Iterable[tuple[int, Raw]], parse: Callable[[Raw], Parsed], path: Path, bad: BadLines
) -> Iterator[Parsed]:
    """What `parse` makes of each numbered row; a `BadLine` it raises goes to `bad`."""
    for number, row in rows:
        try:
            yield parse(row)
        except BadLine as problem:
            bad.add(path, number, problem)


def read_lines(path: Path, bad: BadLines, *, bar: bool = True) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, the line with its ending); only a line feed ends a line."""
    number = 0
    size = path.stat().st_size
    with track(f"reading {path.name}", size) if bar else nullcontext() as advance:
        try:
            with open_bytes(path, advance) as file:
                for number, line in enumerate(file, start=1):
                    yield number, line.removeprefix(BOM) if number == 1 else line
        except BROKEN_GZIP as problem:
            bad.add(path, number + 1, broken_gzip(problem))
    if number == 0:
        raise DataError(f"{path} is empty. Check that it was written or downloaded completely.")


def decode(line: bytes, ending: str = "\r\n") -> str:
    """The line as text, without its ending."""
    try:
        return line.decode().rstrip(ending)
    except UnicodeDecodeError as problem:
        seen = line[max(0, problem.start - 20) : problem.start + 10]
        raise BadLine(
            f"byte {problem.start + 1} is not UTF-8 (near {seen!r}). Save the file as UTF-8."
        ) from None


def text_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """All lines, blank ones too, in this encoding, or in Latin-1 where one does not fit it."""
    lines = [line.rstrip(b"\r\n") for _, line in read_lines(path, BadLines(strict=True))]
    try:
        return [line.decode(encoding) for line in lines]
    except UnicodeDecodeError:
        return [line.decode("latin-1") for line in lines]


def broken_gzip(problem: Exception) -> str:
    """The message for a packed file that cannot be unpacked to its end."""
    return f"the gzip file is cut off or damaged here ({problem}). Fetch or write it again."


def first_lines(path: Path, count: int = 20) -> list[str]:
    """The start of the file for a look at what it is; odd bytes are replaced, long lines cut."""
    require_regular(path)
    try:
        with open_bytes(path) as file:
            lines = [file.readline(LONGEST).removeprefix(BOM) for _ in range(count)]
    except BROKEN_GZIP as problem:
        raise DataError(f"{path}: {broken_gzip(problem)}") from None
    return [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines if line]


def require_regular(path: Path) -> None:
    """Raise for a pipe or a device: a file is looked at before it is read."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(
            f"{path} is not a regular file but a pipe or a device, which can be read only once. "
            "Write it to a file first."
        )


def open_bytes(path: Path, advance: Advance | None = None) -> IO[bytes]:
    """The unpacked bytes of a plain or gzip file; its first two bytes say which it is."""
    file = io.BufferedReader(_CountedFile(path, advance), BUFFER)
    if file.peek(2)[:2] != b"\x1f\x8b":
        return file
    # The outer buffer makes `for line in file` run in C.
    return io.BufferedReader(_OwningGzip(file), BUFFER)


def data_path(path: Path) -> Path:
    """The name without `.gz`, for looking at the ending that says what the file holds."""
    return path.with_suffix("") if path.suffix == ".gz" else path


class _CountedFile(io.FileIO):
    def __init__(self, path: Path, advance: Advance | None) -> None:
        super().__init__(path, "rb")
        self.advance = advance

    def readinto(self, buffer: Any) -> int:
        amount = super().readinto(buffer) or 0
        if self.advance:
            self.advance(amount)
        return amount


class _OwningGzip(gzip.GzipFile):
    """Closes the file it was given, and gives what it has before it meets damage."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(fileobj=file, mode="rb")
        self.file = file

    def readinto(self, buffer: Any) -> int:
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        super().close()
        self.file.close()
