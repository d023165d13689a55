"""The toy kind against its slow twin: batches, adds, drops and restarts in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.vocabulary.batches import QueryChanges
from tests.oracle.distinct import DistinctTwin
from tests.support.toy.penstock_distinct import operator as toy
from tests.support.toy.penstock_distinct.node import DistinctStep

STEP = DistinctStep(relation="s", column="k", type=pa.string())
LIMIT = 4
QUERIES = st.integers(0, 3)
TURNS = st.one_of(
    st.tuples(st.just("add"), QUERIES),
    st.tuples(st.just("drop"), QUERIES),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("batch"), st.lists(st.sampled_from([None, *"abcdefg"]), max_size=6)),
)


def changes(adds: list[int], drops: list[int]) -> QueryChanges:
    table = pa.table({"query": pa.array(adds, pa.int64())})
    return QueryChanges(adds={"queries": table}, drops=np.array(drops, dtype=np.int64))


@settings(max_examples=60)
@given(turns=st.lists(TURNS, max_size=25))
def test_the_toy_tells_what_its_twin_tells(turns: list[tuple[str, Any]]) -> None:
    twin = DistinctTwin(LIMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "VALUES_MAX", LIMIT)
        operator = toy.DistinctOperator(STEP, None)
        untold = 0
        for what, given_ in turns:
            if what == "add" and given_ not in twin.told:
                twin.add(given_)
                operator.apply(changes([given_], []))
            elif what == "drop":
                twin.drop(given_)
                operator.apply(changes([], [given_]))
            elif what == "restart":
                operator = toy.DistinctOperator(STEP, operator.snapshot())
            elif what == "batch":
                table = pa.table({"k": pa.array(given_, pa.string())})
                told: list[tuple[int, str | None]] = []
                for own in operator.process({"s": table}):
                    assert own.rows is not None
                    told += zip(own.query.tolist(), own.rows["k"].to_pylist(), strict=True)
                untold += operator.counts()[toy.UNTOLD]
                assert sorted(told, key=str) == sorted(twin.process(given_), key=str)
        assert operator.sizes()[toy.VALUES] == sum(map(len, twin.told.values()))
        assert operator.sizes()[toy.VALUES] <= LIMIT * len(twin.told)
        assert untold == twin.untold
