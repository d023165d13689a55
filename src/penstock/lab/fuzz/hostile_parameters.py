"""Hostile parameters: rows with a bad value among good ones, from every kind of source.

A bad value is one refused row: besides a code where one is raised, the good rows must stand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine import Desk
from penstock.lab.correctness.parameter_sets import PLACES, relation
from penstock.lab.correctness.parameters import COLUMNS, TEXTS, value_of
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.fuzzers import FuzzOutcome

ROWS_MAX = 12
BAD: tuple[Any, ...] = (
    None, "", "x", "nonsense", "\ud7ff", "\x00", "1e999", "0x10", "nan", " 7 ", "🦆", "9" * 400,
    b"\xff",    float("nan"), float("inf"), -0.0, 2**63, 2**64, -(2**70), 10**40, Decimal("NaN"),
    Decimal("1E+50"), Decimal("Infinity"), True, date(1, 1, 1), datetime(9999, 12, 31, tzinfo=UTC),
    datetime(2024, 2, 29, tzinfo=UTC), timedelta(days=1), [1, 2], {"a": 1}, (), set(), object(),
    1 + 2j, np.float32(0.1), np.int8(-1), pd.NaT, pd.NA, range(3),
)  # fmt: skip
"""Values that some columns cannot have, or no column."""


def _listed(rows: list[Any], _directory: Path) -> Any:
    return rows


def _framed(rows: list[Any], _directory: Path) -> Any:
    return pd.DataFrame([row for row in rows if isinstance(row, dict)])


def _arrow(rows: list[Any], _directory: Path) -> Any:
    kept = [row for row in rows if isinstance(row, dict)]
    return pa.table(
        {
            "id": [row["id"] for row in kept],
            "p": pa.array([None if row.get("p") is None else repr(row["p"]) for row in kept]),
        }
    )


def _parquet(rows: list[Any], directory: Path) -> Any:
    pq.write_table(_arrow(rows, directory), directory / "given.parquet")
    return directory / "given.parquet"


def _csv(rows: list[Any], directory: Path) -> Any:
    with (directory / "given.csv").open("wb") as file:
        file.write(b"id,p\n")
        for row in rows:
            value = row.get("p") if isinstance(row, dict) else "too,many,fields"
            data = value if isinstance(value, bytes) else str(value).encode()
            file.write(
                str(row["id"] if isinstance(row, dict) else 0).encode() + b"," + data + b"\n"
            )
    return str(directory / "given.csv")


def _json(rows: list[Any], directory: Path) -> Any:
    lines = [json.dumps(row, default=str) for row in rows]
    (directory / "given.jsonl").write_text("\n".join([*lines[:1], *lines[1:]]), encoding="utf-8")
    return directory / "given.jsonl"


SOURCES: tuple[Callable[[list[Any], Path], Any], ...] = (
    _listed, _listed, _framed, _arrow, _parquet, _csv, _json,
)  # fmt: skip


def _rows(chance: np.random.Generator, column: str) -> list[Any]:
    """Draw rows whose values the column has, and among them some that it has not."""
    rows: list[Any] = []
    for number in range(int(chance.integers(1, ROWS_MAX))):
        if chance.random() < 0.3:
            value = BAD[int(chance.integers(len(BAD)))]
        else:
            texts = TEXTS[column]
            value = value_of(texts[int(chance.integers(len(texts)))], COLUMNS[column])
        rows.append({"id": number, "p": value})
        if chance.random() < 0.02:
            rows.append([number, value])
    return rows


def _register(desk: Desk, condition: str, each: Any) -> None:
    desk.subscribe(f"SELECT k FROM s WHERE {condition}", each=each)


def try_parameters(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Register drawn sets of parameters."""
    outcome = FuzzOutcome("parameter sets")
    for column_number, column in enumerate(COLUMNS):
        own = [c for c in range(first, first + cases) if c % len(COLUMNS) == column_number]
        with scratch() as home, DeskRun(Path(home) / "home", relation(column)) as run:
            for case in own:
                chance = np.random.default_rng((seed, 4, case))
                rows = _rows(chance, column)
                source = SOURCES[int(chance.integers(len(SOURCES)))]
                condition = list(PLACES.values())[int(chance.integers(len(PLACES)))]
                each = source(rows, Path(home))
                text = f"{condition} by {source.__name__[1:]} of {column}: {rows!r}"
                outcome.attempt(seed, case, text, partial(_register, run.desk, condition, each))
    return outcome
