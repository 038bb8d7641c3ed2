"""Several processes that train one net (torchrun): each reads its share of every batch."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from xmtc.core.arrays import Longs


def join() -> None:
    """Find the others, when the launcher says that there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """This one's number."""
    return dist.get_rank() if dist.is_initialized() else 0


def place() -> str:
    """This one's number, and how many there are."""
    return f"{rank()} of {count()}"


def is_first() -> bool:
    """Whether this process is the one that writes files."""
    return rank() == 0


def my_share(rows: Longs) -> tuple[Longs, float]:
    """The part of a batch that this process reads, and how much it counts.

    Together they read all of it, once. Where there is nothing left to read, a process reads a text
    that does not count, because the others wait for it.
    """
    mine = rows[rank() :: count()]
    return (mine, 1.0) if len(mine) else (rows[:1], 0.0)


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Every process gets the gradients of the whole batch; of its own rows it has them.

    What only some processes have used, a tail of labels perhaps, has a gradient of 0 elsewhere.
    """
    if count() > 1:
        shared = [each for each in parameters if not getattr(each, "own_rows", False)]
        used = torch.tensor([int(each.grad is not None) for each in shared])
        dist.all_reduce(used, dist.ReduceOp.MAX)
        for parameter, somewhere in zip(shared, used.tolist(), strict=True):
            if somewhere:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)


def least(number: int) -> int:
    """The smallest of what all processes say."""
    value = torch.tensor(number)
    if count() > 1:
        dist.all_reduce(value, dist.ReduceOp.MIN)
    return int(value)


def total(value: Tensor) -> Tensor:
    """The sum over all processes."""
    if count() > 1:
        dist.all_reduce(value)
    return value
