"""What a join operator does beside matching: deletes, clocks, limits, facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.inputs import InputShape
from penstock.algebra.joins import JoinStep
from penstock.algebra.physical import BranchShape
from penstock.operators.join import JoinOperator, explain, register
from penstock.operators.join import operator as operator_module
from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.ownership import shard_of
from penstock.operators.shared.slots import Slots
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import NULL_VALUES, QUERIES, ROWS
from tests.support.joins import parameter_rows, parameter_table, standing_join

COLUMNS = (("k", pa.int64()), ("s", pa.string()), ("t", pa.timestamp("us")))
LATENESS_US = 10


def step(kind: str = "select_join", **parts: Any) -> JoinStep:
    """Make a step without predicates on its sides."""
    stream = kind == "window_join"
    sides = [
        InputShape(
            relation=name, columns=COLUMNS, branch=BranchShape(), lateness_us=LATENESS_US,
            change_column=None if stream else "change", event_time="t" if stream else None,
        )
        for name in ("a", "b")
    ]  # fmt: skip
    given: dict[str, Any] = {
        "kind": kind,
        "inputs": tuple(sides),
        "keys": (("k", "k"),),
    }
    given |= {"window": ("t", "t")} if stream else {}
    return JoinStep(**(given | {"strategy": "selection"} | parts))


def queries(count: int, first: int = 0, **columns: Any) -> QueryChanges:
    numbers = np.arange(first, first + count)
    ends = {"al": LOWEST, "ah": HIGHEST, "cl": LOWEST, "ch": HIGHEST, **columns}
    table = {name: pa.array([end] * count, pa.int64()) for name, end in ends.items()}
    return QueryChanges(adds={"queries": pa.table({"query": numbers, **table})})


def rows(keys: list[Any], signs: str = "", times: list[int] | None = None) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "s": pa.array(["x"] * len(keys)),
            "t": pa.array(times or [0] * len(keys), pa.timestamp("us")),
            "change": pa.array(list(signs or "+" * len(keys)), pa.string()),
        }
    )


def signs(results: list[Any]) -> list[int]:
    assert len(results) <= 1, "a batch has one result"
    return [result.rows["_sign"].to_pylist()[e] for result in results for e in result.event]


def test_a_row_that_comes_and_goes_in_one_batch_leaves_nothing() -> None:
    operator = JoinOperator(step())
    operator.apply(queries(1))
    operator.process({"a": rows([1])})
    assert sorted(signs(operator.process({"b": rows([1, 1], "+-")}))) == [-1, 1]
    assert operator.sizes() == Tally({QUERIES: 1, (ROWS, 0): 1})
    assert signs(operator.process({"a": rows([1])})) == []


def test_unknown_deletes_are_counted_and_change_nothing() -> None:
    operator = JoinOperator(step())
    operator.apply(queries(1))
    operator.process({"a": rows([1]), "b": rows([1])})
    operator.delta()
    assert operator.process({"b": rows([2, 1, 1], "---")[:1]}) == []
    assert operator.counts()[UNKNOWN_DELETES] == 1
    assert operator.delta() is None
    assert signs(operator.process({"b": rows([1, 1], "--")})) == [-1]
    assert operator.counts()[UNKNOWN_DELETES] == 1


def test_of_equal_rows_a_delete_takes_one() -> None:
    operator = JoinOperator(step())
    operator.apply(queries(1))
    operator.process({"a": rows([1]), "b": rows([1] * 5)})
    assert signs(operator.process({"b": rows([1, 1], "--")})) == [-1, -1]
    assert signs(operator.process({"a": rows([1])})) == [1, 1, 1]


def test_late_rows_are_counted_and_old_rows_forgotten() -> None:
    operator = JoinOperator(step("window_join"))
    operator.apply(queries(1, w=100))
    operator.process({"a": rows([1, 1], times=[1000, 1001])})
    assert signs(operator.process({"a": rows([1], times=[990])})) == []
    assert operator.counts()[LATE_ROWS] == 1
    operator.process({"a": rows([5], times=[991])})
    assert operator.counts()[LATE_ROWS] == 0
    assert signs(operator.process({"b": rows([1, 1], times=[901, 902])})) == [1, 1, 1]
    assert operator.sizes()[ROWS, 0] == 3
    operator.process({"b": rows([7], times=[1110])})
    assert operator.sizes()[ROWS, 0] == 1, "1110 - 10 - 100 reaches the row of 1000"
    assert signs(operator.process({"b": rows([1], times=[1100])})) == [1]


def test_a_window_join_sees_rows_since_its_registration_even_after_a_restart() -> None:
    operator = JoinOperator(step("window_join"))
    early, late = queries(1, w=100), queries(1, first=5, w=100)
    operator.apply(early)
    operator.process({"a": rows([1], times=[1000])})
    operator.apply(late)
    operator.process({"a": rows([1], times=[1001])})
    again = JoinOperator(step("window_join"), operator.snapshot())
    again.apply(early)
    again.apply(late)
    for copy in (operator, again):
        (found,) = copy.process({"b": rows([1], times=[1002])})
        assert sorted(found.query.tolist()) == [0, 0, 5]


def test_codes_of_keys_that_went_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_module, "CODES_MIN", 8)
    operator = JoinOperator(step())
    operator.apply(queries(1))
    operator.process({"b": rows([3])})
    for first in range(10, 200, 10):
        keys = list(range(first, first + 10))
        operator.process({"a": rows(keys)})
        operator.process({"a": rows(keys, "-" * 10)})
    assert operator._codes.size <= 8 + 4 * 11
    assert signs(operator.process({"a": rows([3])})) == [1]


def test_a_row_is_made_once_for_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_module, "TRIPLES_MAX", 2)
    operator = JoinOperator(step())
    operator.apply(queries(5))
    operator.process({"b": rows([1, 1, 2])})
    (found,) = operator.process({"a": rows([1, 2])})
    assert found.rows is not None
    assert found.rows.num_rows == 3
    assert sorted(zip(found.event.tolist(), found.query.tolist(), strict=True)) == [
        (event, query) for event in range(3) for query in range(5)
    ]


def test_null_keys_are_counted_and_join_nothing() -> None:
    operator = JoinOperator(step())
    operator.apply(queries(1))
    operator.process({"a": rows([None, 1])})
    assert operator.counts()[NULL_VALUES] == 1
    assert signs(operator.process({"b": rows([None, 1])})) == [1]
    assert operator.sizes() == Tally({QUERIES: 1, (ROWS, 0): 1, (ROWS, 1): 1})


def test_identify_names_each_change_once_and_leaves_the_other_side_empty() -> None:
    operator = JoinOperator(step(mode="identify"))
    operator.apply(queries(3))
    operator.process({"b": rows([1, 1, 2])})
    (found,) = operator.process({"a": rows([1, 2, 3])})
    assert sorted(zip(found.event.tolist(), found.query.tolist(), strict=True)) == [
        (event, query) for event in (0, 1) for query in (0, 1, 2)
    ]
    assert found.rows is not None
    assert found.rows["i0.k"].to_pylist() == [1, 2]
    assert found.rows["i1.k"].to_pylist() == [None, None]


def test_equal_keys_have_one_shard_whatever_their_type() -> None:
    numbers = np.arange(-50, 50)
    types = [pa.int8(), pa.int64(), pa.float64(), pa.decimal128(9, 2)]
    found = [shard_of([pa.array(numbers, pa.int8()).cast(t)], [t], 7).tolist() for t in types]
    assert all(shards == found[0] for shards in found)
    assert set(found[0]) == set(range(7))
    texts = pa.array(["a", "b", "", None, "c"])
    layouts = [texts, texts.cast(pa.large_string()), texts.dictionary_encode()]
    spread = [shard_of([layout], [pa.string()], 3).tolist() for layout in layouts]
    assert spread[0] == spread[1] == spread[2]
    assert spread[0][3] == 0


def test_contents_stay_few_chunks_and_small(seed: int) -> None:
    chance = np.random.default_rng(seed)
    contents, slots = Contents(pa.schema([("x", pa.int64())])), Slots()
    held: dict[int, int] = {}
    for turn in range(300):
        new = slots.take(int(chance.integers(0, 9)))
        values = chance.integers(0, 1000, len(new))
        contents.add(new, pa.table({"x": values}))
        held |= dict(zip(new.tolist(), values.tolist(), strict=True))
        gone = [slot for slot in held if chance.random() < 0.1 + 0.2 * (turn % 50 > 40)]
        contents.remove(np.array(gone, dtype=np.int32))
        slots.give_back(np.array(gone, dtype=np.int32))
        for slot in gone:
            del held[slot]
        assert contents.chunks <= 12
        asked = chance.permutation(np.array(list(held), dtype=np.int32))
        assert contents.take(asked)["x"].to_pylist() == [held[slot] for slot in asked.tolist()]
    assert slots.room <= 200


def test_explain_tells_the_class_the_groups_and_what_is_verified() -> None:
    chance = np.random.default_rng(3)
    for kind, form in (("select_join", "number"), ("band_join", "float"), ("window_join", "text")):
        logical = standing_join(kind, form, "further", strategy="hot", alpha=0.2)
        entries = register(
            logical, logical.step(), parameter_table(parameter_rows(chance, 200)), 0
        ).adds
        facts = explain(logical.step(), entries)
        assert facts["class"].replace("-", " ").replace(" ", "_") == kind
        assert facts["default_plan"] == "hot"
        assert {"left.y", "right.y"} <= set(facts["verify"])
        assert all(number >= 1 for number in facts["stabbing_number"].values())
        assert all(0 <= share <= 1 for share in facts["hotspot_coverage"].values())
        assert "keys" not in facts if kind == "band_join" else facts["keys"]
        assert explain(logical.step(), {})["branches"] == []


@pytest.mark.parametrize("kind", ["select_join", "window_join"])
def test_explain_tuple_names_costs_and_the_choice(kind: str) -> None:
    operator = JoinOperator(step(kind, strategy="dynamic"))
    operator.apply(queries(50, **({"w": 100} if kind == "window_join" else {})))
    operator.process({"b": rows([1, 1, 2])})
    found = operator.explain_tuple("a", rows([1]))
    assert found.choice == min(found.costs, key=found.costs.__getitem__)
    assert found.estimates["rows_joining"] == 2
    assert operator.explain_tuple("a", rows([77])).choice is None
    assert operator.explain_tuple("a", rows([None])).costs == {}
