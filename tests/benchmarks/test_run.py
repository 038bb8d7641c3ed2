"""The benchmark runner: finds modules, asserts their claims, keeps records."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run.py"

FAKE = '''
"""Counts sheep, beside goats."""
from __future__ import annotations
from dataclasses import dataclass

SETTINGS = {"meadow": "green"}

@dataclass
class Sheep:
    count: int

def run(options):
    sheep = Sheep(options.repeats)
    return [{"system": "sheep", "count": sheep.count, "seconds": 0.5, "runs": [0.5]},
            {"system": "[goats]", "count": 2, "note": "horned"}]

def check(measurements):
    sheep, goats = (row["count"] for row in measurements)
    return [("there are at least as many sheep as goats", sheep >= goats, sheep / goats)]
'''


def load_runner():
    spec = importlib.util.spec_from_file_location("benchmark_runner", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


runner = load_runner()


@pytest.fixture
def home(tmp_path):
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "__init__.py").write_text('"""Not a benchmark."""')
    (tmp_path / "speed" / "sheep.py").write_text(FAKE)
    yield tmp_path
    sys.modules.pop("benchmarks.speed.sheep", None)


def run(home, *arguments, data=None):
    return runner.main([*arguments, "--data", str(data or home)], home)


def records(home):
    lines = (home / "records" / "speed_sheep.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_claims_that_hold_end_with_0(home, capsys):
    assert run(home, "speed", "sheep", "--repeats", "3") == 0
    printed = capsys.readouterr().out
    assert "holds" in printed
    assert "there are at least as many sheep as goats" in printed
    assert "1.50" in printed
    assert "[goats]" in printed
    assert "runs" not in printed


def test_a_claim_that_fails_ends_with_1_and_is_recorded(home, capsys):
    assert run(home, "speed", "sheep", "--repeats", "1") == 1
    assert "FAILS" in capsys.readouterr().out
    [record] = records(home)
    assert record["claims"][0]["holds"] is False
    assert record["claims"][0]["figure"] == 0.5


def test_records_are_appended_and_earlier_ones_stay(home):
    run(home, "speed", "sheep", "--repeats", "2")
    first = (home / "records" / "speed_sheep.jsonl").read_text()
    run(home, "speed", "sheep", "--repeats", "4", "--seed", "7")
    assert (home / "records" / "speed_sheep.jsonl").read_text().startswith(first)
    assert [record["options"]["repeats"] for record in records(home)] == [2, 4]
    assert [record["seed"] for record in records(home)] == [0, 7]


def test_a_record_says_what_was_measured_where_and_how(home):
    run(home, "speed", "sheep")
    [record] = records(home)
    assert record["benchmark"] == "speed sheep"
    assert record["settings"] == {"meadow": "green"}
    assert record["measurements"][0]["runs"] == [0.5]
    assert record["machine"]["cores"] >= 1
    assert record["machine"]["ram_gb"] > 0
    assert {"python", "numpy", "scipy", "numba"} <= record["versions"].keys()
    assert isinstance(record["dirty"], bool)
    assert {"commit", "date", "command", "load_before", "load_after"} <= record.keys()


def test_nothing_is_recorded_on_request(home):
    assert run(home, "speed", "sheep", "--no-record") == 0
    assert not (home / "records").exists()


def test_the_list_shows_every_benchmark_without_running_it(home, capsys):
    (home / "memory").mkdir()
    (home / "memory" / "broken.py").write_text('"""Cannot be imported."""\nraise SystemError\n')
    assert run(home, "list") == 0
    printed = capsys.readouterr().out
    assert "Counts sheep, beside goats." in printed
    assert "Cannot be imported." in printed
    assert "__init__" not in printed


def test_missing_data_is_one_sentence(home, capsys):
    assert run(home, "speed", "sheep", data=home / "nowhere") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: no folder")
    assert "--data" in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["speed", "shep"], "did you mean 'sheep'?"),
        (["speed"], "which speed benchmark? There are: sheep."),
        (["quality", "sheep"], "There are: none."),
    ],
)
def test_an_unknown_name_is_one_sentence(home, capsys, arguments, says):
    assert run(home, *arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_module_without_claims_is_turned_away(home, capsys):
    (home / "speed" / "sheep.py").write_text('"""No claims."""\nSETTINGS = {}\n')
    assert run(home, "speed", "sheep") == 2
    assert "has no run and no check" in capsys.readouterr().err


def test_our_own_benchmarks_can_be_loaded():
    for kind in runner.KINDS:
        for name in runner._names(kind, runner.HOME):
            assert runner._load(kind, name, runner.HOME).SETTINGS["data"]
            del sys.modules[f"benchmarks.{kind}.{name}"]


def test_candidates_take_turns():
    from benchmarks.kit import Timing, in_turns, summary

    order = []
    candidates = {name: lambda name=name: order.append(name) or Timing(1, 2) for name in "ab"}
    timings = in_turns(candidates, repeats=2)
    assert order == ["a", "b", "a", "b"]
    assert summary(timings["a"]) == {"seconds": 1, "cpu_seconds": 2, "runs": [1, 1]}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
@pytest.mark.parametrize("ended", [True, False])
def test_processor_time_counts_children(ended):
    from benchmarks.kit import timed

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


def test_peak_memory_is_that_of_the_child():
    from benchmarks.kit import BenchmarkError, peak_memory

    # Asked from a small process: a child is counted from the size of its parent at least.
    code = (
        "import sys; from benchmarks.kit import peak_memory\n"
        "small = peak_memory([sys.executable, '-c', 'print(1)'])\n"
        "large = peak_memory([sys.executable, '-c', \"bytearray(b'1') * 300_000_000\"])\n"
        "print(small[0], large[0], small[1])"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    small, large, printed = map(int, asked.stdout.split())
    assert printed == 1
    assert small < 100_000_000
    assert large > 300_000_000
    with pytest.raises(BenchmarkError, match="ended with code 3"):
        peak_memory([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_who_is_killed_takes_the_work_along(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from benchmarks.process import alone\n"
        "def work(place):\n"
        "    Path(place + '.new').write_text(str(os.getpid()))\n"
        "    os.rename(place + '.new', place)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    alone(work, sys.argv[1])\n"
    )
    place = tmp_path / "pid"
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    parent = subprocess.Popen([sys.executable, script, place], env=environment)
    _soon(place.exists)
    parent.kill()
    parent.wait()
    status = Path("/proc") / place.read_text() / "stat"
    _soon(lambda: not status.exists() or ") Z " in status.read_text())


def _soon(true):
    end = time.monotonic() + 50
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
