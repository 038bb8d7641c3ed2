"""A training that is killed and started again ends with the same weights, bit by bit."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

import xmtc
from quick import quick_settings, training_config
from toys import Toy, weights
from xmtc.core.run import NO_RUN, Run
from xmtc.data.planted import planted
from xmtc.neural.devices import Rng
from xmtc.neural.training import loop
from xmtc.neural.training.checkpoint import newest
from xmtc.neural.training.loop import fit

SETTINGS = {
    "epochs": 3,
    "from_epoch": 1,
    "every_steps": 2,
    "accumulate": 2,
    "patience": 9,
    "dropout_off_after_validation": True,
}
METRICS = [3.0, 5.0, 4.0]


def _config(averaging=True, **others):
    config = training_config(**{**SETTINGS, **others})
    return config if averaging else replace(config, averaging=None)


class Killed(Exception):
    """Stands for a process that is gone."""


def toy(done=0):
    return Toy(texts=40, metrics=METRICS[done:])


def run_in(folder, seconds=0.0):
    """A run that writes a checkpoint after every step, or as seldom as this."""
    return replace(Run.at(folder), checkpoint_seconds=seconds)


def trained(task, run=NO_RUN, kill_at=None, key="key", *, seed=1, pause=0.0, **others):
    def after_step(state):
        time.sleep(pause)
        if state.step == kill_at:
            raise Killed

    fit(task, _config(**others), key, run, Rng(seed), after_step)
    return weights(task)


@given(
    kills=st.lists(st.integers(1, 15), min_size=1, max_size=3, unique=True).map(sorted),
    seconds=st.sampled_from([0.0, 1e9]),
    precision=st.sampled_from(["fp32", "fp16"]),
)
@settings(max_examples=10)
def test_killed_at_any_step_the_weights_are_the_same(tmp_path_factory, kills, seconds, precision):
    whole = trained(toy(), precision=precision)
    run = run_in(tmp_path_factory.mktemp("run"), seconds)
    for kill in kills:
        with pytest.raises(Killed):
            # What an epoch measured before the kill is in the checkpoint.
            trained(toy(_epochs_done(run)), run, kill, precision=precision)
    again = trained(toy(_epochs_done(run)), run, precision=precision)
    assert (again == whole).all()


class Measuring(Toy):
    """Its figure depends on its weights, so that it is the same whenever it is measured."""

    def measure(self):
        return {"P@5": float(weights(self).sum())}


@pytest.mark.parametrize("kill", [1, 4, 6, 9])
def test_validations_inside_an_epoch_survive_a_kill(tmp_path, kill):
    whole = trained(Measuring(texts=40), validate_every=2)
    run = run_in(tmp_path)
    with pytest.raises(Killed):
        trained(Measuring(texts=40), run, kill, validate_every=2)
    assert (trained(Measuring(texts=40), run, validate_every=2) == whole).all()


def _epochs_done(run):
    found = newest(run.checkpoints, "key")
    return found[0].epoch if found else 0


def test_the_last_two_checkpoints_are_there_and_a_lost_one_does_no_harm(tmp_path):
    whole = trained(toy())
    run = run_in(tmp_path)
    with pytest.raises(Killed):
        trained(toy(), run, kill_at=4)
    stored = sorted((tmp_path / "checkpoints").iterdir())
    assert len(stored) == 2
    stored[-1].write_bytes(stored[-1].read_bytes()[:100])
    assert (trained(toy(), run) == whole).all()


def test_another_training_does_not_resume_it(tmp_path):
    run = run_in(tmp_path)
    trained(toy(), run)
    with pytest.raises(xmtc.ConfigError, match="other settings or other data"):
        trained(toy(), run, key="another")


def test_two_trainings_in_two_threads_know_nothing_of_each_other(tmp_path):
    """Each is killed and resumed, and ends as if it had been alone."""
    alone = [trained(toy(), seed=seed) for seed in (1, 2)]
    assert not torch.equal(*alone)

    def killed_and_resumed(seed):
        run = run_in(tmp_path / str(seed))
        with pytest.raises(Killed):
            trained(toy(), run, kill_at=4 * seed, pause=0.002, seed=seed)
        return trained(toy(_epochs_done(run)), run, pause=0.002, seed=seed)

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(killed_and_resumed, (1, 2)))
    assert all(map(torch.equal, together, alone))


def test_two_models_trained_in_two_threads_are_those_trained_alone(tmp_path, monkeypatch):
    """Both are killed in the middle and resumed."""
    data = planted(texts=40)
    kinds = ("lightxml", "label_attention")
    settings = {kind: quick_settings(kind) for kind in kinds}
    for each in settings.values():
        each["training"] = {**each["training"], "epochs": 3, "batch_size": 8}
    alone = {kind: xmtc.train(kind, data, settings[kind]).rank(data.texts, 5) for kind in kinds}
    kills = {"lightxml": 4, "label_attention": 7}
    real = loop.Training._step

    def step(self, *rest):
        real(self, *rest)
        if self.state.step == kills.get(self.run.root.name):
            del kills[self.run.root.name]
            raise Killed

    monkeypatch.setattr(loop.Training, "_step", step)
    monkeypatch.setenv("XMTC_CHECKPOINT_SECONDS", "0")

    def killed_and_resumed(kind):
        how = (kind, data, settings[kind])
        with pytest.raises(Killed):
            xmtc.train(*how, run=tmp_path / kind)
        return xmtc.train(*how, run=tmp_path / kind).rank(data.texts, 5)

    with ThreadPoolExecutor(2) as threads:
        together = dict(zip(kinds, threads.map(killed_and_resumed, kinds), strict=True))
    assert not kills
    for kind in kinds:
        assert (together[kind].labels == alone[kind].labels).all()
        assert (together[kind].scores == alone[kind].scores).all()


@contextmanager
def files_no_larger_than(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_is_an_error_and_the_checkpoint_before_is_intact(tmp_path):
    whole = trained(toy())
    run = run_in(tmp_path)
    with pytest.raises(Killed):
        trained(toy(), run, kill_at=3)
    before = {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
    with (
        files_no_larger_than(2000),
        pytest.raises(xmtc.StoreError, match=r"one before is intact: free some disk space"),
    ):
        trained(toy(), run)
    after = {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
    assert after == before
    assert (trained(toy(), run) == whole).all()


PROGRAM = """
import sys, time
sys.path[:0] = {paths!r}
import xmtc.neural
from test_checkpoint import run_in, toy, trained
from xmtc.neural.training import loop
from safetensors.torch import save_file
real = loop.Training._step
def slow(self, *rest):
    real(self, *rest)
    time.sleep(0.05)
loop.Training._step = slow
weights = trained(toy(done=int(sys.argv[2])), run_in(sys.argv[1]))
save_file({{"weights": weights}}, sys.argv[1] + "/end.safetensors")
"""


def test_sigkill_and_the_same_command_again(tmp_path):
    whole = trained(toy())
    here = Path(__file__).parent
    program = PROGRAM.format(paths=[str(here), str(here.parents[1] / "helpers")])
    command = [sys.executable, "-c", program, str(tmp_path)]
    for lines in (4, 11):  # about where in the training
        child = subprocess.Popen([*command, str(_epochs_done(run_in(tmp_path)))])
        _wait_for(tmp_path / "log.jsonl", lines, child)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    subprocess.run([*command, str(_epochs_done(run_in(tmp_path)))], check=True, timeout=120)
    assert (load_file(tmp_path / "end.safetensors")["weights"] == whole).all()


def _wait_for(path, lines, child):
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert child.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)


def test_the_weights_are_those_of_the_best_epoch():
    """The test above means little if best epochs and averages did not matter."""
    assert not torch.equal(trained(toy()), trained(toy(), averaging=False))
    assert not torch.equal(trained(toy()), trained(Toy(texts=40)))
