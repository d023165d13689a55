"""Kept tables: what stands, and what is told of it, equals what plain loops say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation, keep_step
from penstock.operators import catalogue
from penstock.operators.keep import KEEP, KeepOperator, keyed_rows, weights
from penstock.operators.protocol import OperatorKind
from penstock.operators.shard import Shard
from penstock.vocabulary.batches import VersionChanges
from penstock.vocabulary.losses import FORGOTTEN_DELETES, KEYLESS_CHANGES, UNKNOWN_DELETES

SCHEMA = pa.schema([("k", pa.string()), ("x", pa.float64()), ("op", pa.string())])
STEP = keep_step(Relation(name="t", kind="table", schema=SCHEMA, change_column="op"))
OPS = ["insert", "update_after", "+", "delete", "update_before", "-"]

changes = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([1.0, 2.0, None]), st.sampled_from(OPS)
)
lives = st.lists(st.lists(changes, max_size=8), max_size=8)


def table(rows: list[Any]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def weighed(rows: list[Any]) -> Counter[Any]:
    """Count how often each row came, less how often it went."""
    weights: Counter[Any] = Counter()
    for k, x, op in rows:
        weights[k, x] += 1 if op in OPS[:3] else -1
    return weights


def rows_of(kept: pa.Table) -> list[tuple[Any, Any]]:
    return list(zip(kept["k"].to_pylist(), kept["x"].to_pylist(), strict=True))


@settings(max_examples=40)
@given(life=lives)
def test_as_many_rows_stand_as_came_more_often_than_they_went(life: list[Any]) -> None:
    keeper, follower = KeepOperator(STEP, None), KeepOperator(STEP, None)
    seen: list[Any] = []
    before: Counter[Any] = Counter()
    owed = 0
    for batch in life:
        assert keeper.process({"t": table(batch)}) == []
        delta = keeper.delta()
        if delta is not None:
            follower.catch_up(delta)
        seen += batch
        copy = KeepOperator(STEP, keeper.snapshot())
        weights = weighed(seen)
        stand = +weights
        assert Counter(rows_of(copy.rows())) == Counter(rows_of(keeper.rows())) == stand
        assert copy.snapshot() == keeper.snapshot() == follower.snapshot()
        owed += keeper.counts()[UNKNOWN_DELETES]
        assert owed == sum((-weights).values())
        assert keeper.resolved is not None
        told = weighed(list(zip(*keeper.resolved.to_pydict().values(), strict=True)))
        assert {row: n for row, n in told.items() if n} == {
            row: stand[row] - before[row] for row in stand | before if stand[row] != before[row]
        }
        assert sum(map(abs, told.values())) == keeper.resolved.num_rows, "no row comes and goes"
        before = stand


KEYED = replace(STEP, key=("k",), sequence=("x",))


@settings(max_examples=60)
@given(life=lives)
def test_the_newest_change_of_a_key_stands(life: list[Any]) -> None:
    keeper, follower = KeepOperator(KEYED, None), KeepOperator(KEYED, None)
    newest: dict[str, tuple[tuple[float, bool, int], str]] = {}
    before: dict[str, Any] = {}
    arrival = 0
    for batch in life:
        keeper.process({"t": table(batch)})
        delta = keeper.delta()
        if delta is not None:
            follower.catch_up(delta)
        for k, x, op in batch:
            arrival += 1
            place = (x, op != "update_before", arrival)
            if k is not None and x is not None and place > newest.get(k, ((-1.0,), ""))[0]:
                newest[k] = place, op
        stand = {k: place[0] for k, (place, op) in newest.items() if op in OPS[:3]}
        copy = KeepOperator(KEYED, keeper.snapshot())
        assert dict(rows_of(copy.rows())) == dict(rows_of(keeper.rows())) == stand
        assert copy.snapshot() == keeper.snapshot() == follower.snapshot()
        assert keeper.resolved is not None
        told = weighed(list(zip(*keeper.resolved.to_pydict().values(), strict=True)))
        assert {row: n for row, n in told.items() if n} == {
            row: (row in stand.items()) - (row in before.items())
            for row in {*stand.items()} ^ {*before.items()}
        }
        before = stand
        nulls = sum(k is None or x is None for k, x, _ in batch)
        assert keeper.counts()[KEYLESS_CHANGES] == nulls


def test_pools_have_a_limit_and_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "OWED_MAX", 2)
    monkeypatch.setattr(keyed_rows, "DELETED_MAX", 2)
    for step in (STEP, KEYED):
        keeper = KeepOperator(step, None)
        for x in range(5):
            keeper.process({"t": table([(f"key {x}", 1.0 + x, "delete")])})
            counts = keeper.counts()
            assert counts[FORGOTTEN_DELETES] == (x > 1)
            assert counts[UNKNOWN_DELETES] == 1
        keeper.process({"t": table([("key 4", 5.0 if step is STEP else 1.0, "insert")])})
        assert keeper.rows().num_rows == 0, "what is remembered still counts"


def test_a_new_group_begins_with_what_its_tables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {
        1: VersionChanges(version=1, steps={"kept": STEP.to_json()}),
        2: VersionChanges(version=2, steps={"new": {**STEP.to_json(), "kind": "beginner"}}),
    }
    begun: list[Any] = []

    class NotKept:
        """An operator that is no keeper, so that it begins."""

        def __init__(self, *_: Any) -> None:
            self.began: dict[str, Any] | None = None
            begun.append(self)

        def begin(self, tables: Any, _clocks: Any = None) -> None:
            self.began = {name: rows_of(held) for name, held in tables.items()}

        def catch_up(self, _delta: bytes) -> None:
            """Take it."""

    kind = OperatorKind(
        step_from_json=KEEP.step_from_json,
        register=KEEP.register,
        build=NotKept,  # type: ignore[arg-type]
        explain=KEEP.explain,
        warm_up=KEEP.warm_up,
    )
    monkeypatch.setitem(catalogue.OPERATORS, "beginner", kind)

    def feed(after: int, upto: int) -> Any:
        return [versions[n] for n in range(after + 1, upto + 1)]

    shard = Shard(feed)
    shard.advance(1)
    shard.process({"t": table([("a", 1.0, "insert"), ("b", 2.0, "insert"), ("a", 1.0, "-")])})
    shard.advance(2)
    assert begun[0].began == {"t": [("b", 2.0)]}
    follower = Shard(feed, 1, {"kept": KeepOperator(STEP, None).snapshot() or b""})
    follower.catch_up(2, {"new": b""})
    assert begun[1].began is None, "a copy follows by the delta, it does not begin again"
