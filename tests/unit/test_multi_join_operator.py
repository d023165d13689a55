"""What a multi-way join does: windows, order, drop boxes, plans, tables, counts, shards."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import InputShape, WindowLength
from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.physical import BranchShape, signature
from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree, joins_of
from penstock.operators.multi_join import MULTI_JOIN, MultiJoinOperator, explain, register
from penstock.operators.multi_join.figures import COMPOSITES
from penstock.operators.multi_join.plans import default_plan
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shard import Shard
from penstock.operators.shared import common_keys, entries
from penstock.operators.shared import fields as fields_module
from penstock.operators.shared.intake import let_through
from penstock.vocabulary.batches import QueryChanges, VersionChanges
from penstock.vocabulary.figures import Key, added_up
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    ASKED,
    DROPPED,
    HELD,
    MADE,
    NULL_VALUES,
    PASSED,
    RESULTS,
    ROWS,
    SPAN,
    STORED,
    of_inputs,
)
from tests.support.joins import parameter_rows
from tests.support.multi_joins import (
    FORMS,
    Source,
    drawn_plan,
    found_by,
    multi_join,
    passes,
    queries_of,
    replan,
    tables_of,
)

COLUMNS = (("k", pa.int64()), ("s", pa.string()), ("v", pa.int64()), ("t", pa.timestamp("us")))
ROWS_2, RANGE_10 = WindowLength("rows", 2), WindowLength("range", 10)
RANGE_V = BranchShape(ranges=(("v", pa.int64()),))
Windows = tuple[WindowLength | None, ...]


def step(
    windows: Windows = (ROWS_2, ROWS_2), key: str = "k", lateness: int = 0, **parts: Any
) -> MultiJoinStep:
    """Make a step over a, b, c, … that are all linked by one key."""
    branches = parts.pop("branches", {})
    inputs = tuple(
        InputShape(
            relation=name, columns=COLUMNS, window=window, branch=branches.get(name, BranchShape()),
            change_column=None if window else "change", event_time="t" if window else None,
            lateness_us=lateness if window else 0,
        )
        for name, window in zip("abcd", windows, strict=False)
    )  # fmt: skip
    equalities = tuple(((0, key), (number, key)) for number in range(1, len(windows)))
    given: dict[str, Any] = {"crossing": Crossing(equalities=equalities), **parts}
    return MultiJoinStep(inputs=inputs, **given)


def query(number: int = 0, **columns: Any) -> QueryChanges:
    table = {name: pa.array([value]) for name, value in columns.items()}
    return QueryChanges(adds={"queries": pa.table({"query": [number], **table})})


def rows(times: list[int | None], keys: list[Any] | None = None, signs: str = "") -> pa.Table:
    """Make rows; v is a row's own time, or its place."""
    return pa.table(
        {
            "k": pa.array(keys or [1] * len(times), pa.int64()),
            "s": pa.array(["x"] * len(times)),
            "v": pa.array([-1 if time is None else time for time in times], pa.int64()),
            "t": pa.array(times, pa.timestamp("us")),
            "change": pa.array(list(signs or "+" * len(times)), pa.string()),
        }
    )


def ended(times: list[int | None], name: str, end: int = 9) -> pa.Table:
    """Make rows, and one behind them that joins nothing and lets the others go on."""
    return rows([*times, end], [1] * len(times) + [ord(name)])


def values(results: list[Any]) -> list[tuple[Any, ...]]:
    """Give what results hold in v, input by input."""
    found = []
    for result in results:
        names = [name for name in result.rows.column_names if name.endswith(".v")]
        made = list(zip(*(result.rows[name].to_pylist() for name in names), strict=True))
        found += [made[event] for event in result.event.tolist()]
    return sorted(found)


def started(own: MultiJoinStep, share: Share = WHOLE, **columns: Any) -> MultiJoinOperator:
    operator = MultiJoinOperator(own, None, share)
    operator.apply(query(**columns))
    return operator


def test_a_window_of_rows_holds_the_last_rows_before_an_instant() -> None:
    operator = started(step())
    found = operator.process({"a": ended([1, 2, 3], "a"), "b": ended([4], "b")})
    assert values(found) == [(2, 4), (3, 4)]
    assert operator.sizes()[ROWS, 0] == 2


def test_rows_that_fail_a_selection_or_have_no_key_count_and_are_not_kept() -> None:
    own = step(branches={"a": RANGE_V})
    operator = started(own, i0_l0=0, i0_h0=2)
    found = operator.process({"a": ended([1, 2, 3], "a"), "b": ended([4], "b")})
    assert values(found) == [(2, 4)]
    assert operator.counts()[STORED, 0] == 2
    assert (operator.counts()[ASKED, 0, "terms"], operator.counts()[PASSED, 0, "terms"]) == (4, 2)
    operator = started(step())
    found = operator.process({"a": rows([1, 2, 3, 9], [1, 1, None, 97]), "b": ended([4], "b")})
    assert values(found) == [(2, 4)]
    assert operator.counts()[NULL_VALUES] == 1


def test_a_window_of_time_ends_where_it_is_as_old_as_it_is_long() -> None:
    operator = started(step((RANGE_10, RANGE_10)))
    found = operator.process({"a": rows([0, 1, 20]), "b": rows([10, 20])})
    assert values(found) == [(1, 10)], "10 - 0 is not below 10"


def test_rows_of_one_time_stand_by_input_and_then_by_arrival() -> None:
    operator = started(step((WindowLength("rows", 1), WindowLength("rows", 1))))
    found = operator.process({"b": rows([5, 6]), "a": rows([5, 5, 6])})
    assert values(found) == [(5, 5), (6, 5)], "the row of b meets the second row of a alone"
    assert operator.sizes()[HELD] == 1, "the row of b of time 6 waits for rows of a"


def test_a_row_waits_until_no_row_can_come_before_it() -> None:
    operator = started(step(lateness=3))
    assert operator.process({"a": rows([10])}) == []
    assert operator.process({"b": rows([8, 12])}) == []
    assert operator.sizes()[HELD] == 3
    assert values(operator.process({"a": rows([13, 14])})) == []
    assert operator.sizes()[HELD] == 4, "a has reached 11, b 9: the row of 8 has gone on"
    assert values(operator.process({"b": rows([14])})) == [(10, 8)]


def test_rows_are_late_by_the_batches_before_their_own_and_never_by_each_other() -> None:
    operator = started(step(lateness=2))
    keys: tuple[Key, ...] = (LATE_ROWS, (ARRIVED, 0), NULL_EVENT_TIMES, NULL_VALUES)
    told: list[tuple[int, ...]] = []
    batches: list[list[int | None]] = [
        [10, 7, 8, None, 11, 8, 9, 30], [27, 28, 29, 40, 28], [28, 38],
    ]  # fmt: skip
    for times in batches:
        operator.process({"a": rows(times), "b": rows([29])[: len(told) == 0]})
        told.append(tuple(operator.counts()[key] for key in keys))
    assert told == [(0, 7, 1, 0), (1, 4, 0, 0), (1, 1, 0, 0)]


def test_a_stream_that_is_joined_with_itself_tells_of_a_late_row_once() -> None:
    own = step()
    own = replace(own, inputs=(own.inputs[0], own.inputs[0]))
    operator = started(own)
    operator.process({"a": rows([10])})
    operator.process({"a": rows([9, None])})
    assert operator.counts()[LATE_ROWS] == 1
    assert operator.counts()[NULL_EVENT_TIMES] == 1


def test_a_drop_box_is_a_function_of_the_input_and_the_arrival() -> None:
    shares = [let_through(number, 0, 20_000, 0.3) for number in range(2)]
    assert all(abs(own.mean() - 0.3) < 0.02 for own in shares)
    assert (shares[0] != shares[1]).any()
    again = np.concatenate([let_through(1, 0, 7, 0.3), let_through(1, 7, 19_993, 0.3)])
    assert (again == shares[1]).all()
    assert again[:50].tolist() == [passes(1, arrival, 0.3) for arrival in range(50)]


@pytest.mark.parametrize("boxes", ["faithful", "subset"])
def test_rows_that_are_dropped_count_only_for_a_subset(boxes: Any) -> None:
    own = step((WindowLength("rows", 5), WindowLength("rows", 5)))
    plan = JoinPlan(tree=Join(Leaf(0), Leaf(1)), passes=(0.4, 1.0), boxes=boxes)
    operator = started(own)
    operator.apply(replan(100, plan))
    found = operator.process({"a": ended([*range(40)], "a", 99), "b": ended([50], "b", 99)})
    survivors = [time for time in range(40) if passes(0, time, 0.4)]
    expected = survivors[-5:] if boxes == "faithful" else [t for t in survivors if t >= 35]
    assert values(found) == [(time, 50) for time in expected]
    counts = operator.counts()
    assert counts[ARRIVED, 0] == 41
    assert counts[DROPPED, 0] == 41 - len([t for t in range(41) if passes(0, t, 0.4)])


def test_what_a_box_lets_through_does_not_depend_on_batches() -> None:
    plan = JoinPlan(tree=Join(Leaf(0), Leaf(1)), passes=(0.5, 0.5))
    whole, cut = started(step()), started(step())
    for operator in (whole, cut):
        operator.apply(replan(100, plan))
    table = rows(list(range(30)))
    expected = values(whole.process({"a": table, "b": table}))
    found = [
        pair
        for at in range(0, 30, 4)
        for pair in values(cut.process({"a": table[at : at + 4], "b": table[at : at + 4]}))
    ]
    assert sorted(found) == expected != []
    assert whole.snapshot() == cut.snapshot()


def trees(inputs: tuple[int, ...]) -> list[Tree]:
    """Give all trees over inputs whose least input stands left."""
    if len(inputs) == 1:
        return [Leaf(inputs[0])]
    found: list[Tree] = []
    for pick in range(1 << (len(inputs) - 1)):
        left = (inputs[0], *(n for i, n in enumerate(inputs[1:]) if pick >> i & 1))
        right = tuple(n for n in inputs if n not in left)
        if right:
            found += [Join(a, b) for a in trees(left) for b in trees(right)]
    return found


@pytest.mark.parametrize("form", ["four", "tests"])
def test_all_plans_give_the_same_results(form: str, seed: int) -> None:
    """With the selections of every input pushed, or pulled to any join."""
    logical = multi_join(form, "ranges")
    own = logical.step()
    queries = queries_of(logical, register, parameter_rows(np.random.default_rng(seed), 3), 0)
    count = len(logical.inputs)
    seen = set()
    every = trees(tuple(range(count)))
    assert len(every) == {3: 3, 4: 15}[count]
    for tree in every:
        for up in (False, True):
            masks = [j.mask for j in joins_of(tree)]
            pulled = tuple(
                Pulled(input=n, part="terms", mask=mask)
                for n in (0, count - 1)
                for mask in masks[-1:]
            )
            operator = MultiJoinOperator(own)
            operator.apply(queries)
            operator.apply(replan(100, JoinPlan(tree=tree, pulled=pulled if up else ())))
            source = Source(np.random.default_rng(seed))
            found = [
                found_by(operator.process(tables_of(source.batch(logical, 20))), logical)
                for _ in range(4)
            ]
            seen.add(repr([sorted(own.items()) for own in found]))
    assert len(seen) == 1
    assert "((" in seen.pop(), "the case says nothing"


def test_a_plan_changes_between_batches_and_the_windows_stay() -> None:
    operator = started(step((ROWS_2, ROWS_2, ROWS_2)))
    operator.process({name: rows([1, 2]) for name in "abc"})
    assert (COMPOSITES, of_inputs(3)) in operator.sizes()
    operator.apply(replan(100, JoinPlan(tree=Join(Leaf(0), Join(Leaf(1), Leaf(2))))))
    assert (COMPOSITES, of_inputs(6)) in operator.sizes()
    assert operator.sizes()[COMPOSITES, of_inputs(6)] == 1
    found = operator.process({name: rows([3]) for name in "abc"})
    assert (1, 1, 2) in values(found)
    again = JoinPlan(tree=Join(Join(Leaf(0), Leaf(2)), Leaf(1)))
    operator.apply(replan(101, again, old=100))
    assert (COMPOSITES, of_inputs(5)) in operator.sizes()


def test_without_a_plan_linked_inputs_come_first() -> None:
    crossing = Crossing(equalities=(((0, "k"), (2, "k")),))
    plan = default_plan(step((ROWS_2, ROWS_2, ROWS_2), crossing=crossing))
    assert plan.tree == Join(Join(Leaf(0), Leaf(2)), Leaf(1), "loop", "loop")


def test_a_query_sees_rows_behind_all_that_had_come_even_after_a_restart() -> None:
    operator = started(step())
    operator.process({"a": rows([1, 2]), "b": rows([2])})
    assert operator.sizes()[HELD] == 1, "the row of b waits, and is no row of the new query"
    late = query(5)
    operator.apply(late)
    again = MultiJoinOperator(step(), operator.snapshot())
    again.apply(query(0))
    again.apply(late)
    for copy in (operator, again):
        (found,) = copy.process({"b": rows([4, 5]), "a": rows([4, 6])})
        assert found.rows is not None
        made = found.rows.select(["i0.v", "i1.v"]).to_pylist()
        pairs = [
            (q, *made[e].values())
            for q, e in zip(found.query.tolist(), found.event.tolist(), strict=True)
        ]
        assert sorted(p for p in pairs if p[0] == 5) == [(5, 4, 4), (5, 4, 5)]
        assert sorted(p for p in pairs if p[0] == 0) == [
            (0, 1, 2), (0, 2, 2), (0, 2, 4), (0, 2, 5), (0, 4, 2), (0, 4, 4), (0, 4, 5),
        ]  # fmt: skip


def test_tables_change_before_a_batchs_rows_and_emit_nothing() -> None:
    operator = MultiJoinOperator(step((ROWS_2, None)))
    operator.begin({"b": rows([70]).drop_columns("change")})
    operator.apply(query())
    assert operator.delta() is not None
    assert operator.process({"b": rows([71, 72, 80], signs="++-")}) == []
    assert operator.counts()[UNKNOWN_DELETES] == 1
    found = operator.process({"a": rows([1]), "b": rows([70, 73], signs="-+")})
    assert values(found) == [(1, 71), (1, 72), (1, 73)]
    operator.delta()
    assert operator.process({"b": rows([99], signs="-")}) == []
    assert operator.delta() is None
    assert operator.sizes()[ROWS, 1] == 3


def test_of_a_table_every_row_is_kept_for_queries_to_come() -> None:
    own = step((ROWS_2, None), branches={"b": RANGE_V})
    operator = started(own, i1_l0=5, i1_h0=5)
    operator.process({"b": rows([4, 5, 6])})
    assert operator.sizes()[ROWS, 1] == 1
    operator.apply(query(1, i1_l0=6, i1_h0=9))
    assert operator.sizes()[ROWS, 1] == 2
    assert values(operator.process({"a": rows([1])})) == [(1, 5), (1, 6)]
    operator.apply(QueryChanges(drops=np.array([0])))
    assert operator.sizes()[ROWS, 1] == 1
    assert values(operator.process({"a": rows([2])})) == [(2, 6)]


@pytest.mark.parametrize("pulled", [False, True])
def test_a_residual_is_asked_at_the_leaf_or_of_the_results(pulled: bool) -> None:
    branch = BranchShape(
        residual_sql="c0 % r0 = 0", residual_columns=("v",), residual_types=(pa.int64(),)
    )
    operator = started(step(branches={"a": branch}), i0_r0=2)
    part = Pulled(input=0, part="residual", mask=3)
    plan = JoinPlan(tree=Join(Leaf(0), Leaf(1)), pulled=(part,) if pulled else ())
    operator.apply(replan(100, plan))
    found = operator.process({"a": ended([1, 2, 3, 4], "a"), "b": ended([5], "b")})
    assert values(found) == [(4, 5)]
    counts = operator.counts()
    asked = counts[ASKED, 0, "residual"], counts[PASSED, 0, "residual"]
    assert asked == ((2, 1) if pulled else (5, 2))
    assert counts[STORED, 0] == (5 if pulled else 2)


def test_rows_that_were_kept_under_another_plan_are_asked_again() -> None:
    own = step((WindowLength("rows", 9), ROWS_2), branches={"a": RANGE_V})
    operator = started(own, i0_l0=2, i0_h0=2)
    up = (Pulled(input=0, part="terms", mask=3),)
    operator.apply(replan(100, JoinPlan(tree=Join(Leaf(0), Leaf(1)), pulled=up)))
    operator.process({"a": rows([1, 2, 3]), "b": rows([3])})
    assert operator.counts()[STORED, 0] == 3
    operator.apply(replan(101, JoinPlan(tree=Join(Leaf(0), Leaf(1))), old=100))
    found = operator.process({"b": rows([4]), "a": rows([5])})
    assert values(found) == [(2, 3), (2, 4)]
    assert operator.counts()[STORED, 0] == 0


def test_counts_tell_what_each_join_made_and_how_far_time_went() -> None:
    operator = started(step((ROWS_2, ROWS_2, ROWS_2)))
    found = operator.process({"a": ended([1], "a"), "b": ended([2], "b"), "c": ended([3], "c")})
    counts = operator.counts()
    assert (counts[MADE, of_inputs(3)], counts[MADE, of_inputs(7)], counts[RESULTS]) == (
        1,
        1,
        len(values(found)),
    )
    assert counts[SPAN] == 8
    operator.process({"a": rows([19]), "b": rows([29]), "c": rows([39])})
    assert operator.counts()[SPAN] == 10


def test_codes_of_texts_that_went_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields_module, "CODES_MIN", 8)
    operator = started(step((ROWS_2, None), key="s"))

    def named(table: pa.Table, texts: list[str]) -> pa.Table:
        return table.set_column(1, "s", pa.array(texts))

    operator.process({"a": named(rows([1, 2]), ["p", "q"])})
    operator.process({"b": named(rows([70, 71]), ["x", "y"])})
    for first in range(10, 200, 10):
        texts = [f"t{number}" for number in range(first, first + 10)]
        operator.process({"a": named(rows(list(range(first, first + 10))), texts)})
    assert operator._flow._fields.codes[0].size <= 8 + 4 * 4 + 10
    assert values(operator.process({"a": named(rows([500, 501]), ["y", "x"])})) == [
        (500, 71),
        (501, 70),
    ]


@pytest.mark.parametrize("pulled", [False, True])
@pytest.mark.parametrize("queries", [1, 2])
def test_texts_whose_hashes_collide_are_told_apart(
    pulled: bool, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (entries, common_keys):
        monkeypatch.setattr(module, "text_hashes", lambda texts: np.zeros(len(texts), np.int64))
    equality = BranchShape(equalities=(("s", pa.string()),))
    operator = MultiJoinOperator(step(branches={"a": equality}))
    for number in range(queries):
        operator.apply(query(number, i0_e0="xy"[number], i0_e0_hash=0))
    up = (Pulled(input=0, part="terms", mask=3),) if pulled else ()
    operator.apply(replan(100, JoinPlan(tree=Join(Leaf(0), Leaf(1)), pulled=up)))
    table = ended([1, 2], "a").set_column(1, "s", pa.array(["z", "x", "x"]))
    assert values(operator.process({"a": table, "b": ended([3], "b")})) == [(2, 3)]


def test_without_a_key_of_all_inputs_the_first_shard_does_everything() -> None:
    own = step(crossing=Crossing())
    shards = [started(own, Share(number, 2)) for number in range(2)]
    batch = {"a": rows([1, 3]), "b": rows([2])}
    assert [values(shard.process(batch)) for shard in shards] == [[(1, 2)], []]
    assert shards[1].delta() is None
    assert shards[1].snapshot() is None
    assert not shards[1].counts()


@pytest.mark.parametrize("form", ["star", "texts"])
def test_shards_together_are_the_whole_and_count_as_the_whole(form: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    logical = multi_join(form, "ranges")
    own = logical.step()
    whole = MultiJoinOperator(own)
    shards = [MultiJoinOperator(own, None, Share(number, 3)) for number in range(3)]
    change = queries_of(logical, register, parameter_rows(chance, 3), 0)
    for operator in (whole, *shards):
        operator.apply(change)
    source = Source(chance)
    for _ in range(5):
        batch = tables_of(source.batch(logical, 20))
        expected = found_by(whole.process(batch), logical)
        parts = [found_by(shard.process(batch), logical) for shard in shards]
        assert parts[0] + parts[1] + parts[2] == expected
        assert added_up(shard.counts() for shard in shards) == whole.counts()


def test_a_shard_tells_a_groups_figures_apart() -> None:
    own = step()
    group = signature(own)
    version = VersionChanges(version=1, steps={group: own.to_json()}, changes={group: query()})
    shard = Shard(lambda after, upto: [version])
    shard.advance(1)
    shard.process({"a": ended([1], "a"), "b": ended([2], "b")})
    assert shard.figures()[group][MADE, "0,1"] == 1
    assert shard.figures()[group][HELD] == 1


def test_explaining_names_inputs_links_and_the_plan_in_force() -> None:
    logical = multi_join("self", "ranges")
    own = logical.step()
    plan = JoinPlan(
        tree=Join(Leaf(1), Leaf(0)), passes=(0.25, 1.0),
        pulled=(Pulled(input=0, part="terms", mask=3),),
    )  # fmt: skip
    facts = explain(own, replan(100, plan).adds)
    assert facts["plan"] == "a#1 ⋈ a#0"
    assert facts["passes"] == {"a#0": 0.25}
    assert facts["keys"] == ["a#0.k = a#1.k"]
    assert facts["tests"] == ["a#0.n < a#1.n"]
    assert facts["pulled"] == ["terms of a#0 above {a#0, a#1}"]
    assert facts["inputs"][0]["window"] == "ROWS 5"
    assert explain(multi_join("table", "residual").step(), {})["plan"] == "(a ⋈ u) ⋈ b"


def test_warming_up_runs_for_every_step() -> None:
    MULTI_JOIN.warm_up(step())


def test_every_form_survives_its_description() -> None:
    for form in FORMS:
        own = multi_join(form, "texts").step()
        assert MultiJoinStep.from_json(own.to_json()) == own


def test_results_have_the_columns_of_all_inputs_in_order() -> None:
    operator = started(step())
    (found,) = operator.process({"a": ended([1], "a"), "b": ended([2], "b")})
    assert found.rows is not None
    names = [f"i{number}.{name}" for number in range(2) for name, _ in COLUMNS]
    assert found.rows.column_names == [*names, "_sign"]
    assert found.rows["_sign"].to_pylist() == [1]
    assert found.relation == "a"


def test_pairs_of_equal_times_do_not_depend_on_which_relation_comes_first() -> None:
    seen = set()
    for order in permutations("abc"):
        operator = started(step((ROWS_2, ROWS_2, ROWS_2)))
        found = []
        for name in order:
            found += values(operator.process({name: rows([5, 5, 6, 7])}))
        seen.add(tuple(sorted(found)))
    assert len(seen) == 1
    assert seen.pop()


def test_drawn_plans_are_plans(seed: int) -> None:
    chance = np.random.default_rng(seed)
    logical = multi_join("four", "residual")
    for _ in range(20):
        plan = drawn_plan(chance, logical, boxes=True)
        assert JoinPlan.from_json(plan.to_json()) == plan
