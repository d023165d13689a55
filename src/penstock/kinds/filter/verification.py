"""Verification of filters: pairs of queries and events, asked of DuckDB once more.

Where rows were dropped, the boxes are asked again which rows they let pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.logical import StandingFilter
from penstock.algebra.physical import PLAN_PORT
from penstock.delivery.log import LoggedBatch
from penstock.expressions.quotation import theirs
from penstock.kinds.drop_boxes import passing
from penstock.kinds.outcomes import (
    Place,
    SubscriptionOutcome,
    compare,
    count,
    parameter_columns,
    settle,
    without_nan,
)
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.table_verification import verify_table
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints

EVENTS_PER_CHUNK = 200_000

Boxes = Sequence[tuple[int, float]]
"""The batches from which drop boxes held, in order, and the shares that they let pass."""


def verify_filter(asked: AnswerComparison) -> None:
    """Compare the pairs in the log of one text with those that DuckDB finds."""
    logical, answer, batches = asked.logical, asked.answer, asked.batches
    table = asked.registry.catalog[logical.relation.lower()]
    if table.keeps:
        verify_table(answer, table, asked.group, logical, asked.parameters, batches, asked.progress)
        return
    boxes: Boxes = ()
    if logical.dropping:
        boxes = shares_of(asked.registry, asked.group, asked.versions)
    chunks = list(_chunks(batches, logical.relation))
    for done, chunk in enumerate(chunks):
        if chunk:
            _compare(asked, table.schema, chunk, boxes)
        asked.progress(answer.subscription, done + 1, len(chunks))


def shares_of(registry: Registry, group: str, versions: Ints) -> Boxes:
    """Give the history of a group's drop box."""
    found: list[tuple[int, float]] = []
    for change in registry.reader(0, registry.version):
        own = change.changes.get(group)
        if own is not None and PLAN_PORT in own.adds:
            first = int(np.searchsorted(versions, change.version))
            texts = own.adds[PLAN_PORT]["plan"].to_pylist()
            found += [(first, json.loads(text)["pass"]) for text in texts]
    return found


def leave_out(
    db: duckdb.DuckDBPyConnection, answer: SubscriptionOutcome, event_time: str, boxes: Boxes
) -> None:
    """Take from `expected` what is of rows that were dropped; count the answer with them too."""
    answer.full = (answer.full or 0) + count(db, "SELECT count(*) FROM expected")
    answer.full_found += count(db, "SELECT count(*) FROM (FROM expected INTERSECT ALL FROM found)")
    time = f"epoch_us({theirs(event_time)}::TIMESTAMP)"
    rows = db.sql(
        f"SELECT _batch, _part, _row, {time} IS NOT NULL AS there, coalesce({time}, 0) AS time "
        "FROM e"
    ).to_arrow_table()
    batch, time_us = rows["_batch"].to_numpy(), rows["time"].to_numpy()
    share = np.ones(len(batch))
    for first, passed in boxes:
        share[batch >= first] = passed
    passes = np.ones(len(batch), dtype=np.bool_)
    for passed in np.unique(share):
        own = share == passed
        passes[own] = passing(None, time_us[own], float(passed))
    passes |= ~rows["there"].to_numpy()
    gone = rows.filter(pa.array(~passes)).select(["_batch", "_part", "_row"])
    db.register("gone", gone)
    db.execute(
        "CREATE OR REPLACE TABLE expected AS "
        "FROM expected ANTI JOIN gone USING (_batch, _part, _row)"
    )
    db.unregister("gone")


def _chunks(batches: list[LoggedBatch], relation: str) -> Iterator[list[Place]]:
    """Split the log into pieces of bounded size."""
    chunk: list[Place] = []
    rows = 0
    for batch in batches:
        for part, section in enumerate(batch.sections):
            if section.relation == relation:
                chunk.append((batch.batch, part, section))
        rows += batch.rows_in
        if rows >= EVENTS_PER_CHUNK:
            yield chunk
            chunk, rows = [], 0
    if chunk:
        yield chunk


def _compare(asked: AnswerComparison, schema: pa.Schema, chunk: list[Place], boxes: Boxes) -> None:
    answer = asked.answer
    logical: StandingFilter = asked.logical
    with asked.shelf.opened() as db:
        settle(db, logical.where_sql)
        db.register("given", asked.parameters)
        _load(db, asked, schema, chunk)
        db.execute(
            "CREATE TABLE expected AS SELECT p._query, e._batch, e._part, e._row FROM e JOIN p "
            f"ON e._batch >= p._first AND e._batch < p._last AND ({logical.where_sql})"
        )
        if any(share < 1.0 for _, share in boxes):
            leave_out(db, answer, str(logical.event_time), boxes)
        answer.expected += count(db, "SELECT count(*) FROM expected")
        answer.found += count(db, "SELECT count(*) FROM found")
        compare(db, answer, "SELECT d._query, e.* FROM {kind} d JOIN e USING (_batch, _part, _row)")


def _load(
    db: duckdb.DuckDBPyConnection, asked: AnswerComparison, schema: pa.Schema, chunk: list[Place]
) -> None:
    """Make the tables p (parameters), e (events) and found (pairs in the log)."""
    db.execute(f"CREATE TABLE p AS SELECT {parameter_columns(asked.parameters.schema)} FROM given")
    columns = ", ".join(without_nan(f.name, f.type) for f in schema)
    events = asked.shelf.events(chunk, schema, asked.logical.sees_broken)
    db.execute(f"CREATE TABLE e AS SELECT _batch, _part, _row, {columns} FROM {events}")
    matches = asked.shelf.matches(chunk)
    db.execute(
        "CREATE TABLE found AS SELECT query AS _query, _batch, _part, event::BIGINT AS _row "
        f"FROM {matches} SEMI JOIN p ON p._query = query"
    )
