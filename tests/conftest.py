"""What all tests share: hypothesis without deadlines, because kernels compile when first used."""

import hypothesis
import pytest

from xmtc.core import progress
from xmtc.core.threads import set_threads

hypothesis.settings.register_profile("xmtc", deadline=None, print_blob=True)
hypothesis.settings.load_profile("xmtc")


@pytest.fixture(autouse=True)
def _fresh_globals():
    yield
    set_threads(None)
    progress.show(None)
