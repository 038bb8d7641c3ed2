"""Waiting for what another process does."""

from __future__ import annotations

import time


def soon(true):
    """Return once it is true; fail after 50 seconds."""
    end = time.monotonic() + 50
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
