"""Two loops that LLVM does not turn into SIMD by itself: sums over rows of 16 floats.

numba keeps arrays in memory, so an accumulator array is loaded and stored for every non-zero. Here
the 16 numbers live in one vector register (or two, or four) for the whole loop.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

WIDTH = 16
_VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
_FAST = ("contract", "reassoc", "nsz")  # multiply-add may be fused; NaN and infinity stay


@intrinsic
def add_rows(typingctx, columns, values, first, last, weights, sums):
    """sums += Σ values[e] * weights[columns[e]] for e from first to last - 1.

    columns: int32, values: float32; weights: (rows, 16) float32; sums: (16,) float32, all C order.
    """
    return _signature(columns, values, first, last, weights, sums), _add_rows


@intrinsic
def add_to_rows(typingctx, columns, values, first, last, change, weights):
    """weights[columns[e]] += values[e] * change for e from first to last - 1."""
    return _signature(columns, values, first, last, change, weights), _add_to_rows


def _signature(*arguments: Any) -> Any:
    """Pointers are right for plain arrays of the right types; nothing else compiles."""
    wanted = [types.int32, types.float32, None, None, types.float32, types.float32]
    for kind, dtype in zip(arguments, wanted, strict=True):
        plain = isinstance(kind, types.Array) and kind.layout == "C"
        if dtype is not None and not (plain and kind.dtype == dtype):
            raise TypingError(f"expected a contiguous array of {dtype}, got {kind}")
    return types.void(*arguments)


def _add_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    columns, values, _, _, weights, sums = _pointers(context, builder, signature, arguments)
    total = cgutils.alloca_once_value(builder, _load(builder, sums))
    with cgutils.for_range_slice(builder, arguments[2], arguments[3], _one(context)) as (entry, _):
        row = _load(builder, _row(builder, weights, columns, entry))
        product = builder.fmul(_splat(builder, values, entry), row, flags=_FAST)
        builder.store(builder.fadd(builder.load(total), product, flags=_FAST), total)
    _store(builder, builder.load(total), sums)
    return impl_ret_untracked(context, builder, signature.return_type, context.get_dummy_value())


def _add_to_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    columns, values, _, _, change, weights = _pointers(context, builder, signature, arguments)
    step = _load(builder, change)
    with cgutils.for_range_slice(builder, arguments[2], arguments[3], _one(context)) as (entry, _):
        place = _row(builder, weights, columns, entry)
        product = builder.fmul(_splat(builder, values, entry), step, flags=_FAST)
        _store(builder, builder.fadd(_load(builder, place), product, flags=_FAST), place)
    return impl_ret_untracked(context, builder, signature.return_type, context.get_dummy_value())


def _pointers(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The data pointers of the array arguments; the others as they are."""
    return [
        make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _one(context: Any) -> Any:
    return context.get_constant(types.intp, 1)


def _row(builder: Any, weights: Any, columns: Any, entry: Any) -> Any:
    """Where the 16 floats of an entry's row begin."""
    column = builder.sext(builder.load(builder.gep(columns, [entry])), ir.IntType(64))
    return builder.gep(weights, [builder.mul(column, ir.Constant(ir.IntType(64), WIDTH))])


def _splat(builder: Any, values: Any, entry: Any) -> Any:
    """One float in all 16 places."""
    value = builder.load(builder.gep(values, [entry]))
    single = builder.insert_element(
        ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), zeros)


def _load(builder: Any, pointer: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()))
    loaded.align = 4  # arrays are aligned to their elements, not to the vector
    return loaded


def _store(builder: Any, value: Any, pointer: Any) -> None:
    stored = builder.store(value, builder.bitcast(pointer, _VECTOR.as_pointer()))
    stored.align = 4
