"""The published example of two tables, one of which has no index, in a real PostgreSQL.

A change of an order finds its items by an index, and costs what its items do. A change of an item
must scan all orders, and costs the same for one as for a hundred. So items wait and orders do not.
This is how flushing apart came to be: it pays where the table with the large fixed cost has not the
larger cost per change too, and the other hardly any fixed cost. With the index that Penstock makes
by itself both fixed costs are those of planning a few statements, and there is little to gain: the
same run says so. It is judged at scale 1: a scan of fewer orders is not much dearer than planning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.algebra.views import Aggregate, ViewColumn, ViewDefinition, ViewInput
from penstock.lab.draws import generator
from penstock.lab.maintenance.bounds import published_bounds
from penstock.lab.maintenance.judgements import by_turns, judged
from penstock.lab.maintenance.measured import MeasuredView, left_out, measured_curves
from penstock.lab.maintenance.tpch import Updates, changed, generated_files, weighted
from penstock.lab.postgresql import measured_server
from penstock.lab.report import Findings, Size, at_most, sized
from penstock.lab.timing import say
from penstock.views.stores import open_store
from penstock.vocabulary.batches import Ints

SCALE = sized(0.01, 0.1, 1.0)
LAST = sized(60, 300, 300)
"""Moments of a run; at each, one update of each table."""
ROUNDS = sized(1, 2, 2)
EFFORT: dict[Size, Size] = sized("tiny", "small", "small")
"""How thoroughly curves are measured: a rehearsal sweeps six million rows at scale 1."""
APART = 1.8
TIGHT = 15
"""Moments that NAIVE waits under the tighter of the published bounds, under which it is judged."""
SCANNED = "base1_c0_idx"
"""The index by which a change of an item finds its order."""
NAMES = ("lineitem", "orders")
ITEM, ORDER = (
    (("l_orderkey", pa.int64()), ("l_quantity", pa.int64())),
    (("o_orderkey", pa.int64()), ("o_priority", pa.int64())),
)
QUANTITY_MAX, PRIORITIES = 50, 5


def quantities() -> ViewDefinition:
    """Give the view: what was ordered, by priority."""
    whole = pa.int64()
    return ViewDefinition(
        name="ordered_quantities",
        dialect="postgresql",
        inputs=tuple(
            ViewInput(relation=name, alias=name, columns=columns)
            for name, columns in zip(NAMES, (ITEM, ORDER), strict=True)
        ),
        conditions=('"lineitem"."l_orderkey" = "orders"."o_orderkey"',),
        is_grouped=True,
        keys=(ViewColumn(name="k0", sql='"orders"."o_priority"', type=whole),),
        aggregates=(
            Aggregate(
                name="a0", function="sum", argument='"lineitem"."l_quantity"',
                argument_type=whole, type=whole,
            ),
        ),
        outputs=(
            ViewColumn(name="priority", sql='"k0"', type=whole),
            ViewColumn(name="quantity", sql='"a0"', type=whole),
        ),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderedItems:
    """Items and orders as they are at first."""

    tables: tuple[pa.Table, pa.Table]

    def loaded(self) -> Updates:
        """Give all rows as changes."""
        return {number: weighted(table, 1) for number, table in enumerate(self.tables)}

    def updates(self, drawn: np.random.Generator, last: int) -> list[Updates]:
        """Draw an item with another quantity and an order with another priority per moment."""
        columns = [[each.to_numpy().copy() for each in table.columns] for table in self.tables]
        return [
            {
                number: _updated(drawn, own, columns[number], most)
                for number, (own, most) in enumerate(((ITEM, QUANTITY_MAX), (ORDER, PRIORITIES)))
            }
            for _ in range(last)
        ]


def _updated(
    drawn: np.random.Generator, names: tuple[tuple[str, pa.DataType], ...], own: list[Ints],
    most: int,
) -> pa.Table:  # fmt: skip
    row = drawn.integers(0, len(own[0]), 1)
    moved = (own[-1][row] - 1 + drawn.integers(1, most, 1)) % most + 1
    return changed(row, own, moved, names)


@contextmanager
def generated(size: Size) -> Iterator[OrderedItems]:
    """Make items and orders by TPC-H's generator."""
    with generated_files(SCALE[size], NAMES) as directory:
        items = pq.read_table(directory / "lineitem.parquet", columns=["l_orderkey", "l_quantity"])
        orders = pq.read_table(
            directory / "orders.parquet", columns=["o_orderkey", "o_orderpriority"]
        )
    words = orders["o_orderpriority"].cast(pa.string())
    orders = orders.set_column(1, "o_priority", pc.utf8_slice_codeunits(words, 0, 1))
    yield OrderedItems(
        tables=(items.cast(pa.schema(ITEM)), orders.cast(pa.schema(ORDER))),
    )


def run(size: Size) -> Findings:
    """Follow every policy with both indexes, and without the one."""
    note = left_out()
    if note is not None:
        yield note
        return
    with generated(size) as items, measured_server() as server:
        store = open_store(quantities(), server.url())
        try:
            view = MeasuredView("postgresql, both indexed", store, server.url())
            say(f"one-index: scale {SCALE[size]:g}: loading")
            view.load(items.loaded())
            moments = items.updates(generator(35), LAST[size])
            yield from _followed(view, moments, size, (TIGHT,))
            scanned = view.unindexed(SCANNED, "postgresql, orders not indexed")
            yield from _followed(scanned, moments, size, (), APART)
            yield at_most("Views that are wrong", int(not scanned.is_right()), 0)
        finally:
            store.close()


def _followed(
    view: MeasuredView, moments: list[Updates], size: Size, only: tuple[int, ...],
    least: float | None = None,
) -> Findings:  # fmt: skip
    say(f"one-index: {view.name}: curves")
    curves = [each.curve for each in measured_curves(view, EFFORT[size])]
    for kept, plan in published_bounds(curves, LAST[size]).items():
        if only and kept not in only:
            continue
        taken = by_turns(view, plan, moments, ROUNDS[size])
        held = least if kept == TIGHT and size == "full" else None
        yield from judged(
            f"{view.name}, NAIVE every {kept}", ("items", "orders"), plan, taken, held
        )
