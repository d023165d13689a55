"""Verification of joins with a budget of rows, and of lookups.

A bounded join answers with a part of what it would answer without its budget: DuckDB joins all
recorded rows, and what the log has must be among that, nothing twice. What is missing gives the
true recall. Where the budget had room for every row in its window, nothing may be missing.

A lookup is compared with the other database's table as it is now; rows that still wait for it have
no answer yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.catalog import Catalog
from penstock.algebra.lookups import LookupJoin
from penstock.algebra.multi_joins import JoinInput, WindowLength
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine.arrivals import active_most, arrive, late_rows, rows_of
from penstock.engine.figures import own_figures
from penstock.engine.multi_join_verification import compare_multi_join, passing, reader
from penstock.engine.pulsing import WAITING
from penstock.engine.recorded import load_found
from penstock.engine.verdicts import (
    Place,
    Verdict,
    compare,
    count,
    parameter_columns,
    settle,
    without_nan,
)
from penstock.expressions.connecting import connect
from penstock.expressions.quoting import dotted, theirs, with_dots
from penstock.operators.lookup import rows as looked_up_rows
from penstock.vocabulary.batches import Ints, added

FOREVER_US = 1 << 62
QUERIES_PER_SLICE = 10_000

Progress = Callable[[str, int, int], None]


def verify_bounded_join(
    verdict: Verdict,
    catalog: Catalog,
    group: str,
    begun: int,
    logical: BoundedJoin,
    parameters: pa.Table,
    batches: list[LoggedBatch],
    log: ResultLog,
    progress: Progress,
) -> None:
    """Compare the log of one text with the answer that no budget cuts."""
    # A stream without a window has one that never ends.
    inputs = tuple(
        replace(each, window=each.window or WindowLength("range", FOREVER_US))
        for each in logical.join.inputs
    )
    read = reader(batches, catalog)
    arrivals = arrive(
        inputs, read, len(batches), begun, (), passing, logical.join.waiting, in_twos=True
    )
    told = _Told(log, len(batches), group)
    most = active_most(arrivals, logical.join.inputs)
    verdict.is_bounded = True
    verdict.may_miss = verdict.may_miss or told.budget_least < most
    verdict.estimate = told.recall
    verdict.late = max(verdict.late, late_rows(inputs, arrivals))
    join = replace(logical.join, inputs=inputs)
    compare_multi_join(verdict, catalog, group, join, parameters, batches, arrivals, read, progress)


class _Told:
    """What the shards of a group told, batch by batch."""

    def __init__(self, log: ResultLog, batches: int, group: str) -> None:
        self.counts: dict[str, int] = {}
        self.waiting: Ints = np.zeros(batches, dtype=np.int64)
        budgets: list[int] = []
        known: dict[int, int] = {}
        for number in range(batches):
            for figures in log.figures(number):
                sizes = own_figures(figures.sizes, group)
                if "rows_budget" in sizes:
                    budgets.append(sizes["rows_budget"])
                    known[figures.shard] = sizes.get(WAITING, 0)
                self.counts = added([self.counts, own_figures(figures.counts, group)])
            # A shard that tells nothing holds what it held.
            self.waiting[number] = sum(known.values())
        self.budget_least = min(budgets, default=0)

    @property
    def recall(self) -> float | None:
        """The share of results that was kept, as estimated."""
        everything = self.counts.get("recall_all", 0)
        return self.counts.get("recall_made", 0) / everything if everything else None

    def settled(self, batch: Ints) -> Ints:
        """Give the batch in which rows of other batches were answered at the latest."""
        nobody = np.flatnonzero(self.waiting == 0)
        at = np.searchsorted(nobody, batch)
        never = np.append(nobody, len(self.waiting))
        found: Ints = never[at]
        return found


def verify_lookup(
    verdict: Verdict,
    catalog: Catalog,
    group: str,
    begun: int,
    logical: LookupJoin,
    parameters: pa.Table,
    batches: list[LoggedBatch],
    log: ResultLog,
    progress: Progress,
) -> None:
    """Compare the log of one text with the other database's table, as it is now."""
    stream = logical.join.inputs[1 - logical.looked_up]
    table = logical.join.inputs[logical.looked_up]
    rows, batch = rows_of(batches, stream.relation, catalog[stream.relation.lower()].schema)
    rows, batch = rows.filter(pa.array(batch >= begun)), batch[batch >= begun]
    key = _stream_key(logical)
    kept = looked_up_rows(
        logical.lookup,
        pa.schema(list(table.columns)),
        pc.unique(rows[dotted(key)].combine_chunks().drop_null()),
    )
    places: list[Place] = [
        (each.batch, part, section.path)
        for each in batches
        for part, section in enumerate(each.sections)
        if section.relation == group
    ]
    told = _Told(log, len(batches), group)
    verdict.waiting += int(told.waiting[-1]) if len(batches) else 0
    came = rows.append_column("_batch", pa.array(batch))
    came = came.append_column("_settled", pa.array(told.settled(batch)))
    with connect() as db:
        settle(db, logical.where_sql)
        _load(db, 1 - logical.looked_up, stream, came)
        _load(db, logical.looked_up, table, with_dots(kept))
        slices = range(0, parameters.num_rows, QUERIES_PER_SLICE)
        for done, start in enumerate(slices):
            db.register("given", parameters.slice(start, QUERIES_PER_SLICE))
            columns = parameter_columns(parameters.schema)
            db.execute(f"CREATE OR REPLACE TABLE p AS SELECT {columns} FROM given")
            _compare(db, verdict, logical, places)
            progress(verdict.subscription, done + 1, len(slices))


def _stream_key(logical: LookupJoin) -> str:
    asked = (logical.looked_up, logical.lookup.key)
    for left, right in logical.join.crossing.equalities:
        for mine, other in ((left, right), (right, left)):
            if other == asked:
                return mine[1]
    raise AssertionError("a lookup join names the key")


def _load(db: duckdb.DuckDBPyConnection, number: int, each: JoinInput, rows: pa.Table) -> None:
    db.register("rows", rows)
    own = [without_nan(name, type_) for name, type_ in each.columns]
    found = [name for name in ("_batch", "_settled") if name in rows.column_names]
    db.execute(f"CREATE TABLE i{number} AS SELECT {', '.join([*own, *found])} FROM rows")
    db.unregister("rows")


def _compare(
    db: duckdb.DuckDBPyConnection, verdict: Verdict, logical: LookupJoin, places: list[Place]
) -> None:
    """Note how the log differs from what a table of now says.

    In which batch a row is answered depends on when the database did, so batches are not compared.
    A row that waits, or waited until a query was gone, may have no answer.
    """
    inputs = logical.join.inputs
    came = f"i{1 - logical.looked_up}"
    made = [
        (f"i{number}.{name}", type_)
        for number, each in enumerate(inputs)
        for name, type_ in each.columns
    ]
    columns = ", ".join(
        f"i{number}.{theirs(name)} AS {theirs(f'i{number}.{name}')}"
        for number, each in enumerate(inputs)
        for name, _ in each.columns
    )
    names = ", ".join(["_query", *(theirs(name) for name, _ in made)])
    db.execute(
        f"CREATE OR REPLACE TABLE expected AS SELECT p._query, {came}._batch AS _batch, {columns}, "
        f"1 AS _sign, {came}._settled >= p._last AS _may FROM i0, i1, p "
        f"WHERE ({logical.where_sql}) AND {came}._batch >= p._first AND {came}._batch < p._last"
    )
    load_found(db, places, made)
    db.execute(
        f"CREATE OR REPLACE TABLE must AS SELECT {names} FROM expected WHERE NOT _may; "
        f"CREATE OR REPLACE TABLE may AS SELECT {names} FROM expected WHERE _may; "
        "CREATE OR REPLACE TABLE answered AS "
        f"SELECT {names} FROM (SELECT *, unnest(range(_sign)) FROM found); "
        "CREATE OR REPLACE TABLE found AS FROM answered; "
        "CREATE OR REPLACE TABLE expected AS FROM must UNION ALL "
        "((FROM answered EXCEPT ALL FROM must) INTERSECT ALL FROM may)"
    )
    for table in ("expected", "found"):
        rows = count(db, f"SELECT count(*) FROM {table}")
        setattr(verdict, table, getattr(verdict, table) + rows)
    compare(db, verdict, "FROM {kind}")
