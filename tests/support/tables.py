"""Data for tests: rows drawn from a seed, directories of files that Spark reads batch by batch."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EVENTS = pa.schema(
    [
        ("n", pa.int64()),
        ("k", pa.string()),
        ("x", pa.float64()),
        ("y", pa.int32()),
        ("flag", pa.bool_()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
BEGIN = datetime(2026, 1, 2, tzinfo=UTC)


def events(seed: int, rows: int, first: int = 0, gaps: float = 0.0) -> pa.Table:
    """Draw events numbered from `first`; a share `gaps` of values is NULL, as many x are NaN."""
    chance = np.random.default_rng(seed)

    def holes(values: list[Any]) -> list[Any]:
        return [None if chance.random() < gaps else value for value in values]

    x = np.round(chance.random(rows) * 100, 1)
    x[chance.random(rows) < gaps] = np.nan
    columns = [
        list(range(first, first + rows)),
        holes(chance.choice(["IBM", "SAP", "ABC", ""], rows).tolist()),
        holes(x.tolist()),
        holes(chance.integers(-20, 20, rows).tolist()),
        holes((chance.random(rows) < 0.5).tolist()),
        [BEGIN + timedelta(seconds=first + i) for i in range(rows)],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, EVENTS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


class Feeder:
    """A directory that a stream reads, one file per micro-batch."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tables: list[pa.Table] = []
        directory.mkdir(parents=True)

    def put(self, table: pa.Table) -> Path:
        """Move a file in when it is complete; Spark takes files in the order of their times."""
        path = self.directory / f"{len(self.tables):06d}.parquet"
        hidden = self.directory / f".{path.name}"
        pq.write_table(table, hidden)
        self.date(hidden, len(self.tables))
        hidden.replace(path)
        self.tables.append(table)
        return path

    def date(self, path: Path, number: int) -> None:
        """Give a file its place in the order; Spark ignores files a week older than the newest."""
        time_ns = (1_700_000_000 + number) * 10**9
        os.utime(path, ns=(time_ns, time_ns))

    @property
    def rows(self) -> pa.Table:
        """All that was put."""
        return pa.concat_tables(self.tables)


def bag(table: pa.Table, *columns: str) -> Counter[tuple[Any, ...]]:
    """Give the rows as a multiset; NaN counts as the text 'nan', so that it equals itself."""
    names = columns or tuple(table.column_names)
    lists = [table[name].to_pylist() for name in names]
    return Counter(
        tuple("nan" if value != value else value for value in row)  # noqa: PLR0124
        for row in zip(*lists, strict=True)
    )
