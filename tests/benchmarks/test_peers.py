"""Peers in processes of their own: figures and failures; systems of ours; planted data."""

from __future__ import annotations

import importlib
import json
import sys
from importlib import metadata
from io import BytesIO
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.experiment import BenchmarkError, Options, System
from benchmarks.figures import saved_ranking
from benchmarks.limits import alone
from benchmarks.measures.growth import planted
from benchmarks.peers import client, runner
from benchmarks.runner import cell
from sklearn.datasets import load_svmlight_file

from waiting import soon

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


class Toy(runner.Adapter):
    """Remembers the training texts; the score of a label is how alike its texts are."""

    version = "toy 1"

    def fit(self, data, task):
        return np.ones(2_000_000) * 2, data

    def save(self, model, place):
        sp.save_npz(place / "model.npz", model[1][1].T @ model[1][0])

    def ready(self, place, task):
        return sp.load_npz(place / "model.npz")

    def rank(self, model, asked, task):
        return runner.best((asked @ model.T).toarray(), task.k)


@pytest.fixture
def task(tmp_path):
    eye = sp.eye(30, dtype=np.float32, format="csr")
    for part in "XYT":
        sp.save_npz(tmp_path / part, eye)
    return runner.Task(str(tmp_path), trees=1, threads=1, seed=0, k=5)


@LINUX
def test_a_cell_has_all_figures_and_a_ranking(task):
    found = runner.measure(Toy(), task)
    times = "fit_seconds fit_cpu_seconds rank_seconds single_p50_ms single_p99_ms"
    assert set(found) == {*times.split(), *["peak_mb", "model_mb", "single_texts", "config"]}
    assert found["single_texts"] == 30
    ranking = saved_ranking(Path(task.folder) / "ranking.npz", 5)
    assert (ranking.labels[:, 0] == np.arange(30)).all()


def test_a_cell_says_how_much_memory_training_took(task):
    """In a process of its own: this one may have memory at hand from what ran before."""
    assert any(15 < alone(runner.measure, Toy(), task)["peak_mb"] < 100 for _ in range(20))


def test_the_data_file_of_omikuji_holds_the_same_data(monkeypatch, tmp_path):
    modules = ("omikuji", "omikuji._libomikuji")
    adapter = adapter_of(monkeypatch, "omikuji_tree", dict.fromkeys(modules, mock.MagicMock()))
    features = sp.random(20, 7, 0.3, "csr", np.float32, random_state=0)
    relevant = sp.random(20, 5, 0.4, "csr", np.float32, random_state=1)
    adapter.write_svmlight(tmp_path / "X.txt", features, relevant)
    header, *lines = (tmp_path / "X.txt").read_text().splitlines()
    assert header == "20 7 5"
    body = BytesIO("\n".join(lines).encode())
    read, labels = load_svmlight_file(body, n_features=7, multilabel=True, zero_based=True)
    assert np.allclose(read.toarray(), features.toarray(), atol=1e-5)
    assert [set(row) for row in labels] == [set(row.indices) for row in relevant]


class FastText:
    """Stands for the package: it ends in NaN unless the learning rate is low enough."""

    def __init__(self, stable, problem="Encountered NaN."):
        self.stable = stable
        self.problem = problem
        self.rates = []

    def train_supervised(self, path, lr, **_):
        self.rates.append(lr)
        if lr > self.stable:
            raise RuntimeError(self.problem)
        return "model"


@pytest.mark.parametrize(
    ("package", "rates"), [(FastText(0.5), [0.5]), (FastText(0.2), [0.5, 0.25, 0.125])]
)
def test_fasttext_halves_a_rate_that_ends_in_nan(monkeypatch, task, package, rates):
    adapter = fasttext_adapter(monkeypatch, package)
    for _ in range(2):  # each task starts with the tutorial's rate
        package.rates.clear()
        (Path(task.folder) / "texts.json").write_text(json.dumps([["a"] * 30, []]))
        assert adapter.fit(adapter.load(task), task) == "model"
        assert package.rates == rates
        assert adapter.settings(task)["lr"] == rates[-1]


@pytest.mark.parametrize("package", [FastText(0.0), FastText(0.2, "Empty vocabulary.")])
def test_other_errors_of_fasttext_are_raised(monkeypatch, task, package):
    adapter = fasttext_adapter(monkeypatch, package)
    with pytest.raises(RuntimeError, match=package.problem):
        adapter.fit((Path("x"), "ova"), task)
    assert len(package.rates) == (1 if "Empty" in package.problem else 7)


def fasttext_adapter(monkeypatch, package):
    return adapter_of(monkeypatch, "fasttext_ova", {"fasttext": package}).FastText()


def adapter_of(monkeypatch, script, packages):
    """The peer's script, with the packages that its own environment has."""
    for name, package in packages.items():
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.setattr(metadata, "version", lambda name: "0")
    monkeypatch.delitem(sys.modules, f"benchmarks.peers.{script}", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds to it
    return importlib.import_module(f"benchmarks.peers.{script}")


SCRIPT = """
import os, sys, time
from pathlib import Path
if sys.argv[1:]: Path(sys.argv[1]).write_text(str(os.getpid()))
print('{"version": "toy 1"}', flush=True)
for line in sys.stdin:
    if "sleep" in line: time.sleep(60)
    if "die" in line: sys.exit("the toy broke")
    if "kill" in line: os.kill(os.getpid(), 9)
    if "grow" in line: sys.exit("std::bad_alloc")
    print('{"figure": 1}', flush=True)
"""


def toy_peer(tmp_path):
    script = tmp_path / "toy.py"
    script.write_text(SCRIPT)
    return client.Peer("xmtc", str(script))


def test_a_peer_that_ends_says_why(tmp_path):
    with toy_peer(tmp_path) as peer:
        assert peer.about == {"version": "toy 1"}
        assert peer.ask(do="answer") == {"figure": 1}
        with pytest.raises(client.PeerFailed, match="ended with code 1: the toy broke"):
            peer.ask(do="die")


@pytest.mark.parametrize("how", ["kill", "grow"])
def test_a_peer_without_memory_says_so(tmp_path, how):
    with toy_peer(tmp_path) as peer, pytest.raises(client.PeerFailed, match=r"^OOM$"):
        peer.ask(do=how)


class Sleeper(System):
    """A package that takes a minute. Its data set is the folder of its script."""

    def measure(self, data, options):
        with client.Peer("xmtc", f"{data}/toy.py", f"{data}/pid") as peer:
            return peer.ask(do="sleep")

    def limit(self, options):
        return 0.1


@LINUX
def test_a_package_that_needs_too_long_fails_and_its_process_is_stopped(tmp_path):
    (tmp_path / "toy.py").write_text(SCRIPT)
    assert cell(Sleeper("toy"), str(tmp_path), Options()) == [{"failed": "> 0.1 min"}]
    status = Path("/proc") / (tmp_path / "pid").read_text() / "stat"
    soon(lambda: not status.exists() or ") Z " in status.read_text())


def test_a_peer_that_does_not_start_is_no_result(tmp_path):
    (tmp_path / "toy.py").write_text("import nothing_of_this_name")
    with pytest.raises(BenchmarkError, match=r"xmtc does not start: .*No module") as raised:
        client.Peer("xmtc", str(tmp_path / "toy.py"))
    assert not isinstance(raised.value, client.PeerFailed)


def test_planted_data_has_unit_rows_and_every_label():
    features, relevant, asked = planted(200, seed=0)
    assert np.allclose(sp.linalg.norm(sp.csr_matrix(features), axis=1), 1, atol=1e-5)
    assert (np.diff(relevant.tocsc().indptr) > 0).all()
    assert (relevant.data == 1).all()
    assert asked.shape[1] == features.shape[1]
