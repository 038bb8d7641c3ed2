"""Settings with which each kind is quick to train in tests; neural ones get a tiny encoder."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

NEURAL = ("lightxml", "gudn", "aplc", "xbert")


def quick_settings(kind: str, **others: Any) -> dict[str, Any]:
    """What tests pass to `train`."""
    if kind == "xr_transformer":
        return {**xr_transformer(), **others}
    return {**neural(), **others} if kind in NEURAL else others


def neural() -> dict[str, Any]:
    return {
        "encoder": {"name": tiny_bert(), "max_tokens": 32, "trainable_layers": -1},
        "training": {"epochs": 20, "encoder_rate": 3e-3, "head_rate": 2e-2},
        "dropout": 0.1,
    }


def xr_transformer() -> dict[str, Any]:
    return {
        "encoder": {"name": tiny_bert(), "max_tokens": 32, "trainable_layers": -1},
        "training": {"epochs": 3, "encoder_rate": 1e-3, "head_rate": 1e-2},
        "levels": {"arity": 4, "max_leaf": 3},
    }


@cache
def tiny_bert() -> str:
    from tiny import tiny_encoder

    folder = Path(tempfile.mkdtemp(prefix="xmtc-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return tiny_encoder(folder / "bert")
