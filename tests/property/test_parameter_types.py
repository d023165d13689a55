"""A parameter has its column's type: from every source, in every place, as DuckDB compares.

What a row means is a text. DuckDB compares the column with that text cast to the column's type, or
to a type with more places where the column's own cannot hold it.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.lab.correctness.parameters import COLUMNS, TEXTS, Given, sources, value_of
from penstock.storage.databases import connect
from penstock.vocabulary.types import Kind, is_ordered, kind_of
from tests.support.desk_runs import DeskRun

WIDE = {"at": "TIMESTAMPTZ", "local": "TIMESTAMP", "day": "TIMESTAMP"}
PLACES = {
    "equality": "c = :p",
    "list": "c IN (:p)",
    "low": "c >= :p",
    "high": "c < :p",
    "open": "c > :p",
    "between": "c BETWEEN :p AND :p",
    "unequal": "c <> :p",
    "residual": "CASE WHEN c <= :p THEN TRUE ELSE FALSE END",
    "residual equality": "CASE WHEN c = :p THEN TRUE ELSE FALSE END",
}
JOINED = "SELECT x.k FROM s x [ROWS 1000], s y [ROWS 1] WHERE x.k = y.k AND {}"


def relation(column: str) -> Relation:
    fields = [("k", pa.int64()), ("c", COLUMNS[column]), ("ts", pa.timestamp("us", "UTC"))]
    return Relation(
        name="s", kind="stream", schema=pa.schema(fields), event_time="ts", lateness_us=0
    )


def events(column: str, rng: random.Random) -> pa.Table:
    """Give every value that the column holds, and NULL."""
    type_ = COLUMNS[column]
    values: list[Any] = [None]
    for text in TEXTS[column]:
        try:
            value = text if pa.types.is_string(type_) else value_of(text, type_)
            if pa.types.is_decimal(type_) or pa.types.is_integer(type_):
                value = pa.scalar(text).cast(type_).as_py()
            values.append(pa.scalar(value, type_).as_py())
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            continue
    rng.shuffle(values)
    size = len(values)
    at = pa.array(range(size)).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    return pa.table({"k": list(range(size)), "c": pa.array(values, type_), "ts": at})


class Truth:
    """DuckDB's answers; None where the column's type does not hold the value."""

    def __init__(self, rows: pa.Table, column: str) -> None:
        self._db = connect(threads=1)
        self._db.register("given", rows)
        self._db.execute("CREATE TABLE s AS FROM given")
        self._name = str(self._db.sql("SELECT c FROM s").types[0])
        self._kind = kind_of(COLUMNS[column])
        self._is_indexed = is_ordered(COLUMNS[column])
        self._known: dict[tuple[str, str], set[int] | None] = {}

    def rows(self, condition: str, text: str | None) -> set[int] | None:
        """Give the rows for which a condition holds."""
        if text is None:
            return set()
        key = condition, text
        if key not in self._known:
            self._known[key] = self._ask(condition, text)
        return self._known[key]

    def _ask(self, condition: str, text: str) -> set[int] | None:
        cast = f"CAST($t AS {self._name})"
        if self._kind in {Kind.INTEGER, Kind.DECIMAL} and not self._holds(text):
            is_bound = any(sign in condition for sign in ("<", ">", "BETWEEN"))
            is_bound &= "CASE" not in condition
            if not (is_bound and self._is_indexed):
                return None
            cast = "CAST($t AS DECIMAL(38, 8))"
        sql = f"SELECT k FROM s WHERE {condition.replace(':p', cast)}"
        return {k for (k,) in self._db.execute(sql, {"t": text}).fetchall()}

    def _holds(self, text: str) -> bool:
        sql = f"SELECT TRY_CAST($t AS {self._name}) = CAST($t AS DECIMAL(38, 8))"
        return bool(self._db.execute(sql, {"t": text}).fetchall()[0][0])


@pytest.mark.parametrize("column", COLUMNS)
def test_parameters_are_of_their_columns_type(column: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = events(column, rng)
    run = DeskRun(tmp_path / "home", relation(column))
    texts: list[str | None] = [*TEXTS[column], None]
    given: dict[str, tuple[str, Given, Any]] = {}
    made = sources(column, texts, tmp_path)
    # All of them cost half a minute for each column: a seed takes some.
    for source in ["csv", *rng.sample(sorted(made.keys() - {"csv"}), min(3, len(made) - 1))]:
        each = made[source]()
        for place, condition in PLACES.items():
            if kind_of(COLUMNS[column]) in {Kind.STRING, Kind.BOOLEAN} and "=" not in condition:
                continue
            name = f"{source} {place}"
            sql = f"SELECT k FROM s WHERE {condition}"
            found = run.desk.subscribe(sql, name=name, each=each.each)
            given[name] = condition, each, found.receipt
        if source in {"csv", "list"}:
            for condition in ("x.c = :p", "x.c <= :p", "CASE WHEN x.c >= :p THEN x.k = y.k END"):
                name = f"{source} join {condition}"
                found = run.desk.subscribe(JOINED.format(condition), name=name, each=each.each)
                given[name] = (
                    condition.replace("x.c", "c").replace("x.k = y.k", "TRUE"),
                    each,
                    found.receipt,
                )
    try:
        run.batch(s=rows)
        run.batch(s=[{"k": -1, "c": None, "ts": datetime(2030, 1, 1, tzinfo=UTC)}])
        truth = Truth(rows, column)
        for name, (condition, each, receipt) in given.items():
            check(run, name, condition, each, receipt, truth)
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
    finally:
        run.desk.close()


def check(run: DeskRun, name: str, condition: str, each: Given, receipt: Any, truth: Truth) -> None:
    codes = receipt.refused["code"].to_pylist()
    refused = dict(zip(receipt.refused["row"].to_pylist(), codes, strict=True))
    answers = run.desk.subscription(name).read()
    found: dict[int, set[int]] = {}
    for id_, k in zip(answers["_id"].to_pylist(), answers["k"].to_pylist(), strict=True):
        found.setdefault(int(id_), set()).add(k)
    for i, text in enumerate(each.texts):
        expected = truth.rows(condition, text)
        if not expected and "BETWEEN" in condition and i in refused:
            assert refused[i] == "REG-004", (name, text)
        elif expected is None:
            assert refused.get(i) in {"REG-005", "REG-004"}, (name, text, refused.get(i))
        else:
            assert i not in refused, (name, text, receipt.refused.to_pylist())
            assert found.get(i, set()) == expected, (name, text)
