"""Names for the arrays of xmtc, and the few operations that all rooms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from xmtc.kernels.types import Array, Bools, Bytes, Doubles, Floats, Ints, Longs, Matrix

__all__ = [
    "Allowed",
    "Array",
    "Bools",
    "Bytes",
    "Csr",
    "Doubles",
    "Floats",
    "Inputs",
    "Ints",
    "Longs",
    "Matrix",
]

ROUNDING = 1e-6  # how far from 1 a length of 1 may be in float32

Csr: TypeAlias = sp.csr_array

# What a model reads: texts, or, where a data set brings only features, its feature rows.
Inputs: TypeAlias = Sequence[str] | Csr
# Which labels an answer may hold: True for each that it may. None: all.
Allowed: TypeAlias = Bools | None


def starts_of(counts: Sequence[int] | Array) -> Longs:
    """(n,) sizes -> (n + 1,) where each part begins, and the end of the last."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=starts[1:])
    return starts


def pair_keys(rows: Array, columns: Array, width: int) -> Longs:
    """(row, column) pairs as one number each: equal for equal pairs, ordered by row, then column.

    width: more than any column.
    """
    return np.asarray(rows, np.int64) * width + columns


def csr_of_rows(rows: Sequence[Sequence[int]], columns: int) -> Csr:
    """Rows of column numbers -> (rows, columns) with a 1 for each; repeats count once."""
    unique = [sorted(set(row)) for row in rows]
    indptr = starts_of([len(row) for row in unique])
    indices = np.fromiter((c for row in unique for c in row), np.int32, count=int(indptr[-1]))
    return csr(np.ones(len(indices), np.float32), indices, indptr, columns)


def csr(data: Array, indices: Array, indptr: Array, columns: int) -> Csr:
    """A float32 matrix from its three arrays; data and indices are not copied if the types fit."""
    shape = (len(indptr) - 1, columns)
    if indptr[-1] < 1 << 31:  # else SciPy widens the indices to match
        indptr = indptr.astype(np.int32, copy=False)
    return sp.csr_array((data.astype(np.float32, copy=False), indices, indptr), shape=shape)


def stacked_rows(blocks: Sequence[Matrix], columns: int) -> Csr:
    """Blocks of rows, sorted and without repeats, as one matrix."""
    if not blocks:
        return csr(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), columns)
    indptr, indices, data = blocks[0]
    if len(blocks) > 1:
        indptr = starts_of(np.concatenate([np.diff(block.indptr) for block in blocks]))
        indices = np.concatenate([block.columns for block in blocks])
        data = np.concatenate([block.values for block in blocks])
    matrix = csr(data, indices, indptr, columns)
    matrix.has_canonical_format = True
    return matrix


def as_csr(matrix: Any) -> Csr:
    """Any SciPy sparse matrix or dense array as float32 CSR: rows sorted, no repeats."""
    rows = sp.csr_array(matrix, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy()  # it may still share the caller's arrays
        rows.sum_duplicates()
    return rows


def kernel_arrays(matrix: Csr) -> Matrix:
    """The matrix as kernels read it: int64 starts, int32 columns, float32 values."""
    return Matrix(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


def unit_rows(matrix: Csr) -> Csr:
    """Every row scaled to length 1; a zero row stays zero. If all are so already: itself."""
    if matrix.shape[0] == 1 and abs(float(matrix.data @ matrix.data) - 1) < ROUNDING:
        return matrix  # the same in an eighth of the time, which counts for a single text
    sizes = np.diff(matrix.indptr)
    lengths = np.zeros(matrix.shape[0])
    rows = np.flatnonzero(sizes)
    if len(rows):
        squares = np.square(matrix.data, dtype=np.float64)
        lengths[rows] = np.sqrt(np.add.reduceat(squares, matrix.indptr[rows]))
        del squares  # as large as the matrix
    if (np.abs(lengths[rows] - 1) < ROUNDING).all():
        return matrix
    scale = np.where(lengths > 0, 1 / np.maximum(lengths, np.finfo(np.float32).tiny), 0)
    data = matrix.data * np.repeat(scale.astype(np.float32), sizes)
    return as_csr(csr(data, matrix.indices, matrix.indptr, matrix.shape[1]))


def count_of(inputs: Inputs) -> int:
    """How many texts, or rows of features."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def label_counts(relevant: Csr) -> Longs:
    """(texts, labels) -> (labels,) how many texts carry each label."""
    counts: Longs = np.bincount(relevant.indices, minlength=relevant.shape[1]).astype(np.int64)
    return counts


def row_of_each_entry(matrix: Csr) -> Ints:
    """The row number of every stored entry, in storage order."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
