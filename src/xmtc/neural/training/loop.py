"""The training loop. What is trained is a Task; what happens around it is the same for all."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Longs
from xmtc.core.errors import ConfigError
from xmtc.core.progress import Advance, track
from xmtc.core.run import Run
from xmtc.neural import distributed
from xmtc.neural.devices import Rng, device, in_precision, use_our_threads
from xmtc.neural.distributed import Share
from xmtc.neural.settings import FineTuning
from xmtc.neural.training import checkpoint
from xmtc.neural.training.averaging import Average, trainable
from xmtc.neural.training.checkpoint import TrainingState
from xmtc.neural.training.log import Log, Pace
from xmtc.neural.training.optimizer import Optimizer
from xmtc.neural.training.schedule import MINIMUM, PATIENCE, REDUCTION, SCHEDULES

SCALE = ("scale", "_growth_tracker")  # what fp16 remembers from step to step


class Task(Protocol):
    """What is trained."""

    @property
    def net(self) -> nn.Module:
        """All modules that are trained, and what they need."""

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """Name -> module and its learning rate."""

    @property
    def details(self) -> Mapping[str, float]:
        """More figures of the last batch, for the log."""

    def batches(self, epoch: int) -> Sequence[Longs]:
        """The texts of each batch; the same epoch gives the same batches."""

    def loss(self, share: Share) -> Tensor:
        """Summed over these texts."""

    def measure(self) -> dict[str, float]:
        """Validation metrics; empty without validation texts."""


AfterStep = Callable[[TrainingState], None]


def fit(
    task: Task,
    config: FineTuning,
    key: str,
    run: Run,
    rng: Rng,
    after_step: AfterStep | None = None,
) -> list[dict[str, float]]:
    """Train the task's net in place; returns loss and metrics of each epoch.

    key: fingerprint of settings and data. An unfinished training with this key is resumed.
    """
    use_our_threads()
    distributed.join()
    return Training(task, config, key, run, rng, after_step).fit()


class Training:
    """One training, from its first step or from its last checkpoint."""

    def __init__(
        self,
        task: Task,
        config: FineTuning,
        key: str,
        run: Run,
        rng: Rng,
        after_step: AfterStep | None = None,
    ) -> None:
        self.task = task
        self.config = config
        self.sharded = config.published.shard_labels
        self.rng = rng
        self.after_step = after_step
        self.net = task.net
        self.optimizer = Optimizer(task.parts, config)
        self.average = Average(self.net)
        self.best: dict[str, Tensor] = {}
        self.scaler = torch.amp.GradScaler(device().type, enabled=config.precision == "fp16")
        process = f" {distributed.rank()} of {distributed.count()}" if self.sharded else ""
        self.state = TrainingState(key + process)
        self.run = run
        self.log = Log(run.folder if distributed.is_first() else None)
        self.saved_at = time.monotonic()

    def fit(self) -> list[dict[str, float]]:
        """All epochs that are left, then the weights that were best."""
        self._resume()
        config = self.config
        state = self.state
        epochs = [self._steps(epoch) for epoch in range(config.epochs)]
        sizes = [[sum(map(len, step)) for step in steps] for steps in epochs]
        steps = sum(map(len, sizes))
        warmup = round(steps * config.schedule.warmup)
        self.schedule = SCHEDULES[config.schedule.name](steps, warmup)
        self.pace = Pace(sum(map(sum, sizes[state.epoch :])) - state.texts)
        if config.warmup_epochs and not state.step:
            self._validate_and_log()  # what the output layers know may be the best already
        while state.epoch < config.epochs and not self._out_of_patience():
            self._epoch()
        self._checkpoint()
        if self.best:
            self._set_weights(self.best)
        else:
            self.average.apply()
        self.net.eval()
        self.optimizer.remove_hooks()
        self.log.draw(state.history)
        self.log.close()
        return state.history

    def _epoch(self) -> None:
        state = self.state
        steps = self._steps(state.epoch)
        texts = sum(len(batch) for step in steps for batch in step)
        self.net.train(not state.dropout_off)
        averaging = self.config.averaging
        begins = averaging is not None and averaging.from_epoch == state.epoch
        if begins and state.batch == 0 and not self.average.count:
            self.average.add()
        with track(f"epoch {state.epoch + 1} of {self.config.epochs}", texts) as advance:
            advance(state.texts)
            for batches in steps[state.batch :]:
                self._step(batches, advance)
        self._end_of_epoch(state.loss / max(1, state.texts))

    def _step(self, batches: Sequence[Longs], advance: Advance) -> None:
        state = self.state
        started = time.perf_counter()
        texts = sum(len(rows) for rows in batches)
        self.optimizer.set_rates(self.schedule(state.step) * state.rate_factor)
        with self.rng.turn():
            distributed.seed_process(self.config.seed, state.step)
            loss = sum(self._backward(rows, texts) for rows in batches)
            self._change_weights(batches)
        state.step += 1
        state.batch += 1
        state.loss += loss * texts
        state.texts += texts
        averaging = self.config.averaging
        if (
            averaging is not None
            and state.epoch >= averaging.from_epoch
            and (state.batch - 1) % averaging.every_steps == 0
        ):
            self.average.add()
        every = self.config.published.validate_every
        if every is not None and state.batch % every == 0:
            self._validate_and_log()
            state.dropout_off = self.config.published.dropout_off_after_validation
            self.net.train(not state.dropout_off)
        speed = texts / (time.perf_counter() - started)
        mean = state.loss / state.texts
        advance(texts, self.pace.note(texts, mean, state.metrics, self.config.metric))
        self.log.write(
            step=state.step,
            epoch=state.epoch,
            loss=loss,
            texts=texts,
            texts_per_second=round(speed, 1),
            **self.task.details,
        )
        if self._checkpoint_is_due():
            self._checkpoint()
        if self.after_step is not None:
            self.after_step(state)

    def _backward(self, rows: Longs, texts: int) -> float:
        """Adds this batch's gradients; returns its part of the mean loss over `texts`."""
        with in_precision(self.config.precision):
            loss = self.task.loss(distributed.share_of(rows)) * (1 / texts)
        value = float(distributed.add_up(loss.detach().clone()))
        if not math.isfinite(value):
            self._stop_at(rows, f"the loss is {value}")
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return value

    def _change_weights(self, batches: Sequence[Longs]) -> None:
        distributed.sum_gradients([*self.optimizer.dense, *self.optimizer.sparse])
        for optimizer in self.optimizer.optimizers:
            self.scaler.unscale_(optimizer)
        norm = self.optimizer.clip(self.config.optimizer.max_grad_norm)
        if not math.isfinite(norm) and not self.scaler.is_enabled():  # that skips the step
            self._stop_at(np.concatenate(batches), f"the gradient is {norm}")
        self.optimizer.step(self.scaler)

    def _stop_at(self, rows: Longs, what: str) -> None:
        unclipped = self.config.optimizer.max_grad_norm is None
        advice = ", or set training.optimizer.max_grad_norm=1" if unclipped else ""
        numbers = ", ".join(map(str, rows[:8].tolist())) + (", ..." if len(rows) > 8 else "")
        raise ConfigError(
            f"{what} in epoch {self.state.epoch + 1}, batch {self.state.batch + 1} (training texts "
            f"{numbers}, counted from 0). Lower training.optimizer.encoder_lr and head_lr{advice}."
        )

    def _validate_and_log(self) -> None:
        metrics = self._validate()
        if metrics:
            self.log.write(step=self.state.step, epoch=self.state.epoch, **metrics)

    def _validate(self) -> dict[str, float]:
        self.net.eval()
        with self.average.applied():
            metrics = self.state.metrics = self.task.measure()
            if metrics:
                self._compare_with_best(metrics)
        return metrics

    def _end_of_epoch(self, loss: float) -> None:
        state = self.state
        metrics = self._validate()
        state.history.append({"epoch": state.epoch + 1, "loss": loss, **metrics})
        self.log.write(epoch=state.epoch + 1, step=state.step, mean_loss=loss, **metrics)
        state.begin_epoch(state.epoch + 1)

    def _compare_with_best(self, metrics: Mapping[str, float]) -> None:
        state = self.state
        name = self.config.metric
        if name not in metrics:
            raise ConfigError(
                f"training.metric={name!r} is not measured here. Available: {', '.join(metrics)}"
            )
        state.validations_without_gain += 1
        if metrics[name] > state.best:
            state.validations_without_gain = 0
            state.best = metrics[name]
            state.best_epoch = state.epoch
            self.best = {each: value.detach().clone() for each, value in trainable(self.net)}
        elif self.config.schedule.name == "plateau" and state.validations_without_gain > PATIENCE:
            state.validations_without_gain = 0
            state.rate_factor = max(MINIMUM, state.rate_factor * REDUCTION)

    def _out_of_patience(self) -> bool:
        epochs_since = self.state.epoch - 1 - self.state.best_epoch
        return bool(self.best) and epochs_since >= self.config.patience

    def _steps(self, epoch: int) -> list[Sequence[Longs]]:
        """The batches of each step. The last step of an epoch takes what is left."""
        batches = self.task.batches(epoch)
        size = self.config.published.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    def _checkpoint(self) -> None:
        self.saved_at = time.monotonic()
        folder = self._checkpoints()
        if folder is None or not (distributed.is_first() or self.sharded):
            return
        self.state.averaged = self.average.count
        tensors = {f"net.{name}": value.detach() for name, value in trainable(self.net)}
        tensors |= {f"optimizer.{name}": value for name, value in self.optimizer.state().items()}
        tensors |= {f"mean.{name}": value for name, value in self.average.mean.items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= self.rng.current()
        if self.scaler.is_enabled():
            scale = self.scaler.state_dict()
            tensors["scale"] = torch.tensor([scale[name] for name in SCALE], dtype=torch.float64)
        checkpoint.write(folder, self.state, tensors)

    def _checkpoint_is_due(self) -> bool:
        due = time.monotonic() - self.saved_at >= self.run.checkpoint_seconds
        # Where each writes its own rows, all write when all think so, after the same step.
        return bool(distributed.smallest(int(due))) if self.sharded else due

    def _checkpoints(self) -> Path | None:
        """Where this process writes its checkpoints."""
        own = self.sharded and not distributed.is_first()
        run = self.run.below(f"process-{distributed.rank()}") if own else self.run
        return run.checkpoints

    def _newest(self) -> tuple[TrainingState, dict[str, Tensor]] | None:
        """Where each process writes its own rows: the newest checkpoint that all of them have."""
        folder = self._checkpoints()
        if folder is None:
            return None
        last = sys.maxsize
        while True:
            found = checkpoint.newest(folder, self.state.key, last)
            if not self.sharded:
                return found
            common = distributed.smallest(found[0].number if found else -1)
            if common in (-1, last):
                return found if common == last else None
            last = common

    def _resume(self) -> None:
        found = self._newest()
        if not found:
            return
        self.state, tensors = found
        self._set_weights(_under("net.", tensors))
        self.optimizer.load(_under("optimizer.", tensors))
        self.average.mean = _under("mean.", tensors)
        self.average.count = self.state.averaged
        self.best = _under("best.", tensors)
        self.rng.resume(tensors)
        if "scale" in tensors:
            scale, growth = tensors["scale"].tolist()
            known = dict(zip(SCALE, (scale, int(growth)), strict=True))
            self.scaler.load_state_dict({**self.scaler.state_dict(), **known})
        self.log.write(step=self.state.step, note="resumed from a checkpoint")

    @torch.no_grad()
    def _set_weights(self, weights: Mapping[str, Tensor]) -> None:
        for name, parameter in trainable(self.net):
            parameter.copy_(weights[name])


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value.to(device())
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
