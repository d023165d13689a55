"""Memory asked for before it is needed, so that a loop does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _line_fetch(_: Any, array: Any, index: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, half, pointer = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        at = context.cast(builder, arguments[1], signature.args[1], types.intp)
        stride = builder.extract_value(made.strides, 0)
        begin = builder.ptrtoint(made.data, word)
        place = builder.inttoptr(builder.add(begin, builder.mul(at, stride)), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, half, half, half])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        # To be read, kept in all caches, as data.
        builder.call(fetch, [place, half(0), half(3), half(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


line_fetch = cast(Callable[[Any, int], None], intrinsic(_line_fetch))
"""Ask for the line of memory where an entry of an array begins; nothing waits for it."""
