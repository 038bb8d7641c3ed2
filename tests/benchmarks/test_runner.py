"""The runner: cells in processes of their own, medians, records, failures; the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from benchmarks import __main__ as command_line
from benchmarks import record, runner
from benchmarks.experiment import BenchmarkError, Claim, Experiment, Options, System
from benchmarks.limits import alone, peak, reset_peak, resident, timed

from waiting import soon
from xmtc.core.errors import DataError

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@dataclass(frozen=True)
class Toy(System):
    """Counts, or ends as it is told to."""

    count: int = 1
    ends: str = ""

    def measure(self, data, options):
        errors = {"memory": MemoryError(), "data": DataError("no such file")}
        errors["breaks"] = ValueError("two | words")
        if self.ends in errors:
            raise errors[self.ends]
        if self.ends == "killed":
            os.abort()
        return {"seconds": float(self.count), "pid": os.getpid(), "list": [1, 2]}


TOYS = Experiment(
    name="toys",
    about="counts toys",
    data=("laws", "books"),
    systems={"few": Toy("few toys"), "many": Toy("many toys", 3)},
    claims=(Claim("few is less", "ratio", "seconds", ("few",), ("many",), at_most=0.5),),
)


def lines(folder):
    return [json.loads(line) for line in (folder / "toys.jsonl").read_text().splitlines()]


def test_a_run_appends_one_record_and_earlier_ones_stay(tmp_path):
    rows, results = runner.run(TOYS, Options(data=("laws",)), ["toys"], tmp_path)
    first = (tmp_path / "toys.jsonl").read_text()
    assert [row["key"] for row in rows] == ["few", "many"]
    assert len({row["pid"] for row in rows} | {os.getpid()}) == 3
    assert results == [("laws: few is less", True, 0.3333)]
    runner.run(TOYS, Options(data=("laws",), seed=7), [], tmp_path)
    assert (tmp_path / "toys.jsonl").read_text().startswith(first)
    assert [line["seed"] for line in lines(tmp_path)] == [0, 7]


def test_a_record_has_what_is_needed_to_read_it_and_names_no_folder(tmp_path):
    runner.run(TOYS, Options(data=("laws",), systems=("few",)), ["toys"], tmp_path)
    (found,) = lines(tmp_path)
    assert found["command"] == "python -m benchmarks toys"
    assert found["settings"]["systems"]["many"] == {"title": "many toys", "count": 3, "ends": ""}
    assert {"commit", "date", "machine", "load_before", "load_after", "versions"} <= found.keys()
    assert found["machine"]["cores"] >= 1
    assert found["measurements"][0]["list"] == [1, 2]
    assert str(ROOT) not in json.dumps(found)
    assert str(tmp_path) not in json.dumps(found)


def test_cells_may_have_a_record_each(tmp_path):
    experiment = replace(TOYS, record_each_cell=True, systems_on={"books": ("many",)})
    runner.run(experiment, Options(), [], tmp_path, skip=[("laws", "few")])
    found = [line["measurements"] for line in lines(tmp_path)]
    assert [(row["data"], row["key"]) for (row,) in found] == [("laws", "many"), ("books", "many")]


@LINUX
@pytest.mark.parametrize(
    ("ends", "failed"),
    [("killed", "OOM"), ("memory", "OOM"), ("breaks", "ValueError: two | words")],
)
def test_what_fails_is_a_row_and_not_the_end(ends, failed):
    systems = {"bad": Toy("bad", ends=ends), "few": Toy("few")}
    experiment = replace(TOYS, data=("laws",), systems=systems, claims=())
    rows, _ = runner.run(experiment, Options(repeats=2), records=None)
    assert rows[0]["failed"] == failed
    assert rows[1]["seconds"] == 1.0


def test_what_is_wrong_with_the_benchmark_is_raised():
    experiment = replace(TOYS, systems={"bad": Toy("bad", ends="data")})
    with pytest.raises(DataError, match="no such file"):
        runner.run(experiment, Options(data=("laws",)), records=None)


def test_figures_are_medians_over_the_rounds():
    rounds = [[{"seconds": value, "version": "a", "list": [value]}] for value in (3.0, 1.0, 8.0)]
    assert runner.medians(rounds) == [
        {"seconds": 3.0, "version": "a", "list": [8.0], "runs": [3.0, 1.0, 8.0]}
    ]


def test_the_command_prints_the_rows_and_the_claims(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(command_line.EXPERIMENTS, "toys", TOYS)
    code = command_line.main(["toys", "--data", "laws", "--records", str(tmp_path)])
    printed = capsys.readouterr().out
    assert code == 0
    assert "| laws | many | many toys | 2 | 0 | 3 |" in printed
    assert "| few is less | 0.33 holds |" in printed


def test_the_command_in_a_record_names_no_folder():
    words = ["toys", "--work", "here", "--data", "laws", "--records", "there"]
    assert command_line.without_folders(words) == ["toys", "--data", "laws"]


def test_a_claim_that_fails_ends_with_1_and_records_on_request_only(monkeypatch, tmp_path):
    failing = replace(TOYS, claims=(replace(TOYS.claims[0], at_most=0.1),))
    monkeypatch.setitem(command_line.EXPERIMENTS, "toys", failing)
    options = ["toys", "--data", "laws", "--no-record", "--records", str(tmp_path)]
    assert command_line.main(options) == 1
    assert not (tmp_path / "toys.jsonl").exists()


def test_an_unknown_experiment_is_one_sentence(capsys):
    assert command_line.main(["speed_tfid"]) == 2
    assert "did you mean 'speed_tfidf'?" in capsys.readouterr().err


def test_missing_data_is_one_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XMTC_DATA", str(tmp_path))
    assert command_line.main(["memory_doctor", "--systems", "reading", "--no-record"]) == 2
    assert "set XMTC_DATA" in capsys.readouterr().err.splitlines()[-1]


def test_records_of_subsets_and_of_changed_code_are_not_shown(tmp_path):
    kinds = [(1, False, None), (2, True, None), (3, False, 500), (4, False, None)]
    found = [{"seed": s, "dirty": d, "options": {"subset": n}} for s, d, n in kinds]
    (tmp_path / "toys.jsonl").write_text("\n".join(map(json.dumps, found)))
    assert record.records("toys", tmp_path) == [found[3], found[0]]
    assert record.records("dolls", tmp_path) == []


def test_work_alone_happens_elsewhere():
    assert alone(os.getpid) != os.getpid()
    with pytest.raises(BenchmarkError, match="was killed"):
        alone(os.abort)


@LINUX
def test_who_is_killed_takes_the_work_along(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from benchmarks.limits import alone\n"
        "def work(place):\n"
        "    Path(place + '.new').write_text(str(os.getpid()))\n"
        "    os.rename(place + '.new', place)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    alone(work, sys.argv[1])\n"
    )
    place = tmp_path / "pid"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": paths}
    parent = subprocess.Popen([sys.executable, script, place], env=environment)
    soon(place.exists)
    parent.kill()
    parent.wait()
    status = Path("/proc") / place.read_text() / "stat"
    soon(lambda: not status.exists() or ") Z " in status.read_text())


@LINUX
@pytest.mark.parametrize("ended", [True, False])
def test_processor_time_counts_children(ended):
    busy = "import time\nwhile time.process_time() < 0.2: pass\nprint(1, flush=True)\ninput()"
    pipe = subprocess.PIPE

    def work():
        child = subprocess.Popen([sys.executable, "-c", busy], stdin=pipe, stdout=pipe, text=True)
        child.stdout.readline()
        if ended:
            child.communicate("\n")
        return child

    child, timing = timed(work)
    if not ended:
        child.communicate("\n")
    assert 0.15 < timing.cpu_seconds < timing.seconds + 0.5


@LINUX
def test_peak_memory_counts_from_where_it_was_reset():
    import numpy as np

    def growth():
        np.ones(20_000_000)
        reset_peak()
        before = resident()
        np.ones(5_000_000)
        return peak() - before

    # A busy system takes memory away that this process does not use, also while it is measured.
    assert any(35 < growth() < 100 for _ in range(20))
