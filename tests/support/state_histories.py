"""Small lives of every operator that keeps data, the same whenever they are run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.models import ModelQueryStep
from penstock.algebra.physical import ClockStep, KeepStep
from penstock.kinds.binder import bind
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.models.streams import streams_of
from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import WHOLE, Operator
from penstock.vocabulary.batches import QueryChanges, Results

ROWS, TURNS = 12, 4
COLUMNS = (
    ("id", pa.int64()), ("key", pa.string()), ("number", pa.int64()), ("x", pa.float64()),
    ("at", pa.timestamp("us")),
)  # fmt: skip
KEPT = COLUMNS[:4]
EACH = pa.schema([("lo", pa.float64()), ("hi", pa.float64()), ("n", pa.int64())])
QUERIES = {
    "select_join": "SELECT t.id FROM t JOIN u ON t.key = u.key "
    "WHERE t.x BETWEEN :lo AND :hi AND u.x >= 1",
    "band_join": "SELECT t.id FROM t JOIN u ON u.x - t.x BETWEEN :lo AND :hi",
    "window_join": "SELECT a.id FROM a JOIN b ON a.key = b.key WITHIN 9 SECONDS "
    "WHERE a.x BETWEEN :lo AND :hi",
    "multi_join": "SELECT a.id FROM a [ROWS 4], b [RANGE 3 SECONDS], t "
    "WHERE a.key = b.key AND a.number = t.number AND a.x BETWEEN :lo AND :hi",
    "bounded_join": "SELECT a.id FROM a JOIN b ON a.number = b.number "
    "WHERE a.x BETWEEN :lo AND :hi MEMORY 5 ROWS USING LRU",
    "bounded_join_in_windows": "SELECT a.id FROM a [ROWS 6], b [RANGE 2 SECONDS] "
    "WHERE a.key = b.key AND a.x BETWEEN :lo AND :hi MEMORY 5 ROWS USING LIFE",
    "bounded_join_by_laws": "SELECT a.id FROM a JOIN b ON a.number = b.number "
    "WHERE a.x BETWEEN :lo AND :hi MEMORY 5 ROWS",
    "range_aggregate": "SELECT MIN(number), MAX(x), SUM(x), COUNT(*), COUNT(DISTINCT number) "
    "FROM t WHERE x BETWEEN :lo AND :hi AND key = 'b'",
    "range_aggregate_of_lists": "SELECT MIN(number, 2), MAX(id, 3) "
    "FROM t WHERE x BETWEEN :lo AND :hi AND key = 'b'",
    "range_aggregate_of_boxes": "SELECT MIN(number), MAX(id), SUM(x), COUNT(*) "
    "FROM t WHERE x BETWEEN :lo AND :hi AND number > :n AND key = 'b'",
    "model_query": "SELECT key, starts, ends, x, status FROM a MODEL x = x + number * t KEY key "
    "WHERE x BETWEEN :lo AND :hi ERROR WITHIN 0.5 HORIZON 2 SECONDS",
    "model_query_of_two": "SELECT a.x AS p, b.x AS q FROM a MODEL x = x KEY key "
    "JOIN b MODEL x = x + number * t KEY key ON a.key = b.key AND a.x < b.x "
    "WHERE a.x BETWEEN :lo AND :hi ERROR WITHIN 1",
    "lookup_join": "SELECT a.id, p.x FROM a JOIN p ON a.number = p.number "
    "WHERE a.x BETWEEN :lo AND :hi",
}
FLOATING = frozenset({"bounded_join_by_laws"})
"""States that hold fitted figures: their last digits are the machine's."""
_HOME = TemporaryDirectory(prefix="penstock-states-")


@dataclass(frozen=True)
class History:
    """What a group runs, and what comes to it turn by turn."""

    step: Any
    changes: list[QueryChanges]
    batches: list[dict[str, pa.Table]]

    def build(self, snapshot: bytes | None = None) -> Operator:
        return OPERATORS[self.step.kind].build(self.step, snapshot, WHOLE)

    def restore(self, snapshot: bytes | None, turns: int) -> Operator:
        """Give an operator from its snapshot and the registry, as a host does."""
        operator = self.build(snapshot)
        for changes in self.changes[:turns]:
            operator.apply(changes)
        return operator

    def live(self) -> Iterator[tuple[Operator, list[Results]]]:
        operator = self.build()
        for changes, batch in zip(self.changes, self.batches, strict=True):
            operator.apply(changes)
            yield operator, operator.process(batch)


def rows(turn: int, salt: int, op: str | None = None) -> pa.Table:
    """Make rows; of streams some are behind the others, and one in a batch is late."""
    ids = turn * ROWS + np.arange(ROWS)
    drawn = (ids + salt) * 7
    at = ids * 250_000 - np.where(ids % 5 == 0, 600_000, 0) - np.where(ids % 12 == 11, 9_000_000, 0)
    table = pa.table(
        {
            "id": ids, "key": pa.array(["abcd"[n % 4] for n in drawn.tolist()]),
            "number": drawn % 5, "x": (drawn * 3 % 11) / 2.0,
            "at": pa.array(at).cast(pa.timestamp("us")),
        }
    )  # fmt: skip
    return table if op is None else table.append_column("op", pa.array([op] * ROWS))


def changes_of_table(turn: int, salt: int) -> pa.Table:
    """Let rows come, and some of those of the turn before go."""
    came = rows(turn, salt, "insert").drop_columns(["at"])
    if turn == 0:
        return came
    gone = rows(turn - 1, salt, "delete").drop_columns(["at"])
    return pa.concat_tables([came, gone.take(pa.array(range(turn % 3, ROWS, 3)))])


def batch(turn: int) -> dict[str, pa.Table]:
    return {
        "a": rows(turn, 0), "b": rows(turn, 3),
        "t": changes_of_table(turn, 1), "u": changes_of_table(turn, 2),
    }  # fmt: skip


@cache
def catalogue() -> Mapping[str, Relation]:
    path = Path(_HOME.name) / "prices.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE p AS SELECT n::BIGINT AS number, n / 4 AS x FROM range(4) t(n)")
    looked_up = pa.schema([("number", pa.int64()), ("x", pa.float64())])
    lookup = lookup_of("p", f"duckdb:{path}", "number", 2, "LRU")
    streams = [
        Relation(
            name=name,
            kind="stream",
            schema=pa.schema(list(COLUMNS)),
            event_time="at",
            lateness_us=1_000_000,
        )
        for name in "ab"
    ]
    changed = pa.schema([*KEPT, ("op", pa.string())])
    tables = [
        Relation(name=name, kind="table", schema=changed, change_column="op") for name in "tu"
    ]
    own = [*streams, *tables, lookup_relation("p", looked_up, lookup)]
    return {relation.name: relation for relation in own}


def of_query(sql: str) -> History:
    """Give the life of a group of joins: queries come at the start, and again at the third turn."""
    logical = bind(sql, dict(catalogue()), EACH, None)
    step = logical.step()
    if isinstance(step, ModelQueryStep):  # as homes have it that are older than model streams
        step = replace(step, reads=())
    changes = [QueryChanges()] * TURNS
    for turn, first in ((0, 0), (2, 2)):
        given = pa.table({"lo": [0.0, 1.0 + turn], "hi": [9.0, 4.0], "n": [0, 2]}, schema=EACH)
        adds = OPERATORS[step.kind].register(logical, step, given, first).adds
        changes[turn] = QueryChanges(adds=adds, drops=np.arange(turn // 2, dtype=np.int64))
    return History(step, changes, [batch(turn) for turn in range(TURNS)])


def histories() -> dict[str, History]:
    """Give a life of everything that keeps data."""
    steps: dict[str, Any] = {
        "clock": ClockStep(relation="a", event_time="at", type=pa.timestamp("us")),
        "keep": KeepStep(relation="t", columns=KEPT, change_column="op"),
        "keep_by_key": KeepStep(
            relation="t", columns=KEPT, change_column="op", key=("number",), sequence=("id",)
        ),
    }
    (steps["model_stream"],) = streams_of(
        bind(QUERIES["model_query"], dict(catalogue()), EACH, None).step()
    )
    none = [QueryChanges()] * TURNS
    batches = [batch(turn) for turn in range(TURNS)]
    alone = {name: History(step, none, batches) for name, step in steps.items()}
    return alone | {name: of_query(sql) for name, sql in QUERIES.items()}
