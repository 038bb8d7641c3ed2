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
from xmtc.neural.devices import device, in_precision, use_our_threads
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training import checkpoint
from xmtc.neural.training.averaging import Average, learned
from xmtc.neural.training.checkpoint import Progress
from xmtc.neural.training.log import Log, Pace
from xmtc.neural.training.optimizer import Optimiser
from xmtc.neural.training.schedule import FALL, LEAST, PATIENCE, SCHEDULES

SCALE = ("scale", "_growth_tracker")  # what fp16 remembers from step to step


class Task(Protocol):
    """What a model must say to be trained.

    A task may have `details`, more figures of its last batch, which are logged.
    """

    @property
    def net(self) -> nn.Module:
        """Everything that learns."""

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """Name -> module and its learning rate."""

    def batches(self, epoch: int) -> Sequence[Longs]:
        """The texts of each batch; the same epoch gives the same batches."""

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""

    def measure(self) -> dict[str, float]:
        """Metrics on held-out texts; empty when none are held out."""


AfterStep = Callable[[Progress], None]


def fit(
    task: Task,
    config: TrainingConfig,
    key: str,
    run: Run,
    after_step: AfterStep | None = None,
) -> list[dict[str, float]]:
    """Train the task's net in place; returns loss and metrics of each epoch.

    key: of settings and data. An unfinished training with this key in the run's folder goes on.
    """
    use_our_threads()
    distributed.join()
    return Training(task, config, key, run, after_step).fit()


class Training:
    """One training, from its first step or from its last checkpoint."""

    def __init__(
        self,
        task: Task,
        config: TrainingConfig,
        key: str,
        run: Run,
        after_step: AfterStep | None = None,
    ) -> None:
        self.task = task
        self.config = config
        self.after_step = after_step
        self.net = task.net
        self.epochs = config.epochs
        self.optimiser = Optimiser(task.parts, config)
        self.average = Average(self.net)
        self.best: dict[str, Tensor] = {}
        self.scaler = torch.amp.GradScaler(device().type, enabled=config.precision == "fp16")
        self.progress = Progress(
            f"{key} {distributed.place()}" if config.published.shard_labels else key
        )
        self.run = run
        self.log = Log(run.folder if distributed.is_first() else None)
        self.saved_at = time.monotonic()

    def fit(self) -> list[dict[str, float]]:
        """All epochs that are left, then the weights that were best."""
        self._resume()
        config = self.config
        now = self.progress
        sizes = [self._sizes(epoch) for epoch in range(self.epochs)]
        steps = sum(map(len, sizes))
        self.schedule = SCHEDULES[config.schedule.name](
            steps, round(steps * config.schedule.warmup)
        )
        self.pace = Pace(sum(map(sum, sizes[now.epoch :])) - now.texts)
        if config.head.warmup_epochs and not now.step:
            self._validate_and_log()  # what the output layers know may be the best already
        while now.epoch < self.epochs and not self._out_of_patience():
            self._epoch()
        self._checkpoint()
        self._keep_the_best()
        self.optimiser.let_go()
        self.log.draw(now.history)
        self.log.close()
        return now.history

    def _epoch(self) -> None:
        now = self.progress
        groups = self._groups(now.epoch)
        texts = sum(len(batch) for group in groups for batch in group)
        title = f"epoch {now.epoch + 1} of {self.epochs}"
        self.net.train(not now.calm)
        if self._averaging_begins() and now.batch == 0 and not self.average.count:
            self.average.add()
        with track(title, texts) as advance:
            advance(now.texts)
            for group in groups[now.batch :]:
                self._step(group, advance)
        self._end_of_epoch(now.loss / max(1, now.texts))

    def _step(self, group: Sequence[Longs], advance: Advance) -> None:
        now = self.progress
        started = time.perf_counter()
        texts = sum(len(rows) for rows in group)
        self.optimiser.set_rates(self.schedule(now.step) * now.slowed)
        distributed.own_chance(self.config.seed, now.step)
        loss = sum(self._backward(rows, texts) for rows in group)
        self._change_weights(group)
        now.step = now.step + 1
        now.batch = now.batch + 1
        now.loss = now.loss + loss * texts
        now.texts = now.texts + texts
        if self._averages_after(now.batch - 1):
            self.average.add()
        every = self.config.published.validate_every
        if every and now.batch % every == 0:
            self._validate_inside()
        speed = texts / (time.perf_counter() - started)
        mean = now.loss / now.texts
        advance(texts, self.pace.note(texts, mean, now.metrics, self.config.metric))
        self.log.write(
            step=now.step,
            epoch=now.epoch,
            loss=loss,
            texts=texts,
            texts_per_second=round(speed, 1),
            **getattr(self.task, "details", {}),
        )
        if self._checkpoint_is_due():
            self._checkpoint()
        if self.after_step is not None:
            self.after_step(now)

    def _backward(self, rows: Longs, texts: int) -> float:
        """Adds this batch's gradients; returns its part of the mean loss over `texts`."""
        with in_precision(self.config.precision):
            mine, counts = distributed.my_share(rows)
            if self.config.published.shard_labels:  # even without a text of its own, it has labels
                counts = 1.0
            loss = self.task.loss(mine) * (counts / texts)
        value = float(distributed.total(loss.detach().clone()))
        if not math.isfinite(value):
            self._stop_at(rows, f"the loss is {value}")
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return value

    def _change_weights(self, group: Sequence[Longs]) -> None:
        distributed.sum_gradients([*self.optimiser.dense, *self.optimiser.rows])
        for optimiser in self.optimiser.optimisers:
            self.scaler.unscale_(optimiser)
        length = self.optimiser.clip(self.config.optimizer.max_grad_norm)
        if not math.isfinite(length) and not self.scaler.is_enabled():  # that leaves the step out
            self._stop_at(np.concatenate(group), f"the gradient is {length}")
        self.optimiser.step(self.scaler)

    def _stop_at(self, rows: Longs, what: str) -> None:
        now = self.progress
        unclipped = self.config.optimizer.max_grad_norm is None
        advice = ", or set training.optimizer.max_grad_norm=1" if unclipped else ""
        some = ", ".join(map(str, rows[:8].tolist())) + (", ..." if len(rows) > 8 else "")
        raise ConfigError(
            f"{what} in epoch {now.epoch + 1}, batch {now.batch + 1} (texts {some} of those that "
            f"are taught, from 0). Lower training.optimizer.encoder_lr and head_lr{advice}."
        )

    def _validate_and_log(self) -> None:
        metrics = self._validate()
        if metrics:
            self.log.write(step=self.progress.step, epoch=self.progress.epoch, **metrics)

    def _validate_inside(self) -> None:
        """In the middle of an epoch."""
        self._validate_and_log()
        self.progress.calm = self.config.published.dropout_off_after_validation
        self.net.train(not self.progress.calm)

    def _validate(self) -> dict[str, float]:
        self.net.eval()
        with self.average.applied():
            metrics = self.progress.metrics = self.task.measure()
            self._remember_if_best(metrics)
        return metrics

    def _end_of_epoch(self, loss: float) -> None:
        now = self.progress
        metrics = self._validate()
        now.history.append({"epoch": now.epoch + 1, "loss": loss, **metrics})
        self.log.write(epoch=now.epoch + 1, step=now.step, mean_loss=loss, **metrics)
        now.epoch = now.epoch + 1
        now.batch = 0
        now.loss = 0.0
        now.texts = 0
        now.calm = False

    def _remember_if_best(self, metrics: Mapping[str, float]) -> None:
        if not metrics:
            return
        if self.config.metric not in metrics:
            known = ", ".join(metrics)
            raise ConfigError(f"training.metric={self.config.metric!r}: choose one of {known}")
        self.progress.dull += 1
        if metrics[self.config.metric] > self.progress.best:
            self.progress.dull = 0
            self.progress.best = metrics[self.config.metric]
            self.progress.best_epoch = self.progress.epoch
            self.best = {name: value.detach().clone() for name, value in learned(self.net)}
        elif self.config.schedule.name == "plateau" and self.progress.dull > PATIENCE:
            self.progress.dull = 0
            self.progress.slowed = max(LEAST, self.progress.slowed * FALL)

    def _keep_the_best(self) -> None:
        if self.best:
            self._set_weights(self.best)
        else:
            self.average.keep()
        self.net.eval()

    def _out_of_patience(self) -> bool:
        now = self.progress
        return bool(self.best) and now.epoch - 1 - now.best_epoch >= self.config.patience

    def _averaging_begins(self) -> bool:
        averaging = self.config.averaging
        return averaging is not None and self.progress.epoch == averaging.from_epoch

    def _averages_after(self, batch: int) -> bool:
        averaging = self.config.averaging
        if averaging is None or self.progress.epoch < averaging.from_epoch:
            return False
        return batch % averaging.every_steps == 0

    def _groups(self, epoch: int) -> list[Sequence[Longs]]:
        """The batches of each step. The last step of an epoch takes what is left."""
        batches = self.task.batches(epoch)
        many = self.config.published.accumulate
        return [batches[start : start + many] for start in range(0, len(batches), many)]

    def _sizes(self, epoch: int) -> list[int]:
        """How many texts each step of an epoch reads."""
        return [sum(map(len, group)) for group in self._groups(epoch)]

    def _checkpoint(self) -> None:
        self.saved_at = time.monotonic()
        folder = self._checkpoints()
        if folder is None or not (distributed.is_first() or self.config.published.shard_labels):
            return
        self.progress.averaged = self.average.count
        tensors = {f"net.{name}": value.detach() for name, value in learned(self.net)}
        tensors |= {f"optimiser.{name}": value for name, value in self.optimiser.state().items()}
        tensors |= {f"mean.{name}": value for name, value in self.average.mean.items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors["random"] = torch.get_rng_state()
        if device().type == "cuda":
            tensors["cuda_random"] = torch.cuda.get_rng_state()
        if self.scaler.is_enabled():
            state = self.scaler.state_dict()
            tensors["scale"] = torch.tensor([state[name] for name in SCALE], dtype=torch.float64)
        checkpoint.write(folder, self.progress, tensors)

    def _checkpoint_is_due(self) -> bool:
        due = time.monotonic() - self.saved_at >= self.run.checkpoint_seconds
        # Where each writes its own rows, all write when all think so, after the same step.
        return bool(distributed.least(int(due))) if self.config.published.shard_labels else due

    def _checkpoints(self) -> Path | None:
        """Where this process writes its checkpoints."""
        own = self.config.published.shard_labels and not distributed.is_first()
        run = self.run.below(f"process-{distributed.rank()}") if own else self.run
        return run.checkpoints

    def _newest(self) -> tuple[Progress, dict[str, Tensor]] | None:
        """Where each process writes its own rows: the newest checkpoint that all of them have."""
        folder = self._checkpoints()
        if folder is None:
            return None
        last = sys.maxsize
        while True:
            found = checkpoint.newest(folder, self.progress.key, last)
            if not self.config.published.shard_labels:
                return found
            common = distributed.least(found[0].number if found else -1)
            if common in (-1, last):
                return found if common == last else None
            last = common

    def _resume(self) -> None:
        found = self._newest()
        if not found:
            return
        self.progress, tensors = found
        self._set_weights(_under("net.", tensors))
        self.optimiser.load(_under("optimiser.", tensors))
        self.average.mean = _under("mean.", tensors)
        self.average.count = self.progress.averaged
        self.best = _under("best.", tensors)
        torch.set_rng_state(tensors["random"])
        if "cuda_random" in tensors and device().type == "cuda":
            torch.cuda.set_rng_state(tensors["cuda_random"])
        if "scale" in tensors:
            scale, clean = tensors["scale"].tolist()
            state = {
                **self.scaler.state_dict(),
                **dict(zip(SCALE, (scale, int(clean)), strict=True)),
            }
            self.scaler.load_state_dict(state)
        self.log.write(step=self.progress.step, note="goes on from a checkpoint")

    @torch.no_grad()
    def _set_weights(self, weights: Mapping[str, Tensor]) -> None:
        for name, parameter in learned(self.net):
            parameter.copy_(weights[name])


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value.to(device())
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
