"""Checkpoints: everything a training needs to go on as if it had never stopped.

One safetensors file each, written beside its place and renamed there: whole or not at all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.files import written

KEPT = 2  # the newest, and the one before in case the disk loses a file


@dataclass
class Progress:
    """Where a training stands."""

    key: str  # of settings and data: another training's checkpoint does not fit
    epoch: int = 0
    batch: int = 0  # how many batches of the epoch are done
    step: int = 0  # how often the weights changed
    best: float = float("-inf")  # the metric of the best epoch so far
    best_epoch: int = -1
    dull: int = 0  # validations since the last that was better, or since rates fell
    slowed: float = 1.0  # what the learning rates are multiplied by besides their schedule
    calm: bool = False  # dropout is off until the epoch ends
    averaged: int = 0  # how many moments are in the average
    loss: float = 0.0  # summed over the texts of this epoch
    texts: int = 0
    metrics: dict[str, float] = field(default_factory=dict)  # of the last validation
    history: list[dict[str, float]] = field(default_factory=list)  # one per epoch, for the curves

    @property
    def number(self) -> int:
        """Later ones have higher numbers."""
        return self.step * 10**6 + self.batch


def write(folder: Path, progress: Progress, tensors: dict[str, torch.Tensor]) -> None:
    """Add a checkpoint; older ones than the last two go."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"progress": json.dumps(asdict(progress))}
    write_tensors(
        folder / f"step-{progress.step:09d}-{progress.batch:06d}.safetensors", tensors, about
    )
    for old in _all(folder)[:-KEPT]:
        old.unlink(missing_ok=True)


def newest(
    folder: Path, key: str, last: int = sys.maxsize
) -> tuple[Progress, dict[str, torch.Tensor]] | None:
    """The last checkpoint that can be read, up to number `last`; None when there is none."""
    for path in reversed(_all(folder)):
        try:
            with safe_open(path, framework="pt") as file:
                values: dict[str, Any] = json.loads(file.metadata()["progress"])
            progress = Progress(**values)
            tensors = load_file(path)
        except (SafetensorError, OSError, ValueError, TypeError, KeyError):
            continue  # the disk lost it; the one before is there
        if progress.key != key:
            raise ConfigError(
                f"{folder} holds an unfinished training with other settings or other data. "
                "Start it with the same command to finish it, or delete the folder."
            )
        if progress.number <= last:
            return progress, tensors
    return None


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], about: dict[str, str]) -> None:
    """One file, whole or not at all."""
    with _as_store_errors(path), written(path) as draft:
        save_file({name: value.contiguous() for name, value in tensors.items()}, draft, about)


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise StoreError(
            f"cannot write the checkpoint {path}: {error}. The one before is intact: make room and "
            "start the same command again."
        ) from error


def _all(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.safetensors"))
