"""Loops over 16 floats at once that LLVM does not turn into SIMD by itself.

numba keeps arrays in memory, so an accumulator array is loaded and stored for every non-zero, and
many arrays in one loop could overlap for all it knows. Here the 16 numbers live in one vector
register (or two, or four) for the whole loop. Prefetching is LLVM's too.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

WIDTH = 16
_VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
_NONE = ir.Constant(_VECTOR, [0.0] * WIDTH)
_ONE = ir.Constant(_VECTOR, [1.0] * WIDTH)
_FAST = ("contract", "reassoc", "nsz")  # multiply-add may be fused; NaN and infinity stay
_CHAINS = 4  # sums side by side: an addition waits for the one before it in its chain only

_PREFETCH = (0, 3, 1)  # what LLVM wants to know: not to be written, needed soon, no code

# The rows of a descent's state, (5, 16) float32.
MARGIN, WORKING, LOWEST, HIGHEST, CHANGE = range(5)


@intrinsic
def fetch(typingctx, array, place):
    """Ask memory for `array[place]`, which is read a moment later: nothing waits for it then.

    Nothing is read here, so no place is wrong.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place = _pointers(context, builder, signature, arguments)
        pointer = builder.bitcast(builder.gep(array, [place]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(prefetch, [pointer, *(number(value) for value in _PREFETCH)])
        return context.get_dummy_value()

    return types.void(array, place), code


@intrinsic
def add_rows(typingctx, columns, values, first, last, weights, start, sums):
    """sums[0] = start + Σ values[e] * weights[columns[e]] for e from first to last - 1.

    columns: int32, values: float32; weights: (rows, 16), start: (16,), sums: (any, 16) float32.
    """
    arrays = {columns: types.int32, values: types.float32, weights: types.float32}
    _check({**arrays, start: types.float32, sums: types.float32})

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, values, first, last, weights, start, sums = _pointers(
            context, builder, signature, arguments
        )
        totals = [cgutils.alloca_once_value(builder, _load(builder, start))]
        totals += [cgutils.alloca_once_value(builder, _NONE) for _ in range(_CHAINS - 1)]
        stride = ir.Constant(first.type, _CHAINS)
        whole = builder.sub(last, builder.srem(builder.sub(last, first), stride))

        def add(entry: Any, total: Any) -> None:
            row = _load(builder, _row_of(builder, weights, columns, entry))
            product = builder.fmul(_splat_entry(builder, values, entry), row, flags=_FAST)
            builder.store(builder.fadd(builder.load(total), product, flags=_FAST), total)

        with cgutils.for_range_slice(builder, first, whole, stride) as (entry, _):
            for place, total in enumerate(totals):
                add(builder.add(entry, ir.Constant(first.type, place)), total)
        one = ir.Constant(first.type, 1)
        with cgutils.for_range_slice(builder, whole, last, one) as (entry, _):
            add(entry, totals[0])
        total = builder.load(totals[0])
        for other in totals[1:]:
            total = builder.fadd(total, builder.load(other), flags=_FAST)
        _store(builder, total, sums)
        return context.get_dummy_value()

    return types.void(columns, values, first, last, weights, start, sums), code


@intrinsic
def add_to_rows(typingctx, columns, values, first, last, change, weights):
    """weights[columns[e]] += values[e] * change for e from first to last - 1."""
    _check(
        {columns: types.int32, values: types.float32, change: types.float32, weights: types.float32}
    )

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, values, first, last, change, weights = _pointers(
            context, builder, signature, arguments
        )
        step = _load(builder, change)
        one = ir.Constant(first.type, 1)
        with cgutils.for_range_slice(builder, first, last, one) as (entry, _):
            place = _row_of(builder, weights, columns, entry)
            product = builder.fmul(_splat_entry(builder, values, entry), step, flags=_FAST)
            _store(builder, builder.fadd(_load(builder, place), product, flags=_FAST), place)
        return context.get_dummy_value()

    return types.void(columns, values, first, last, change, weights), code


@intrinsic
def add_scaled(typingctx, sums, count, cells, first, scale):
    """sums[i] += scale * cells[first + i] for i below `count`, a multiple of 16.

    sums: float32; cells: float32 or signed whole numbers.
    """
    signed = isinstance(cells.dtype, types.Integer) and cells.dtype.signed
    _check({sums: types.float32, cells: cells.dtype if signed else types.float32})

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, count, cells, first, scale = _pointers(context, builder, signature, arguments)
        factor = _splat(builder, scale)
        begun = builder.gep(cells, [first])
        with cgutils.for_range_slice(
            builder, ir.Constant(count.type, 0), count, ir.Constant(count.type, WIDTH)
        ) as (place, _):
            pointer = builder.gep(begun, [place])
            vector = ir.VectorType(pointer.type.pointee, WIDTH)
            loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
            loaded.align = 1
            if vector != _VECTOR:
                loaded = builder.sitofp(loaded, _VECTOR)
            added = builder.fmul(factor, loaded)
            target = builder.gep(sums, [place])
            _store(builder, builder.fadd(_load(builder, target), added), target)
        return context.get_dummy_value()

    return types.void(sums, count, cells, first, scale), code


@intrinsic
def descend(typingctx, row, positive, alphas, diagonals, which, scalars, state, biases):
    """One coordinate step of 16 siblings on one row, squared hinge loss; whether any of them moved.

    positive: (rows,) uint16, bit j set where the row carries sibling j. alphas: (rows, 16).
    diagonals: (any, 16), 1 / (2 cost) of positive siblings in its row `which`.
    scalars: squared length of the row, 1 / (2 cost) of negatives, and how small a gradient may be
    to rest. state: its CHANGE is what the step adds to the weights per unit of the row, and has
    been added to the biases; nothing changes where all siblings rest.
    """
    floats = dict.fromkeys((alphas, diagonals, state, biases), types.float32)
    _check({positive: types.uint16, **floats})
    taken = (row, positive, alphas, diagonals, which, scalars, state, biases)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, positive, alphas, diagonals, which, scalars, state, biases = _pointers(
            context, builder, signature, arguments
        )
        length, negative_diagonal, rest = (
            _splat(builder, builder.extract_value(scalars, place)) for place in range(3)
        )
        margin, working, lowest, highest, change = (
            _row(builder, state, place) for place in range(5)
        )
        bits = builder.bitcast(
            builder.load(builder.gep(positive, [row])), ir.VectorType(ir.IntType(1), WIDTH)
        )
        place = _row(builder, alphas, row)
        alpha = _load(builder, place)
        sign = builder.select(bits, _ONE, builder.fneg(_ONE))
        diagonal = builder.select(
            bits, _load(builder, _row(builder, diagonals, which)), negative_diagonal
        )
        # gradient = (sign * margin - 1 + diagonal * alpha) * working
        pulled = builder.fmul(diagonal, alpha, flags=_FAST)
        pushed = builder.fsub(builder.fmul(sign, _load(builder, margin)), _ONE, flags=_FAST)
        gradient = builder.fmul(builder.fadd(pulled, pushed, flags=_FAST), _load(builder, working))
        projected = builder.select(
            builder.fcmp_ordered(">", alpha, _NONE), gradient, _least(builder, gradient, _NONE)
        )
        _store(builder, _least(builder, _load(builder, lowest), projected), lowest)
        _store(builder, _most(builder, _load(builder, highest), projected), highest)
        moving = builder.fcmp_ordered(">", _most(builder, projected, builder.fneg(projected)), rest)
        moved = builder.icmp_unsigned(
            "!=", builder.bitcast(moving, ir.IntType(WIDTH)), ir.Constant(ir.IntType(WIDTH), 0)
        )
        with builder.if_then(moved):
            step = builder.fdiv(gradient, builder.fadd(length, diagonal))
            new = _most(builder, builder.fsub(alpha, step), _NONE)
            by = builder.fmul(builder.fsub(new, alpha), sign)
            _store(builder, new, place)
            _store(builder, by, change)
            _store(builder, builder.fadd(_load(builder, biases), by), biases)
        return moved

    return types.boolean(*taken), code


def _check(arrays: dict[Any, Any]) -> None:
    """Pointers are right for plain arrays of the right types; nothing else compiles."""
    for kind, dtype in arrays.items():
        plain = isinstance(kind, types.Array) and kind.layout == "C"
        if not (plain and kind.dtype == dtype):
            raise TypingError(f"expected a contiguous array of {dtype}, got {kind}")


def _pointers(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The data pointers of the array arguments; the others as they are."""
    return [
        make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _row(builder: Any, array: Any, number: Any) -> Any:
    """Where the 16 floats of a row begin."""
    if isinstance(number, int):
        number = ir.Constant(ir.IntType(64), number)
    return builder.gep(array, [builder.mul(number, ir.Constant(ir.IntType(64), WIDTH))])


def _row_of(builder: Any, weights: Any, columns: Any, entry: Any) -> Any:
    """Where the row begins that an entry's column names."""
    column = builder.load(builder.gep(columns, [entry]))
    return _row(builder, weights, builder.sext(column, ir.IntType(64)))


def _splat_entry(builder: Any, values: Any, entry: Any) -> Any:
    return _splat(builder, builder.load(builder.gep(values, [entry])))


def _splat(builder: Any, value: Any) -> Any:
    """One float in all 16 places."""
    empty = ir.Constant(_VECTOR, ir.Undefined)
    single = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
    return builder.shuffle_vector(single, empty, zeros)


def _least(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", left, right), left, right)


def _most(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


def _load(builder: Any, pointer: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()))
    loaded.align = 4  # arrays are aligned to their elements, not to the vector
    return loaded


def _store(builder: Any, value: Any, pointer: Any) -> None:
    stored = builder.store(value, builder.bitcast(pointer, _VECTOR.as_pointer()))
    stored.align = 4
