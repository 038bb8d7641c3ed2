"""Progress bars: `with track("clustering", total) as advance: ... advance(1)`.

`advance(32, "loss 0.7")` also puts a note next to the bar.

A bar goes to standard error, on a terminal or after `show_progress(True)`. It appears after half a
second, so quick steps stay silent. Whether bars are shown is a setting of the whole process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Advance(Protocol):
    """Reports progress, with an optional note."""

    def __call__(self, amount: int, note: str = "") -> None: ...


DELAY = 0.5  # seconds before a bar appears
_asked: list[bool] = []  # the last `show_progress`, if any; of the whole process
_live: list[Progress] = []  # the display that is up, shared by nested steps
_turn = threading.RLock()  # the threads of a step share its bar


def show_progress(wanted: bool | None) -> None:
    """Always (True), never (False), or on a terminal only (None, the default)."""
    _asked[:] = [] if wanted is None else [wanted]


@contextmanager
def track(title: str, total: int | None = None) -> Iterator[Advance]:
    """One bar for one piece of work; nested steps share the display."""
    if not (_asked[0] if _asked else sys.stderr.isatty()):
        yield lambda amount, note="": None
        return
    bar = _Bar(title, total)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    def __init__(self, title: str, total: int | None) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self.note = ""
        self.task: TaskID | None = None
        self.closed = False
        # A timer of its own, because the first step may be long: kernels compile in it.
        self.timer = threading.Timer(DELAY, self.open)
        self.timer.daemon = True
        if DELAY > 0:
            self.timer.start()
        else:
            self.open()

    def advance(self, amount: int, note: str = "") -> None:
        with _turn:
            self.done += amount
            self.note = note or self.note
            if self.task is not None:
                _live[-1].update(self.task, completed=self.done, note=self.note)

    def open(self) -> None:
        with _turn:
            if self.closed:
                return
            if not _live:
                _live.append(_display())
                _live[-1].start()
            self.task = _live[-1].add_task(
                self.title, total=self.total, completed=self.done, note=self.note
            )

    def close(self) -> None:
        self.timer.cancel()
        with _turn:
            self.closed = True
            if self.task is None:
                return
            if len(_live[-1].tasks) > 1:
                _live[-1].remove_task(self.task)
            else:
                _live.pop().stop()


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description:>24}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )
