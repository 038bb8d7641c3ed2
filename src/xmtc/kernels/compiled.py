"""How kernels are compiled. Apart from the types, so that reading data does not import numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled at its first call and cached on disk; runs without the interpreter's lock."""
    compiled: Function = njit(cache=True, nogil=True)(function)
    return compiled
