"""Distinct values over ranges, against recomputation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.operators.range_aggregate.distinct import DistinctValues
from tests.oracle import range_aggregates as oracle
from tests.oracle.range_aggregates import Subscription, Tuple
from tests.property.test_range_extremes import columns, one, rows, told

ASKED = oracle.subscriptions(range(2), range(-1, 9))


def drawn_batch(
    random: np.random.Generator, table: list[Tuple], values: list[int]
) -> tuple[list[Tuple], list[Tuple]]:
    """Draw what goes and what comes."""
    random.shuffle(table)
    goes = table[: random.integers(min(6, len(table)) + 1)]
    comes = [
        (int(random.integers(2)), int(random.integers(8)), values[random.integers(len(values))])
        for _ in range(random.integers(6))
    ]
    return goes, comes


def answers(table: list[Tuple], answer: Callable[[list[Tuple], Subscription], Any]) -> list[Any]:
    """Recompute what every subscription asks."""
    return [answer(table, each) for each in ASKED]


def test_distinct_values_are_those_of_a_recomputation(seed: int) -> None:
    random = np.random.default_rng(seed)
    distinct, table = DistinctValues(), list[Tuple]()
    p, x1, x2 = np.ascontiguousarray(np.array(ASKED).T)
    for batch in range(80):
        goes, comes = drawn_batch(random, table, [0, 1, 2, 3])
        if batch % 2:
            old, new = (side[0] if side else None for side in (goes, comes))
            goes, comes = ([side] if side else [] for side in (old, new))
            messages = distinct.process(one(old, new))
        else:
            messages = distinct.net(columns(goes), columns(comes))
        gone = rows(messages._replace(empty=~messages.empty))
        come = rows(messages)
        before, table = table, oracle.after(table, goes, comes)
        for each in ASKED:
            was, now = oracle.distinct(before, each), oracle.distinct(table, each)
            assert sorted(v for v in told(come, each) if v is not None) == sorted(now - was)
            assert sorted(v for v in told(gone, each) if v is not None) == sorted(was - now)
        numbers, values = distinct.answers(p, x1, x2)
        found = list(zip(numbers.tolist(), values.tolist(), strict=True))
        assert found == [
            (k, value)
            for k, each in enumerate(ASKED)
            for value in sorted(oracle.distinct(table, each))
        ]
        assert sorted(zip(*(c.tolist() for c in distinct.tuples()), strict=True)) == sorted(table)
        if batch == 40:
            distinct = DistinctValues(distinct.tuples())
    missing = [distinct.missing]
    distinct.net(columns([(5, 5, 5)]), columns([]))
    assert [*missing, distinct.missing] == [0, 1]
