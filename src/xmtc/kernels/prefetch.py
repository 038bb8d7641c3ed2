"""Asking memory for what will be read a moment later, so that nothing waits for it then."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

# what LLVM wants to know: not to be written, needed soon, no code
READ = 0
KEEP = 3
DATA = 1


@intrinsic
def fetch(typingctx, array, place):
    """Ask for `array[place]`. Nothing is read, so no place is wrong."""

    def code(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(prefetch, [pointer, *(number(value) for value in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, place), code
