"""What all tests share: hypothesis without deadlines, because kernels compile when first used."""

import os
from pathlib import Path

import hypothesis
import pytest

import xmtc.neural  # noqa: F401  sets how threads wait, before any test imports torch
from xmtc import kernels
from xmtc.core import progress
from xmtc.core.threads import set_threads

# On CI the same examples every time, so that a run fails for what it changed; new ones elsewhere.
hypothesis.settings.register_profile(
    "xmtc", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("xmtc")


def _forget_stale_kernels() -> None:
    """numba compiles a file anew when it changed, but not those that call into it."""
    home = Path(kernels.__file__).parent
    newest = max(source.stat().st_mtime for source in home.glob("*.py"))
    for compiled in home.glob("__pycache__/*.nb?"):
        try:
            if compiled.stat().st_mtime < newest:
                compiled.unlink()
        except FileNotFoundError:  # another worker was first
            pass


_forget_stale_kernels()


@pytest.fixture(autouse=True)
def _fresh_globals():
    yield
    set_threads(None)
    progress.show_progress(None)
