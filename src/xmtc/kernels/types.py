"""Names for the arrays that kernels take and give."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Signed: TypeAlias = npt.NDArray[np.int8]


class Matrix(NamedTuple):
    """A sparse matrix by rows: row r has the entries indptr[r] to indptr[r + 1] - 1."""

    indptr: Longs
    columns: Ints
    values: Floats
