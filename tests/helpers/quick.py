"""Settings with which each kind is quick to train in tests; neural ones get a tiny encoder."""

from __future__ import annotations

import atexit
import dataclasses
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from xmtc.core.config import from_dict
from xmtc.core.run import Run
from xmtc.models import presets
from xmtc.models.catalog import module_of
from xmtc.neural import settings
from xmtc.neural.settings import TrainingConfig

NEURAL = ("lightxml", "gudn", "aplc", "xbert")
GROUPS = {
    "optimizer": settings.OptimizerConfig,
    "schedule": settings.ScheduleConfig,
    "head": settings.HeadConfig,
    "averaging": settings.Averaging,
    "published": settings.PublishedTraining,
}


def training(**values: Any) -> dict[str, Any]:
    """Settings of training in their groups: `training(epochs=2, head_lr=0.1, warmup_epochs=1)`."""
    if "schedule" in values:
        values["name"] = values.pop("schedule")
    found: dict[str, Any] = {}
    for name, value in values.items():
        groups = [
            group
            for group, cls in GROUPS.items()
            if name in [field.name for field in dataclasses.fields(cls)]
        ]
        place = found.setdefault(groups[0], {}) if groups else found
        place[name] = value
    return found


def training_config(**values: Any) -> TrainingConfig:
    """The same as a TrainingConfig, without a warm-up of the head unless asked for."""
    return from_dict(TrainingConfig, training(**{"warmup_epochs": 0, **values}))


def trained(kind: str, dataset: Any, values: dict[str, Any], folder: Path) -> Any:
    """A model whose training writes a checkpoint after each step."""
    module = module_of(kind)
    run = dataclasses.replace(Run.at(folder), checkpoint_seconds=0.0)
    return module.train(dataset, from_dict(module.Config, values), run)


def preset(name: str) -> Any:
    """The Config of a preset; of an ensemble, those of its members."""
    found = presets.load(name)
    if found.kind == "ensemble":
        return [_config(*presets.kind_and_settings(each)) for each in found.settings["members"]]
    return _config(found.kind, found.settings)


def _config(kind: str, values: dict[str, Any]) -> Any:
    return from_dict(module_of(kind).Config, values)


OF_WORDS = {  # trained from the texts alone
    "xml_cnn": {
        "encoder": {
            "max_tokens": 32,
            "embedding_dim": 64,
            "filters": 64,
            "pools": 1,
            "hidden_dim": 128,
            "dropout": 0.1,
        },
        "training": training(epochs=20, encoder_lr=3e-3, head_lr=2e-2),
        "dropout": 0.1,
    },
    "label_attention": {
        "encoder": {"type": "cnn", "max_tokens": 32, "embedding_dim": 32, "dropout": 0.1},
        "training": training(epochs=60, encoder_lr=5e-3, head_lr=5e-3),
        "hidden_dims": (32,),
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
        "encoder": {"name": tiny_bert(), "max_tokens": 32, "trainable_layers": None},
        "training": training(epochs=20, encoder_lr=3e-3, head_lr=2e-2),
        "dropout": 0.1,
    }


def xr_transformer() -> dict[str, Any]:
    return {
        "encoder": {"name": tiny_bert(), "max_tokens": 32, "trainable_layers": None},
        "training": training(epochs=3, encoder_lr=1e-3, head_lr=1e-2),
        "levels": {"arity": 4, "max_leaf": 3},
    }


@cache
def tiny_bert() -> str:
    from tiny import tiny_encoder

    folder = Path(tempfile.mkdtemp(prefix="xmtc-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return tiny_encoder(folder / "bert")
