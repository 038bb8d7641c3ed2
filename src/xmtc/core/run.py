"""Run: where a training keeps its checkpoints, its log and what it can compute again.

    train(dataset, config, Run.at("runs/olive.run"))

    runs/olive.run/log.jsonl, curves.svg     stay
    runs/olive.run/checkpoints/              what an unfinished training goes on from
    runs/olive.run/cache/                    what can be computed again

A run is a value: two trainings of one process know nothing of each other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from xmtc.core.digest import digest
from xmtc.core.errors import ConfigError, StoreError
from xmtc.core.files import remove, written

if TYPE_CHECKING:
    from xmtc.core.arrays import Array
    from xmtc.core.dataset import Dataset

CHECKPOINTS = "checkpoints"
CACHE = "cache"


@dataclass(frozen=True)
class Run:
    """A folder for one training, or for one part of it; without a folder nothing is left behind."""

    root: Path | None = None
    part: tuple[str, ...] = ()  # of a training in several parts, e.g. ("member0", "head")
    cache_folder: Path | None = None
    checkpoint_seconds: float = 120.0  # between two checkpoints

    @staticmethod
    def at(folder: str | Path | None) -> Run:
        """The run in this folder.

        XMTC_CACHE names a cache that outlives it, XMTC_CHECKPOINT_SECONDS the time between two
        checkpoints.
        """
        lasting = os.environ.get("XMTC_CACHE")
        seconds = os.environ.get("XMTC_CHECKPOINT_SECONDS", "120")
        if not seconds.replace(".", "", 1).isdecimal():
            raise ConfigError(f"XMTC_CHECKPOINT_SECONDS={seconds!r}: expected a number, e.g. 120")
        root = None if folder is None else Path(folder)
        own = None if root is None else root / CACHE
        cache = Path(lasting) if lasting else own
        return Run(root, cache_folder=cache, checkpoint_seconds=float(seconds))

    def below(self, name: str) -> Run:
        """A part of this training, with checkpoints and a log of its own."""
        return replace(self, part=(*self.part, name))

    @property
    def folder(self) -> Path | None:
        """Where this part's log belongs."""
        return None if self.root is None else self.root.joinpath(*self.part)

    @property
    def checkpoints(self) -> Path | None:
        """Where this part's checkpoints belong."""
        return None if self.root is None else self.root.joinpath(CHECKPOINTS, *self.part)

    @contextmanager
    def with_cache(self) -> Iterator[Run]:
        """This run with a cache that exists; a run without a folder gets a temporary one."""
        if self.cache_folder is not None:
            self.cache_folder.mkdir(parents=True, exist_ok=True)
            yield self
        else:
            with tempfile.TemporaryDirectory(prefix="xmtc-") as temporary:
                yield replace(self, cache_folder=Path(temporary))

    @property
    def cache(self) -> Path:
        """A folder for what can be computed again; inside `with_cache`."""
        assert self.cache_folder is not None, "use run.with_cache() first"
        return self.cache_folder

    def stage(self, name: str, key: str, make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """What `make` returns. A training that was killed later finds it in the run's folder.

        key: the fingerprint of all that it depends on. With another key it is made again.
        """
        if self.checkpoints is None:
            return make()
        path = self.checkpoints / f"{name}-{key[:16]}.safetensors"
        with suppress(OSError, SafetensorError):  # not there, or damaged
            found: dict[str, Array] = load_file(path)
            return found
        arrays = make()
        try:
            with written(path) as draft:
                whole = {each: np.ascontiguousarray(array) for each, array in arrays.items()}
                save_file(whole, draft)
        except (OSError, SafetensorError) as error:
            raise StoreError(
                f"cannot write the stage {name} to {path.parent}: {error}. Earlier stages are "
                "safe: free some disk space and start the same command again."
            ) from error
        return arrays

    def tidy(self) -> None:
        """Remove checkpoints and the run's own cache; logs and curves stay."""
        for folder in self._temporary():
            remove(folder)

    def unfinished(self) -> bool:
        """Whether there is anything that a training could go on from."""
        return any(folder.is_dir() and any(folder.iterdir()) for folder in self._temporary())

    def _temporary(self) -> list[Path]:
        return [] if self.root is None else [self.root / CHECKPOINTS, self.root / CACHE]


NO_RUN = Run()


@contextmanager
def trial_run(cache: Path | None = None) -> Iterator[Run]:
    """A run in a temporary folder that finds nothing of other runs, for measuring a training.

    cache: what is in this folder now is found; nothing is added to it.
    """
    with tempfile.TemporaryDirectory(prefix="xmtc-") as folder:
        own = Path(folder) / CACHE
        own.mkdir()
        with suppress(OSError):  # some machines have no links: it is computed again
            for path in cache.iterdir() if cache is not None else ():
                (own / path.name).symlink_to(path.resolve())
        yield Run(Path(folder), cache_folder=own)


def training_key(settings: Mapping[str, Any], dataset: Dataset) -> str:
    """The fingerprint of a training: the same settings on the same data."""
    validation = None if dataset.validation is None else dataset.validation.fingerprint
    labels = dataset.labels
    return digest(settings, dataset.fingerprint, labels.names, labels.texts, validation)
