"""Filters: drawn predicates through registration, operators and the log, against DuckDB.

DuckDB gets the user's own words over the same rows, with NaN read as NULL. Rows on which the
predicate fails are compared where there is no choice: without OR, they do not match.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.lab.correctness.columns import draw_events
from penstock.lab.correctness.predicates import Predicates
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.fuzzers import Fault, FuzzOutcome
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, kind_of

NAME = "predicates"
ROWS = 200
CASES_PER_HOME = 100
VERIFIED_EVERY = 5
"""Every so many homes are verified too: that costs as much as all the rest."""
ROW = "row_number"
FAILURES = duckdb.DataError, duckdb.InvalidInputException
"""What DuckDB raises when a row fails."""


def fuzz_filters(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Draw predicates for one home and the rows that they meet; compare what each finds."""
    chance = np.random.default_rng((seed, first))
    events = draw_events(chance, ROWS).append_column(ROW, pa.array(np.arange(ROWS)))
    drawing = Predicates(chance)
    outcome = FuzzOutcome(NAME)
    _home(outcome, seed, {first + k: drawing.draw() for k in range(cases)}, events)
    return outcome


def _home(outcome: FuzzOutcome, seed: int, texts: dict[int, str], events: pa.Table) -> None:
    """Run the predicates of one home; if the run itself fails, find out whose fault it is."""
    try:
        part = _run(seed, texts, events)
    except Exception as error:  # noqa: BLE001 — whatever a query does to a run is a difference
        if len(texts) == 1:
            ((case, text),) = texts.items()
            outcome.cases += 1
            outcome.faults.append(Fault(seed, case, text, f"{type(error).__name__}: {error}"))
            return
        listed = list(texts.items())
        half = len(listed) // 2
        _home(outcome, seed, dict(listed[:half]), events)
        _home(outcome, seed, dict(listed[half:]), events)
        return
    outcome.add(part)


def _run(seed: int, texts: dict[int, str], events: pa.Table) -> FuzzOutcome:
    outcome = FuzzOutcome(NAME, cases=len(texts))
    relation = Relation(name="r", kind="stream", schema=events.schema)
    with scratch() as home, duckdb.connect(":memory:") as db, DeskRun(Path(home), relation) as run:
        db.execute("SET TimeZone = 'UTC'")
        db.register("given", events)
        db.execute(f"CREATE TABLE r AS SELECT {_columns(events.schema)} FROM given")
        accepted = {}
        for case, text in texts.items():
            try:
                sql = f"SELECT {ROW} FROM r WHERE {text}"
                accepted[case] = run.desk.subscribe(sql, name=f"q{case}")
            except PenstockError as error:
                outcome.refusals[error.code] += 1
        half = events.num_rows // 2
        run.batch(r=events.slice(0, half))
        run.restart()
        run.batch(r=events.slice(half))
        for case, subscription in accepted.items():
            found = set(subscription.read()[ROW].to_pylist())
            _compare(outcome, db, seed, case, texts[case], found)
        is_verified = min(texts) % (CASES_PER_HOME * VERIFIED_EVERY) == 0
        for name, told in run.unverified() if is_verified else ():
            case = int(name.removeprefix("q"))
            outcome.faults.append(Fault(seed, case, texts[case], told))
    return outcome


def _columns(schema: pa.Schema) -> str:
    """Read NaN as NULL, as Penstock does."""
    return ", ".join(
        f"CASE WHEN isnan({f.name}) THEN NULL ELSE {f.name} END AS {f.name}"
        if kind_of(f.type) is ColumnKind.FLOAT
        else f.name
        for f in schema
    )


def _compare(
    outcome: FuzzOutcome,
    db: duckdb.DuckDBPyConnection,
    seed: int,
    case: int,
    text: str,
    found: set[int],
) -> None:
    outcome.answered += 1
    try:
        expected, failed = _asked(db, text)
    except duckdb.Error as error:
        told = f"DuckDB refuses it: {str(error).splitlines()[0]}"
        outcome.faults.append(Fault(seed, case, text, told))
        return
    outcome.answers += len(expected)
    # Where DuckDB fails, another order of OR may have found an answer first.
    free = failed if " OR " in text or "NOT" in text else set()
    missing, surplus = expected - found - free, found - expected - free
    if missing or surplus:
        told = f"missing {sorted(missing)[:3]}, surplus {sorted(surplus)[:3]}"
        outcome.faults.append(Fault(seed, case, text, told))


def _asked(db: duckdb.DuckDBPyConnection, text: str) -> tuple[set[int], set[int]]:
    """Ask DuckDB for the rows that match and, one by one if need be, for those that fail."""
    try:
        rows = db.execute(f"SELECT {ROW} FROM r WHERE ({text})").fetchall()
        return {row for (row,) in rows}, set()
    except duckdb.BinderException:
        raise
    except FAILURES:
        pass
    expected, failed = set(), set()
    for row in range(ROWS):
        try:
            (holds,) = db.execute(f"SELECT ({text}) FROM r WHERE {ROW} = {row}").fetchall()[0]
        except FAILURES:
            failed.add(row)
        else:
            expected |= {row} if holds else set()
    return expected, failed
