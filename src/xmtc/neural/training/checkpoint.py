"""Checkpoints: everything that a training needs to continue as if it had never stopped.

Each is one safetensors file, whole or not there at all.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.files import written

N_CHECKPOINTS = 2  # the newest, and the one before in case the disk loses a file


@dataclass
class TrainingState:
    """How far a training is."""

    key: str  # of settings and data: another training's checkpoint does not fit
    epoch: int = 0
    batch: int = 0  # steps of this epoch that are done
    step: int = 0  # all steps that are done
    best: float = float("-inf")  # the metric of the best validation
    best_epoch: int = -1
    validations_without_gain: int = 0  # since the best one, or since learning rates were reduced
    rate_factor: float = 1.0  # of the learning rates, in addition to their schedule
    dropout_off: bool = False  # until the epoch ends
    averaged: int = 0  # snapshots in the average of weights
    loss: float = 0.0  # summed over the texts of this epoch
    texts: int = 0  # of this epoch that were read
    metrics: dict[str, float] = field(default_factory=dict)  # of the last validation
    history: list[dict[str, float]] = field(default_factory=list)  # one per epoch, for the curves

    @property
    def number(self) -> int:
        """Later states have higher numbers."""
        return self.step * 10**6 + self.batch

    def begin_epoch(self, epoch: int) -> None:
        """Nothing of this epoch is done yet."""
        self.epoch = epoch
        self.batch = 0
        self.loss = 0.0
        self.texts = 0
        self.dropout_off = False


def write(folder: Path, state: TrainingState, tensors: dict[str, torch.Tensor]) -> None:
    """Add a checkpoint and remove all but the newest."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{state.step:09d}-{state.batch:06d}.safetensors"
    about = {"state": json.dumps(asdict(state))}
    try:
        with written(path) as draft:
            save_file({name: value.contiguous() for name, value in tensors.items()}, draft, about)
    except (OSError, SafetensorError) as error:
        raise StoreError(
            f"cannot write the checkpoint {path}: {error}. The one before is intact: free some "
            "disk space and start the same command again."
        ) from error
    for old in _all(folder)[:-N_CHECKPOINTS]:
        old.unlink(missing_ok=True)


def newest(
    folder: Path, key: str, last: int = sys.maxsize
) -> tuple[TrainingState, dict[str, torch.Tensor]] | None:
    """The last checkpoint that can be read, up to number `last`; None when there is none."""
    for path in reversed(_all(folder)):
        try:
            with safe_open(path, framework="pt") as file:
                values: dict[str, Any] = json.loads(file.metadata()["state"])
            state = TrainingState(**values)
            tensors = load_file(path)
        except (SafetensorError, OSError, ValueError, TypeError, KeyError):
            continue  # the disk lost it; the one before is there
        if state.key != key:
            raise ConfigError(
                f"{folder} holds an unfinished training with other settings or other data. "
                "Start it with the same command to finish it, or delete the folder."
            )
        if state.number <= last:
            return state, tensors
    return None


def _all(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.safetensors"))
