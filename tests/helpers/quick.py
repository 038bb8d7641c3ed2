"""Settings with which each kind is quick to train in tests; neural ones get a tiny encoder."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

NEURAL = ("lightxml", "gudn", "aplc", "xbert")
OF_WORDS = {  # learned from the texts alone
    "xml_cnn": {
        "encoder": {
            "max_tokens": 32,
            "width": 64,
            "filters": 64,
            "pools": 1,
            "hidden": 128,
            "dropout": 0.1,
        },
        "training": {"epochs": 20, "encoder_rate": 3e-3, "head_rate": 2e-2},
        "dropout": 0.1,
    },
    "label_attention": {
        "encoder": {"name": "cnn", "max_tokens": 32, "width": 32, "dropout": 0.1},
        "training": {"epochs": 60, "encoder_rate": 5e-3, "head_rate": 5e-3},
        "hidden": (32,),
        "dropout": 0.1,
    },
}


def quick_settings(kind: str, **others: Any) -> dict[str, Any]:
    """What tests pass to `train`."""
    if kind == "xr_transformer":
        return {**xr_transformer(), **others}
    usual = neural() if kind in NEURAL else OF_WORDS.get(kind, {})
    return {**usual, **others}


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
