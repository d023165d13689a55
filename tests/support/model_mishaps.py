"""Rows as they should not be: late, twice, without numbers, huge, of keys that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation

SECOND = 1_000_000
TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [("ts", TIME), ("k", pa.string()), *((name, pa.float64()) for name in "xyvw"),
     ("u", pa.string())]
)  # fmt: skip
STYLES = ("plain", "spoilt", "huge", "far")
BEGINNINGS = (-7_000_000_000, -5, 0, 1_700_000_000)
"""In seconds: long before 1970, across it, and lately."""
STEPS = (0, 1, 1_000, 50_000, 200_000, SECOND, 5 * SECOND)
SPOILT = (None, np.nan, np.inf, -np.inf)
HUGE = (1e15, -1e15, 1e150, -1e150, 5e-324, -0.0)
"""Their squares are numbers: of what is none no condition holds."""
STEEP = (1e4, -1e3)
"""Per second: what is steeper crosses much within the microsecond that answers are rounded to."""
FAR = 1e9


def relation(lateness_us: int) -> Relation:
    """Give the stream `s`."""
    return Relation(
        name="s", kind="stream", schema=SCHEMA, event_time="ts", lateness_us=lateness_us
    )


class MishapRows:
    """Draws rows whose x moves by v, and y by w, per second, most of the time."""

    def __init__(self, chance: np.random.Generator, style: str, lateness_us: int) -> None:
        self.chance, self.style, self.lateness_us = chance, style, lateness_us
        self.clock = int(chance.choice(BEGINNINGS)) * SECOND
        self.place = np.array([1.0, 0.0, -2.0, 100.0])
        self.speed = np.array([0.3, -0.2, 0.0, 0.0])
        self.strangers = 0

    def batch(self, size: int) -> pa.Table:
        """Draw rows; some come twice, the second time with another value."""
        rows: list[dict[str, Any]] = []
        for _ in range(size):
            rows.append(self._row())
            if self.chance.random() < 0.06:
                again = dict(rows[-1])
                if again["x"] is not None:
                    again["x"] += float(self.chance.choice([0.0, 0.4, 10.0, -10.0]))
                rows.append(again)
        times = pa.array([row.pop("ts") for row in rows], pa.int64()).cast(TIME)
        table = pa.Table.from_pylist(rows, schema=pa.schema(list(SCHEMA)[1:]))
        return table.add_column(0, "ts", times)

    def _row(self) -> dict[str, Any]:
        chance = self.chance
        step = int(chance.choice(STEPS, p=(0.1, 0.05, 0.05, 0.1, 0.3, 0.32, 0.08)))
        self.clock += step
        self.place = self.place + self.speed * step / SECOND
        own = int(chance.integers(4))
        if chance.random() < 0.1:
            self.speed[own] = -np.sign(self.place[own]) * round(chance.random() * 2, 2)
        if chance.random() < 0.03:
            self.place[own] = chance.choice([0.0, 1.0, -1.0, 100.0, 0.5])
        late = 0
        if self.lateness_us and chance.random() < 0.3:
            late = int(chance.integers(self.lateness_us))
        if chance.random() < 0.03:
            late = int(chance.integers(4 * self.lateness_us + 3 * SECOND))
        key = "abcd"[own]
        if chance.random() < 0.05:
            self.strangers += 1
            key = f"n{self.strangers}"
        noise = chance.normal(0, 0.1) if chance.random() < 0.5 else 0.0
        x, v = float(self.place[own] + noise), float(self.speed[own])
        row: dict[str, Any] = {
            "ts": self.clock - late, "k": key, "x": x, "y": x / 2 + chance.normal(0, 0.05), "v": v,
            "w": v / 2, "u": "dark" if chance.random() < 0.1 else "lit",
        }  # fmt: skip
        self._spoil(row)
        return row

    def _spoil(self, row: dict[str, Any]) -> None:
        chance, draw = self.chance, self.chance.random()
        if self.style == "far":
            row["x"] += FAR
        elif self.style == "spoilt" and draw < 0.2:
            row[str(chance.choice(list("xyvw")))] = SPOILT[int(chance.integers(4))]
        elif self.style == "spoilt" and draw < 0.23:
            row[str(chance.choice(["ts", "k"]))] = None
        elif self.style == "huge" and draw < 0.04:
            row["x"] = HUGE[int(chance.integers(len(HUGE)))]
        elif self.style == "huge" and draw < 0.07:
            row[str(chance.choice(["v", "w"]))] = float(chance.choice(STEEP))
