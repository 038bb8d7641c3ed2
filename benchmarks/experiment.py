"""An experiment as data: its data sets, its systems with their settings, and its claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
Row: TypeAlias = dict[str, Any]  # what one system reached on one data set; a line of a table
Rows: TypeAlias = Sequence[Row]
KS = (1, 3, 5)
PARTS = ("what", "model", "metric")  # fields that tell the rows of one system apart


class BenchmarkError(Exception):
    """Why a benchmark cannot run, in one sentence."""


@dataclass(frozen=True)
class Options:
    """What the command line sets for every experiment."""

    data: tuple[str, ...] = ()  # these data sets; empty: all of the experiment
    systems: tuple[str, ...] = ()  # likewise
    repeats: int | None = None  # rounds, of which figures are medians; None: the experiment's
    threads: int = 2
    seed: int = 0
    subset: int | None = None  # train on the first so many texts only, for a quick try
    minutes: float = 30.0  # of training, for each neural system
    limit_minutes: float = 60.0  # a linear system that needs longer is stopped
    work: Path = ROOT / "benchmarks" / "work"  # trained models, so that a cell can be run again


@dataclass(frozen=True)
class System:
    """One row of a table. `measure` runs in a process of its own."""

    title: str

    def measure(self, data: str, options: Options) -> Row | list[Row]:
        """The figures on one data set; several rows where parts are measured."""
        raise NotImplementedError

    def limit(self, options: Options) -> float:
        """Minutes after which the process is stopped."""
        return options.limit_minutes

    def minutes(self, options: Options) -> float | None:
        """Minutes of training that the system may use (None: as long as it takes)."""
        return None


class Result(NamedTuple):
    """A claim after a run: whether it holds, and the figure that decides."""

    sentence: str
    holds: bool
    figure: float


@dataclass(frozen=True)
class Claim:
    """A sentence about each data set that one figure proves or disproves.

    value: the figure of a system, the largest where it has several rows. ratio: divided by the
    smallest of the others. times: the smallest of the others divided by it. ahead: minus the
    largest of the others. share: divided by another figure of the same row. sum: of all its rows.
    A system is a key, or `key:part` for one of its rows; of several the one with the best P@5.
    """

    sentence: str
    how: Literal["value", "ratio", "times", "ahead", "share", "sum"]
    figure: str
    of: tuple[str, ...]
    to: tuple[str, ...] = ()  # the others
    to_figure: str = ""  # of the others or, for a share, of the same row; else the same figure
    equal: str = ""  # only others that are not below in this figure
    scale: float = 1.0  # the unit of the result
    at_least: float | None = None
    at_most: float | None = None

    def results(self, rows: Rows) -> Iterator[Result]:
        """One result for each data set that has the systems."""
        done = [row for row in rows if "failed" not in row]
        for name in dict.fromkeys(row["data"] for row in done):
            found = self.decide([row for row in done if row["data"] == name])
            if found is not None:
                above = self.at_least is None or found >= self.at_least
                holds = above and (self.at_most is None or found <= self.at_most)
                yield Result(f"{name}: {self.sentence}", holds, round(found, 4))

    def decide(self, rows: Rows) -> float | None:
        """The figure that decides; none where a system was not run."""
        ours = [row for row in select(rows, self.of) if self.figure in row]
        if not ours:
            return None
        values = [float(row[self.figure]) for row in ours]
        if self.how in ("sum", "value"):
            return (sum(values) if self.how == "sum" else max(values)) / self.scale
        row = max(ours, key=lambda row: float(row.get("P@5", 0.0)))
        value = float(row[self.figure])
        if self.how == "share":
            return value / float(row[self.to_figure]) / self.scale
        others = [
            float(other[self.to_figure or self.figure])
            for other in select(rows, self.to)
            if not self.equal or other[self.equal] >= row[self.equal]
        ]
        if not others:
            return None
        ratios = {"ratio": value / min(others), "times": min(others) / value}
        return ratios.get(self.how, value - max(others))


def select(rows: Rows, names: Sequence[str]) -> list[Row]:
    """The rows of these systems, or of these parts of systems."""
    return [
        row
        for row in rows
        if any(
            name == row["key"] or name in {f"{row['key']}:{row.get(part)}" for part in PARTS}
            for name in names
        )
    ]


@dataclass(frozen=True)
class Experiment:
    """What `python -m benchmarks NAME` runs; its records are in `records/NAME.jsonl`."""

    name: str
    about: str  # one sentence
    data: tuple[str, ...]
    systems: Mapping[str, System]
    claims: tuple[Claim, ...] = ()
    repeats: int = 1
    remarks: tuple[str, ...] = ()  # what a reader must know to read the figures
    systems_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # else all of them
    record_each_cell: bool = False  # else one record per run

    def results(self, rows: Rows) -> list[Result]:
        """All claims that these rows can decide."""
        return [result for claim in self.claims for result in claim.results(rows)]
