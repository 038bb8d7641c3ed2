"""Compiled kernels find a place even where package and home folder are read-only."""

from __future__ import annotations

import os
from pathlib import Path

from xmtc import kernels


def test_a_read_only_machine_gets_a_temporary_place(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    kernels.find_cache_folder()
    place = Path(os.environ["NUMBA_CACHE_DIR"])
    assert place.is_dir()
    place.rmdir()
    monkeypatch.delenv("NUMBA_CACHE_DIR")


def test_a_place_that_the_user_named_stays(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    kernels.find_cache_folder()
    assert os.environ["NUMBA_CACHE_DIR"] == "/chosen"
