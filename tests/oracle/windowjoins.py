"""Window joins as anybody would write them: every tuple, every query, every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A standing window join."""

    al: int
    ah: int
    cl: int
    ch: int
    w: int
    since: int


@dataclass(frozen=True)
class Stored:
    """A row of the probed side."""

    code: int
    value: int
    time: int
    arrived: int


def meets(query: Asked, code: int, time: int, row: Stored) -> bool:
    """Say whether a row is in a query's range and window around a tuple."""
    return (
        row.code == code
        and query.cl <= row.value <= query.ch
        and abs(row.time - time) < query.w
        and row.arrived >= query.since
    )


def affected(
    queries: Mapping[int, Asked],
    tuples: Sequence[tuple[int, int, int]],
    rows: Mapping[int, Stored],
) -> set[tuple[int, int]]:
    """Give (place of a tuple (a, code, time), slot of a query) where some row completes a pair."""
    return {
        (place, slot)
        for place, (a, code, time) in enumerate(tuples)
        for slot, query in queries.items()
        if query.al <= a <= query.ah and any(meets(query, code, time, row) for row in rows.values())
    }
