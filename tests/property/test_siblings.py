"""An answer depends on the query's own registration and on the data, never on other queries.

Queries of every kind are registered and dropped at drawn batches, all in one home; then each by
itself in a home of its own, with the same batches. It must be told the same, batch by batch.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from tests.support.desk_runs import DeskRun
from tests.support.tables import BEGIN

LATENESS_US = 2_000_000
STREAM = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
TABLE = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("op", pa.string())])
TEXTS = {
    "filter of a stream": "SELECT n FROM a WHERE k <= :k AND n <= :most",
    "filter of a table": "SELECT n FROM u WHERE k <= :k AND n <= :most",
    "select join": "SELECT u.n AS u, v.n AS v FROM u JOIN v ON u.k = v.k WHERE u.n <= :most",
    "band join": "SELECT u.n AS u, v.n AS v FROM u JOIN v ON v.k - u.k BETWEEN 0 AND :k",
    "window join": """
        SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.k = b.k WITHIN :k SECONDS WHERE a.n <= :most
    """,
    "window join with itself": """
        SELECT a.n AS a, b.n AS b FROM a JOIN a AS b ON a.k = b.k WITHIN :k SECONDS
    """,
    "multi-way join": """
        SELECT a.n AS a, b.n AS b FROM a [ROWS 2], b [RANGE 3 SECONDS]
        WHERE a.k = b.k AND a.n <= :most
    """,
    "multi-way join with a table": """
        SELECT a.n AS a, b.n AS b, u.n AS u FROM a [ROWS 3], b [ROWS 2], u
        WHERE a.k = b.k AND b.k = u.k AND b.n <= :most
    """,
}
WITH_SNAPSHOT = {
    f"{kind} with snapshot": TEXTS[kind]
    for kind in ("filter of a table", "select join", "band join")
}
TEXTS |= WITH_SNAPSHOT
BATCHES = 6
SEED = 1
"""With it, every kind of join would be told something else if it began with no clock."""

Told = Counter[tuple[Any, ...]]
Batch = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Query:
    """One standing query: its kind, its constants, the batches from which and to which it stood."""

    name: str
    kind: str
    first: int
    last: int
    k: int
    most: int


def relations() -> tuple[Relation, ...]:
    streams = (
        Relation(name=n, kind="stream", schema=STREAM, event_time="ts", lateness_us=LATENESS_US)
        for n in "ab"
    )
    tables = (Relation(name=n, kind="table", schema=TABLE, change_column="op") for n in "uv")
    return *streams, *tables


def drawn_batches(chance: np.random.Generator, least: int = 0) -> list[Batch]:
    """Draw rows about two seconds a batch, some of them late; and changes of tables."""
    batches, number = [], 0
    for at in range(BATCHES):
        batch: Batch = {}
        for name in "abuv":
            size = int(chance.integers(least, least + 7))
            keys = chance.integers(1, 3, size).tolist()
            rows: list[dict[str, Any]] = [{"k": key, "n": number + i} for i, key in enumerate(keys)]
            number += size
            for row in rows:
                if name in "ab":
                    late = float(chance.integers(-6, 3))
                    row["ts"] = BEGIN + timedelta(seconds=2 * at + late)
                else:
                    row["op"] = str(chance.choice(["insert", "insert", "delete"]))
                    row["n"] = row["n"] % 4
            if rows:
                batch[name] = rows
        batches.append(batch)
    return batches


def drawn_queries(chance: np.random.Generator, size: int) -> list[Query]:
    kinds = sorted(TEXTS)
    found = []
    for number in range(size):
        first = int(chance.integers(0, BATCHES))
        last = BATCHES if chance.random() < 0.7 else int(chance.integers(first, BATCHES + 1))
        kind = kinds[chance.integers(len(kinds))]
        k, most = int(chance.integers(1, 4)), int(chance.integers(3, 150))
        found.append(Query(f"q{number}", kind, first, last, k, most))
    return found


def told(
    queries: list[Query], batches: list[Batch], restarts: set[int], verifies: bool = False
) -> dict[str, Told]:
    """Run a home with these queries; give what each was told."""
    found: dict[str, Told] = {}
    with tempfile.TemporaryDirectory() as home:
        run = DeskRun(Path(home) / "home", *relations())
        for at, batch in enumerate(batches):
            for query in queries:
                if query.first == at:
                    options: dict[str, Any] = (
                        {"snapshot": True} if query.kind in WITH_SNAPSHOT else {}
                    )
                    if query.kind.startswith("multi"):
                        options["shedding"] = "off"
                    each = [{"id": 1, "k": query.k, "most": query.most}]
                    text = TEXTS[query.kind]
                    run.desk.subscribe(text, name=query.name, each=each, options=options)
                if query.last == at:
                    run.desk.subscription(query.name).drop([1])
            if at in restarts:
                run.restart()
            run.batch(**batch)
        for query in queries:
            changes = run.desk.subscription(query.name).changes(follow=False)
            found[query.name] = Counter()
            for change in changes:
                found[query.name][(change.batch, *change.row.values())] += change.sign
        if verifies:
            assert all(verdict.equal for verdict in verify(run.desk.registry, run.desk.log))
        run.desk.close()
    return found


@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_siblings_change_no_answer(seed: int) -> None:
    chance = np.random.default_rng(seed)
    batches, queries = drawn_batches(chance), drawn_queries(chance, 6)
    together = told(queries, batches, {2, 4}, verifies=True)
    for query in queries:
        assert told([query], batches, {3})[query.name] == together[query.name], query


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_a_query_that_comes_to_an_old_group_is_told_what_one_of_a_new_group_is(kind: str) -> None:
    batches = drawn_batches(np.random.default_rng(SEED), least=4)
    old, new = (Query(f"from {at}", kind, at, BATCHES, 3, 150) for at in (0, 2))
    together = told([old, new], batches, set(), verifies=True)
    assert told([new], batches, set())[new.name] == together[new.name]
    assert together[new.name]
    assert together[new.name] != together[old.name]
