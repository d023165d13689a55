"""Outcomes, and what verification of filters and of joins share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.delivery.log import LoggedSection
from penstock.expressions.evaluation import BESIDE_TRY
from penstock.expressions.quotation import dotted, theirs
from penstock.registry.records import NEVER, Block
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, kind_of

EXAMPLES_MAX = 5
EXAMPLES_PER_KIND = 3
DIFFERENCES = (("missing", "expected", "found"), ("surplus", "found", "expected"))

Place = tuple[int, int, LoggedSection]
"""A section in the log: its batch, which of the batch's it is, and itself."""


@dataclass(slots=True)
class SubscriptionOutcome:
    """What verification found for one subscription.

    `net` says that changes which cancel out within a micro-batch were not counted: of joins.
    A join with a budget of rows may miss results (`may_miss`), unless all rows had room; `estimate`
    is the recall that it told, `recall` the true one, and no result is expected of rows that came
    too late (`late`). Of a lookup, neither are those of rows that still wait for a database
    (`waiting`). Where drop boxes let only some rows pass, results are expected of those; `full`
    counts the answer without dropping, and `full_found` how much of that was found.

    `read` counts the changes that a subscriber reads, of `outputs` columns each; `misread` those
    that the SELECT list, evaluated by DuckDB over the files, does not give, or that are not read;
    `failed_outputs` the values that could not be computed and are read as NULL.
    `suspended` are the batches [first, last) in which its queries rested: nothing was asked there.
    `failures` say why the subscription, or a text of it, could not be verified; `remarks` what was
    compared and what was not, and which differences are within what the query allows.
    """

    subscription: str
    queries: int = 0
    expected: int = 0
    found: int = 0
    missing: int = 0
    surplus: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    net: bool = False
    is_bounded: bool = False
    may_miss: bool = False
    estimate: float | None = None
    late: int = 0
    waiting: int = 0
    outputs: int = 0
    read: int = 0
    misread: int = 0
    failed_outputs: int = 0
    failures: list[PenstockError] = field(default_factory=list)
    suspended: list[Gap] = field(default_factory=list)
    full: int | None = None
    full_found: int = 0
    remarks: list[str] = field(default_factory=list)

    @property
    def is_shed(self) -> bool:
        """Say whether rows were dropped, so that more was asked than what is compared."""
        return self.full is not None

    @property
    def equal(self) -> bool:
        """Say whether all was verified and agrees; what may be missing, may."""
        return not self.differs and not self.failures

    @property
    def differs(self) -> bool:
        """Say whether log and DuckDB disagree."""
        missing = self.missing and not self.may_miss
        return bool(self.surplus or missing or self.misread)

    def note_failed_outputs(self, _reader: str, _batch: int, count: int) -> None:
        """Count outputs that failed on the values of their row: what a reader calls."""
        self.failed_outputs += count

    @property
    def recall(self) -> float | None:
        """The share of the results expected that were found, if there were any."""
        return (self.expected - self.missing) / self.expected if self.expected else None


def settle(db: duckdb.DuckDBPyConnection, where_sql: str) -> None:
    """Prepare a connection for a predicate."""
    if "TRY(" in where_sql:
        db.execute(f"SET disabled_optimizers = '{BESIDE_TRY}'")


def compare(
    db: duckdb.DuckDBPyConnection,
    answer: SubscriptionOutcome,
    example_sql: str,
    distinct: bool = False,
) -> None:
    """Note how the tables `expected` and `found` differ; `distinct`: no row is there twice.

    `example_sql` gives examples from the table that replaces its {kind}.
    """
    but = "EXCEPT" if distinct else "EXCEPT ALL"
    for kind, one, other in DIFFERENCES:
        db.execute(f"CREATE OR REPLACE TABLE {kind} AS FROM {one} {but} FROM {other}")
        number = count(db, f"SELECT count(*) FROM {kind}")
        setattr(answer, kind, getattr(answer, kind) + number)
        if number and len(answer.examples) < EXAMPLES_MAX:
            rows = db.sql(f"{example_sql.format(kind=kind)} LIMIT {EXAMPLES_PER_KIND}")
            found = rows.to_arrow_table().to_pylist()
            answer.examples += [{"kind": kind, **_shown(row)} for row in found]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("."): value for name, value in row.items()}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Batches [first, last) of the log, and the sections with a group's made rows in them."""

    first: int
    last: int
    places: list[Place]


def summed(changes: str) -> str:
    """Add up the signs of equal changes; what cancels inside a batch is no change."""
    return (
        f"SELECT * EXCLUDE (_sign), sum(_sign)::BIGINT AS _sign FROM ({changes}) "
        "GROUP BY ALL HAVING sum(_sign) <> 0"
    )


def compare_changes(db: duckdb.DuckDBPyConnection, answer: SubscriptionOutcome) -> None:
    """Count the changes in `expected` and `found`, and note how they differ."""
    for table in ("expected", "found"):
        changes = count(db, f"SELECT sum(abs(_sign)) FROM {table}")
        setattr(answer, table, getattr(answer, table) + changes)
    compare(db, answer, "FROM {kind}", distinct=True)


def count_full(db: duckdb.DuckDBPyConnection, answer: SubscriptionOutcome) -> None:
    """Count the changes in `expected` as the full answer, and how many of them are in `found`."""
    both = (
        "SELECT * EXCLUDE (_batch, _sign), _sign AS _full, 0 AS _found FROM expected "
        "UNION ALL SELECT * EXCLUDE (_batch, _sign), 0, _sign FROM found"
    )
    summed_up = (
        f"SELECT * EXCLUDE (_full, _found), sum(_full) AS _full, sum(_found) AS _found "
        f"FROM ({both}) GROUP BY ALL"
    )
    answer.full = (answer.full or 0) + count(db, "SELECT sum(_sign) FROM expected")
    answer.full_found += count(db, f"SELECT sum(least(_full, _found)) FROM ({summed_up})")


Gap = tuple[int, int]
"""Batches [first, last) in which a group was suspended."""
NO_RESTS: Mapping[int, int] = {}


def standing_parameters(
    blocks: list[Block],
    versions: np.ndarray,
    gaps: Sequence[Gap] = (),
    rested: Mapping[int, int] = NO_RESTS,
) -> pa.Table:
    """Gather the standing queries with the batches [first, last) in which they held.

    A query that rested in a gap is there twice: it is as if dropped, and registered anew. One that
    is among those that `rested`, by its number, is as if dropped in that batch.
    """
    tables = []
    for block in blocks:
        begin = np.full(len(block.query), np.searchsorted(versions, block.version))
        end = np.where(
            block.dropped == NEVER, len(versions), np.searchsorted(versions, block.dropped)
        )
        for at in np.flatnonzero(np.isin(block.query, list(rested))).tolist():
            end[at] = min(end[at], rested[int(block.query[at])])
        table = block.table.drop_columns(["id", "silent"])
        names = [dotted(name.removeprefix("p_")) for name in table.column_names]
        names[0] = "_query"
        table = table.rename_columns(names)
        for first, last in _between(gaps):
            begins, ends = np.maximum(begin, first), np.minimum(end, last)
            held = (begins < ends) | (not gaps and not rested)
            tables.append(
                table.append_column("_first", pa.array(begins))
                .append_column("_last", pa.array(ends))
                .filter(pa.array(held))
            )
    return pa.concat_tables(tables, promote_options="permissive")


def _between(gaps: Sequence[Gap]) -> list[Gap]:
    """Give what lies between gaps.

    >>> _between([(3, 5)]) == [(0, 3), (5, NEVER)]
    True
    """
    return list(zip([0, *(b for _, b in gaps)], [*(a for a, _ in gaps), int(NEVER)], strict=True))


def parameter_columns(given: pa.Schema) -> str:
    """List the columns of the table of standing queries for a SELECT."""
    named = [without_nan(f.name[1:], f.type) for f in given if f.name.startswith(".")]
    return ", ".join(["_query", "_first", "_last", *named])


def without_nan(name: str, type_: pa.DataType) -> str:
    """Select a column with NaN read as NULL: Penstock's rule, not DuckDB's."""
    column = theirs(name)
    if kind_of(type_) is ColumnKind.FLOAT:
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END AS {column}"
    return column


def count(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Give the one number that a query gives, 0 for NULL."""
    # All rows are fetched: a result that is not read to its end keeps the connection busy.
    return int(db.execute(sql).fetchall()[0][0] or 0)
