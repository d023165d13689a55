"""The one place where a function becomes machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars at its first call; keep the code on disk.

    The code runs without Python's lock, so that threads of one process share a batch. It never
    starts threads of its own: a host that forks its workers must find nothing running.

    >>> from penstock.kernels.arranging import width_class
    >>> width_class(3, 10)
    3
    """
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


def inlined(function: Function) -> Function:
    """Compile a function into every kernel that calls it: for short ones inside loops.

    A call counts the references of all arrays that it passes on, which can cost more than what is
    called. Written into the caller, nothing is counted.
    """
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)
    return cast(Function, compiled)
