"""`python benchmarks/run.py KIND NAME` measures, checks what we claim and keeps a record.

python benchmarks/run.py list
python benchmarks/run.py all
python benchmarks/run.py speed tfidf --repeats 5
python benchmarks/run.py quality one_vs_all --subset 2000 --no-record
python benchmarks/run.py quality eurlex57k lightxml --minutes 30    # one cell of docs/results.md
python benchmarks/run.py all --budget 10 --minutes 30    # its cells, as far as ten hours reach

Ends with 0 when every claim holds, 1 when one does not, 2 when the benchmark could not run.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import record
from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, say
from xmtc.core.errors import XmtcError, did_you_mean

HOME = Path(__file__).resolve().parent
KINDS = ("speed", "quality", "memory")
RESULTS = "results"  # the benchmark whose cells are run one by one
LEADS = "leads"  # reads what cells of the results leave


class Benchmark(Protocol):
    """What a module in one of the kinds' folders has, besides its docstring."""

    SETTINGS: dict[str, Any]  # all that is fixed: data set, parameters of both sides, remarks

    def run(self, options: Options) -> list[Measurement]:
        """The measurements."""

    def check(self, measurements: list[Measurement]) -> list[Claim]:
        """The claims, with the figures of this run alone."""


def main(arguments: Sequence[str], home: Path = HOME) -> int:
    """The command line; `home` holds the folders of the kinds and of the results."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.budget is not None and (asked.kind != "all" or not asked.budget > 0):
            raise BenchmarkError("--budget goes with all, and is a number of hours above 0.")
        if asked.kind == "list":
            _print_list(home)
            return 0
        if asked.kind == "all":
            return _run_all(asked, home)
        if asked.model:
            return _run_cell(asked, asked.name, asked.model, home)
        return _run(asked, asked.kind, asked.name, home)
    except (BenchmarkError, XmtcError) as problem:
        print(f"Error: {problem}", file=sys.stderr)
        return 2


def _run_all(asked: argparse.Namespace, home: Path) -> int:
    """Every benchmark, then every cell of the results, and what reads their rankings; with a
    budget, only such cells."""
    every = [(kind, name) for kind in KINDS for name in _names(kind, home)]
    if asked.budget is not None:
        return _run_cells(asked, home, asked.budget)
    codes = [_run_or_say(asked, *each, home) for each in every if each[1] not in (RESULTS, LEADS)]
    if ("quality", RESULTS) in every:
        codes.append(_run_cells(asked, home, math.inf))
    codes += [_run_or_say(asked, *each, home) for each in every if each[1] == LEADS]
    return max(codes, default=0)


def _run_or_say(asked: argparse.Namespace, kind: str, name: str, home: Path) -> int:
    return _tried(partial(_run, asked, kind, name, home), f"{kind} {name}")


def _run_cells(asked: argparse.Namespace, home: Path, hours: float) -> int:
    """Those without a fit record, each once, until one would not end in time."""
    results = cast(Any, _load("quality", RESULTS, home))
    end = time.monotonic() + 3600 * hours
    code = 0
    tried = set()
    if record.source()["dirty"]:
        say("There are changes that are not committed: what is measured now will not count.")
    while True:
        left = [
            cell
            for cell in results.pending(_options(asked), home / "records")
            if cell[:2] not in tried
        ]
        if not left:
            return code
        data, model, minutes = left[0]
        if time.monotonic() + 60 * minutes > end:
            say(
                f"{len(left)} cells are left; the next, {data} {model}, takes about {minutes:.0f} "
                "minutes."
            )
            return code
        tried.add((data, model))
        cell = partial(_run_cell, asked, data, model, home)
        code = max(code, _tried(cell, f"{data} {model}"))


def _tried(run: Callable[[], int], what: str) -> int:
    """Its code; one of many that cannot run does not keep the others from it."""
    try:
        return run()
    except (BenchmarkError, XmtcError) as problem:
        say(f"{what} could not be run: {problem}")
        return 2


def _run_cell(asked: argparse.Namespace, data: str, model: str, home: Path) -> int:
    if asked.kind not in ("quality", "all"):
        raise BenchmarkError(f"{asked.kind} {data} takes no model: only quality DATASET MODEL.")
    settings = _load("quality", RESULTS, home).SETTINGS
    for what, name, known in (
        ("data set", data, settings["data"]),
        ("system", model, settings["systems"]),
    ):
        if name not in known:
            hint = did_you_mean(name, known) or f": there are {', '.join(known)}."
            raise BenchmarkError(f"no {what} {name!r}{hint}")
    one = argparse.Namespace(**{**vars(asked), "only": [data], "systems": [model]})
    return _run(one, "quality", RESULTS, home)


def _options(asked: argparse.Namespace) -> Options:
    if not asked.data.is_dir():
        raise BenchmarkError(f"no folder {asked.data}: say where the data is with --data FOLDER.")
    return Options(
        asked.data,
        asked.repeats,
        asked.threads,
        asked.subset,
        asked.seed,
        tuple(asked.only),
        tuple(asked.systems),
        asked.limit_minutes,
        asked.minutes,
        asked.work,
    )


def _run(asked: argparse.Namespace, kind: str, name: str | None, home: Path) -> int:
    benchmark = _load(kind, name, home)
    options = _options(asked)
    about = record.about_the_run(f"{kind} {name}", options, benchmark.SETTINGS)
    measured = benchmark.run(options)
    claims = [Claim(*claim) for claim in benchmark.check(measured)]
    if not asked.no_record:
        record.append(home / "records" / f"{kind}_{name}.jsonl", about, measured, claims)
    _print_measurements(about["benchmark"], measured)
    if claims:
        _print_claims(claims)
    return 0 if all(claim.holds for claim in claims) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kind", choices=[*KINDS, "all", "list"])
    parser.add_argument("name", nargs="?", help="which one, `list` shows them; or a data set")
    parser.add_argument("model", nargs="?", help="with quality and a data set: this model")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="HOURS",
        help="with all: missing cells of the results, so long",
    )
    parser.add_argument("--data", type=Path, default=Options.data, help="folder of the data sets")
    parser.add_argument("--repeats", type=_positive, default=Options.repeats, help="rounds")
    parser.add_argument("--threads", type=_positive, default=Options.threads)
    parser.add_argument("--seed", type=int, default=Options.seed)
    parser.add_argument(
        "--subset",
        type=_positive,
        metavar="TEXTS",
        help="train on the first TEXTS only, for a quick try",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="DATA", help="these data sets")
    parser.add_argument("--systems", nargs="+", default=[], metavar="NAME", help="these systems")
    parser.add_argument(
        "--limit-minutes",
        type=float,
        default=Options.limit_minutes,
        help="stop a peer that needs longer",
    )
    parser.add_argument(
        "--minutes", type=float, default=Options.minutes, help="of training, for each neural system"
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Options.work,
        help="folder that keeps models which take long to train",
    )
    parser.add_argument("--no-record", action="store_true", help="keep nothing of this run")
    return parser


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _names(kind: str, home: Path) -> list[str]:
    return sorted(path.stem for path in (home / kind).glob("*.py") if path.stem[0] != "_")


def _load(kind: str, name: str | None, home: Path) -> Benchmark:
    names = _names(kind, home)
    if name not in names:
        asked = f"no {kind} benchmark {name!r}" if name else f"which {kind} benchmark"
        hint = did_you_mean(name or "", names)
        raise BenchmarkError(f"{asked}{hint or '?'} There are: {', '.join(names) or 'none'}.")
    path = home / kind / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmarks.{kind}.{name}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    missing = [part for part in ("SETTINGS", "run", "check") if not hasattr(module, part)]
    if missing:
        raise BenchmarkError(f"{path} has no {' and no '.join(missing)}; see benchmarks/README.md.")
    return cast(Benchmark, module)


def _print_list(home: Path) -> None:
    table = Table("kind", "name", "what it measures", header_style="bold")
    for kind in KINDS:
        for name in _names(kind, home):
            tree = ast.parse((home / kind / f"{name}.py").read_text(encoding="utf-8"))
            first_line = (ast.get_docstring(tree) or "").partition("\n")[0]
            table.add_row(kind, name, escape(first_line))
    _print(table)


def _print_measurements(title: str, measured: Sequence[Measurement]) -> None:
    columns = [key for row in measured for key, value in row.items() if not _is_long(value)]
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in dict.fromkeys(columns):
        is_text = any(isinstance(row.get(column), str) for row in measured)
        table.add_column(column, justify="left" if is_text else "right")
    for row in measured:
        table.add_row(*(_cell(row.get(column)) for column in dict.fromkeys(columns)))
    _print(table)


def _print_claims(claims: Sequence[Claim]) -> None:
    table = Table("", "claim", header_style="bold")
    table.add_column("figure", justify="right")
    for claim in claims:
        mark = "[green]holds[/]" if claim.holds else "[bold red]FAILS[/]"
        table.add_row(mark, escape(claim.sentence), _cell(claim.figure))
    _print(table)


def _print(table: Table) -> None:
    # A table that is piped to a file should not be folded to 80 columns.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _is_long(value: object) -> bool:
    return isinstance(value, list | dict)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
