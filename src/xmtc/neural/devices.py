"""Where and how numbers are computed: device, threads, precision, randomness."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from xmtc.core.threads import thread_count

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
# Products below which waking the other threads, at every layer, takes longer than their help.
LITTLE = 2e9


def device() -> torch.device:
    """The graphics processor if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def use_our_threads() -> None:
    """torch works with as many threads as the rest of xmtc."""
    if torch.get_num_threads() != thread_count():
        torch.set_num_threads(thread_count())


@contextmanager
def threads_for(products: float) -> Iterator[None]:
    """Inside, torch works with our threads, or with one where there is little to do.

    Threads that spin while they wait need not be woken, so they all help (decision 0010).
    """
    use_our_threads()
    if products < LITTLE and "GOMP_SPINCOUNT" not in os.environ:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        use_our_threads()


def in_precision(precision: str) -> AbstractContextManager[Any]:
    """Inside, matrix products are computed in this precision; sums and losses stay in fp32."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device().type, dtype=_DTYPES[precision])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, chance depends on the seed alone; outside, it goes on as if nothing had happened."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
