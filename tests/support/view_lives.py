"""Views over two tables and a stream, for tests: how they are bound, and changes that come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.views import StandingView
from penstock.language.queries import read_query
from penstock.language.views import bind_view
from penstock.operators.protocol import Share
from penstock.operators.shared.entries import PORT
from penstock.operators.view import ViewOperator
from penstock.vocabulary.batches import QueryChanges

ORDERS = pa.schema([("id", pa.int64()), ("region", pa.string()), ("op", pa.string())])
ITEMS = pa.schema([("order_id", pa.int64()), ("price", pa.float64()), ("op", pa.string())])
TRADES = pa.schema([("symbol", pa.string()), ("size", pa.int32())])
TICKS = pa.schema([("symbol", pa.string()), ("price", pa.float64())])
CATALOG = {
    "orders": Relation(name="orders", kind="table", schema=ORDERS, change_column="op"),
    "items": Relation(name="items", kind="table", schema=ITEMS, change_column="op"),
    "trades": Relation(name="trades", kind="stream", schema=TRADES),
    "ticks": Relation(name="ticks", kind="stream", schema=TICKS),
}
GROUPED = (
    "SELECT region, min(price) AS low, count(*) AS n FROM orders JOIN items ON id = order_id "
    "GROUP BY region"
)


def view(sql: str = GROUPED, bound: str = "500 milliseconds", **options: Any) -> StandingView:
    """Bind a view called v."""
    given = {"view": "v", "refresh": bound, **options}
    return bind_view(read_query(sql, CATALOG, None, given))


def operator(bound: StandingView, home: Path, snapshot: bytes | None = None) -> ViewOperator:
    """Build the operator of a view whose store lies in a directory; it is query 7."""
    made = ViewOperator(bound.step(), snapshot, Share(home=str(home)))
    made.apply(QueryChanges(adds={PORT: pa.table({"query": pa.array([7], pa.int64())})}))
    return made


class Changes:
    """Draws changes of orders and items that a table could make: what goes was there."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self.standing: dict[str, list[tuple[Any, ...]]] = {"orders": [], "items": []}

    def batch(self, most: int = 6) -> dict[str, pa.Table]:
        """Draw the changes of one batch: per table some rows come, some go, netted."""
        chance, found = self._chance, {}
        for name, schema in (("orders", ORDERS), ("items", ITEMS)):
            rows: list[tuple[Any, ...]] = []
            own = self.standing[name]
            for _ in range(int(chance.integers(0, most))):
                if own and chance.random() < 0.4:
                    gone = own.pop(int(chance.integers(len(own))))
                    rows.append((*gone, "delete"))
                else:
                    key = int(chance.integers(0, 5))
                    second: Any = ["a", "b", None][int(chance.integers(3))]
                    if name == "items":
                        second = float(chance.integers(1, 5))
                    own.append((key, second))
                    rows.append((key, second, "insert"))
            if rows:
                columns = list(zip(*rows, strict=True))
                found[name] = pa.table([list(column) for column in columns], schema=schema)
        return found

    def expected(self) -> list[tuple[Any, ...]]:
        """Give the grouped view over everything that stands, the slow way."""
        groups: dict[Any, list[float]] = {}
        for key, region in self.standing["orders"]:
            for order, price in self.standing["items"]:
                if order == key:
                    groups.setdefault(region, []).append(price)
        return sorted(((region, min(own), len(own)) for region, own in groups.items()), key=repr)
