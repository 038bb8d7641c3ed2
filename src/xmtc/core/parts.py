"""Parts: what a model is made of on disk. Reading checks everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from xmtc.core import config
from xmtc.core.arrays import Array, Csr, csr
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import StoreError, XmtcError
from xmtc.core.labels import LabelSpace

T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """Settings (JSON values), arrays and labels. The readers below never trust what they get."""

    settings: dict[str, Any]
    labels: LabelSpace
    trained_on: TrainedOn
    arrays: dict[str, Array] = field(default_factory=dict)

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> Array:
        """The named array, of exactly this type and shape (None: any length), all finite."""
        if name not in self.arrays:
            raise StoreError(f"the model has no array {name!r}. Train and save it again.")
        array = self.arrays[name]
        fits = len(array.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not fits:
            raise StoreError(
                f"array {name!r} is {array.dtype}{list(array.shape)}, but this model needs "
                f"{np.dtype(dtype)}{list(shape)}. The folder is damaged or from another model."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StoreError(f"array {name!r} holds NaN or infinity. The folder is damaged.")
        return array

    def offsets(self, name: str, end: int) -> Array:
        """An int64 array that climbs from 0 to `end`: where each piece of another one starts."""
        offsets = self.array(name, np.int64, (None,))
        falls = offsets[1:] < offsets[:-1]  # a difference could overflow and seem to climb
        if not len(offsets) or offsets[0] or offsets[-1] != end or falls.any():
            raise StoreError(f"array {name!r} must climb from 0 to {end}. The folder is damaged.")
        return offsets

    def ids(self, name: str, below: int, length: int | None = None) -> Array:
        """An int32 array of ids, each from 0 to below - 1."""
        ids = self.array(name, np.int32, (length,))
        if len(ids) and not 0 <= ids.min() <= ids.max() < below:
            raise StoreError(f"array {name!r} must hold ids from 0 to {below - 1}; it does not.")
        return ids

    def csr(self, name: str, rows: int | None, columns: int) -> Csr:
        """The sparse matrix saved by `csr_arrays`, with every index in range."""
        data = self.array(f"{name}.data", np.float32, (None,))
        indices = self.ids(f"{name}.indices", columns, len(data))
        indptr = self.offsets(f"{name}.indptr", len(data))
        if rows is not None and len(indptr) != rows + 1:
            raise StoreError(f"matrix {name!r} has {len(indptr) - 1} rows instead of {rows}.")
        return csr(data, indices, indptr, columns)

    def config(self, cls: type[T]) -> T:
        """The settings as the model's own class; impossible values are refused."""
        return from_untrusted(lambda: config.from_dict(cls, self.settings))


def csr_arrays(name: str, matrix: Csr) -> dict[str, Array]:
    """The three arrays of a sparse matrix, named so that `Parts.csr` finds them."""
    return {
        f"{name}.data": matrix.data.astype(np.float32, copy=False),
        f"{name}.indices": matrix.indices.astype(np.int32, copy=False),
        f"{name}.indptr": matrix.indptr.astype(np.int64, copy=False),
    }


def from_untrusted(make: Callable[[], T]) -> T:
    """What `make` returns; an error that it raises on the folder's content is a StoreError."""
    try:
        return make()
    except StoreError:
        raise
    except XmtcError as error:
        raise StoreError(f"the model folder contradicts itself: {error}") from error
