"""One family of errors: each says what we saw, where, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isnan
from numbers import Integral, Real


class XmtcError(Exception):
    """Anything that a user can fix; the command line prints it without a traceback."""


class DataError(XmtcError):
    """Texts or labels that we cannot use as they are."""


class ConfigError(XmtcError):
    """A setting that does not exist or has an impossible value."""


class StoreError(XmtcError):
    """A model folder that cannot be written, or that fails a check when it is read."""


class MissingExtra(XmtcError):
    """An optional dependency that is not installed."""


def require(holds: bool, setting: str, value: object, advice: str) -> None:
    """Check one setting: `require(k >= 1, "k", k, "must be at least 1")`."""
    if not holds:
        raise ConfigError(f"{setting}={value!r}: {advice}")


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turns PyTorch's RuntimeError for exhausted memory into a MemoryError."""
    try:
        yield
    except RuntimeError as problem:
        if "allocate memory" in str(problem) or "out of memory" in str(problem):
            raise MemoryError(str(problem)) from problem
        raise


def is_number(value: object) -> bool:
    """Whether it is a real number of any library, and not NaN."""
    return isinstance(value, Real) and not isnan(value)


def is_whole(value: object) -> bool:
    """Whether it is a whole number of any library."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint like "; did you mean 'beam'?", empty when no known word is close."""
    forms = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(word.casefold(), forms, n=1, cutoff=0.5)
    return f"; did you mean {forms[close[0]]!r}?" if close else ""
