"""Histories of tables, read in any order and in any batches: every answer ends as DuckDB's does.

Files are shuffled, within batches and (where changes say their order) across them, with restarts
in between. What a reader was told, added up, must be DuckDB's answer over what stands in the end;
nobody may be told of a row that goes and was never given; `verify` must agree, batch by batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.correctness.table_histories import SCHEMA, TableHistory, history, orders
from penstock.lab.fuzzers import Fault, FuzzOutcome

NAME = "table_changes"
VERIFIED_EVERY = 10
CLOCK = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
PLAIN = Relation(name="a", kind="table", schema=SCHEMA, change_column="op")
ORDERS = {
    "netted": PLAIN,
    "sequence": replace(PLAIN, key=("id",), sequence=("lsn",)),
    "files": replace(PLAIN, key=("id",), positioned=True),
    "arrival": replace(PLAIN, key=("id",)),
}
SELECT = "SELECT a.id AS a, b.id AS b, a.x, b.note FROM a JOIN b ON a.k = b.k WHERE a.x < 3"
BAND = "SELECT a.id AS a, b.id AS b FROM a JOIN b ON b.id - a.id BETWEEN -1 AND 1 WHERE b.x >= 0"
FILTER = "SELECT id, k, x, note FROM a WHERE k IN (1, 2) OR x > 2"
ANSWERS = {"selected": SELECT, "banded": BAND, "filtered": FILTER}
WAYS = (
    "SELECT c.k, a.id AS a, b.id AS b, b.x FROM clock c [ROWS 100], a, b "
    "WHERE c.k = a.k AND c.k = b.k AND a.x < 3"
)


def plain(row: dict[str, Any]) -> tuple[Any, ...]:
    """NaN counts as NULL, and zero has no sign."""
    numbers = (v + 0.0 if isinstance(v, float) else v for v in row.values())
    return tuple(None if isinstance(v, float) and isnan(v) else v for v in numbers)


def by_duckdb(sql: str, left: TableHistory, right: TableHistory) -> Counter[tuple[Any, ...]]:
    """Ask DuckDB over what stands in the end."""
    with duckdb.connect(":memory:") as db:
        for name, own in (("a", left), ("b", right)):
            db.register(f"given_{name}", own.net)
            db.execute(
                f"CREATE TABLE {name} AS SELECT * REPLACE ("
                f"CASE WHEN isnan(x) THEN NULL ELSE x END AS x) FROM given_{name}"
            )
        return Counter(plain(row) for row in db.sql(sql).to_arrow_table().to_pylist())


def told(run: DeskRun, name: str) -> tuple[Counter[tuple[Any, ...]], bool]:
    """Add up what a subscriber was told; say whether a row went that was never given."""
    held: Counter[tuple[Any, ...]] = Counter()
    batch, owes = -1, False
    for change in run.desk.subscription(name).changes(follow=False):
        if change.batch != batch:
            owes |= min(held.values(), default=0) < 0
            batch = change.batch
        held[plain(change.row)] += change.sign
    return +held, owes or min(held.values(), default=0) < 0


def ordered(kind: str, seed: int, files: int, batches: int) -> list[list[int]]:
    """Read files in an order that the kind of table can bear."""
    if kind == "arrival":
        return [sorted(own) for own in orders(seed, files, batches, across=False)]
    return orders(seed, files, batches)


@dataclass(frozen=True, slots=True)
class TableCase:
    """A history of two tables: how changes are ordered, how much comes, in how many pieces.

    With `late`, joins are registered before the last batch, and only `verify` judges them.
    """

    order: str
    seed: int
    size: int
    files: int
    batches: int
    restarts: bool
    late: bool


def differing(case: TableCase, verified: bool = True) -> tuple[list[tuple[str, str]], int]:
    """Run a case; tell which answer differs how, and how many rows the answers have."""
    table = ORDERS[case.order]
    left, right = (history(case.seed + n, case.size, case.files, bool(table.key)) for n in (0, 1))
    reads = [ordered(case.order, case.seed + n, case.files, case.batches) for n in (0, 1)]
    clock = Relation(name="clock", kind="stream", schema=CLOCK, event_time="at", lateness_us=0)
    with scratch() as root, DeskRun(Path(root), table, replace(table, name="b"), clock) as run:
        for name, sql in ANSWERS.items():
            if name == "filtered" or not case.late:
                run.desk.subscribe(sql, name=name)
        if verified:  # Whom a change affects, `verify` alone says.
            for name in ("selected", "banded"):
                affected = {"mode": "identify"}
                run.desk.subscribe(ANSWERS[name], name=f"who_{name}", options=affected)
        for turn, (a, b) in enumerate(zip(*reads, strict=True)):
            if case.late and turn == case.batches - 1:
                for name in ("selected", "banded"):
                    run.desk.subscribe(ANSWERS[name], name=name)
            run.batch(a=left.batch(a, table.positioned), b=right.batch(b, table.positioned))
            if case.restarts:
                run.restart()
        run.desk.subscribe(WAYS, name="ways")
        ticks = [{"k": k, "at": 1_000_000 * (k + 1)} for k in range(4)]
        run.batch(clock=pa.Table.from_pylist(ticks, schema=CLOCK))
        over = WAYS.replace("clock c [ROWS 100]", "(VALUES (0), (1), (2), (3)) c(k)")
        asked = {"filtered": FILTER, "ways": over}
        asked |= {} if case.late else {"selected": SELECT, "banded": BAND}
        found, rows = [], 0
        for name, sql in asked.items():
            expected, (has, owes) = by_duckdb(sql, left, right), told(run, name)
            rows += expected.total()
            if has != expected:
                found.append((sql, f"missing {expected - has}, surplus {has - expected}"[:400]))
            if owes:
                found.append((sql, "a row went that was never given"))
        found += run.unverified() if verified else []
    return found, rows


def fuzz_tables(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Draw histories of tables whose changes are netted, or ordered by key."""
    outcome = FuzzOutcome(NAME)
    for number in range(first, first + cases):
        chance = np.random.default_rng((seed, number))
        case = TableCase(
            order=sorted(ORDERS)[number % len(ORDERS)],
            seed=int(chance.integers(1 << 30)),
            size=int(chance.integers(1, 61)),
            files=int(chance.integers(1, 8)),
            batches=int(chance.integers(1, 6)),
            restarts=bool(chance.integers(2)),
            late=bool(chance.integers(4) == 0),
        )
        outcome.cases += 1
        outcome.answered += 1
        try:
            found, rows = differing(case, number % VERIFIED_EVERY == 0)
        except Exception as error:  # noqa: BLE001 — whatever fails in a run is a difference
            found, rows = [(str(case), f"{type(error).__name__}: {error}")], 0
        outcome.answers += rows
        outcome.faults += [Fault(seed, number, text, words) for text, words in found]
    return outcome
