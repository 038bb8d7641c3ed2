"""The one runner: cells in processes of their own, medians over rounds, claims, a record."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.data import chosen, folder
from benchmarks.experiment import BenchmarkError, Experiment, Options, Result, Row, System
from benchmarks.limits import OOM, Killed, TooSlow, alone
from benchmarks.peers.client import PeerFailed
from benchmarks.record import say
from xmtc.core.errors import XmtcError

TIMES = ("fit_seconds", "train_seconds", "seconds")  # whose rounds are recorded one by one


def run(
    experiment: Experiment,
    options: Options,
    command: Sequence[str] = (),
    records: Path | None = record.RECORDS,
    skip: Sequence[tuple[str, str]] = (),
) -> tuple[list[Row], list[Result]]:
    """The rows of all cells that were asked for, and which claims hold.

    records: the folder whose file gets a record (None: none).
    skip: cells, a data set and a system each, that are left out.
    """
    cells = [cell for cell in cells_of(experiment, options) if cell not in skip]
    rows: list[Row] = []
    for group in [[cell] for cell in cells] if experiment.record_each_cell else [cells]:
        about = record.about_the_run(experiment, options, command)
        found = in_rounds(experiment, group, options)
        if records and found:
            path = records / f"{experiment.name}.jsonl"
            record.append(path, about, found, experiment.results(found))
        rows += found
    return rows, experiment.results(rows)


def cells_of(experiment: Experiment, options: Options) -> list[tuple[str, str]]:
    """The cells that the options ask for: systems asked for by name, else those of the data."""
    more = [name for name in options.data if (folder() / name).is_dir()]
    names = chosen(options.data, list(dict.fromkeys([*experiment.data, *more])), "--data")
    keys = chosen(options.systems, list(experiment.systems), "--systems")
    every = tuple(experiment.systems)
    return [
        (name, key)
        for name in names
        for key in keys
        if options.systems or key in experiment.systems_on.get(name, every)
    ]


def in_rounds(
    experiment: Experiment, cells: Sequence[tuple[str, str]], options: Options
) -> list[Row]:
    """Each cell once per round, so that a busy moment does not meet only one."""
    rounds: dict[tuple[str, str], list[list[Row]]] = {cell: [] for cell in cells}
    for number in range(1, (options.repeats or experiment.repeats) + 1):
        for (name, key), found in rounds.items():
            if not found or "failed" not in found[-1][0]:
                found.append(cell(experiment.systems[key], name, options))
                say(f"{name}, {key}, round {number}: {found[-1][0].get('failed', 'done')}")
    rows: list[Row] = []
    for (name, key), found in rounds.items():
        system = experiment.systems[key]
        about: Row = {"data": name, "key": key, "system": system.title}
        about |= {"threads": options.threads, "seed": options.seed}
        if (minutes := system.minutes(options)) is not None:
            about["minutes"] = minutes
        rows += [about | row for row in medians(found)]
    return rows


def cell(system: System, name: str, options: Options) -> list[Row]:
    """The figures of one system, or why it has none; what is wrong with the benchmark is raised."""
    try:
        found = alone(system.measure, name, options, minutes=system.limit(options))
    except (TooSlow, PeerFailed) as problem:
        return [{"failed": str(problem)}]
    except (Killed, MemoryError):
        return [{"failed": OOM}]
    except (BenchmarkError, XmtcError):
        raise
    except OSError as problem:  # a full disk, say
        raise BenchmarkError(str(problem)) from problem
    except Exception as problem:  # a system's failure is a result
        return [{"failed": f"{type(problem).__name__}: {problem}"[:200]}]
    return found if isinstance(found, list) else [found]


def medians(rounds: Sequence[Sequence[Row]]) -> list[Row]:
    """The median of every number over the rounds; other values are those of the last round."""
    if len(rounds) == 1 or "failed" in rounds[-1][0]:
        return [{name: rounded(value) for name, value in row.items()} for row in rounds[-1]]
    found = []
    for rows in zip(*rounds, strict=True):
        last = dict(rows[-1])
        for name, value in rows[-1].items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                last[name] = rounded(statistics.median(row[name] for row in rows))
        for name in TIMES:
            if name in last:
                last["runs"] = [rounded(row[name]) for row in rows]
        found.append(last)
    return found


def rounded(value: Any) -> Any:
    """Figures with the digits that count."""
    if not isinstance(value, float):
        return value
    return round(value, 3 if value >= 1 else 4)
