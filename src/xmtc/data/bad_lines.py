"""Bad lines: the first one stops the reading, or all of them are counted and skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xmtc.core.errors import DataError

EXCERPT = 60  # characters of a bad line that a message shows


class BadLine(Exception):
    """One line that we cannot use; the reader of the file adds its name and the line number."""


@dataclass
class BadLines:
    """Collects bad lines: `read_dataset(path, bad=...)` skips them and notes them here."""

    keep: int = 5  # how many reasons are stored word for word
    strict: bool = False  # True: the first bad line raises
    advice: str = "To go on without bad lines, pass skip_bad=True."
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, path: Path, line: int, problem: object) -> None:
        """Note that this line is skipped, or raise when bad lines are not tolerated."""
        message = f"{path}:{line}: {problem}"
        if self.strict:
            raise DataError(f"{message} {self.advice}")
        self.count += 1
        if len(self.first) < self.keep:
            self.first.append(message)

    def require_rows(self, count: int, path: Path) -> None:
        """Raise when nothing was read: a data set has at least one row."""
        if not count:
            why = f"All lines are bad; {self.first[0]}" if self.first else "The file has no rows."
            raise DataError(f"no texts in {path}. {why}")

    def __str__(self) -> str:
        if not self.count:
            return "no bad lines"
        what = "1 bad line" if self.count == 1 else f"{self.count:,} bad lines"
        return f"skipped {what}. First: {self.first[0]}"


def excerpt(seen: object) -> str:
    """The start of what we saw, in quotes."""
    shown = seen if isinstance(seen, str) else repr(seen)
    return repr(shown if len(shown) <= EXCERPT else shown[:EXCERPT] + "...")
