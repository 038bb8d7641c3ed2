"""A training that is killed and started again ends with the same weights, bit by bit."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

import xmtc
from quick import training_config
from toys import Toy, weights
from xmtc.core import run
from xmtc.neural.devices import seeded
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


def trained(task, kill_at=None, key="key", **others):
    def after_step(progress):
        if progress.step == kill_at:
            raise Killed

    with seeded(1):
        fit(task, _config(**others), key, after_step)
    return weights(task)


@given(
    kills=st.lists(st.integers(1, 15), min_size=1, max_size=3, unique=True).map(sorted),
    seconds=st.sampled_from([0.0, 1e9]),
    precision=st.sampled_from(["fp32", "fp16"]),
)
@settings(max_examples=10)
def test_killed_at_any_step_the_weights_are_the_same(tmp_path_factory, kills, seconds, precision):
    whole = trained(toy(), precision=precision)
    how = {"checkpoint_seconds": seconds, "precision": precision}
    with run.kept_in(tmp_path_factory.mktemp("run")):
        for kill in kills:
            with pytest.raises(Killed):
                # What an epoch measured before the kill is in the checkpoint.
                trained(toy(done=_epochs_done(seconds)), kill, **how)
        again = trained(toy(done=_epochs_done(seconds)), **how)
    assert (again == whole).all()


class Measuring(Toy):
    """Its figure depends on its weights, so that it is the same whenever it is measured."""

    def measure(self):
        return {"P@5": float(weights(self).sum())}


@pytest.mark.parametrize("kill", [1, 4, 6, 9])
def test_validations_inside_an_epoch_survive_a_kill(tmp_path, kill):
    whole = trained(Measuring(texts=40), validate_every=2)
    with run.kept_in(tmp_path):
        with pytest.raises(Killed):
            trained(Measuring(texts=40), kill, validate_every=2)
        assert (trained(Measuring(texts=40), validate_every=2) == whole).all()


def _epochs_done(seconds):
    from xmtc.neural.training.checkpoint import newest

    found = newest(run.folder() / run.CHECKPOINTS, "key")
    return found[0].epoch if found else 0


def test_the_last_two_checkpoints_are_kept_and_a_lost_one_does_no_harm(tmp_path):
    whole = trained(toy())
    with run.kept_in(tmp_path), pytest.raises(Killed):
        trained(toy(), kill_at=4)
    kept = sorted((tmp_path / "checkpoints").iterdir())
    assert len(kept) == 2
    kept[-1].write_bytes(kept[-1].read_bytes()[:100])
    with run.kept_in(tmp_path):
        assert (trained(toy()) == whole).all()


def test_another_training_does_not_go_on_from_it(tmp_path):
    with run.kept_in(tmp_path):
        trained(toy())
        with pytest.raises(xmtc.ConfigError, match="other settings or other data"):
            trained(toy(), key="another")


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
    with run.kept_in(tmp_path):
        with pytest.raises(Killed):
            trained(toy(), kill_at=3)
        before = {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
        with (
            files_no_larger_than(2000),
            pytest.raises(xmtc.StoreError, match=r"one before is intact: make room"),
        ):
            trained(toy())
        after = {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
        assert after == before
        assert (trained(toy()) == whole).all()


PROGRAM = """
import sys, time
sys.path[:0] = {paths!r}
import xmtc.neural
from test_resume import toy, trained, SETTINGS
from xmtc.core import run
from xmtc.neural.training import loop
from safetensors.torch import save_file
real = loop.Training._step
def slow(self, *rest):
    real(self, *rest)
    time.sleep(0.05)
loop.Training._step = slow
with run.kept_in(sys.argv[1]):
    save_file({{"weights": trained(toy(done=int(sys.argv[2])))}}, sys.argv[1] + "/end.safetensors")
"""


def test_sigkill_and_the_same_command_again(tmp_path):
    whole = trained(toy())
    here = Path(__file__).parent
    program = PROGRAM.format(paths=[str(here), str(here.parent / "helpers")])
    command = [sys.executable, "-c", program, str(tmp_path)]
    for lines in (4, 11):  # about where in the training
        child = subprocess.Popen([*command, str(_done(tmp_path))])
        _wait_for(tmp_path / "log.jsonl", lines, child)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    subprocess.run([*command, str(_done(tmp_path))], check=True, timeout=120)
    assert (load_file(tmp_path / "end.safetensors")["weights"] == whole).all()


def _done(folder):
    with run.kept_in(folder):
        return _epochs_done(0)


def _wait_for(path, lines, child):
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert child.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)


def test_the_weights_are_those_of_the_best_epoch():
    """The test above means little if best epochs and averages did not matter."""
    assert not torch.equal(trained(toy()), trained(toy(), averaging=False))
    assert not torch.equal(trained(toy()), trained(Toy(texts=40)))
