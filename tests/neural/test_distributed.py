"""Two processes that train together do what one does with the same batches."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quick import quick_settings, training
from xmtc.core.config import merged

# What it prints: how many numbers this process held of the label side, and the optimizer of them.
PROGRAM = """
import json, sys
import xmtc
from xmtc.core.config import merged
from xmtc.data.planted import planted
from xmtc.models import lightxml
from xmtc.neural.heads import chunked
from xmtc.neural.training import loop
settings, folder, chunk, kill_at = json.loads(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
xmtc.set_threads(1)
if chunk:
    chunked.CHUNK = chunk
    chunked.Chunked.__init__.__defaults__ = (chunk,)
real = loop.Training._step
def watched(self, *rest):
    real(self, *rest)
    if self.state.step == kill_at:
        sys.exit(9)
    watched.training = self
loop.Training._step = watched
model = xmtc.train("lightxml", planted(texts=33), settings, run=folder)
held = {id(p) for p in watched.training.net.head.parameters()}
state = [value for optimizer in (*watched.training.optimizer.optimizers,
                                 *watched.training.optimizer.in_backward)
         for p, known in optimizer.state.items() if id(p) in held
         for value in known.values() if hasattr(value, "numel") and value.ndim]
head = sum(p.numel() for p in watched.training.net.head.parameters())
scores = model.rank(planted(texts=33).texts, 3).scores.tolist()
print(json.dumps([head, sum(value.numel() for value in state), scores]))
"""


def settings_of(clusters):
    quick = quick_settings("lightxml", dropout=0.0)
    quick["training"] |= {"epochs": 2, "batch_size": 8}
    return {**quick, **({"max_flat_labels": 4, "max_leaf": 4, "beam": 2} if clusters else {})}


def started(folder, settings, processes, chunk=0, kill_at=-1):
    """What each process ended with, and what it printed."""
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        json.dumps(settings),
        str(folder),
        str(chunk),
        str(kill_at),
    ]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(processes),
        "XMTC_CHECKPOINT_SECONDS": "0",
    }
    children = [
        subprocess.Popen(
            command, env={**os.environ, **common, "RANK": str(rank)}, stdout=subprocess.PIPE
        )
        for rank in range(processes)
    ]
    printed = [child.communicate(timeout=240)[0] for child in children]
    return [child.returncode for child in children], printed


def trained(*arguments, **others):
    codes, printed = started(*arguments, **others)
    assert not any(codes)
    return [json.loads(text) for text in printed]


def losses(folder):
    lines = map(json.loads, (Path(folder) / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


@pytest.mark.parametrize(
    ("clusters", "how"),
    [(False, {}), (True, {}), (True, {"published": {"loss": "mean", "pad_candidates": "repeat"}})],
    ids=["plain", "clusters", "clusters, means, repeated"],
)
def test_two_processes_have_the_losses_of_one(tmp_path, clusters, how):
    for processes in (1, 2):
        trained(tmp_path / str(processes), {**settings_of(clusters), **how}, processes)
    one, two = (losses(tmp_path / name) for name in ("1", "2"))
    assert len(one) == 10  # 33 texts: the last step of an epoch has one text, for one process
    assert two == pytest.approx(one, rel=1e-3)


def sharded(settings, **others):
    return merged(settings, {"training": training(shard_labels=True, **others)})


@pytest.mark.parametrize(
    ("clusters", "chunk", "loss"),
    [
        pytest.param(False, 0, "sum", id="plain", marks=pytest.mark.slow),
        pytest.param(False, 3, "sum", id="chunks"),
        pytest.param(True, 0, "sum", id="clusters"),
        pytest.param(True, 0, "mean", id="clusters-mean", marks=pytest.mark.slow),
    ],
)
def test_each_process_can_hold_its_rows_of_the_label_side_only(tmp_path, clusters, chunk, loss):
    settings = {**settings_of(clusters), "published": {"loss": loss}}
    [[numbers, remembered, scores]] = trained(tmp_path / "1", settings, 1, chunk)
    each = trained(tmp_path / "2", sharded(settings), 2, chunk)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=1e-3)
    assert each[0][2] == each[1][2]  # both have the whole model in the end
    np.testing.assert_allclose(each[0][2], scores, atol=1e-3)
    both = 33 * 256 if clusters else 0  # the bottleneck is not label-side: each has all of it
    for held, state, _ in each:
        assert held - both == pytest.approx((numbers - both) / 2, rel=0.15)
        assert state - 2 * both == pytest.approx((remembered - 2 * both) / 2, rel=0.15)
    assert sum(held - both for held, _, _ in each) == numbers - both


def test_two_processes_go_on_after_a_kill_bit_by_bit(tmp_path):
    settings = settings_of(clusters=True)
    settings = {**settings, "dropout": 0.1}
    settings = merged(settings, {"training": training(warmup_epochs=0)})
    whole = trained(tmp_path / "whole", settings, 2)
    codes, _ = started(tmp_path / "killed", settings, 2, kill_at=7)
    assert all(codes)  # who waits for one that is gone may die of that
    assert trained(tmp_path / "killed", settings, 2) == whole


def test_rows_of_each_process_go_on_after_a_kill(tmp_path):
    settings = sharded(settings_of(clusters=True), warmup_epochs=0)
    settings["dropout"] = 0.1
    whole = trained(tmp_path / "whole", settings, 2)
    codes, _ = started(tmp_path / "killed", settings, 2, kill_at=7)
    assert codes == [9, 9]
    checkpoints = tmp_path / "killed" / "checkpoints"
    newest = sorted((checkpoints / "process-1").glob("step-*"))[-1]
    newest.unlink()  # as if this process had been killed a moment earlier
    assert trained(tmp_path / "killed", settings, 2) == whole
    codes, _ = started(tmp_path / "killed", settings, 1)
    assert codes == [1]  # one alone cannot go on with what two had written
