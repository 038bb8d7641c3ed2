"""The log of a training: log.jsonl, curves.svg and, where it is installed, TensorBoard."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmtc.core.files import write_text
from xmtc.core.svg import Panel, line_chart

CURVES = "curves.svg"


class Log:
    """Lines of JSON in the folder of the run; without a folder nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.board: Any = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        self.board = SummaryWriter(str(folder / "tensorboard"))

    def write(self, **values: Any) -> None:
        """One line, written at once, with the time in seconds since 1970."""
        if self.folder is None:
            return
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({**values, "time": round(time.time(), 1)}) + "\n")
        if self.board is not None and "step" in values:
            for name, value in values.items():
                if isinstance(value, int | float) and name != "step":
                    self.board.add_scalar(name, value, values["step"])

    def draw(self, history: list[dict[str, float]]) -> None:
        """The curves of loss and metrics by epoch."""
        if self.folder is not None and history:
            write_text(self.folder / CURVES, curves_of(history))

    def close(self) -> None:
        """End of the log; TensorBoard writes what it has in memory."""
        if self.board is not None:
            self.board.close()


class Pace:
    """The note at the progress bar: loss, quality, speed, time left.

    It counts from this start on: the time of a run before it was killed is unknown.
    """

    def __init__(self, left: int) -> None:
        """left: texts still to be read, over all epochs."""
        self.left = left
        self.read = 0
        self.started = time.monotonic()

    def note(self, texts: int, loss: float, metrics: Mapping[str, float], metric: str) -> str:
        """After this many more texts: "loss 0.41, P@5 46.3, 80 texts/s, 0:12:34 left"."""
        self.read += texts
        self.left -= texts
        speed = self.read / max(1e-9, time.monotonic() - self.started)
        quality = [f"{metric} {metrics[metric]:.1f}"] if metric in metrics else []
        minutes, seconds = divmod(round(self.left / speed), 60)
        end = f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"
        return ", ".join([f"loss {loss:.4g}", *quality, f"{speed:.0f} texts/s", end])


def curves_of(history: list[dict[str, float]]) -> str:
    """An SVG file: the training loss by epoch and, if there was validation, its metrics."""
    metrics = [name for name in history[-1] if "@" in name]
    panels = [Panel("training loss", {"loss": _curve(history, "loss")})]
    if metrics:
        curves = {name: _curve(history, name) for name in metrics}
        panels.append(Panel("validation, percent", curves))
    return line_chart(panels, "epoch")


def _curve(history: list[dict[str, float]], name: str) -> list[tuple[float, float]]:
    return [(row["epoch"], row.get(name, float("nan"))) for row in history]
