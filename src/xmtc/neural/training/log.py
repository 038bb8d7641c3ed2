"""What a training says of itself: log.jsonl, curves.png and, where it is installed, TensorBoard."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmtc.core.errors import MissingExtra

CURVES = "curves.png"


class Log:
    """Lines of JSON in the folder of the run; without a folder it says nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self.board = _board(folder)

    def write(self, **values: Any) -> None:
        """One line, there at once, with the time of day in seconds since 1970."""
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
            try:
                _draw(history, self.folder / CURVES)
            except MissingExtra:
                self.write(note="no curves.png: pip install 'xmtc[plots]'")

    def close(self) -> None:
        """Nothing more will be said; what waits in memory goes to the disk."""
        if self.board is not None:
            self.board.close()


class Pace:
    """What the progress bar says: how good, how fast, how long still. Counts from this start on,
    because what a run did before it was killed took time that we did not see."""

    def __init__(self, left: int) -> None:
        """left: texts still to be read, over all epochs."""
        self.left = left
        self.read = 0
        self.started = time.monotonic()

    def note(self, texts: int, loss: float, metrics: Mapping[str, float], metric: str) -> str:
        """After so many more texts: "loss 0.41, P@5 46.3, 80 texts/s, 0:12:34 to the end"."""
        self.read = self.read + texts
        self.left = self.left - texts
        speed = self.read / max(1e-9, time.monotonic() - self.started)
        quality = [f"{metric} {metrics[metric]:.1f}"] if metric in metrics else []
        minutes, seconds = divmod(round(self.left / speed), 60)
        end = f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} to the end"
        return ", ".join([f"loss {loss:.4g}", *quality, f"{speed:.0f} texts/s", end])


def _draw(history: list[dict[str, float]], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("curves need matplotlib: pip install 'xmtc[plots]'") from error
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    epochs = [row["epoch"] for row in history]
    axes.plot(epochs, [row["loss"] for row in history], ".-", color="#1f6f8b", label="loss")
    axes.set_xlabel("epoch")
    axes.set_ylabel("training loss")
    names = [name for name in history[-1] if "@" in name]
    if names:
        right = axes.twinx()
        for name in names:
            right.plot(epochs, [row.get(name, float("nan")) for row in history], ".--", label=name)
        right.set_ylabel("validation, percent")
        right.legend(loc="center right")
    figure.savefig(path, format="png", dpi=150)


def _board(folder: Path | None) -> Any:
    if folder is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))
