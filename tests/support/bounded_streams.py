"""Streams for joins and lookups with a budget: keys that move up, in directories that Spark reads.

The streams `r` and `s` bring rows whose keys follow the time, more or less closely; `asks` is a
stream of keys that some are asked for more than others.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import penstock as ps
from tests.support.tables import BEGIN, Feeder

STREAM = pa.schema(
    [("n", pa.int64()), ("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]
)
KEYS = 40
"""How many keys are asked for; every seventh has no row."""


class Moving:
    """Streams r and s: a row a tick each, keys about the number of the tick."""

    def __init__(self, root: Path, seed: int, rows: int = 40, spread: int = 6) -> None:
        self.chance = np.random.default_rng(seed)
        self.feeders = {name: Feeder(root / name) for name in ("r", "s")}
        self._rows = rows
        self._spread = spread

    def put(self, files: int = 1) -> None:
        """Add files to both directories, a batch each."""
        for _ in range(files):
            for number, feeder in enumerate(self.feeders.values()):
                first = len(feeder.tables) * self._rows
                ticks = np.arange(first, first + self._rows)
                noise = self.chance.integers(-self._spread, self._spread + 1, self._rows)
                keys = (ticks + noise - 2 * number).tolist()
                if first:
                    keys[3] = None
                times = [BEGIN + timedelta(milliseconds=100 * int(tick) + number) for tick in ticks]
                columns: list[list[Any]] = [ticks.tolist(), keys, (ticks % 5).tolist(), times]
                arrays = [pa.array(c, f.type) for c, f in zip(columns, STREAM, strict=True)]
                feeder.put(pa.Table.from_arrays(arrays, schema=STREAM))

    def script(self, name: str, text: str) -> str:
        """Write a script that declares both streams and subscribes to a text."""
        options = (
            "OPTIONS (event_time = 'ts', lateness = '0 seconds', rate = 10, maxFilesPerTrigger = 1)"
        )
        made = (
            f"CREATE STREAM {stream} FROM 'parquet:{feeder.directory}' {options};"
            for stream, feeder in self.feeders.items()
        )
        return "\n".join([*made, f"SUBSCRIBE {name} TO {text};"])

    def declare(self, engine: ps.Engine) -> None:
        """Declare both streams."""
        for stream, feeder in self.feeders.items():
            source = f"parquet:{feeder.directory}"
            engine.stream(
                stream, source, event_time="ts", lateness=0, rate=10, maxFilesPerTrigger=1
            )

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(table.num_rows for each in self.feeders.values() for table in each.tables)


class Asking:
    """The stream `asks`, and the table `prices` that its rows look up."""

    def __init__(self, root: Path, seed: int, rows: int = 60) -> None:
        self.chance = np.random.default_rng(seed)
        self.feeder = Feeder(root / "asks")
        self.file = root / "prices.duckdb"
        self._rows = rows
        with duckdb.connect(str(self.file)) as db:
            for statement in prices_sql():
                db.execute(statement)

    def put(self, files: int = 1) -> None:
        """Add files to the stream's directory, a batch each."""
        weights = 1 / np.arange(1, KEYS + 1)
        for _ in range(files):
            first = len(self.feeder.tables) * self._rows
            numbers = np.arange(first, first + self._rows)
            keys = self.chance.choice(KEYS, self._rows, p=weights / weights.sum()).tolist()
            keys[5] = None
            times = [BEGIN + timedelta(milliseconds=int(number)) for number in numbers]
            columns: list[list[Any]] = [numbers.tolist(), keys, (numbers % 5).tolist(), times]
            arrays = [pa.array(c, f.type) for c, f in zip(columns, STREAM, strict=True)]
            self.feeder.put(pa.Table.from_arrays(arrays, schema=STREAM))

    def declare(self, engine: ps.Engine, source: str | None = None, **options: Any) -> None:
        """Declare the stream, and the table with a cache of eight rows."""
        where = f"parquet:{self.feeder.directory}"
        engine.stream("asks", where, event_time="ts", maxFilesPerTrigger=1)
        quick = {"timeout": "1 minute", "retries": 0, "cooldown": "200 milliseconds", **options}
        engine.lookup("prices", source or f"duckdb:{self.file}", key="id", cache=8, options=quick)

    def away(self) -> None:
        """Take the database away."""
        self.file.rename(self.file.with_suffix(".away"))

    def back(self) -> None:
        """Bring the database back."""
        self.file.with_suffix(".away").rename(self.file)

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return self.feeder.rows.num_rows

    @property
    def expected(self) -> list[tuple[int, int, float]]:
        """What all rows find: number, key, price."""
        found = zip(
            self.feeder.rows["n"].to_pylist(), self.feeder.rows["k"].to_pylist(), strict=True
        )
        return sorted((n, k, price_of(k)) for n, k in found if k is not None and k % 7)


def price_of(key: int) -> float:
    """Give the price of a key that has one."""
    return 10.0 + key / 4


def prices_sql() -> list[str]:
    """Give the statements that make the table, in any database."""
    rows = ", ".join(f"({key}, {price_of(key)})" for key in range(KEYS) if key % 7)
    return [
        "CREATE TABLE prices (id BIGINT PRIMARY KEY, price DOUBLE PRECISION)",
        f"INSERT INTO prices VALUES {rows}",
    ]
