"""Several processes that train one net (torchrun): each reads its share of every batch."""

from __future__ import annotations

import os

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


def is_first() -> bool:
    """Whether this process is the one that writes files."""
    return rank() == 0


def my_share(rows: Longs) -> Longs:
    """The part of a batch that this process reads; together they read all of it, once."""
    return rows[rank() :: count()]


def sum_gradients(net: nn.Module) -> None:
    """Every process gets the gradients of the whole batch."""
    if count() == 1:
        return
    for parameter in net.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)


def total(value: Tensor) -> Tensor:
    """The sum over all processes."""
    if count() > 1:
        dist.all_reduce(value)
    return value
