"""What all tests share: hypothesis without deadlines, because kernels compile when first used."""

import os

import hypothesis
import pytest

import xmtc.neural  # noqa: F401  sets how threads wait, before any test imports torch
from xmtc.core import progress
from xmtc.core.threads import set_threads

# On CI the same examples every time, so that a run fails for what it changed; new ones elsewhere.
hypothesis.settings.register_profile(
    "xmtc", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("xmtc")


@pytest.fixture(autouse=True)
def _fresh_globals():
    yield
    set_threads(None)
    progress.show(None)
