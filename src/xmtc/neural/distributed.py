"""Several processes that train one net (torchrun): each reads its share of every batch.

With `training.shard_labels` each also stores only its own rows of the label side. The vectors of a
batch's texts then come to every process, which scores them against its rows: the loss is a sum
over processes, and so is the gradient of the vectors.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from xmtc.core.arrays import Longs

Rows = TypeVar("Rows", Tensor, Longs)


def join() -> None:
    """Connect to the other processes, if the launcher says that there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        # What processes agree on, such as how wide a row is, never leaves the processor.
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """The number of this process."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_first() -> bool:
    """Whether this process is the one that writes files."""
    return rank() == 0


class Share(NamedTuple):
    """The texts of a batch that this process reads."""

    rows: Longs
    counts: bool = True  # False: no text was left; it reads one because the other processes wait

    def counted(self, values: Rows) -> Rows:
        """Of one value per text, those that enter the loss."""
        return values if self.counts else values[:0]


def share_of(rows: Longs) -> Share:
    """This process's share of a batch. Together all processes read every text once."""
    own = rows[rank() :: count()]
    return Share(own) if len(own) else Share(rows[:1], counts=False)


def seed_process(seed: int, step: int) -> None:
    """With several processes, each draws its own random numbers in each step, whatever came
    before: only the first one's generator is in the checkpoint that all go on from."""
    if count() > 1:
        torch.manual_seed(((seed * 1_000_003 + step) * count() + rank()) % (1 << 63))


def smallest(number: int) -> int:
    """The smallest of all processes' numbers."""
    return _reduced(number, dist.ReduceOp.MIN)


def largest(number: int) -> int:
    """The largest of all processes' numbers."""
    return _reduced(number, dist.ReduceOp.MAX)


def total(number: int) -> int:
    """The sum of all processes' numbers."""
    return _reduced(number, dist.ReduceOp.SUM)


def _reduced(number: int, operation: Any) -> int:
    if count() == 1:
        return number
    value = torch.tensor(number)
    dist.all_reduce(value, operation)
    return int(value)


def add_up(value: Tensor) -> Tensor:
    """The tensor, in place the sum over all processes."""
    if count() > 1:
        dist.all_reduce(value)
    return value


class ShardedParameter(nn.Parameter):
    """Rows that only this process stores: their gradient is complete without the others'."""


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Give every process the gradients of the whole batch; sharded rows have them already.

    What only some processes have used, a tail of labels perhaps, has a gradient of 0 elsewhere.
    """
    if count() > 1:
        shared = [each for each in parameters if not isinstance(each, ShardedParameter)]
        used = torch.tensor([int(each.grad is not None) for each in shared])
        dist.all_reduce(used, dist.ReduceOp.MAX)
        for parameter, used_somewhere in zip(shared, used.tolist(), strict=True):
            if used_somewhere:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)


def shard_of(n_rows: int) -> slice:
    """The rows of this process: a run of them, as many as others have, or one more or less."""
    join()
    return slice(rank() * n_rows // count(), (rank() + 1) * n_rows // count())


def sharded(rows: Tensor) -> ShardedParameter:
    """A copy of these rows that only this process has."""
    return ShardedParameter(rows.detach().clone())


@torch.no_grad()
def gathered(own: Tensor) -> Tensor:
    """The rows of all processes, in order; every process gets them."""
    return torch.cat(_all_gather(own))


def gathered_batch(rows: Longs, vectors: Sequence[Tensor]) -> tuple[Longs, list[Tensor]]:
    """The texts of a whole batch and their vectors, from the share that each process read."""
    if count() == 1:
        return rows, list(vectors)
    numbers = gathered(torch.from_numpy(np.asarray(rows, np.int64)).to(vectors[0].device))
    ascending = torch.argsort(numbers)
    everything = [_GatherRows.apply(each)[ascending] for each in vectors]  # type: ignore[no-untyped-call]
    return numbers[ascending].cpu().numpy(), everything


class _GatherRows(torch.autograd.Function):
    """Every process gets the rows of all; their gradients go back to where the rows came from."""

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        parts = _all_gather(own)
        ctx.start = sum(len(part) for part in parts[: rank()])
        ctx.size = len(own)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        change = add_up(upstream[0].contiguous())
        return change[ctx.start : ctx.start + ctx.size]


def _all_gather(own: Tensor) -> list[Tensor]:
    """One tensor per process. They may differ in length, which all_gather does not support."""
    if count() == 1:
        return [own]
    size = torch.tensor([len(own)], device=own.device)
    sizes = [torch.empty_like(size) for _ in range(count())]
    dist.all_gather(sizes, size)
    padded = own.new_zeros((int(max(sizes)), *own.shape[1:]))
    padded[: len(own)] = own
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return [part[: int(size)] for part, size in zip(parts, sizes, strict=True)]
