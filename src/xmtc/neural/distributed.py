"""Several processes that train one net (torchrun): each reads its share of every batch."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from xmtc.core.arrays import Longs


@dataclass
class _Share:
    """Of the batch at hand."""

    counts: bool = True  # False: this process reads a text only because the others wait for it


_share = _Share()


def join() -> None:
    """Find the others, when the launcher says that there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        # What processes agree on, such as how wide a row is, never leaves the processor.
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")


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
    _share.counts = len(mine) > 0
    return (mine, 1.0) if _share.counts else (rows[:1], 0.0)


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


def own_chance(seed: int, step: int) -> None:
    """Where there are several, each draws numbers of its own in each step, whatever came before:
    what goes on from a checkpoint, which the first one writes, draws the same."""
    if count() > 1:
        torch.manual_seed(((seed * 1_000_003 + step) * count() + rank()) % (1 << 63))


def least(number: int) -> int:
    """The smallest of what all processes say."""
    return _agreed(number, dist.ReduceOp.MIN) if count() > 1 else number


def most(number: int) -> int:
    """The largest of what the processes say whose share of the batch counts."""
    return _agreed(_share.counts * number, dist.ReduceOp.MAX) if count() > 1 else number


def summed(number: int) -> int:
    """The sum of what the processes say whose share of the batch counts."""
    return _agreed(_share.counts * number, dist.ReduceOp.SUM) if count() > 1 else number


def _agreed(number: int, how: Any) -> int:
    value = torch.tensor(number)
    dist.all_reduce(value, how)
    return int(value)


def total(value: Tensor) -> Tensor:
    """The sum over all processes."""
    if count() > 1:
        dist.all_reduce(value)
    return value
