"""Cost curves: what a batch of changes of each base table costs in real stores.

A change is a delete or an insert; an update is both. Batches of rows that are there are flushed
and undone, the tables by turns and the sizes in an order that is drawn. Whether offers or suppliers
have the flat curve hangs on the store and its indexes; so where a curve is not as published, its
shape and the gain that follows from it are told.
"""

from __future__ import annotations

from penstock.lab.maintenance.bounds import published_bounds
from penstock.lab.maintenance.measured import (
    MeasuredCurve,
    left_out,
    measured_curves,
    stores,
)
from penstock.lab.maintenance.tpch import PARTSUPP, SCALE, SUPPLIER, generated
from penstock.lab.report import Findings, Size, Table, at_most, chart, sized, timed
from penstock.lab.timing import say

LAST = sized(40, 300, 1000)
"""Moments over which the gain of a pair of curves is planned."""
WITHIN = 0.15
FLAT = 2.0
"""A curve is flat if a batch of the largest size costs at most so many times as one change."""


def run(size: Size) -> Findings:
    """Measure both tables' curves in every store, and plan with them."""
    found: list[MeasuredCurve] = []
    with generated(size) as offers, stores(offers) as views:
        for view in views:
            say(f"cost-curves: {view.name}, scale {SCALE[size]:g}")
            found += measured_curves(view, size)
        yield {f"{view.name}_indexes": len(view.store.indexes()) for view in views}
        yield at_most("Views that a rehearsal changed", sum(not v.is_right() for v in views), 0)
    yield Table(
        f"Curves at scale {SCALE[size]:g}, milliseconds",
        ("curve", "of_one", "of_most", "each", "fixed", "r_squared", "is_linear", "is_concave"),
        [
            (
                each.name, 1000 * each.curve(1), 1000 * each.curve(each.sizes[-1]),
                1000 * each.curve.fit.each, 1000 * each.curve.fit.fixed,
                each.curve.fit.r_squared, each.curve.fit.is_close, each.curve.is_concave,
            )
            for each in found
        ],
    )  # fmt: skip
    yield chart(
        "Cost of a batch",
        "changes",
        "milliseconds",
        {
            f"{each.name}{suffix}": (each.sizes, [1000 * value for value in values])
            for each in found
            for suffix, values in (
                ("", each.means),
                (" (repaired)", [each.curve(batch) for batch in each.sizes]),
            )
        },
    )
    note = left_out()
    if note:
        yield note
    for store in dict.fromkeys(each.store for each in found):
        yield from _shapes(store, [each for each in found if each.store == store], size)


def _shapes(store: str, curves: list[MeasuredCurve], size: Size) -> Findings:
    """Hold the shapes to the published ones; where they differ, say what is gained with them."""
    offers, suppliers = curves[PARTSUPP], curves[SUPPLIER]
    ratio = offers.curve(offers.sizes[-1]) / offers.curve(1)
    straight = suppliers.curve.fit.r_squared
    plans = published_bounds([each.curve for each in curves], LAST[size])
    yield {
        f"{store}_partsupp_most_over_one": ratio,
        f"{store}_supplier_r_squared": straight,
        **{f"{store}_gain_at_{moments}": plan.gain for moments, plan in plans.items()},
    }
    off = max(abs(each.held_out - 1) for each in curves)
    yield from timed(
        at_most(f"{store}: batches that a curve has not seen, off it by", off, WITHIN),
    )
    gains = ", ".join(
        f"{plan.gain:.2f} times (bound {1000 * plan.freshness.bound:.1f} ms)"
        for plan in plans.values()
    )
    published = straight >= 0.95 and ratio <= FLAT
    shape = "are as published" if published else "are not as published"
    yield (
        f"{store}: the curves {shape} (R² of suppliers {straight:.2f}, published at least 0.95; "
        f"{offers.sizes[-1]} changes of offers cost {ratio:.1f} times one, published at most 2). "
        f"NAIVE pays {gains} the optimum."
    )
