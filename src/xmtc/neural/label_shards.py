"""The label side, shared out: each process holds some of its rows, and what the optimiser
remembers of them. (torchrun, `training.shard_labels`)

The vectors of a batch's texts come to every process, and each scores them against its own labels.
So the loss is a sum over processes, and so is the gradient of the vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from xmtc.core.arrays import Longs
from xmtc.neural import distributed


def my_rows(rows: int) -> slice:
    """Those of this process: a run of rows, as many as others have, or one more or less."""
    distributed.join()
    rank = distributed.rank()
    many = distributed.count()
    return slice(rank * rows // many, (rank + 1) * rows // many)


def own(rows: Tensor) -> nn.Parameter:
    """A parameter that only this process has: its gradient is not added to those of others."""
    parameter = nn.Parameter(rows.detach().clone())
    parameter.own_rows = True  # type: ignore[attr-defined]
    return parameter


def is_own(parameter: Tensor) -> bool:
    """Whether `own` made it."""
    return getattr(parameter, "own_rows", False)


@torch.no_grad()
def whole(mine: Tensor) -> Tensor:
    """The rows of all processes, in order; every process gets them."""
    return torch.cat(_of_all(mine))


def texts_of_all(rows: Longs, *vectors: Tensor) -> tuple[Longs, list[Tensor]]:
    """The texts of a whole batch and their vectors, from the share that each process read.

    A text that a process read only because nothing was left for it comes twice: the second goes.
    """
    if distributed.count() == 1:
        return rows, list(vectors)
    numbers = whole(torch.from_numpy(np.asarray(rows, np.int64)).to(vectors[0].device))
    everyones, first = np.unique(numbers.cpu().numpy(), return_index=True)
    kept = torch.from_numpy(first).to(vectors[0].device)
    return everyones, [_FromAll.apply(each)[kept] for each in vectors]  # type: ignore[no-untyped-call]


class _FromAll(torch.autograd.Function):
    """Every process gets the rows of all; their gradients go back to where the rows came from."""

    @staticmethod
    def forward(ctx: Any, mine: Tensor) -> Tensor:
        parts = _of_all(mine)
        ctx.start = sum(len(part) for part in parts[: distributed.rank()])
        ctx.size = len(mine)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        change = distributed.total(upstream[0].contiguous())
        return change[ctx.start : ctx.start + ctx.size]


def _of_all(mine: Tensor) -> list[Tensor]:
    """One tensor per process. They may differ in length, which all_gather does not like."""
    if distributed.count() == 1:
        return [mine]
    size = torch.tensor([len(mine)], device=mine.device)
    sizes = [torch.empty_like(size) for _ in range(distributed.count())]
    dist.all_gather(sizes, size)
    padded = mine.new_zeros((int(max(sizes)), *mine.shape[1:]))
    padded[: len(mine)] = mine
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return [part[: int(size)] for part, size in zip(parts, sizes, strict=True)]
