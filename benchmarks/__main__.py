"""`python -m benchmarks EXPERIMENT`: measures, checks the claims and appends a record.

python -m benchmarks list
python -m benchmarks speed_tfidf --repeats 5
python -m benchmarks quality_results --data eurlex57k --systems lightxml --minutes 30
python -m benchmarks all

Data sets are names; the folder that holds them is in XMTC_DATA. Ends with 0 when all claims hold,
1 when one does not, 2 when an experiment could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from benchmarks import record, runner, standing
from benchmarks.catalog import EXPERIMENTS
from benchmarks.experiment import BenchmarkError, Experiment, Options, Rows
from benchmarks.render import Column, markdown, results_table, table
from xmtc.core.errors import XmtcError, did_you_mean

FOLDERS = ("--work", "--records")  # options


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    asked = parser().parse_args(arguments)
    if asked.experiment == "list":
        lines = [[each.name, each.about, ", ".join(each.data)] for each in EXPERIMENTS.values()]
        print(markdown(["experiment", "what it measures", "data sets"], lines))
        return 0
    names = list(EXPERIMENTS) if asked.experiment == "all" else [asked.experiment]
    codes = []
    for name in names:
        try:
            codes.append(run(named(name), asked, arguments))
        except (BenchmarkError, XmtcError) as problem:
            print(f"Error: {name}: {problem}", file=sys.stderr)
            codes.append(2)
    return max(codes)


def run(experiment: Experiment, asked: argparse.Namespace, arguments: Sequence[str]) -> int:
    """One experiment: measure, print, record."""
    names = {each.name for each in fields(Options)}
    values = {name: value for name, value in vars(asked).items() if name in names}
    options = Options(**{**values, "data": tuple(asked.data), "systems": tuple(asked.systems)})
    missing = experiment.name == standing.OWN and (asked.missing or asked.experiment == "all")
    skip = standing.measured_cells(options, asked.records) if missing else []
    folder = None if asked.no_record else asked.records
    rows, results = runner.run(experiment, options, without_folders(arguments), folder, skip)
    print(f"{experiment.about}\n\n{printed(rows)}\n\n{results_table(results)}")
    return 0 if all(result.holds for result in results) else 1


def without_folders(arguments: Sequence[str]) -> list[str]:
    """The command as it may stand in a record, which names no folder of the machine."""
    gone = {
        place + step for place, word in enumerate(arguments) for step in (0, 1) if word in FOLDERS
    }
    return [word for place, word in enumerate(arguments) if place not in gone]


def named(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        hint = did_you_mean(name, EXPERIMENTS) or "."
        raise BenchmarkError(f"no experiment {name!r}{hint} Available: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def parser() -> argparse.ArgumentParser:
    """All options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("experiment", help="`list` shows them; `all` runs all, of quality_results what is missing")
    add("--data", nargs="+", default=[], metavar="NAME", help="these data sets")
    add("--systems", nargs="+", default=[], metavar="NAME", help="these systems")
    add("--repeats", type=int, help="rounds, of which figures are medians")
    add("--threads", type=int, default=Options.threads)
    add("--seed", type=int, default=Options.seed)
    add("--subset", type=int, metavar="TEXTS", help="first training texts only: a quick try")
    add("--minutes", type=float, default=Options.minutes, help="training of a neural system")
    add("--limit-minutes", type=float, default=Options.limit_minutes, help="of a linear system")
    add("--missing", action="store_true", help="only cells of quality_results without a record")
    add("--work", type=Path, default=Options.work, help="folder for trained models")
    add("--records", type=Path, default=record.RECORDS, help="folder for records")
    add("--no-record", action="store_true", help="append no record")
    return made


def printed(rows: Rows) -> str:
    """All figures that fit into a cell; lists are in the record only."""
    names = dict.fromkeys(
        name for row in rows for name, value in row.items() if not isinstance(value, list | dict)
    )
    return table([Column(name, f"{{{name}}}") for name in names], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
