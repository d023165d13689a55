"""The one place where a function becomes machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from penstock.kernels.machine_code import MachineCode

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars at its first call; keep the code on disk.

    The code runs without Python's lock, so that threads of one process share a batch. It never
    starts threads of its own: a host that forks its workers must find nothing running.

    >>> from penstock.kernels.levels import width_class
    >>> width_class(3, 10)
    3
    """
    # Whether references are counted is inherited from the caller unless it is said.
    return cast(Function, _compiler(_nrt=True)(function))


def tight(function: Function) -> Function:
    """Compile a kernel that allocates nothing; the compiler refuses one that does.

    Its arrays are the caller's, so it counts no references to them. A kernel counts: each time that
    it takes an array out of a tuple or passes it on, which costs more than most of what is done
    with it.
    """
    return cast(Function, _compiler(_nrt=False)(function))


def inlined(function: Function) -> Function:
    """Compile a short function, which allocates nothing, into every kernel that calls it."""
    return cast(Function, _compiler(_nrt=False, forceinline=True)(function))


def _compiler(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def compiler(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
        dispatcher._cache = MachineCode(function)
        return dispatcher

    return compiler
