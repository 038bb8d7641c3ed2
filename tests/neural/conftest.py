"""A tiny encoder that all neural tests share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tiny import tiny_encoder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoders") / "bert")
