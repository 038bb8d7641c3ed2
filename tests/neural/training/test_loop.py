"""The loop: schedules, groups, averaging, accumulation, early stopping, and what it writes down."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import xmtc
from quick import training_config
from toys import Toy, weights
from xmtc.core.run import NO_RUN, Run
from xmtc.neural.devices import Rng
from xmtc.neural.settings import OptimizerConfig, TrainingConfig
from xmtc.neural.training import log, loop
from xmtc.neural.training.averaging import Average
from xmtc.neural.training.loop import fit
from xmtc.neural.training.optimizer import Optimizer
from xmtc.neural.training.schedule import constant, linear


def fitted(task, run=NO_RUN, **settings):
    defaults = {"epochs": 3, "warmup": 0.0}
    return fit(task, training_config(**{**defaults, **settings}), "key", run, Rng(1))


def test_the_schedule_is_the_papers():  # spec 8.7
    with_warmup = {0: 0, 1: 2e-4, 5: 1e-3, 10: 2e-3, 50: 1.1111e-3, 55: 1e-3, 99: 2.2222e-5, 100: 0}
    without = {0: 2e-3, 1: 1.98e-3, 50: 1e-3, 99: 2e-5, 100: 0}
    for warmup, expected in ((10, with_warmup), (0, without)):
        rates = {step: 2e-3 * linear(100, warmup)(step) for step in expected}
        assert rates == pytest.approx(expected, abs=1e-7)
    assert [constant(9, 2)(step) for step in (0, 1, 2, 8)] == [0, 0.5, 1, 1]


def test_averaging_is_the_mean_of_all_moments():  # spec 8.5
    net = nn.Linear(1, 1, bias=False)
    average = Average(net)
    for value in (1.0, 2.0, 4.0, 8.0):
        net.weight.data.fill_(value)
        average.add()
    with average.applied():
        assert net.weight.item() == 3.75
    assert net.weight.item() == 8.0
    average.apply()
    assert net.weight.item() == 3.75


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=20))
def test_averaging_changes_nothing_for_good(values):
    net = nn.Linear(1, 1, bias=False)
    average = Average(net)
    for value in values:
        net.weight.data.fill_(value)
        average.add()
    with average.applied():
        assert net.weight.item() == pytest.approx(np.mean(values), abs=1e-3)
    assert net.weight.item() == np.float32(values[-1])


def test_biases_and_norms_do_not_decay_whatever_they_are_called():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer_norm = nn.LayerNorm(3)
            self.dense = nn.Linear(3, 2)
            self.labels = nn.Embedding(5, 2, sparse=True)

    odd = Odd()
    made = Optimizer(
        {"inner": (odd.dense, 1.0), "all": (odd, 2.0)},
        TrainingConfig(optimizer=OptimizerConfig(weight_decay=0.1)),
    )
    dense, rows = made.optimizers
    found = {
        id(p): (group["rate"], group["weight_decay"])
        for group in dense.param_groups
        for p in group["params"]
    }
    assert found == {
        id(odd.dense.weight): (1.0, 0.1),
        id(odd.dense.bias): (1.0, 0.0),
        id(odd.layer_norm.weight): (2.0, 0.0),
        id(odd.layer_norm.bias): (2.0, 0.0),
    }
    assert [id(p) for p in rows.param_groups[0]["params"]] == [id(odd.labels.weight)]


def test_training_learns():
    task = Toy(dropout=0.0)
    history = fitted(task, epochs=60)
    assert history[-1]["loss"] < history[0]["loss"] / 10


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_accumulated_batches_are_one_large_batch(accumulate):
    """Also the last step of an epoch, which has fewer batches."""
    large = Toy(dropout=0.0, batch=4 * accumulate)
    small = Toy(dropout=0.0)
    big = large.batches(0)
    small.batches = lambda epoch: [
        part for batch in big for part in np.array_split(batch, accumulate)
    ]
    large.batches = lambda epoch: big
    fitted(large)
    fitted(small, accumulate=accumulate)
    torch.testing.assert_close(weights(large), weights(small), atol=1e-4, rtol=1e-4)
    first_epoch = small.read[: len(big) * accumulate]
    assert sorted(row for rows in first_epoch for row in rows) == list(range(24))


def test_the_best_epoch_counts_and_patience_ends():
    task = Toy(metrics=[10.0, 30.0, 20.0, 25.0, 5.0, 99.0])
    history = fitted(task, epochs=6, patience=3)
    alone = Toy(metrics=[10.0, 30.0])
    fitted(alone, epochs=6, patience=1)  # the schedule is that of six epochs, stopped after two
    assert [row["P@5"] for row in history] == [10.0, 30.0, 20.0, 25.0, 5.0]
    assert (weights(task) == weights(alone)).all()


def test_dropout_goes_off_after_a_validation_until_the_epoch_ends_if_asked_to():
    seen = []

    class Watched(Toy):
        def loss(self, share):
            seen.append(self.net.training)
            return super().loss(share)

    fitted(
        Watched(metrics=[1.0] * 9), epochs=2, validate_every=4, dropout_off_after_validation=True
    )
    assert seen == [True, True, True, True, False, False] * 2
    seen.clear()
    fitted(Watched(metrics=[1.0] * 9), epochs=2, validate_every=4)
    assert all(seen)


def test_on_a_plateau_rates_fall_to_a_tenth_and_then_to_a_hundredth(monkeypatch):
    rates = []
    monkeypatch.setattr(Optimizer, "set_rates", lambda self, factor: rates.append(factor))
    metrics = [1.0, 2.0, *[1.5] * 11, 1.9, 3.0, *[0.0] * 40]  # of the same six steps each
    fitted(Toy(metrics=metrics), epochs=40, patience=40, schedule="plateau")
    falls = [place // 6 for place in range(1, len(rates)) if rates[place] < rates[place - 1] / 2]
    assert falls == [13, 26]
    assert [rates[0], rates[6 * 13], rates[-1]] == pytest.approx([1.0, 0.1, 0.01])


def test_an_unknown_metric_is_an_error_that_lists_the_known():
    message = r"metric='P@1' is not measured here\. Available: P@5"
    with pytest.raises(xmtc.ConfigError, match=message):
        fitted(Toy(metrics=[1.0]), metric="P@1")


def test_a_loss_that_is_no_number_names_the_batch():
    with pytest.raises(
        xmtc.ConfigError, match=r"loss is nan in epoch 1, batch \d+ \(training texts .*\b7\b"
    ):
        fitted(Toy(poison=7))


@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_gradient_that_is_no_number_names_the_batch_and_changes_nothing(clip):
    task = Toy(dropout=0.0)
    start = weights(task)
    real = task.loss

    def steep(share):  # 0 in value, without end in slope
        return real(share) + (task.net(task.inputs[share.rows]).sum() * 0).abs().sqrt()

    task.loss = steep
    advice = "max_grad_norm=1" if clip is None else r"head_lr\.$"
    with pytest.raises(xmtc.ConfigError, match=rf"gradient is nan in epoch 1, batch 1 .*{advice}"):
        fitted(task, max_grad_norm=clip)
    assert (weights(task) == start).all()


def test_the_gradient_is_as_long_as_is_allowed():
    layer = nn.Linear(3, 2)
    optimizer = Optimizer({"net": (layer, 0.1)}, TrainingConfig())
    for longest, expected in ((0.5, 0.5), (1e6, 4.0), (None, 4.0)):
        layer.weight.grad = torch.full((2, 3), 1.0)
        layer.bias.grad = torch.full((2,), 5**0.5)
        assert optimizer.clip(longest) == pytest.approx(4.0)
        both = torch.cat([layer.weight.grad.flatten(), layer.bias.grad])
        assert both.norm().item() == pytest.approx(expected, rel=1e-4)


def test_without_clipping_steps_are_longer():
    clipped = Toy(dropout=0.0)
    free = Toy(dropout=0.0)
    start = weights(Toy(dropout=0.0))
    fitted(clipped, max_grad_norm=1e-9, epochs=1)
    fitted(free, max_grad_norm=None, epochs=1)
    assert (weights(clipped) - start).norm() < (weights(free) - start).norm()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_low_precision_learns_too(precision):
    task = Toy(dropout=0.0)
    history = fitted(task, epochs=40, precision=precision)
    assert history[-1]["loss"] < history[0]["loss"] / 3


def test_a_run_leaves_a_log_and_curves(tmp_path):
    fitted(Toy(metrics=[1.0, 2.0, 3.0]), Run.at(tmp_path / "run"))
    lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines if "loss" in line]
    assert [line["P@5"] for line in lines if "P@5" in line] == [1.0, 2.0, 3.0]
    assert (tmp_path / "run/curves.svg").read_text().startswith("<svg")
    Run.at(tmp_path / "run").tidy()
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"log.jsonl", "curves.svg"}


def test_the_bar_says_loss_quality_speed_and_time_to_the_end(monkeypatch):
    notes = []
    clock = iter(range(10**6))

    @contextmanager
    def bar(title, total):
        yield lambda amount, note="": notes.append((title, note))

    monkeypatch.setattr(loop, "track", bar)
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    fitted(Toy(metrics=[12.5, 25.0]), epochs=2)  # 24 texts in steps of 4, one second each
    first, second = (
        [note for title, note in notes if title == f"epoch {n} of 2" and note] for n in (1, 2)
    )
    assert all(note.startswith("loss ") and "4 texts/s" in note for note in first + second)
    assert not any("P@5" in note for note in first)  # nothing is measured yet
    assert all("P@5 12.5" in note for note in second)
    ends = [note.rsplit(", ", 1)[1] for note in first + second]
    assert ends == [f"0:00:{seconds:02d} left" for seconds in range(11, -1, -1)]


def test_tensorboard_gets_every_figure_where_it_is_installed(tmp_path, monkeypatch):
    boards = []

    class Board:
        def __init__(self, folder):
            self.folder = folder
            self.scalars = []
            self.closed = False
            boards.append(self)

        def add_scalar(self, name, value, step):
            self.scalars.append((name, value, step))

        def close(self):
            self.closed = True

    fake = SimpleNamespace(SummaryWriter=Board)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    fitted(Toy(metrics=[1.0, 2.0, 3.0]), Run.at(tmp_path / "run"))
    [board] = boards
    assert board.folder == str(tmp_path / "run" / "tensorboard")
    assert board.closed
    assert [step for name, _, step in board.scalars if name == "loss"] == list(range(1, 19))
    assert [(value, step) for name, value, step in board.scalars if name == "P@5"] == [
        (1.0, 6),
        (2.0, 12),
        (3.0, 18),
    ]


def test_without_tensorboard_training_works_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    fitted(Toy(), Run.at(tmp_path / "run"))
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_training_does_not_disturb_the_callers_random_numbers():
    task = Toy()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    fitted(task)
    assert torch.rand(1) == expected
