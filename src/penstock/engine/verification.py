"""Verification: the recorded input, asked again of DuckDB with the same SQL, against the log.

DuckDB sees the events that the engine recorded (batch, part, row) and the parameters as the user
gave them, with the batches in which each standing query held. The pairs that it finds must be the
pairs in the log: none missing, none too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.logical import Logical
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine.members import bind_blocks, by_text
from penstock.registry.records import NEVER, Block, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import Kind, kind_of

EVENTS_PER_CHUNK = 200_000
EXAMPLES_MAX = 5
DIFFERENCES = (("missing", "expected", "found"), ("surplus", "found", "expected"))


@dataclass(slots=True)
class Verdict:
    """What verification found for one subscription."""

    subscription: str
    queries: int = 0
    expected: int = 0
    found: int = 0
    missing: int = 0
    surplus: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Say whether log and DuckDB agree."""
        return not self.missing and not self.surplus


def verify(
    registry: Registry,
    log: ResultLog,
    progress: Callable[[str, int, int], None] = lambda _name, _done, _all: None,
) -> list[Verdict]:
    """Compare the whole log with DuckDB, subscription by subscription."""
    batches = list(_batches(log))
    versions = np.array([batch.version for batch in batches], dtype=np.int64)
    verdicts = []
    for name in registry.names():
        verdict = Verdict(name)
        verdicts.append(verdict)
        for blocks in by_text(block for _, block in registry.history(name)):
            record = blocks[0].record
            logical = bind_blocks(registry.catalog, blocks)
            parameters = _parameters(blocks, versions)
            verdict.queries += parameters.num_rows
            chunks = list(_chunks(batches, record.relations[0]))
            for done, chunk in enumerate(chunks):
                _compare(verdict, registry, record, logical, parameters, chunk)
                progress(name, done + 1, len(chunks))
    return verdicts


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


def _parameters(blocks: list[Block], versions: np.ndarray) -> pa.Table:
    """Gather the standing queries with the batches [first, last) in which they held."""
    tables = []
    for block in blocks:
        begin = np.full(len(block.query), np.searchsorted(versions, block.version))
        end = np.where(
            block.dropped == NEVER, len(versions), np.searchsorted(versions, block.dropped)
        )
        table = block.table.drop_columns(["id", "silent"])
        names = [name.removeprefix("p_") for name in table.column_names]
        names[0] = "_query"
        tables.append(
            table.rename_columns(names)
            .append_column("_first", pa.array(begin))
            .append_column("_last", pa.array(end))
        )
    return pa.concat_tables(tables, promote_options="permissive")


def _chunks(batches: list[LoggedBatch], relation: str) -> Iterator[list[tuple[int, int, Path]]]:
    """Split the log into pieces of bounded size: (batch, part, path) of each section."""
    chunk: list[tuple[int, int, Path]] = []
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


def _compare(
    verdict: Verdict,
    registry: Registry,
    record: SubscriptionRecord,
    logical: Logical,
    parameters: pa.Table,
    chunk: list[tuple[int, int, Path]],
) -> None:
    schema = registry.catalog[record.relations[0].lower()].schema
    if not chunk:
        return
    places = pa.table(
        {
            "_batch": pa.array([batch for batch, _, _ in chunk], pa.int64()),
            "_part": pa.array([part for _, part, _ in chunk], pa.int64()),
            "events_file": [f"{path}-events.parquet" for _, _, path in chunk],
            "matches_file": [f"{path}-matches.parquet" for _, _, path in chunk],
        }
    )
    with duckdb.connect(":memory:") as db:
        db.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        db.register("places", places)
        db.register("given", parameters)
        _load(db, schema, parameters.schema, places)
        db.execute(
            "CREATE TABLE expected AS SELECT p._query, e._batch, e._part, e._row FROM e JOIN p "
            f"ON e._batch >= p._first AND e._batch < p._last AND ({logical.where_sql})"
        )
        verdict.expected += _count(db, "expected")
        verdict.found += _count(db, "found")
        for kind, one, other in DIFFERENCES:
            db.execute(f"CREATE TABLE {kind} AS FROM {one} EXCEPT ALL FROM {other}")
            number = _count(db, kind)
            setattr(verdict, kind, getattr(verdict, kind) + number)
            if number and len(verdict.examples) < EXAMPLES_MAX:
                rows = db.sql(
                    f"SELECT d._query, e.* FROM {kind} d JOIN e USING (_batch, _part, _row) LIMIT 3"
                )
                found = rows.to_arrow_table().to_pylist()
                verdict.examples += [{"kind": kind, **row} for row in found]


def _load(
    db: duckdb.DuckDBPyConnection, schema: pa.Schema, given: pa.Schema, places: pa.Table
) -> None:
    """Make the tables p (parameters), e (events) and found (pairs in the log)."""
    named = [_without_nan(f.name, f.type) for f in given if not f.name.startswith("_")]
    selected = ", ".join(["_query", "_first", "_last", *named])
    db.execute(f"CREATE TABLE p AS SELECT {selected} FROM given")
    columns = ", ".join(_without_nan(f.name, f.type) for f in schema)
    db.execute(
        f"CREATE TABLE e AS SELECT _batch, _part, file_row_number AS _row, {columns} "
        "FROM read_parquet(?, filename = true, file_row_number = true) "
        "JOIN places ON filename = events_file",
        [places["events_file"].to_pylist()],
    )
    db.execute(
        "CREATE TABLE found AS SELECT query AS _query, _batch, _part, event AS _row "
        "FROM read_parquet(?, filename = true) JOIN places ON filename = matches_file "
        "SEMI JOIN p ON p._query = query",
        [places["matches_file"].to_pylist()],
    )


def _without_nan(name: str, type_: pa.DataType) -> str:
    """Select a column with NaN read as NULL: Penstock's rule, not DuckDB's."""
    quoted = '"' + name.replace('"', '""') + '"'
    if kind_of(type_) is Kind.FLOAT:
        return f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} END AS {quoted}"
    return quoted


def _count(db: duckdb.DuckDBPyConnection, table: str) -> int:
    # All rows are fetched: a result that is not read to its end keeps the connection busy.
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
