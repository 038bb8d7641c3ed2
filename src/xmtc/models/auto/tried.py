"""What a search for the best model tried, selected and why: as a value, a file and a table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xmtc.core.files import write_text
from xmtc.core.interfaces import Model
from xmtc.neural.settings import METRICS

TRIED = "tried.json"  # in the folder of the run
COLUMNS = ("tried", "", "minutes", *METRICS)  # of the table


@dataclass(frozen=True)
class Trial:
    """A line of the table: metrics of a model on the validation set, or why it was not tried."""

    name: str
    minutes: float
    figures: dict[str, float]  # empty when it was not tried
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """The model that was selected, all that was tried, and why."""

    model: Model
    tried: tuple[Trial, ...]
    selected: str
    why: str

    def write(self, folder: Path | None) -> None:
        """Into the folder of the run, where there is one; without the model."""
        if folder is not None:
            tried = [asdict(each) for each in self.tried]
            values = {"tried": tried, "selected": self.selected, "why": self.why}
            write_text(folder / TRIED, json.dumps(values, indent=1))


def read(folder: str | Path) -> dict[str, Any]:
    """The tried.json in a run's folder: tried, selected, why; empty where there is none."""
    path = Path(folder) / TRIED
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return values


def table(outcome: dict[str, Any]) -> list[list[str]]:
    """What `read` gives, as rows with the columns above."""
    rows = []
    for each in outcome["tried"]:
        figures = [f"{each['figures'][name]:.2f}" if each["figures"] else "" for name in METRICS]
        selected = ["selected"] if each["name"] == outcome["selected"] else []
        notes = [*selected, *([each["note"]] if each["note"] else [])]
        minutes = f"{each['minutes']:.1f}" if each["minutes"] else ""
        rows.append([each["name"], ": ".join(notes), minutes, *figures])
    return rows
