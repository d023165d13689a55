"""The bounded join operator: ticks, windows, keys, budgets, figures and state, case by case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin, BoundedJoinStep
from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.memories import AUTO, FAMILIES, Memory, StreamLaw
from penstock.operators.bounded_join import BOUNDED_JOIN, BoundedJoinOperator, forecast, register
from penstock.operators.bounded_join import contents as contents_module
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    RECALL_ALL,
    RECALL_MADE,
    REFUSED,
)
from penstock.operators.bounded_join.keys import is_numeric
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shared.codec import from_bytes
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    HELD,
    HITS,
    LAW,
    MADE,
    PROBES,
    QUERIES,
    RESULTS,
    ROWS,
    ROWS_BUDGET,
    SPAN,
    STORED,
)

TREND = StreamLaw(
    family="linear trend",
    parameters={
        "slope": 1.0,
        "intercept": 0.0,
        "noise": "bounded normal",
        "sigma": 2.0,
        "bound": 9,
    },
)  # fmt: skip
COUNTING = (pa.int8(), pa.uint32(), pa.int64(), pa.date32(), pa.decimal128(9, 2))
HASHED = (pa.string(), pa.float64(), pa.bool_(), pa.uint64(), pa.decimal128(30, 2))


def join_of(
    memory: Memory, *, key: pa.DataType | None = None, other: pa.DataType | None = None,
    windows: tuple[WindowLength | None, WindowLength | None] = (None, None), both: bool = False,
) -> BoundedJoin:  # fmt: skip
    """Make `r JOIN s ON r.k = s.k [AND r.n = s.n] MEMORY …`."""
    own = key or pa.int64()
    inputs = tuple(
        JoinInput(
            name=name, relation=name, window=window, event_time="t",
            columns=(("t", pa.timestamp("us")), ("k", type_), ("n", pa.int64())),
        )
        for name, type_, window in zip("rs", (own, other or own), windows, strict=True)
    )  # fmt: skip
    equalities = (((0, "k"), (1, "k")), *([((0, "n"), (1, "n"))] if both else []))
    crossing = Crossing(equalities=equalities)
    return BoundedJoin(inputs=inputs, outputs=(), crossing=crossing, memory=memory)


def group(logical: BoundedJoin, share: Share = WHOLE, queries: int = 1) -> BoundedJoinOperator:
    step = logical.step()
    operator = BoundedJoinOperator(step, None, share)
    operator.apply(asked(logical, step, queries))
    return operator


def asked(logical: BoundedJoin, step: BoundedJoinStep, queries: int = 1) -> QueryChanges:
    return QueryChanges(adds=register(logical, step, pa.table({"_": pa.nulls(queries)}), 0).adds)


def rows(times: list[int], keys: list[int | None]) -> pa.Table:
    return pa.table(
        {
            "t": pa.array(times).cast(pa.timestamp("us")), "k": pa.array(keys, pa.int64()),
            "n": pa.array(range(len(keys)), pa.int64()),
        }
    )  # fmt: skip


def pairs(operator: BoundedJoinOperator, **batch: pa.Table) -> list[tuple[int, int]]:
    found = []
    for result in operator.process(batch):
        assert result.rows is not None
        columns = (result.rows[name].cast(pa.int64()).to_pylist() for name in ("i0.t", "i1.t"))
        found += list(zip(*columns, strict=True))
    return sorted(found)


def stands(operator: BoundedJoinOperator) -> list[int]:
    sizes = operator.sizes()
    return [sizes[ROWS, 0], sizes[ROWS, 1], sizes[HELD]]


def test_rows_are_taken_in_twos_and_an_odd_one_waits() -> None:
    operator = group(join_of(Memory(rows=5, laws=(AUTO, AUTO))))
    assert pairs(operator, r=rows([1, 2, 3], [7, 8, 9]), s=rows([9], [9])) == []
    assert stands(operator) == [2, 0, 2]
    assert operator.counts()[PROBES] == 2
    assert pairs(operator, r=rows([5], [7])) == []
    assert stands(operator) == [4, 0, 1]
    # The fifth row of r can go on, and s@9 before it: they are a tick.
    assert pairs(operator, r=rows([10], [7]), s=rows([11], [7])) == [(3, 9)]
    assert operator.sizes().total(ROWS) == 5


def test_a_row_joins_the_other_of_its_tick_even_with_a_budget_of_one() -> None:
    operator = group(join_of(Memory(rows=1, policy="RAND", laws=(AUTO, AUTO))))
    times = list(range(0, 200, 2))
    found = pairs(
        operator, r=rows(times, list(range(100))), s=rows([t + 1 for t in times], list(range(100)))
    )
    assert found == [(t, t + 1) for t in times[:-1]]
    assert operator.sizes()[ROWS, 0] + operator.sizes()[ROWS, 1] == 1


@pytest.mark.parametrize("kind", ["rows", "range"])
def test_windows_are_counted_in_their_own_measure(kind: str) -> None:
    window = WindowLength("rows", 2) if kind == "rows" else WindowLength("range", 4)
    operator = group(join_of(Memory(rows=99, laws=(AUTO, AUTO)), windows=(window, None)))
    found = pairs(
        operator, r=rows([0, 2, 4, 6, 100, 101], [1] * 6), s=rows([5, 6, 100, 101], [1] * 4)
    )
    active = {5: [2, 4], 6: [4, 6], 100: [6, 100] if kind == "rows" else [100]}
    # A row of s never leaves: it meets all rows of r that come later.
    expected = [(r, s) for s, own in active.items() for r in own if r <= s]
    expected += [(r, s) for s in (5, 6, 100) for r in (6, 100) if s < r]
    assert [pair for pair in found if 101 not in pair] == sorted(expected)


@pytest.mark.parametrize("type_", [*COUNTING, *HASHED], ids=str)
def test_keys_of_every_type_join_by_their_values(type_: pa.DataType) -> None:
    logical = join_of(Memory(rows=50, laws=(AUTO, AUTO)), key=type_)
    assert is_numeric(logical.step()) == (type_ in COUNTING)
    values = pa.array([1, 0, 1, None, 0, 1, None], pa.int64())
    through = {True: pa.int32()}.get(pa.types.is_date(type_), pa.int64())
    if pa.types.is_decimal(type_):
        through = pa.decimal128(30, 2)
    keys = values.cast(through).cast(type_)
    first = rows([1, 2, 3, 4, 5, 6, 92], [None] * 7).set_column(1, "k", keys)
    second = rows([7, 8, 90, 91], [None] * 4).set_column(1, "k", keys.slice(0, 4))
    ones, zeros = (1, 3, 6), (2, 5)
    expected = [(r, s) for s in (7, 90) for r in ones] + [(r, 8) for r in zeros]
    assert pairs(group(logical), r=first, s=second) == sorted(expected)


def test_several_equalities_and_unlike_types_are_hashed_and_checked() -> None:
    both = join_of(Memory(rows=50, laws=(AUTO, AUTO)), both=True)
    assert not is_numeric(both.step())
    mixed = join_of(Memory(rows=50, laws=(AUTO, AUTO)), other=pa.float64())
    assert not is_numeric(mixed.step())
    wide = join_of(Memory(rows=50, laws=(AUTO, AUTO)), other=pa.int8())
    assert is_numeric(wide.step())


def trending(length: int, seed: int = 0) -> dict[str, pa.Table]:
    """Draw two streams whose keys rise by one a tick, one row of each per tick."""
    chance = np.random.default_rng(seed)
    ticks = np.arange(length)
    batch = {}
    for number, name in enumerate("rs"):
        keys = ticks + np.clip(chance.normal(0, 2, length).round().astype(np.int64), -9, 9)
        batch[name] = rows((2 * ticks + number).tolist(), keys.tolist())
    return batch


@pytest.mark.parametrize("policy", ["HEEB", "RAND", "PROB", "LIFE", "HIST", "LRU", "LFU"])
@pytest.mark.parametrize("windows", [(None, None), (WindowLength("rows", 300), None)], ids=str)
def test_the_budget_holds_over_a_stream_a_hundred_times_longer(policy, windows) -> None:
    budget, length = 20, 1000
    laws = (TREND, TREND) if policy == "HEEB" else (AUTO, AUTO)
    logical = join_of(Memory(rows=budget, policy=policy, laws=laws), windows=windows)
    operator, batch = group(logical), trending(length)
    made, sizes = 0, operator.sizes()
    for start in range(0, length, 50):
        part = {name: table.slice(start, 50) for name, table in batch.items()}
        made += len(pairs(operator, **part))
        sizes = operator.sizes()
        assert sizes[ROWS, 0] + sizes[ROWS, 1] <= budget
        parts, _ = from_bytes(operator.snapshot() or b"")
        assert parts[0][0].num_rows + parts[2][0].num_rows == sizes[ROWS, 0] + sizes[ROWS, 1]
        for each in operator._flow.streams:
            assert len(each.rows) <= 2 * budget + contents_module.DEAD_MAX
    assert made > 0
    assert sizes[ROWS, 0] + sizes[ROWS, 1] == budget


def test_a_snapshot_does_not_grow_with_the_stream() -> None:
    memory = Memory(rows=20, laws=(TREND, TREND), options={"slice": 100})
    operator, batch = group(join_of(memory)), trending(12_000)
    sizes = []
    for start in range(0, 12_000, 1_000):
        operator.process({name: table.slice(start, 1_000) for name, table in batch.items()})
        operator.delta()
        sizes.append(len(operator.snapshot() or b""))
    assert max(sizes[6:]) <= 1.2 * sizes[5]


def test_counts_say_where_rows_went() -> None:
    operator = group(join_of(Memory(rows=10, laws=(TREND, TREND), options={"seed": 1})))
    batch = trending(500)
    operator.process(batch)
    counts, sizes = operator.counts(), operator.sizes()
    assert counts[ARRIVED, 0] == counts[ARRIVED, 1] == 500
    assert counts[PROBES] == counts[STORED, 0] + counts[STORED, 1]
    held = sizes[ROWS, 0] + sizes[ROWS, 1]
    assert counts[PROBES] == counts[REFUSED] + counts[EVICTED] + counts[EXPIRED] + held
    assert counts.total(MADE) == counts[RESULTS] == counts[RECALL_MADE]
    assert counts[HITS] <= counts.total(MADE) < counts[RECALL_ALL]
    assert counts[SPAN] > 900
    assert FAMILIES[sizes[LAW, 0]] == "linear trend"


def test_shards_divide_the_budget_and_the_results() -> None:
    logical, batch = join_of(Memory(rows=11, laws=(TREND, TREND))), trending(400)
    shards = [group(logical, Share(number, 3)) for number in range(3)]
    assert [shard.sizes()[ROWS_BUDGET] for shard in shards] == [4, 4, 3]
    whole = group(join_of(Memory(rows=2000, laws=(TREND, TREND))))
    expected, found = pairs(whole, **batch), [pairs(shard, **batch) for shard in shards]
    assert not set(found[0]) & set(found[1]) | set(found[1]) & set(found[2])
    assert {pair for own in found for pair in own} < set(expected)
    assert sum(shard.counts()[PROBES] for shard in shards) == whole.counts()[PROBES]
    assert [shard.counts()[ARRIVED, 0] for shard in shards] == [400, 0, 0]
    assert sum(s.counts()[RECALL_ALL] for s in shards) == whole.counts()[RECALL_ALL]
    tables = [shard.facts().streams for shard in shards]
    assert tables[0] == tables[1] == tables[2], "all shards see the same streams"


def test_queries_share_one_cache_and_new_ones_see_new_rows_only() -> None:
    logical = join_of(Memory(rows=100, laws=(AUTO, AUTO)))
    step = logical.step()
    operator = group(logical, queries=2)
    first = operator.process({"r": rows([1, 2, 20], [5, 6, 0]), "s": rows([3, 4, 20], [5, 1, 2])})
    assert sorted(first[0].query.tolist()) == [0, 1]
    adds = register(logical, step, pa.table({"_": pa.nulls(1)}), 7).adds
    operator.apply(QueryChanges(adds=adds, drops=np.array([1])))
    second = operator.process({"r": rows([21, 40], [5, 0]), "s": rows([22, 23], [5, 9])})
    queries = {
        (query, row["i0.t"].microsecond, row["i1.t"].microsecond)
        for result in second
        for query, event in zip(result.query.tolist(), result.event.tolist(), strict=True)
        for row in [result.rows.slice(event, 1).to_pylist()[0]]  # type: ignore[union-attr]
    }
    assert queries == {(0, 1, 22), (0, 21, 22), (0, 21, 3), (7, 21, 22)}
    assert operator.sizes()[QUERIES] == 2


def test_facts_name_the_policy_and_the_laws() -> None:
    operator = group(join_of(Memory(rows=10, laws=(TREND, AUTO))))
    operator.process(trending(300))
    facts = operator.facts()
    assert facts.policy
    assert len(facts.streams) == 2
    assert facts.held == (operator.sizes()[ROWS, 0], operator.sizes()[ROWS, 1])
    assert facts.recall_rows > 0
    known = operator._flow.steering.facts()
    assert {**facts.to_json(), "policy": known["policy"]}.items() >= known.items()
    assert facts.streams[0].family == "linear trend"


def test_a_live_group_forecasts_by_what_it_has_fitted() -> None:
    operator = group(join_of(Memory(rows=10, laws=(TREND, AUTO))))
    assert operator.forecasting() is None
    operator.process(trending(300))
    forecasting = operator.forecasting()
    assert forecasting is not None
    points = forecasting()["points"]
    assert any(point["rows"] == 10 for point in points)


def test_explain_forecasts_from_declared_laws() -> None:
    logical = join_of(
        Memory(rows=12, laws=(TREND, TREND)), windows=(WindowLength("range", 50),) * 2
    )
    step = logical.step()
    facts = BOUNDED_JOIN.explain(step, {})
    assert facts["class"] == "bounded join"
    assert facts["memory_rows"] == 12
    assert facts["curve"]["points"]
    assert any("left out" in note for note in facts["curve"]["notes"])
    assert forecast(step, {}, (1e6, 1e6))["points"]
    unknown = replace(step, memory=Memory(rows=12, laws=(AUTO, AUTO)))
    assert not BOUNDED_JOIN.explain(unknown, {})["curve"]["points"]
