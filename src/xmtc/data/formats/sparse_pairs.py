"""Rows of `column:value` pairs, as text and as SciPy files, read into CSR matrices."""

from __future__ import annotations

import zipfile
import zlib
from array import array
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, as_csr, csr
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import IdRows

MAX_COLUMNS = 2**31 - 1  # columns that fit an int32 id
MAX_VALUE = float(np.finfo(np.float32).max)
BROKEN_NPZ = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)


class SparseRows(IdRows):
    """Column ids with a value for each: 8 bytes per entry."""

    def __init__(self, columns: int | None) -> None:
        super().__init__()
        self.columns = columns
        self.values = array("f")

    def add_pairs(self, pairs: str) -> None:
        """Append one row, or raise BadLine and stay as before."""
        limit = MAX_COLUMNS if self.columns is None else self.columns
        words = pairs.replace(":", " ").split()
        try:
            indices = list(map(int, words[::2]))
            values = list(map(float, words[1::2]))
        except ValueError as problem:
            raise BadLine(f"not index:value pairs ({problem}): {excerpt(pairs)}.") from None
        if len(words) != 2 * pairs.count(":"):
            raise BadLine(f"not index:value pairs: {excerpt(pairs)}.")
        if indices and not (min(indices) >= 0 and max(indices) < limit):
            wrong = next(index for index in indices if not 0 <= index < limit)
            raise BadLine(
                f"index {wrong} but there are {limit} columns (0 to {limit - 1}). "
                "Fix the header or the index."
            )
        if not abs(sum(values)) <= MAX_VALUE:
            raise BadLine(f"a value is not a finite number: {excerpt(pairs)}. Drop or replace it.")
        self.add(indices)
        self.values.extend(values)

    def matrix(self) -> Csr:
        """(rows, columns); indices may come in any order, repeated ones are summed."""
        columns = max(self.ids, default=-1) + 1 if self.columns is None else self.columns
        flat = (np.array(self.values, np.float32), np.array(self.ids, np.int32))
        matrix = csr(*flat, np.array(self.ends, np.int64), columns)
        matrix.sum_duplicates()
        return matrix


def read_npz(path: Path) -> Csr:
    """A matrix from `scipy.sparse.save_npz`. Pickled content is refused, every index checked."""
    try:
        matrix = sp.load_npz(path)  # loads with allow_pickle=False
        if matrix.format not in ("csr", "csc", "coo"):
            raise ValueError(f"the matrix is stored as {matrix.format}, not as CSR")
        if matrix.format != "coo":  # SciPy checks the indices of COO itself
            matrix.check_format(full_check=True)
    except BROKEN_NPZ as problem:
        raise DataError(
            f"{path} is not a sparse matrix we can read: {problem}. "
            "Write it with scipy.sparse.save_npz, or fetch it again."
        ) from None
    if not np.isfinite(matrix.data).all():
        raise DataError(f"{path} holds values that are not finite numbers. Drop or replace them.")
    return as_csr(matrix)
