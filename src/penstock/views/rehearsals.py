"""Rehearsals: what flushes of several sizes take, measured on the rows that are there."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection
from statistics import median
from time import perf_counter

import pyarrow as pa

from penstock.algebra.views import ViewDefinition, ViewStep
from penstock.views.protocol import WEIGHT, ViewStore
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

SIZES = tuple(4**power for power in range(12))
"""Changes of the flushes that are rehearsed; larger ones only where so many wait."""
ALWAYS_MAX = 256
REPEATS = 3
REPEATED_MAX = 1024
"""Changes of flushes that are rehearsed several times; larger ones vary little."""


def is_rehearsed(turn: int) -> bool:
    """Say whether flushes are rehearsed after a turn: the less often, the more turns there were.

    >>> [turn for turn in range(1, 40) if is_rehearsed(turn)]
    [1, 2, 4, 8, 16, 32]
    """
    return turn & (turn - 1) == 0


def rehearsed(store: ViewStore, input_: int, waiting: int, bound_s: float) -> dict[int, float]:
    """Measure flushes of an input; nothing, if it has no rows.

    `waiting` is how many changes came last, or wait: flushes are as large as that, and larger, so
    that until the next rehearsal nothing waits of which the like was not measured. Flushes that
    take longer than the bound are none that changes will wait for. The first flush of a store that
    was idle is slow, and counts for nothing.
    """
    found: dict[int, float] = {}
    store.rehearse(input_, SIZES[0])
    for size in SIZES:
        if size > max(ALWAYS_MAX, 4 * waiting):
            break
        repeats = REPEATS if size <= REPEATED_MAX else 1
        taken = [store.rehearse(input_, size, draw) for draw in range(repeats)]
        if math.isnan(taken[0]):
            break
        found[size] = median(taken)
        if found[size] > bound_s:
            break
    return found


def least_seconds(step: ViewStep) -> float | None:
    """Give what the least refresh takes: of an empty view, in a DuckDB of its own.

    None for other stores: they are asked themselves, before the view stands on them.
    """
    if step.store:
        return None
    store: ViewStore = importlib.import_module("penstock.views.stores").open_store(
        step.definition, ":memory:"
    )
    try:
        return least_refresh(store)
    finally:
        store.close()


def least_refresh(store: ViewStore) -> float:
    """Give what the least refresh takes in a store in which the view has not begun.

    Nothing of it is left.
    """
    taken = []
    store.create()
    try:
        for number in range(1, REPEATS + 1):
            store.turn(number, _rows_of_nulls(store.definition), _nothing)
            started = perf_counter()
            store.refresh()
            taken.append(perf_counter() - started)
    finally:
        store.drop()
    return min(taken)


def refuse_short_bound(step: ViewStep, least_s: float) -> None:
    """Refuse a bound that no refresh keeps, and name the least that can be kept."""
    if least_s > step.bound_us / 1e6:
        raise PenstockError(
            "VIEW-063",
            f"No refresh of {step.definition.name!r} takes less than {1000 * least_s:.3g} ms here, "
            "even while it is empty.",
            f"Write REFRESH WITHIN {round(least_s * 3_000) + 1} MILLISECONDS or more.",
            option="refresh",
        )


def _nothing(pending: Ints, memo: str) -> tuple[Collection[int], str]:
    del pending
    return (), memo


def _rows_of_nulls(definition: ViewDefinition) -> dict[int, pa.Table]:
    return {
        number: pa.table(
            [*(pa.nulls(1, type_) for _, type_ in each.columns), pa.array([1], pa.int64())],
            names=[*(name for name, _ in each.columns), WEIGHT],
        )
        for number, each in enumerate(definition.inputs)
    }
