"""Whole runs of lookup joins equal DuckDB's join, whatever the cache, the batches and the past."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.algebra.lookups import LookupJoin, LookupJoinStep
from penstock.algebra.memories import LOOKUP_POLICIES
from penstock.operators.lookup import LookupJoinOperator
from penstock.operators.lookup import operator as operator_module
from penstock.operators.lookup.figures import FETCHED, REFERENCES, ROWS_CACHED
from penstock.operators.protocol import Share
from penstock.operators.shared.ownership import shard_of
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import HITS, NULL_VALUES, ROWS_BUDGET, ROWS_WAITING
from tests.property.test_multi_join_duckdb import plain, predicate
from tests.support import own_policies
from tests.support.joins import PARAMETERS, Row, parameter_rows
from tests.support.lookups import (
    FORMS,
    STREAM,
    TABLE,
    Found,
    found_by,
    lookup_join,
    queries_of,
    step_of,
    stream_table,
    unique_rows,
    write_table,
)
from tests.support.multi_joins import COLUMNS, LOCALS, Source

chances = st.integers(0, 2**32 - 1).map(np.random.default_rng)
POLICIES = (*LOOKUP_POLICIES, *own_policies.NAMES)
CASES = [
    (
        form,
        sorted(LOCALS)[(number + shift) % len(LOCALS)],
        POLICIES[(number + shift) % len(POLICIES)],
    )
    for number, form in enumerate(sorted(FORMS))
    for shift in (0, 3)
]


def spread(rows: list[Row], chance: np.random.Generator) -> list[Row]:
    """Give rows keys of which more differ than a cache holds."""
    for row in rows:
        if row["k"] is not None:
            # Columns that must be equal to the key are so now and then.
            again = row["y"] is not None and chance.random() < 0.3
            row["k"] = row["y"] if again else int(chance.integers(0, 9))
        if row["s"] is not None:
            row["s"] = str(
                chance.choice(["a", "b", "", "ä" * 40, "long enough for two words", "c"])
            )
        row["t"] = int(chance.integers(0, 7))
    return rows


def drawn_rows(source: Source, size: int) -> list[Row]:
    return spread([source.row() for _ in range(size)], source.chance)


def expected(
    logical: LookupJoin, local: str, stream: list[Row], table: list[Row], queries: list[Row]
) -> Found:
    """Ask DuckDB for the whole join."""
    held = {STREAM: stream, TABLE: table}
    with duckdb.connect(":memory:", config={"threads": 1}) as db:
        for name, rows in held.items():
            db.register(f"all_{name}", plain(rows, COLUMNS[name]))
        db.register("asked", plain(queries, PARAMETERS))
        inputs = logical.inputs
        joined = ", ".join(f"all_{each.relation} i{k}" for k, each in enumerate(inputs))
        found = db.sql(
            f"SELECT p.nth, i0.n, i1.n, count(*) FROM asked p, {joined} "
            f"WHERE {predicate(logical, local)} GROUP BY ALL"
        ).fetchall()
    return Counter({tuple(row[:-1]): row[-1] for row in found})


def divided(rows: pa.Table, step: LookupJoinStep, count: int) -> list[pa.Table]:
    """Give every shard its rows, as hosts do."""
    ((_, columns),) = step.division or ()
    if not columns:
        return [rows] * count
    (column,) = columns
    shards = shard_of([rows.column(column)], [rows.schema.field(column).type], count)
    return [rows.filter(pa.array(shards == number)) for number in range(count)]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("form", "local", "policy"), CASES)
def test_a_run_equals_duckdb(
    form: str, local: str, policy: str, shards: int, seed: int, tmp_path: Path
) -> None:
    chance = np.random.default_rng(seed)
    path = tmp_path / "shop.duckdb"
    source = Source(chance)
    logical = lookup_join(form, local, path, rows=5, policy=policy, batch=3)
    table = unique_rows(drawn_rows(source, 14), logical.lookup.key)
    write_table(path, table)
    step, queries = step_of(logical), parameter_rows(chance, 4)
    operators = [LookupJoinOperator(step, None, Share(n, shards)) for n in range(shards)]
    for operator in operators:
        operator.apply(queries_of(logical, queries, 0))
    net: Counter[tuple[Any, ...]] = Counter()
    past: list[Row] = []
    for _ in range(6):
        rows = drawn_rows(source, int(chance.integers(0, 30)))
        past += rows
        parts = divided(stream_table(rows), step, shards)
        for operator, part in zip(operators, parts, strict=True):
            net.update(found_by(operator.process({STREAM: part})))
            sizes = operator.sizes()
            assert sizes[ROWS_CACHED] <= sizes[ROWS_BUDGET]
    assert sum(operator.sizes()[ROWS_BUDGET] for operator in operators) == 5
    assert net == expected(logical, local, past, table, queries)
    assert net or form in {"own", "theirs", "further"} or local == "texts", "the case says nothing"


@given(chance=chances, budget=st.integers(1, 12), policy=st.sampled_from(POLICIES))
@settings(max_examples=20)
def test_the_budget_holds_whatever_comes(
    chance: np.random.Generator, budget: int, policy: str
) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "shop.duckdb"
        source = Source(chance)
        table = unique_rows(drawn_rows(source, 20), "k")
        write_table(path, table)
        logical = lookup_join("number", "plain", path, rows=budget, policy=policy)
        operator = LookupJoinOperator(step_of(logical))
        operator.apply(queries_of(logical, parameter_rows(chance, 1), 0))
        seen, references = set(), 0
        for _ in range(int(chance.integers(1, 6))):
            rows = drawn_rows(source, int(chance.integers(0, 40)))
            operator.process({STREAM: stream_table(rows)})
            counts, sizes = operator.counts(), operator.sizes()
            keys = [row["k"] for row in rows if row["k"] is not None]
            references += len(keys)
            seen |= set(keys)
            assert counts[REFERENCES] == len(keys)
            assert counts[HITS] <= counts[REFERENCES]
            assert counts[FETCHED] <= counts[REFERENCES] - counts[HITS]
            assert counts[NULL_VALUES] == len(rows) - len(keys)
            assert sizes[ROWS_CACHED] == min(budget, len(seen))
        assert operator.looking.totals["references"] == references


class LookupLife(RuleBasedStateMachine):
    """Drives one operator, two shards and a follower by deltas; the source dies and comes back."""

    form = "number"

    @initialize(
        chance=chances, local=st.sampled_from(sorted(LOCALS)), policy=st.sampled_from(POLICIES),
        budget=st.integers(2, 6), chunk=st.sampled_from([3, 1 << 13]),
    )  # fmt: skip
    def start(
        self, chance: np.random.Generator, local: str, policy: str, budget: int, chunk: int
    ) -> None:
        operator_module.CHUNK_ROWS = chunk
        self.home = TemporaryDirectory()
        self.path = Path(self.home.name) / "shop.duckdb"
        self.local, self.source = local, Source(chance)
        self.logical = lookup_join(self.form, local, self.path, rows=budget, policy=policy, batch=2)
        self.step = step_of(self.logical)
        self.table = unique_rows(drawn_rows(self.source, 12), self.logical.lookup.key)
        write_table(self.path, self.table)
        self.operator = LookupJoinOperator(self.step)
        self.follower = LookupJoinOperator(self.step)
        self.shards = [LookupJoinOperator(self.step, None, Share(n, 2)) for n in range(2)]
        self.net: Counter[tuple[Any, ...]] = Counter()
        self.sharded: Counter[tuple[Any, ...]] = Counter()
        self.twin: Counter[tuple[Any, ...]] = Counter()
        self.queries: dict[int, Row] = {}
        self.changes: list[QueryChanges] = []
        self.next = 0
        self.change(chance, 2, 0.0)
        self.batch(6)

    def teardown(self) -> None:
        operator_module.CHUNK_ROWS = 1 << 13
        if hasattr(self, "home"):
            self.home.cleanup()

    @property
    def away(self) -> Path:
        return self.path.with_suffix(".away")

    @property
    def is_alive(self) -> bool:
        return self.path.exists()

    @rule(chance=chances, size=st.integers(0, 3), going=st.sampled_from([0.0, 0.5]))
    def change(self, chance: np.random.Generator, size: int, going: float) -> None:
        """Queries come; they go only while no row waits: else it says nothing who is answered."""
        gone = [n for n in self.queries if self.is_alive and chance.random() < going]
        rows = parameter_rows(chance, size)
        change = queries_of(self.logical, rows, self.next, gone)
        self.changes.append(change)
        for operator in (self.operator, self.follower, *self.shards):
            operator.apply(change)
        for number in gone:
            del self.queries[number]
        self.queries |= {self.next + i: row for i, row in enumerate(rows)}
        self.next += size

    @rule(size=st.integers(0, 12))
    def batch(self, size: int) -> None:
        rows = drawn_rows(self.source, size)
        numbers, asked = list(self.queries), list(self.queries.values())
        if asked:
            found = expected(self.logical, self.local, rows, self.table, asked)
            for (nth, *names), count in found.items():
                self.twin[numbers[nth], *names] += count
        table = stream_table(rows)
        self.net.update(found_by(self.operator.process({STREAM: table})))
        parts = divided(table, self.step, 2)
        for operator, part in zip(self.shards, parts, strict=True):
            self.sharded.update(found_by(operator.process({STREAM: part})))
        self.follow()

    @rule()
    def idle(self) -> None:
        """Nothing comes: rows that wait are tried again."""
        self.net.update(found_by(self.operator.process({})))
        for operator in self.shards:
            self.sharded.update(found_by(operator.process({})))
        self.follow()

    def follow(self) -> None:
        delta = self.operator.delta()
        if delta is not None:
            self.follower.catch_up(delta)

    @precondition(lambda self: self.is_alive)
    @rule()
    def die(self) -> None:
        self.path.rename(self.away)

    @precondition(lambda self: not self.is_alive)
    @rule()
    def revive(self) -> None:
        self.away.rename(self.path)
        self.idle()

    @rule()
    def restart(self) -> None:
        """The follower takes over, and a copy of the snapshot follows it."""
        snapshot = self.operator.snapshot()
        assert self.follower.snapshot() == snapshot
        copy = LookupJoinOperator(self.step, snapshot)
        for change in self.changes:
            copy.apply(change)
        assert copy.snapshot() == snapshot
        self.operator, self.follower = self.follower, copy

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if not hasattr(self, "operator"):
            return
        sizes = self.operator.sizes()
        assert self.follower.sizes() == sizes
        assert sizes[ROWS_CACHED] <= sizes[ROWS_BUDGET] == self.step.lookup.memory.rows
        if self.is_alive:
            assert sizes[ROWS_WAITING] == 0
            assert self.net == self.twin
            assert self.sharded == self.twin


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_group_lives_as_its_twin(form: str) -> None:
    machine = type("Life", (LookupLife,), {"form": form})
    run_state_machine_as_test(machine, settings=settings(max_examples=6, stateful_step_count=18))
