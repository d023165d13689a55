"""Streams for multi-way joins: rows drawn from a seed, in directories that Spark reads."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import penstock as ps
from tests.support.tables import BEGIN, Feeder

STREAM = pa.schema(
    [
        ("n", pa.int64()),
        ("x", pa.int64()),
        ("y", pa.string()),
        ("v", pa.float64()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
TABLE = pa.schema([("y", pa.string()), ("w", pa.int64()), ("op", pa.string())])
SECONDS_PER_FILE = 4


class Streams:
    """Streams a, b, c and a table t that grow file by file, a batch each.

    Most rows are in time; some come later than the lateness allows, some have no time or key.
    """

    def __init__(self, root: Path, seed: int, rows: int = 16, late: bool = True) -> None:
        self.chance = np.random.default_rng(seed)
        self.feeders = {name: Feeder(root / name) for name in ("a", "b", "c", "t")}
        self._rows = rows
        self._late = late
        self._next = 0

    def put(self, files: int = 1, rows: dict[str, int] | None = None) -> None:
        """Add files to every directory."""
        for _ in range(files):
            number = len(self.feeders["a"].tables)
            for name in ("a", "b", "c"):
                count = (rows or {}).get(name, self._rows)
                self.feeders[name].put(self._stream(number, count))
            self.feeders["t"].put(self._table())

    def _stream(self, number: int, count: int) -> pa.Table:
        chance = self.chance
        times = np.sort(chance.random(count)) * SECONDS_PER_FILE + number * SECONDS_PER_FILE
        if self._late:
            times += chance.choice([0.0, -1.0, -7.0], count, p=[0.6, 0.3, 0.1])
        first, self._next = self._next, self._next + count
        holes = 0.05 if self._late else 0.0
        columns: list[list[Any]] = [
            list(range(first, first + count)),
            [int(x) if chance.random() > holes else None for x in chance.integers(0, 3, count)],
            chance.choice(["p", "q", "r"], count).tolist(),
            chance.choice([np.nan, 1.0, 2.0, 3.0], count).tolist(),
            [
                None if chance.random() < holes else BEGIN + timedelta(microseconds=int(s * 1e6))
                for s in np.round(times, 1)
            ],
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, STREAM, strict=True)]
        return pa.Table.from_arrays(arrays, schema=STREAM)

    def _table(self) -> pa.Table:
        chance = self.chance
        rows = [
            {"y": str(y), "w": int(w), "op": str(op)}
            for y, w, op in zip(
                chance.choice(["p", "q", "r", "z"], 4),
                chance.integers(0, 2, 4),
                chance.choice(["insert", "insert", "delete"], 4),
                strict=True,
            )
        ]
        return pa.Table.from_pylist(rows, schema=TABLE)

    def declare(self, engine: ps.Engine, **rates: float) -> None:
        """Declare all four; rates are what the owner says, right or wrong."""
        for name in ("a", "b", "c"):
            engine.stream(
                name,
                f"parquet:{self.feeders[name].directory}",
                event_time="ts",
                lateness="2 seconds" if self._late else 0,
                rate=rates.get(name),
                distinct={"x": 3, "y": 3},
                maxFilesPerTrigger=1,
            )
        engine.table("t", f"parquet:{self.feeders['t'].directory}", changes="op", rows=10,
                     maxFilesPerTrigger=1)  # fmt: skip

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(table.num_rows for f in self.feeders.values() for table in f.tables)
