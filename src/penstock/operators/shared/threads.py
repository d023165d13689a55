"""Threads: a batch in parts, on the cores of one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from typing import TypeVar

Answer = TypeVar("Answer")

THREADS_MAX = 4
PART_MIN = 4096
"""Fewer events than this are not worth a second thread."""

_pools: dict[int, ThreadPoolExecutor] = {}


def default_threads() -> int:
    """Give the number of cores this process may use, up to a few."""
    return max(1, min(THREADS_MAX, len(os.sched_getaffinity(0))))


def run_parts(part: Callable[[int, int], Answer], size: int, threads: int) -> list[Answer]:
    """Call `part(start, stop)` for neighbouring parts of [0, size), in parallel; keep their order.

    >>> run_parts(lambda start, stop: stop - start, 10_000, threads=2)
    [5000, 5000]
    """
    parts = max(1, min(threads, size // PART_MIN))
    cuts = [size * i // parts for i in range(parts + 1)]
    if parts == 1:
        return [part(0, size)]
    pool = _pool()
    # What limits this thread limits those that work for it.
    rest = [pool.submit(partial(copy_context().run, part, *cut)) for cut in pairwise(cuts[1:])]
    return [part(cuts[0], cuts[1]), *(future.result() for future in rest)]


def _pool() -> ThreadPoolExecutor:
    """Give this process's pool: made when first needed, so that a forked worker has its own."""
    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="penstock-filter")
    return _pools[pid]
