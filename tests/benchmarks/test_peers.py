"""Peers in processes of their own: figures, failures, limits; planted data of the speed runs."""

from __future__ import annotations

import importlib
import json
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.kit import BenchmarkError, Options, chosen
from benchmarks.peers import ask, at_work
from benchmarks.process import alone, forget_peak, peak, resident
from benchmarks.quality import linear_tree
from benchmarks.quality._figures import saved_ranking

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


class Toy(at_work.System):
    """Remembers the training texts; the score of a label is how alike its texts are."""

    version = "toy 1"

    def fit(self, data, task):
        return np.ones(2_000_000) * 2, data

    def save(self, model, place):
        sp.save_npz(place / "model.npz", model[1][1].T @ model[1][0])

    def ready(self, place, task):
        return sp.load_npz(place / "model.npz")

    def rank(self, model, asked, task):
        return at_work.best((asked @ model.T).toarray(), task.k)


@pytest.fixture
def task(tmp_path):
    eye = sp.eye(30, dtype=np.float32, format="csr")
    linear_tree._write(tmp_path, eye, eye, eye)
    return at_work.Task(str(tmp_path), str(tmp_path / "ranking.npz"), 1, 1, 0, 5)


@LINUX
def test_a_cell_has_all_figures_and_a_ranking(task):
    figures = at_work.measure(Toy(), task)
    assert set(figures) == {
        "fit_seconds",
        "fit_cpu_seconds",
        "peak_mb",
        "model_mb",
        "rank_seconds",
        "single_p50_ms",
        "single_p99_ms",
        "single_texts",
        "batch_p50_ms",
        "batch_p99_ms",
        "config",
    }
    assert figures["single_texts"] == 30
    ranking = saved_ranking(Path(task.folder) / "ranking.npz", linear_tree.SETTINGS["k"])
    assert (ranking.labels[:, 0] == np.arange(30)).all()


def test_a_cell_says_how_much_memory_training_took(task):
    """In a process of its own: this one may have memory at hand from what ran before."""
    assert in_some_try(lambda: alone(at_work.measure, Toy(), task)["peak_mb"], 15, 100)


def test_the_file_for_omikuji_holds_the_same_data(task):
    lines = (Path(task.folder) / "X.txt").read_text().splitlines()
    assert lines[0] == "30 30 30"
    assert lines[1:] == [f"{row} {row}:1" for row in range(30)]


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
    ("package", "rates"),
    [(FastText(0.5), [0.5]), (FastText(0.2), [0.5, 0.25, 0.125])],
)
def test_fasttext_learns_more_slowly_where_its_tutorials_rate_ends_in_nan(
    monkeypatch, task, package, rates
):
    system = fasttext_system(monkeypatch, package)
    for _ in range(2):  # each task starts with the tutorial's rate
        package.rates.clear()
        (Path(task.folder) / "texts.json").write_text(json.dumps([["a"] * 30, []]))
        assert system.fit(system.load(task), task) == "model"
        assert package.rates == rates
        assert system.settings(task)["lr"] == rates[-1]


@pytest.mark.parametrize("package", [FastText(0.0), FastText(0.2, "Empty vocabulary.")])
def test_what_else_breaks_fasttext_is_said(monkeypatch, task, package):
    system = fasttext_system(monkeypatch, package)
    with pytest.raises(RuntimeError, match=package.problem):
        system.fit((Path("x"), "ova"), task)
    assert len(package.rates) == (1 if "Empty" in package.problem else 7)


def fasttext_system(monkeypatch, package):
    """The peer's script, with the package that its own environment has."""
    monkeypatch.setitem(sys.modules, "fasttext", package)
    monkeypatch.setattr(metadata, "version", lambda name: "0")
    monkeypatch.delitem(sys.modules, "benchmarks.peers.fasttext_ova", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds to it
    return importlib.import_module("benchmarks.peers.fasttext_ova").FastText()


SCRIPT = """
import os, sys, time
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
    return ask.Peer("xmtc", str(script))


def test_a_peer_that_ends_says_why(tmp_path):
    with toy_peer(tmp_path) as peer:
        assert peer.about == {"version": "toy 1"}
        assert peer.ask(do="answer") == {"figure": 1}
        with pytest.raises(ask.PeerFailed, match="ended with code 1: the toy broke"):
            peer.ask(do="die")


@pytest.mark.parametrize("how", ["kill", "grow"])
def test_a_peer_without_memory_says_so(tmp_path, how):
    with toy_peer(tmp_path) as peer, pytest.raises(ask.PeerFailed, match=r"^OOM$"):
        peer.ask(do=how)


def test_a_peer_that_does_not_start_is_no_result(tmp_path):
    (tmp_path / "toy.py").write_text("import nothing_of_this_name")
    with pytest.raises(BenchmarkError, match=r"xmtc does not start: .*No module") as raised:
        ask.Peer("xmtc", str(tmp_path / "toy.py"))
    assert not isinstance(raised.value, ask.PeerFailed)


def test_a_peer_that_needs_too_long_is_stopped(tmp_path):
    with toy_peer(tmp_path) as peer, pytest.raises(ask.PeerFailed, match=r"> 0\.005 min"):
        peer.ask_within(0.005, {"do": "sleep"})


def test_failures_are_rows_and_not_the_end(monkeypatch):
    assert linear_tree._summary(
        [{"version": "a 1", "fit_seconds": 1.0}, {"failed": "> 1 min"}]
    ) == {"failed": "> 1 min"}


@LINUX
def test_peak_memory_counts_from_where_it_was_forgotten():
    def growth():
        np.ones(20_000_000)
        forget_peak()
        before = resident()
        np.ones(5_000_000)
        return peak() - before

    assert in_some_try(growth, 35, 100)


def in_some_try(figure, least, most):
    """A busy system takes memory away that this process does not use, also while it is measured."""
    return any(least < figure() < most for _ in range(20))


def test_work_alone_happens_elsewhere():
    import os

    assert alone(os.getpid) != os.getpid()
    with pytest.raises(BenchmarkError, match="was killed"):
        alone(os.abort)


def test_what_is_asked_for_is_there():
    assert chosen(["b", "a"], ["a", "b", "c"], "--only") == ["a", "b"]
    assert chosen([], ["a", "b"], "--only") == ["a", "b"]
    with pytest.raises(BenchmarkError, match="--only d: there are a, b"):
        chosen(["d"], ["a", "b"], "--only")
    with pytest.raises(BenchmarkError, match="--systems"):
        linear_tree.run(Options(systems=("nobody",)))


def test_planted_data_has_unit_rows_and_every_label():
    from benchmarks.speed.growth import _planted

    features, relevant, asked = _planted(200, 100, seed=0)
    assert np.allclose(sp.linalg.norm(sp.csr_matrix(features), axis=1), 1, atol=1e-5)
    assert (np.diff(relevant.tocsc().indptr) > 0).all()
    assert (relevant.data == 1).all()
    assert asked.shape[1] == features.shape[1]
