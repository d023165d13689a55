"""What is fitted on whole batches: coefficients, what cold memory adds, and what is then chosen."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.joins.whole_batches import TUPLES, WholeBatch, fitted, worst_choice
from penstock.operators.join.routing import CHOICES, Coefficients, CostConstants
from penstock.operators.join.routing.constants import TERMS
from penstock.operators.join.routing.costs import coldness

BASE = Coefficients(base=1.0)


def _batch(queries: int, rows: float, cold: float = 0.0, call: float = 0.0) -> WholeBatch:
    """Give a batch whose join costs 30 and 7 per row, more where memory is cold, and a call."""
    each = np.zeros(len(TERMS))
    each[TERMS.index("base")], each[TERMS.index("visits")] = 1.0, rows
    join = (30.0 + 7.0 * rows) * coldness(cold, queries) + call / TUPLES
    return WholeBatch(
        name="made up",
        queries=queries,
        weight=1,
        terms=dict.fromkeys(CHOICES, each),
        measured={**dict.fromkeys(CHOICES, 100.0), "join": join},
    )


def test_coefficients_and_the_price_of_cold_memory_come_back() -> None:
    sizes = [(queries, rows) for queries in (50_000, 400_000) for rows in (1, 5, 20)]
    batches = [_batch(queries, rows, cold=0.3, call=600.0) for queries, rows in sizes]
    found = fitted("join", ("base", "visits"), batches, call=600.0)
    assert (found.cold, found.call) == (0.3, 600.0)
    assert (found.base, found.visits) == pytest.approx((30.0, 7.0))


def test_a_batch_from_everywhere_weighs_as_its_copies_would() -> None:
    usual, odd = _batch(1000, 2.0), _batch(1000, 2.0)
    odd.measured["join"] *= 2.0
    heavy = WholeBatch(
        name="heavy", queries=1000, weight=9, terms=usual.terms, measured=usual.measured
    )
    weighed = fitted("join", ("base",), [heavy, odd], call=0.0)
    copies = fitted("join", ("base",), [usual] * 9 + [odd], call=0.0)
    assert weighed.base == pytest.approx(copies.base)
    assert weighed.base < fitted("join", ("base",), [usual, odd], call=0.0).base


def test_the_worst_choice_is_what_was_best_over_what_was_chosen() -> None:
    dear, cheap = _batch(1000, 50.0), _batch(1000, 1.0)  # A join costs 380 and 37, others 100.
    flat = CostConstants(join=BASE, selection=Coefficients(base=2.0), scan=Coefficients(base=2.0),
                         hot=Coefficients(base=2.0), source="made up")  # fmt: skip
    assert cheap.chosen(flat) == 1.0
    assert worst_choice([cheap, dear], flat) == pytest.approx(100 / 380)
