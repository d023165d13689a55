"""Kept tables: what the operator keeps equals a list walked change by change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.shapes import keep_step
from penstock.operators import catalogue
from penstock.operators.keep import KEEP, KeepOperator, operator
from penstock.operators.protocol import OperatorKind
from penstock.operators.shard import Shard
from penstock.storage.files import table_from_bytes
from penstock.vocabulary.batches import VersionChanges

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


def walked(rows: list[Any]) -> list[tuple[Any, Any]]:
    """Keep rows one by one: a delete takes the oldest equal one away, if there is one."""
    held: list[tuple[Any, Any]] = []
    for k, x, op in rows:
        if op not in OPS[3:]:
            held.append((k, x))
        elif (k, x) in held:
            held.remove((k, x))
    return held


def rows_of(kept: pa.Table) -> list[tuple[Any, Any]]:
    return list(zip(kept["k"].to_pylist(), kept["x"].to_pylist(), strict=True))


@settings(max_examples=40)
@given(life=lives, fold_at=st.sampled_from([0, 3, 1 << 16]))
def test_rows_are_kept_as_a_list_walked_change_by_change(life: list[Any], fold_at: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "FOLD_AT_LEAST_ROWS", fold_at)
        keeper, follower = KeepOperator(STEP, None), KeepOperator(STEP, None)
        seen: list[Any] = []
        for batch in life:
            assert keeper.process({"t": table(batch)}) == []
            delta = keeper.delta()
            if delta is not None:
                follower.catch_up(delta)
            seen += batch
            copy = KeepOperator(STEP, keeper.snapshot())
            assert rows_of(copy.rows()) == rows_of(keeper.rows()) == walked(seen)
            assert copy.snapshot() == keeper.snapshot() == follower.snapshot()


def test_rows_keep_their_columns_without_the_change_column() -> None:
    keeper = KeepOperator(STEP, None)
    keeper.process({"t": table([("a", 1.0, "insert")])})
    snapshot = keeper.snapshot()
    assert snapshot is not None
    assert table_from_bytes(snapshot).schema == SCHEMA.remove(2)


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

        def begin(self, tables: Any) -> None:
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
