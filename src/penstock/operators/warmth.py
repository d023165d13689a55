"""Warmth: every kernel of every kind compiled before it is needed, over all cores."""

from __future__ import annotations

import atexit
import gc
import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial

from penstock.kernels.machine_code import compiled
from penstock.operators.catalogue import OPERATORS, PLACES

NO_OTHERS: Mapping[str, Callable[[], None]] = {}
LONGEST_FIRST = (
    "model_query",
    "join",
    "bounded_join",
    "multi_join",
    "range_aggregate",
    "lookup",
    "filter",
)
"""What takes longest begins first, lest one core works while the others wait."""


def packages() -> dict[str, str]:
    """Give a kind of every package of operators, in the order in which to warm them up.

    >>> list(packages())[:2]
    ['model_query', 'join']
    """
    first = {package: kind for kind, (package, _) in reversed(PLACES.items())}
    order = (*LONGEST_FIRST, *(name for name in first if name not in LONGEST_FIRST))
    return {name: first[name] for name in order}


def warm_all(
    processes: int | None = None, others: Mapping[str, Callable[[], None]] = NO_OTHERS
) -> Iterator[tuple[str, int]]:
    """Compile what is not on disk; give each package when it is done, and how many it compiled.

    `others` compile what operators do not call.
    """
    kinds = packages()
    with ProcessPoolExecutor(
        processes or os.cpu_count(), multiprocessing.get_context("spawn"), initializer=_prepare
    ) as pool:
        work = {pool.submit(warm, kind): package for package, kind in kinds.items()}
        work |= {pool.submit(counted, other): name for name, other in others.items()}
        for done in as_completed(work):
            yield work[done], done.result()


def warm(kind: str) -> int:
    """Compile the kernels of a kind; give how many there were to compile."""
    return counted(partial(OPERATORS[kind].warm_up, None))


def counted(warm_up: Callable[[], None]) -> int:
    """Do what compiles; give how many kernels there were to compile."""
    before = compiled()
    warm_up()
    return compiled() - before


def _prepare() -> None:
    """Say nothing of cold kernels: whoever warms them up knows. Look for garbage seldom.

    The compiler makes many objects and drops few in cycles: looking for them takes a tenth. At its
    end the process lets all of them go: DuckDB tells of every object that is left.
    """
    logging.getLogger("penstock").setLevel(logging.ERROR)
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.set_threshold(50_000, 50, 100)
