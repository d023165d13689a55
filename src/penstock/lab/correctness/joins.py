"""Joins: drawn histories through registration, operators and the log, against DuckDB's answers.

Tables: the answer is the join of the rows that stand, each as often as it was inserted more often
than deleted. Streams: a pair counts from the batch in which its second row came, if neither row was
late. A query sees what has come since it was registered; of tables, changes to what stood then.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from penstock.engine.desk import Subscription
from penstock.engine.verification import verify
from penstock.lab.correctness.histories import (
    Histories,
    JoinHistory,
    JoinQuery,
    band_join,
    bounded_join,
    multi_join,
    select_join,
    window_join,
)
from penstock.lab.correctness.outcomes import CaseDifference, FuzzOutcome
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.correctness.twins import Answer, OrderTwin, PairsTwin, TablesTwin, Twin
from penstock.vocabulary.errors import PenstockError

VERIFIED_EVERY = 10

KINDS: dict[str, tuple[Callable[[Histories], JoinHistory], type[Twin]]] = {
    "select_join": (lambda drawing: drawing.tables(select_join), TablesTwin),
    "band_join": (lambda drawing: drawing.tables(band_join), TablesTwin),
    "window_join": (lambda drawing: drawing.streams(window_join), PairsTwin),
    "multi_join": (lambda drawing: drawing.streams(multi_join, "lru"), OrderTwin),
    "bounded_join": (lambda drawing: drawing.streams(bounded_join), OrderTwin),
}


def fuzz_joins(kind: str, seed: int, first: int, cases: int) -> FuzzOutcome:
    """Run histories of one kind; a difference names the history and the query."""
    outcome = FuzzOutcome(kind)
    for case in range(first, first + cases):
        draw, twin = KINDS[kind]
        number = list(KINDS).index(kind)
        history = draw(Histories(np.random.default_rng((seed, number, case))))
        outcome.cases += 1
        try:
            told = _run(history, twin, outcome, case % VERIFIED_EVERY == 0)
        except PenstockError as error:
            outcome.refusals[error.code] += 1
            continue
        except Exception as error:  # noqa: BLE001 — whatever fails in a run is a difference
            told = [("", f"{type(error).__name__}: {error}")]
        outcome.compared += 1
        outcome.differences += [CaseDifference(seed, case, text, found) for text, found in told]
    return outcome


def _run(
    history: JoinHistory, twin: type[Twin], outcome: FuzzOutcome, verified: bool
) -> list[tuple[str, str]]:
    standing: dict[int, Subscription] = {}
    with scratch() as home, DeskRun(Path(home), *history.relations) as run:
        for batch, tables in enumerate(history.batches):
            if batch in history.restarts:
                run.restart()
            for number, query in enumerate(history.queries):
                if query.begun == batch:
                    standing[number] = run.desk.subscribe(query.text.sql, name=f"q{number}")
                elif query.ended == batch:
                    standing[number].drop([f"q{number}"])
            run.batch(**tables)
        told = []
        with duckdb.connect(":memory:") as db:
            db.execute("SET TimeZone = 'UTC'")
            asked = twin(db, history)
            for number, query in enumerate(history.queries):
                found = standing[number].read()
                told += [
                    (query.text.sql, words)
                    for words in _differ(asked, query, found, run.batches, outcome)
                ]
        verdicts = verify(run.desk.registry, run.desk.log) if verified else []
        told += [
            (verdict.subscription, f"verify: {verdict.missing} missing, {verdict.surplus} surplus")
            for verdict in verdicts
            if not verdict.equal
        ]
    return told


def _plain(value: object) -> object:
    """Read NaN as NULL: they are the same to a join."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _differ(
    asked: Twin, query: JoinQuery, found: pa.Table, batches: int, outcome: FuzzOutcome
) -> list[str]:
    """Compare after every batch in which the query stands; tell the first that differs."""
    names = [name for name in found.column_names if not name.startswith("_")]
    columns = ([_plain(value) for value in found[name].to_pylist()] for name in names)
    rows = list(zip(*columns, strict=True))
    signs, came = found["_sign"].to_pylist(), found["_batch"].to_pylist()
    for batch in filter(asked.is_due, range(query.begun, min(query.ended, batches))):
        has: Answer = Counter()
        for row, sign, of in zip(rows, signs, came, strict=True):
            has[row] += sign if of <= batch else 0
        has = Counter({row: count for row, count in has.items() if count})
        expected = asked.answer(query, batch)
        outcome.answers += expected.total()
        if has != expected and not (query.text.may_miss and has <= expected):
            missing = {
                row: expected[row] - has[row] for row in expected if expected[row] != has[row]
            }
            surplus = {row: has[row] for row in has if row not in expected}
            span = f"[{query.begun}, {query.ended})"
            return [f"batch {batch} of {span}: wanting {missing}, surplus {surplus}"[:400]]
    late = [row for row, of in zip(rows, came, strict=True) if not query.begun <= of < query.ended]
    return [f"results outside of [{query.begun}, {query.ended}): {late}"] if late else []
