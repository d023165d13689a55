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

from penstock.algebra.catalog import Relation
from penstock.engine.desk import Subscription
from penstock.lab.correctness.histories import Histories, JoinHistory, JoinQuery
from penstock.lab.correctness.join_texts import (
    band_join,
    bounded_join,
    model_query,
    multi_join,
    range_aggregate,
    select_join,
    shared_join,
    table_filter,
    window_join,
)
from penstock.lab.correctness.lookups import lookups
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.correctness.twins import (
    Answer,
    LookupTwin,
    OrderTwin,
    PairsTwin,
    SegmentsTwin,
    TablesTwin,
    Twin,
)
from penstock.lab.fuzzers import Fault, FuzzOutcome
from penstock.operators.bounded_join.figures import RECALL_ALL, RECALL_MADE
from penstock.operators.lookup.figures import ROWS_CACHED
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, together
from penstock.vocabulary.shared_figures import ROWS, ROWS_BUDGET

VERIFIED_EVERY = 10

KINDS: dict[str, tuple[Callable[[Histories], JoinHistory], type[Twin]]] = {
    "select_join": (lambda drawing: drawing.tables(select_join), TablesTwin),
    "band_join": (lambda drawing: drawing.tables(band_join), TablesTwin),
    "window_join": (lambda drawing: drawing.streams(window_join), PairsTwin),
    "multi_join": (lambda drawing: drawing.streams(multi_join, "lru"), OrderTwin),
    "bounded_join": (lambda drawing: drawing.streams(bounded_join), OrderTwin),
    "table_filter": (lambda drawing: drawing.tables(table_filter), TablesTwin),
    "shared_join": (lambda drawing: drawing.streams(shared_join(drawing), "lru"), OrderTwin),
    "lookup_join": (lookups, LookupTwin),
    "range_aggregate": (lambda drawing: drawing.tables(range_aggregate), TablesTwin),
    "model_query": (lambda drawing: drawing.streams(model_query), SegmentsTwin),
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
        outcome.answered += 1
        outcome.faults += [Fault(seed, case, text, found) for text, found in told]
    return outcome


def _run(
    history: JoinHistory, twin: type[Twin], outcome: FuzzOutcome, verified: bool
) -> list[tuple[str, str]]:
    standing: dict[int, Subscription] = {}
    told: list[tuple[str, str]] = []
    counters = FigureTable()
    with scratch() as place:
        relations = [_opened(history, relation, Path(place)) for relation in history.relations]
        with DeskRun(Path(place) / "home", *relations) as run:
            for batch, tables in enumerate(history.batches):
                if batch in history.restarts:
                    run.restart()
                if history.shop is not None:
                    history.shop.turn(batch)
                for number, query in enumerate(history.queries):
                    if query.begun == batch:
                        standing[number] = _subscribed(run, query, f"q{number}")
                    elif query.ended == batch:
                        standing[number].drop([f"q{number}"])
                run.batch(**tables)
                counters = together([counters, run.figures.of_kind("counter")])
                told += [("", f"batch {batch}: {words}") for words in _over_budget(run.figures)]
            with duckdb.connect(":memory:") as db:
                db.execute("SET TimeZone = 'UTC'")
                asked = twin(db, history)
                for number, query in enumerate(history.queries):
                    found = standing[number].read()
                    words = _differ(asked, query, found, run.batches, outcome)
                    if query.text.counted and query.stands_throughout(run.batches):
                        words += _miscounted(run, standing, number, counters, asked, query)
                    told += [(query.text.sql, each) for each in words]
            verified = verified and not getattr(history.shop, "changes", False)
            told += run.unverified() if verified else []
    return told


def _subscribed(run: DeskRun, query: JoinQuery, name: str) -> Subscription:
    options = {"snapshot": True} if query.text.snapshot else None
    each = [{"id": name, **query.text.each}] if query.text.each else None
    return run.desk.subscribe(query.text.sql, name, each, options=options)


def _opened(history: JoinHistory, relation: Relation, place: Path) -> Relation:
    return relation if history.shop is None else history.shop.opened(relation, place)


def _over_budget(figures: FigureTable) -> list[str]:
    """Tell which groups hold more than they may."""
    return [
        f"{group} holds {held} rows of {told[ROWS_BUDGET]}"
        for group, told in figures.items()
        if ROWS_BUDGET in told
        and (held := told.total(ROWS) + told.total(ROWS_CACHED)) > told[ROWS_BUDGET]
    ]


def _miscounted(
    run: DeskRun,
    standing: dict[int, Subscription],
    number: int,
    counters: FigureTable,
    asked: Twin,
    query: JoinQuery,
) -> list[str]:
    """Compare what a join says that it found and missed, if it is alone in its group."""
    registry = run.desk.registry
    groups = {each: next(registry.history(f"q{each}"))[0].group for each in standing}
    group = groups[number]
    if list(groups.values()).count(group) > 1:
        return []
    expected, told = asked.answer(query, run.batches - 1).total(), counters[group]
    found = standing[number].read().num_rows
    made, there = told[RECALL_MADE], told[RECALL_ALL]
    if (made, there) == (found, expected):
        return []
    return [f"told of {made} results of {there}, and has {found} of {expected}"]


def countable(value: object) -> object:
    """Read NaN as NULL: they are the same to a join. A list can be counted as a tuple."""
    if isinstance(value, list):
        return tuple(map(countable, value))
    return None if isinstance(value, float) and math.isnan(value) else value


def _differ(
    asked: Twin, query: JoinQuery, found: pa.Table, batches: int, outcome: FuzzOutcome
) -> list[str]:
    """Compare after every batch in which the query stands; tell the first that differs."""
    names = [name for name in found.column_names if not name.startswith("_")]
    columns = ([countable(value) for value in found[name].to_pylist()] for name in names)
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
