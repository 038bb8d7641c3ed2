"""Where and how numbers are computed: device, threads, precision, randomness."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from xmtc.core.threads import thread_count

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
# What an x86 processor says it has where it multiplies in a precision.
_NATIVE = {
    "bf16": ("avx512_bf16", "amx_bf16", "avx10_1"),
    "fp16": ("avx512_fp16", "amx_fp16", "avx10_1"),
}
# Products below which waking the other threads, at every layer, takes longer than their help.
LITTLE = 2e9
GENERATORS = ("random", "cuda_random")  # names of their states in checkpoints


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
    if device().type == "cpu":
        _warn_if_imitated(precision)
    return torch.autocast(device().type, dtype=_DTYPES[precision])


@cache
def _warn_if_imitated(precision: str) -> None:
    """Say once that the processor lacks what was asked for: nothing else would, but the clock."""
    able = torch.cpu.get_capabilities()
    if able.get("architecture") == "x86_64" and not any(map(able.get, _NATIVE[precision])):
        logging.getLogger("xmtc").warning(
            f"This processor does not compute in {precision}; it is imitated, many times slower. "
            'Set training.precision to "fp32".'
        )


class Rng:
    """The random numbers of one training. PyTorch draws from one generator per process, so
    trainings take turns: `with rng.turn():` lets this one draw on from where it last was."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.state: dict[str, Tensor] = {}  # of each generator; empty: nothing was drawn yet
        self.inside = False

    def current(self) -> dict[str, Tensor]:
        """The state of the generators, for a checkpoint."""
        with self.turn():
            return _generators()

    def resume(self, tensors: Mapping[str, Tensor]) -> None:
        """Draw on from a checkpoint."""
        self.state = {name: tensors[name] for name in GENERATORS if name in tensors}

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside, PyTorch draws this training's numbers; the caller's go on undisturbed outside."""
        with _TURNS:
            if self.inside:  # a turn inside a turn of the same training
                yield
                return
            outside = _generators()
            if self.state:
                _set_generators(self.state)
            else:
                torch.manual_seed(self.seed)
            self.inside = True
            try:
                yield
            finally:
                self.inside = False
                self.state = _generators()
                _set_generators(outside)


class _FairLock:
    """Re-entrant. Whoever waits gets it before whoever has just let it go."""

    def __init__(self) -> None:
        self.next = threading.Lock()
        self.now = threading.RLock()
        self.owner: int | None = None
        self.depth = 0

    def __enter__(self) -> None:
        if self.owner == threading.get_ident():
            self.now.acquire()
        else:
            with self.next:  # held while waiting, so that the last owner waits behind
                self.now.acquire()
        self.owner = threading.get_ident()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.owner = None
        self.now.release()


_TURNS = _FairLock()  # of all trainings in this process


def _generators() -> dict[str, Tensor]:
    state = {"random": torch.get_rng_state()}
    if device().type == "cuda":
        state["cuda_random"] = torch.cuda.get_rng_state()
    return state


def _set_generators(state: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(state["random"])
    if device().type == "cuda" and "cuda_random" in state:
        torch.cuda.set_rng_state(state["cuda_random"])
