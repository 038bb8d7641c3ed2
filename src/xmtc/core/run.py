"""Run: the folder of a training, where its checkpoints, its log and its caches are kept.

`with run.kept_in("runs/olive.run"): train(...)`. Without it a training leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from xmtc.core.errors import StoreError
from xmtc.core.files import draft_of

if TYPE_CHECKING:
    from xmtc.core.arrays import Array
    from xmtc.core.dataset import Dataset

CHECKPOINTS = "checkpoints"
_folders: list[Path] = []  # the innermost `kept_in` is the one that counts
# Trainings inside another one, and in its thread, use its cache.
_cache: ContextVar[Path | None] = ContextVar("cache", default=None)


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    _folders.append(folder)
    try:
        yield
    finally:
        _folders.pop()


@contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    before = _cache.set(folder)
    try:
        yield
    finally:
        _cache.reset(before)


@contextmanager
def _passing_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="xmtc-") as passing:
        yield Path(passing)


@contextmanager
def kept_in(folder: str | Path | None) -> Iterator[None]:
    """What is trained inside keeps its run in this folder; None: nowhere."""
    if folder is None:
        yield
        return
    with _in_folder(Path(folder)), _caching_in(Path(folder) / "cache"):
        yield


def folder() -> Path | None:
    """The folder of the run, made when first asked for; None when nothing is to be kept."""
    if not _folders:
        return None
    _folders[-1].mkdir(parents=True, exist_ok=True)
    return _folders[-1]


@contextmanager
def below(name: str) -> Iterator[None]:
    """A second training of the same run keeps itself in a folder inside."""
    with _in_folder(_folders[-1] / name) if _folders else nullcontext():
        yield


@contextmanager
def tried_out(knowing: Path | None = None) -> Iterator[None]:
    """What is trained inside leaves nothing behind, and finds nothing that was kept before.

    knowing: a cache; what is in it now is found.
    """
    lasting = os.environ.pop("XMTC_CACHE", None)
    try:
        with _passing_folder() as passing, kept_in(passing):
            if knowing is not None:
                _link(knowing, passing / "cache")
            yield
    finally:
        if lasting is not None:
            os.environ["XMTC_CACHE"] = lasting


def _link(cache: Path, to: Path) -> None:
    to.mkdir()
    with suppress(OSError):  # some machines have no links: it is computed again
        for path in cache.iterdir():
            (to / path.name).symlink_to(path.resolve())


@contextmanager
def cache() -> Iterator[Path]:
    """Where to keep what can be computed again: XMTC_CACHE, else the run's folder, else nowhere."""
    lasting = os.environ.get("XMTC_CACHE") or _cache.get()
    if lasting:
        Path(lasting).mkdir(parents=True, exist_ok=True)
        yield Path(lasting)
    else:
        with _passing_folder() as passing, _caching_in(passing):
            yield passing


def stage(name: str, key: str, make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
    """What `make` gives. Where a run is kept, it is written there, and a training that died later
    and is started again finds it instead of making it again.

    key: of all that it depends on. With another key it is made anew.
    """
    place = folder()
    if place is None:
        return make()
    path = place / CHECKPOINTS / f"{name}-{key[:16]}.safetensors"
    with suppress(OSError, SafetensorError):  # not there, or the disk lost it
        kept: dict[str, Array] = load_file(path)
        return kept
    arrays = make()
    draft = draft_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({each: np.ascontiguousarray(array) for each, array in arrays.items()}, draft)
        draft.replace(path)
    except (OSError, SafetensorError) as error:
        raise StoreError(
            f"cannot keep the stage {name} in {path.parent}: {error}. The stages before are kept: "
            "make room and start the same command again."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return arrays


def tidy(folder: str | Path) -> None:
    """Remove what only an unfinished training needs; its log and its curves stay."""
    for passing in _passing(folder):
        shutil.rmtree(passing, ignore_errors=True)


def unfinished(folder: str | Path) -> bool:
    """Whether it holds anything that a training could go on with."""
    return any(any(passing.iterdir()) for passing in _passing(folder))


def _passing(folder: str | Path) -> list[Path]:
    return [*Path(folder).rglob(CHECKPOINTS), *Path(folder).rglob("cache")]


def key_of(settings: Mapping[str, Any], dataset: Dataset) -> str:
    """A fingerprint of a training: the same settings on the same data."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for text in dataset.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for array in (dataset.relevant.indptr, dataset.relevant.indices):
        digest.update(array.tobytes())
    digest.update(repr((dataset.labels.names, dataset.labels.texts)).encode("utf-8", "replace"))
    if dataset.validation is not None:
        digest.update(key_of({}, dataset.validation).encode())
    return digest.hexdigest()
