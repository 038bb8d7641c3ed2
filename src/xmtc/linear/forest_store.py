"""A forest on disk: small numbers in small types. Reading checks what kernels take for granted.

The features of a node's rows climb, so each row says only how many features after the one before
it lies, in one byte or two. Where the gap is wider, rows without weights fill it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmtc.core.arrays import Array, Ints, Longs, starts_of
from xmtc.core.errors import DataError
from xmtc.core.parts import Parts
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Forest

MAX_WEIGHT = 1e15  # products with text weights stay finite


def forest_arrays(forest: Forest, prefix: str) -> dict[str, Array]:
    """What must be saved. Scales are saved for int8 only: for float32 all are 1."""
    widest = int(np.diff(forest.child_start).max(initial=1))
    counts = np.diff(forest.entry_start).astype(np.min_scalar_type(widest))
    packed = [_packed(forest, counts, width) for width in (np.uint8, np.uint16)]
    row_counts, steps, counts = min(packed, key=lambda arrays: arrays[1].nbytes + arrays[2].nbytes)
    arrays: dict[str, Array]
    arrays = {f"parents{level}": parents for level, parents in enumerate(forest.tree.parents)}
    arrays |= {
        "row_counts": row_counts,
        "row_step": steps,
        "entry_counts": counts,
        "entry_sibling": forest.entry_sibling,
        "entry_value": forest.entry_value,
        "biases": forest.biases,
    }
    if forest.entry_value.dtype == np.int8:
        arrays["scales"] = forest.scales
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _packed(forest: Forest, counts: Array, width: Any) -> tuple[Ints, Array, Array]:
    """Rows per node, steps and entries per row, with the rows that fill gaps."""
    largest = int(np.iinfo(width).max)
    features = forest.row_feature.astype(np.int64)
    gaps = np.diff(features, prepend=0)
    firsts = forest.row_start[:-1][np.diff(forest.row_start) > 0]
    gaps[firsts] = features[firsts]
    fillers = np.maximum(gaps - 1, 0) // largest
    places = np.cumsum(fillers + 1)
    steps = np.full(len(gaps) + int(fillers.sum()), largest, width)
    steps[places - 1] = gaps - fillers * largest
    wide_counts = np.zeros(len(steps), counts.dtype)
    wide_counts[places - 1] = counts
    row_start = np.concatenate([[0], places])[forest.row_start]
    return np.diff(row_start).astype(np.int32), steps, wide_counts


def read_forest(parts: Parts, prefix: str, depth: int, features: int, labels: int) -> Forest:
    """The forest as it was saved, checked."""
    levels = [parts.array(f"{prefix}.parents{level}", np.int32, (None,)) for level in range(depth)]
    tree = LabelTree(tuple(levels))
    inner = 1 + sum(len(level) for level in levels[:-1])
    if tree.label_count != labels or any((np.diff(level) < 0).any() for level in levels[:-1]):
        raise DataError(f"the label tree does not fit its {labels} labels")
    row_start, row_feature, entry_start = _read_rows(parts, prefix, inner, features)
    entries = int(entry_start[-1])
    nodes = inner - 1 + labels
    is_int8 = f"{prefix}.scales" in parts.arrays
    scales = np.ones(nodes, np.float32)
    if is_int8:
        scales = parts.array(f"{prefix}.scales", np.float32, (nodes,))
    forest = Forest(
        tree,
        features,
        row_start,
        row_feature,
        entry_start,
        _unsigned(parts, f"{prefix}.entry_sibling", entries),
        parts.array(f"{prefix}.entry_value", np.int8 if is_int8 else np.float32, (entries,)),
        scales,
        parts.array(f"{prefix}.biases", np.float32, (nodes,)),
    )
    _check(forest)
    return forest


def _read_rows(parts: Parts, prefix: str, inner: int, features: int) -> tuple[Longs, Ints, Longs]:
    """row_start, row_feature and entry_start, without the rows that fill gaps."""
    row_start = _starts(parts.array(f"{prefix}.row_counts", np.int32, (inner,)))
    rows = int(row_start[-1])
    counts = _unsigned(parts, f"{prefix}.entry_counts", rows)
    ends = _starts(_unsigned(parts, f"{prefix}.row_step", rows))
    row_feature = ends[1:] - np.repeat(ends[row_start[:-1]], np.diff(row_start))
    used = counts > 0
    row_feature = row_feature[used]
    if row_feature.max(initial=-1) >= features:
        raise DataError(f"a weight belongs to a feature, but there are only {features}")
    return _starts(used)[row_start], row_feature.astype(np.int32), _starts(counts[used])


def _check(forest: Forest) -> None:
    """What a kernel takes for granted."""
    children = np.repeat(np.diff(forest.child_start), np.diff(forest.row_start))
    if len(children):
        last = np.maximum.reduceat(forest.entry_sibling, forest.entry_start[:-1])
        if (last >= children).any():
            raise DataError("a weight belongs to a child that its node does not have")
    starts = forest.row_start[1:-1]
    climbs = np.diff(forest.row_feature) > 0
    climbs[starts[(starts > 0) & (starts < len(forest.row_feature))] - 1] = True
    if not climbs.all():
        raise DataError("the features of a node must climb")
    whole = forest.entry_value.dtype == np.int8
    for array in (forest.scales, forest.biases, *(() if whole else (forest.entry_value,))):
        if len(array) and max(array.max(), -array.min()) > MAX_WEIGHT:
            raise DataError(f"a weight is larger than {MAX_WEIGHT:g}")


def _starts(counts: Array) -> Longs:
    if len(counts) and counts.min() < 0:
        raise DataError("a negative count")
    return starts_of(counts)


def _unsigned(parts: Parts, name: str, length: int) -> Array:
    """An array of small unsigned numbers, in whichever width it was saved."""
    width = parts.arrays[name].dtype if name in parts.arrays else np.dtype(np.uint8)
    fits = width.kind == "u" and width.itemsize <= 4
    return parts.array(name, width if fits else np.uint8, (length,))
