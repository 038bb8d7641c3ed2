"""Progress bars: `with track("clustering", total) as advance: ... advance(1)`.

`advance(32, "loss 0.7")` also says how it goes, beside the bar.

A bar goes to standard error, and only when somebody looks at it: on a terminal, or when
`show(True)` asked for it. It appears after half a second, so quick steps stay silent.
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
    """Says that some more is done, and maybe how it goes."""

    def __call__(self, amount: int, note: str = "") -> None: ...


PATIENCE = 0.5  # seconds before a bar appears
_asked: list[bool] = []  # the last `show`, if any
_live: list[Progress] = []  # the display that is up, shared by nested steps
_turn = threading.RLock()  # the threads of a step share its bar


def show(wanted: bool | None) -> None:
    """Always (True), never (False), or on a terminal only (None, the default)."""
    _asked[:] = [] if wanted is None else [wanted]


def wanted() -> bool:
    """Whether bars are shown now."""
    return _asked[0] if _asked else sys.stderr.isatty()


@contextmanager
def track(title: str, total: int | None = None) -> Iterator[Advance]:
    """One bar for one piece of work; nested steps share the display."""
    if not wanted():
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
        # A clock of its own, because the first step may be a long one: kernels compile in it.
        self.clock = threading.Timer(PATIENCE, self.open)
        self.clock.daemon = True
        if PATIENCE > 0:
            self.clock.start()
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
        self.clock.cancel()
        with _turn:
            self.closed = True
            if self.task is None:
                return
            if len(_live[-1].tasks) > 1:
                _live[-1].remove_task(self.task)
            else:  # the last one turns off the light
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
