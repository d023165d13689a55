"""Changes to two tables, drawn from a seed: supply and demand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

SUPPLY = pa.schema(
    [("item", pa.string()), ("price", pa.float64()), ("n", pa.int64()), ("op", pa.string())]
)
DEMAND = pa.schema(
    [("item", pa.string()), ("quantity", pa.int64()), ("m", pa.int64()), ("op", pa.string())]
)
SCHEMAS = {"supply": SUPPLY, "demand": DEMAND}
ITEMS = (None, "tin", "tin", "oak", "oak", "rye")


class Trade:
    """Draws changes; deletes and updates name rows that are there, mostly.

    `held` are the rows that each table has after all changes so far.
    """

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.held: dict[str, list[dict[str, Any]]] = {"supply": [], "demand": []}

    def changes(self, name: str, count: int) -> pa.Table:
        """Draw a batch of changes to a table."""
        found: list[dict[str, Any]] = []
        held = self.held[name]
        for _ in range(count):
            kind = self.chance.random()
            if kind < 0.25 and held:
                found.append({**self._pop(name), "op": "delete"})
            elif kind < 0.4 and held:
                found.append({**self._pop(name), "op": "update_before"})
                found.append({**self._row(name), "op": "update_after"})
                held.append(found[-1])
            elif kind < 0.45:
                found.append({**self._row(name), "op": "delete"})  # nobody is there, mostly
                self._take(name, found[-1])
            else:
                found.append({**self._row(name), "op": "insert"})
                held.append(found[-1])
        return pa.Table.from_pylist(found, schema=SCHEMAS[name])

    def _pop(self, name: str) -> dict[str, Any]:
        return self.held[name].pop(int(self.chance.integers(len(self.held[name]))))

    def _take(self, name: str, gone: dict[str, Any]) -> None:
        for place, row in enumerate(self.held[name]):
            if repr({**row, "op": ""}) == repr({**gone, "op": ""}):
                del self.held[name][place]
                return

    def _row(self, name: str) -> dict[str, Any]:
        item = ITEMS[int(self.chance.integers(len(ITEMS)))]
        number = int(self.chance.integers(0, 40))
        if name == "demand":
            return {"item": item, "quantity": int(self.chance.integers(0, 100)), "m": number}
        price = float(self.chance.choice([np.nan, *range(0, 100, 5)]))
        return {"item": item, "price": price, "n": number}


def bounds(seed: int, count: int) -> list[dict[str, Any]]:
    """Draw ranges on price (`low`, `high`) and on quantity (`few`, `many`)."""
    low, few = np.random.default_rng(seed).integers(0, 60, (2, count)).tolist()
    return [
        {"id": i, "low": float(a), "high": a + 30.0, "few": b, "many": b + 30}
        for i, (a, b) in enumerate(zip(low, few, strict=True))
    ]
