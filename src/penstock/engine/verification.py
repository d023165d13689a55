"""Verification: the recorded input, asked again of DuckDB with the same SQL, against the log.

DuckDB sees the events that the engine recorded (batch, part, row) and the parameters as the user
gave them, with the batches in which each standing query held. The pairs that it finds must be the
pairs in the log: none missing, none too many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.joins import StandingJoin
from penstock.algebra.logical import Logical, StandingFilter
from penstock.algebra.lookups import LookupJoin
from penstock.algebra.multi_joins import MultiJoin
from penstock.delivery.changes import ChangeReader
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine.asked import asked
from penstock.engine.bounded_verification import verify_bounded_join, verify_lookup
from penstock.engine.filter_verification import Boxes, leave_out, shares_of
from penstock.engine.join_verification import verify_join
from penstock.engine.members import bind_blocks, by_text
from penstock.engine.multi_join_verification import history_of, verify_multi_join
from penstock.engine.output_verification import verify_outputs
from penstock.engine.recorded import load_events, load_matches
from penstock.engine.selecting import selection_of_blocks
from penstock.engine.table_verification import verify_table
from penstock.engine.verdicts import (
    Place,
    Verdict,
    compare,
    count,
    parameter_columns,
    settle,
    standing_parameters,
    without_nan,
)
from penstock.expressions.conditions import tried
from penstock.expressions.connecting import connect
from penstock.expressions.evaluating import is_of_a_row
from penstock.language.select_lists import SelectList, resolved_list, select_list
from penstock.registry.records import Block, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

EVENTS_PER_CHUNK = 200_000

UNFORESEEN = (
    duckdb.Error,
    pa.ArrowException,
    OSError,
    LookupError,
    AttributeError,
    TypeError,
    RuntimeError,
    ValueError,
    ArithmeticError,
    AssertionError,
    MemoryError,
)
"""What may go wrong over one subscription's rows and must not end the verification of others."""

Progress = Callable[[str, int, int], None]
"""Called with a subscription, how many of its pieces are done, and how many there are."""


def verify(
    registry: Registry,
    log: ResultLog,
    progress: Progress = lambda _name, _done, _all: None,
    damaged: Collection[str] = (),
) -> list[Verdict]:
    """Compare the whole log with DuckDB, subscription by subscription.

    What cannot be verified is a failure of its own subscription, and ends no other. Nothing is read
    of relations and groups whose files are `damaged`.
    """
    batches = list(_batches(log))
    verdicts = []
    for name in registry.names():
        verdict = Verdict(name)
        verdicts.append(verdict)
        reader = ChangeReader(log, verdict.note_failed_outputs)
        for blocks in by_text(block for _, block in registry.history(name)):
            try:
                _refuse_damaged(blocks[0].record, damaged)
                _verify_text(verdict, registry, log, reader, blocks, batches, progress)
            except PenstockError as error:
                verdict.failures.append(error)
            except UNFORESEEN as error:
                verdict.failures.append(_failure(name, error))
    return verdicts


def _verify_text(
    verdict: Verdict,
    registry: Registry,
    log: ResultLog,
    reader: ChangeReader,
    blocks: list[Block],
    batches: list[LoggedBatch],
    progress: Progress,
) -> None:
    """Compare the answers of one text, then what its subscribers read.

    DuckDB is asked the user's own words first. Where a row fails, it is asked with `TRY` around
    each condition: one that fails is neither true nor false, as in the engine.
    """
    logical = bind_blocks(registry.catalog, blocks)
    versions = np.array([batch.version for batch in batches], dtype=np.int64)
    parameters = asked(standing_parameters(blocks, versions), logical.parameters)
    verdict.queries += parameters.num_rows
    rest = (registry, log, parameters, blocks, batches, versions, progress)
    before = deepcopy(verdict)
    try:
        _ask(verdict, logical, *rest)
    except duckdb.Error as error:
        if not is_of_a_row(error):
            raise
        for each in fields(Verdict):
            setattr(verdict, each.name, getattr(before, each.name))
        _ask(verdict, _with_tries(logical), *rest)
    verify_outputs(
        verdict,
        registry.catalog,
        reader,
        selection_of_blocks(registry, blocks),
        _listed(registry, logical, blocks[0].record.sql),
        logical.relation if isinstance(logical, StandingFilter) and not logical.kept else None,
        blocks,
        batches,
    )


def _listed(registry: Registry, logical: Logical, sql: str) -> SelectList:
    listed = select_list(sql, registry.catalog)
    if isinstance(logical, StandingJoin) and logical.mode == "identify" and listed.merges:
        columns = [made for each in listed.inputs for _, made in each.columns]
        return resolved_list(logical.outputs, columns)
    return listed


def _with_tries(logical: Any) -> Any:  # every logical node is a dataclass of its own
    if isinstance(logical, BoundedJoin | LookupJoin):
        return replace(logical, join=_with_tries(logical.join))
    return replace(logical, where_sql=tried(logical.where_sql))


def _ask(
    verdict: Verdict,
    logical: Logical,
    registry: Registry,
    log: ResultLog,
    parameters: pa.Table,
    blocks: list[Block],
    batches: list[LoggedBatch],
    versions: Ints,
    progress: Progress,
) -> None:
    group = blocks[0].record.group
    given = (parameters, batches)
    if isinstance(logical, StandingJoin):
        begun = int(np.searchsorted(versions, _begun(registry, group)))
        verify_join(verdict, registry.catalog, group, begun, logical, *given, progress)
    elif isinstance(logical, MultiJoin):
        begun, plans = history_of(registry, group, versions)
        verify_multi_join(verdict, registry.catalog, group, begun, logical, *given, plans, progress)
    elif isinstance(logical, BoundedJoin | LookupJoin):
        _verify_budget(verdict, registry, log, logical, parameters, blocks, batches, progress)
    elif isinstance(logical, StandingFilter):
        boxes = shares_of(registry, group, versions) if logical.dropping else ()
        _verify_filter(verdict, registry, group, logical, parameters, batches, boxes, progress)
    else:
        kind = type(logical).__name__
        fact = f"Queries of the kind {kind} cannot be verified."
        raise PenstockError("VER-010", fact, "Verify with the Penstock that made this home.")


def _refuse_damaged(record: SubscriptionRecord, damaged: Collection[str]) -> None:
    for name in (*record.relations, record.group):
        if name in damaged:
            fact = f"The recorded files of {name} are damaged, so nothing can be compared."
            raise PenstockError("VER-004", fact, "Restore the home directory from a copy.")


def _failure(name: str, error: BaseException) -> PenstockError:
    fact = f"{name} could not be verified: {error!r}."
    return PenstockError("VER-011", fact, "Restore the home from a copy, or report this.")


def _verify_budget(
    verdict: Verdict,
    registry: Registry,
    log: ResultLog,
    logical: BoundedJoin | LookupJoin,
    parameters: pa.Table,
    blocks: list[Block],
    batches: list[LoggedBatch],
    progress: Progress,
) -> None:
    group = blocks[0].record.group
    versions = np.array([batch.version for batch in batches], dtype=np.int64)
    begun, _ = history_of(registry, group, versions)
    rest = (parameters, batches, log, progress)
    if isinstance(logical, BoundedJoin):
        verify_bounded_join(verdict, registry.catalog, group, begun, logical, *rest)
    else:
        verify_lookup(verdict, registry.catalog, group, begun, logical, *rest)


def _batches(log: ResultLog) -> Iterator[LoggedBatch]:
    for number in range(log.newest() + 1):
        batch = log.read(number)
        if batch is None:
            raise PenstockError(
                "VER-002",
                f"Batch {number} is missing in the result log.",
                "Restore the home directory from a copy.",
            )
        yield batch


def _begun(registry: Registry, group: str) -> int:
    """Find the version in which a group came to be."""
    blocks: Iterator[Block] = (
        block for name in registry.names() for _, block in registry.history(name)
    )
    return min(block.version for block in blocks if block.record.group == group)


def _chunks(batches: list[LoggedBatch], relation: str) -> Iterator[list[Place]]:
    """Split the log into pieces of bounded size."""
    chunk: list[Place] = []
    rows = 0
    for batch in batches:
        for part, section in enumerate(batch.sections):
            if section.relation == relation:
                chunk.append((batch.batch, part, section.path))
        rows += batch.rows_in
        if rows >= EVENTS_PER_CHUNK:
            yield chunk
            chunk, rows = [], 0
    if chunk:
        yield chunk


def _verify_filter(
    verdict: Verdict,
    registry: Registry,
    group: str,
    logical: StandingFilter,
    parameters: pa.Table,
    batches: list[LoggedBatch],
    boxes: Boxes,
    progress: Progress,
) -> None:
    (relation,) = logical.relations
    table = registry.catalog[relation.lower()]
    if table.kind == "table":
        verify_table(verdict, table, group, logical, parameters, batches, progress)
        return
    schema = registry.catalog[relation.lower()].schema
    chunks = list(_chunks(batches, relation))
    for done, chunk in enumerate(chunks):
        if chunk:
            _compare(verdict, schema, logical, parameters, chunk, boxes)
        progress(verdict.subscription, done + 1, len(chunks))


def _compare(
    verdict: Verdict,
    schema: pa.Schema,
    logical: StandingFilter,
    parameters: pa.Table,
    chunk: list[Place],
    boxes: Boxes,
) -> None:
    with connect() as db:
        settle(db, logical.where_sql)
        db.register("given", parameters)
        _load(db, schema, parameters.schema, chunk, logical.sees_broken)
        db.execute(
            "CREATE TABLE expected AS SELECT p._query, e._batch, e._part, e._row FROM e JOIN p "
            f"ON e._batch >= p._first AND e._batch < p._last AND ({logical.where_sql})"
        )
        if any(share < 1.0 for _, share in boxes):
            leave_out(db, verdict, str(logical.event_time), boxes)
        verdict.expected += count(db, "SELECT count(*) FROM expected")
        verdict.found += count(db, "SELECT count(*) FROM found")
        compare(
            db, verdict, "SELECT d._query, e.* FROM {kind} d JOIN e USING (_batch, _part, _row)"
        )


def _load(
    db: duckdb.DuckDBPyConnection,
    schema: pa.Schema,
    given: pa.Schema,
    chunk: list[Place],
    with_broken: bool,
) -> None:
    """Make the tables p (parameters), e (events) and found (pairs in the log)."""
    db.execute(f"CREATE TABLE p AS SELECT {parameter_columns(given)} FROM given")
    columns = ", ".join(without_nan(f.name, f.type) for f in schema)
    load_events(db, "events", chunk, schema, with_broken)
    db.execute(f"CREATE TABLE e AS SELECT _batch, _part, _row, {columns} FROM events")
    load_matches(db, "matches", chunk)
    db.execute(
        "CREATE TABLE found AS SELECT query AS _query, _batch, _part, event::BIGINT AS _row "
        "FROM matches SEMI JOIN p ON p._query = query"
    )
