"""Lookup joins for tests: shapes, looked-up tables in DuckDB files, and what DuckDB expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import Comparison, CrossedQuery, Crossing, Difference
from penstock.algebra.inputs import JoinInput
from penstock.algebra.lookups import LookupJoin, LookupJoinStep
from penstock.algebra.memories import Lookup, Memory
from penstock.operators.lookup import register
from penstock.vocabulary.batches import QueryChanges, Results
from tests.oracle.joins import is_null
from tests.support.joins import PARAMETERS, Row, parameter_table
from tests.support.multi_joins import COLUMNS, LOCALS, Source, data_table

ASKED: Row = {
    "s": "a", "n": 0, "xl": -100.0, "xh": 100.0, "yl": -100, "yh": 100, "bl": 0, "bh": 1, "w": 1.0,
    "z": 0.0,
}  # fmt: skip
"""Parameters that let every row pass."""
STREAM, TABLE = "a", "u"
FORMS: dict[str, tuple[str, str, Crossing]] = {
    "number": ("au", "k", Crossing(equalities=(((0, "k"), (1, "k")),))),
    "text": ("au", "s", Crossing(equalities=(((0, "s"), (1, "s")),))),
    "turned": ("ua", "k", Crossing(equalities=(((0, "k"), (1, "k")),))),
    "float": ("au", "x", Crossing(equalities=(((0, "y"), (1, "x")),))),
    "time": ("ua", "t", Crossing(equalities=(((1, "t"), (0, "t")),))),
    "further": (
        "au", "k",
        Crossing(
            equalities=(((0, "k"), (1, "k")), ((1, "s"), (0, "s"))),
            comparisons=(Comparison((0, "x"), "<=", (1, "x")),),
            differences=(Difference((0, "y"), (1, "y"), -3, 2),),
        ),
    ),
    "theirs": ("au", "k", Crossing(equalities=(((0, "k"), (1, "k")), ((0, "k"), (1, "y"))))),
    "own": ("au", "k", Crossing(equalities=(((0, "k"), (1, "k")), ((0, "y"), (1, "k"))))),
}  # fmt: skip
"""Inputs in the order of FROM, the key of the table, and what links them."""
FAST = {"backoff": 0.0, "cooldown": 0.0, "retries": 0, "timeout": 60.0}
"""Options with which nobody waits, and a busy machine is no dead one."""


def lookup_join(
    form: str, local: str, path: Path, *, rows: int = 4, policy: str = "LRU", timed: bool = False,
    table: str = TABLE, **options: Any,
) -> LookupJoin:  # fmt: skip
    """Make a lookup join of the table `u` of a DuckDB file."""
    relations, key, crossing = FORMS[form]
    first, last, across = LOCALS[local]
    join = CrossedQuery(
        inputs=tuple(
            JoinInput(
                name=relation,
                relation=relation,
                columns=tuple(COLUMNS[relation].items()),
                window=None,
                branch=branch,
                event_time="t" if timed and relation == STREAM else None,
            )
            for relation, branch in zip(relations, (first, last), strict=True)
        ),
        outputs=(),
        crossing=crossing,
        residual=across,
        parameters=PARAMETERS,
    )
    memory = Memory(rows=rows, policy=policy)
    lookup = Lookup(
        source=f"duckdb:{path}", table=table, key=key, memory=memory, options={**FAST, **options}
    )
    return LookupJoin.of(join, lookup=lookup, looked_up=relations.index(TABLE))


def step_of(logical: LookupJoin) -> LookupJoinStep:
    return logical.step()


def unique_rows(rows: Sequence[Row], key: str) -> list[Row]:
    """Keep one row of every key; rows without one stay."""
    seen: set[Any] = set()
    kept = []
    for row in rows:
        value = row[key]
        if is_null(value) or value not in seen:
            kept.append(row)
            seen.add(value)
    return kept


def write_table(path: Path, rows: Sequence[Row], name: str = TABLE) -> None:
    """Put rows into a DuckDB file, in the place of those that were there."""
    table = data_table(TABLE, [dict(row) for row in rows]).drop_columns(["change"] * (not rows))
    with duckdb.connect(str(path)) as db:
        db.register("given", table)
        db.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")


_HOME = TemporaryDirectory(prefix="penstock-lookups-")


@cache
def table_file(form: str, variant: int) -> Path:
    """Give a DuckDB file with a table for a form; it stays as long as the process."""
    path = Path(_HOME.name) / f"{form}-{variant}.duckdb"
    source = Source(np.random.default_rng(variant))
    write_table(path, unique_rows([source.row(int(n)) for n in range(9)], FORMS[form][1]))
    return path


def stream_table(rows: Sequence[Row]) -> pa.Table:
    return data_table(STREAM, [dict(row) for row in rows])


def queries_of(
    logical: LookupJoin, rows: Sequence[Row], first: int, drops: Sequence[int] = ()
) -> QueryChanges:
    """Register rows of parameters."""
    registration = register(logical, step_of(logical), parameter_table(list(rows)), first)
    assert len(registration.refusals.row) == 0
    return QueryChanges(adds=registration.adds, drops=np.array(sorted(drops), dtype=np.int64))


Found = Counter[tuple[int, ...]]


def found_by(results: list[Results]) -> Found:
    """Name results by their queries and the numbers of their rows, in the order of FROM."""
    found: Found = Counter()
    for result in results:
        assert result.rows is not None
        assert set(result.rows["_sign"].to_pylist()) <= {1}
        rows = list(zip(result.rows["i0.n"].to_pylist(), result.rows["i1.n"].to_pylist(),
                        strict=True))  # fmt: skip
        for query, event in zip(result.query.tolist(), result.event.tolist(), strict=True):
            found[query, *rows[event]] += 1
    return found


def names_of(results: list[Results], stream: int = 0) -> list[int]:
    """Give the numbers of the stream's rows among the results, in their order."""
    return [
        own[event]
        for result in results
        if result.rows is not None
        for own in [result.rows[f"i{stream}.n"].to_pylist()]
        for event in result.event.tolist()
    ]
