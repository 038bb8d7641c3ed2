"""What a search for the best model tried, what it kept and why: as a value, a file and a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xmtc.core.interfaces import Model

TRIED = "tried.json"  # in the folder of the run: what was tried, and why what was kept was kept
FIGURES = ("P@1", "P@3", "P@5", "nDCG@5")
COLUMNS = ("tried", "", "minutes", *FIGURES)  # of the table


@dataclass(frozen=True)
class Tried:
    """A line of the table: what a model reached on validation texts, or why it was not tried."""

    name: str
    minutes: float
    figures: dict[str, float]  # empty when it was not tried
    note: str = ""


@dataclass(frozen=True)
class Choice:
    """The model that was kept, all that was tried, and why."""

    model: Model
    tried: tuple[Tried, ...]
    kept: str
    why: str

    def write(self, folder: Path | None) -> None:
        """Into the folder of the run, where there is one; without the model."""
        if folder is not None:
            said = {
                "tried": [asdict(each) for each in self.tried],
                "kept": self.kept,
                "why": self.why,
            }
            folder.mkdir(parents=True, exist_ok=True)
            (folder / TRIED).write_text(json.dumps(said, indent=1), encoding="utf-8")


def reason(kept: str, first: str, metric: str, ahead: float) -> str:
    """Why this one was kept, and not the first that was tried."""
    if kept == first:
        return f"{first} is kept: of what was tried, nothing has a higher {metric}"
    return f"Kept: {kept}. In {metric}, {ahead:.2f} points above {first}"


def said_of(texts: int, taught: Sequence[str]) -> str:
    """On which texts that was measured, and which models were taught them afterwards."""
    said = f"on {texts:,} texts that no model was taught."
    if taught:
        said += f" After that, {' and '.join(taught)} learned from them too; the figures are from "
        said += "before."
    return said


def read(folder: str | Path) -> dict[str, Any]:
    """The tried.json in a run's folder: tried, kept, why; empty where there is none."""
    path = Path(folder) / TRIED
    said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return said


def table(said: dict[str, Any]) -> list[list[str]]:
    """What `read` gives, as rows with the columns above."""
    rows = []
    for each in said["tried"]:
        figures = [f"{each['figures'][name]:.2f}" if each["figures"] else "" for name in FIGURES]
        kept = ["kept"] if each["name"] == said["kept"] else []
        notes = [*kept, *([each["note"]] if each["note"] else [])]
        minutes = f"{each['minutes']:.1f}" if each["minutes"] else ""
        rows.append([each["name"], ": ".join(notes), minutes, *figures])
    return rows
