"""Costs of plans: the published numbers, selections, tables, time windows, and the constants."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from math import log2
from pathlib import Path

import numpy as np
import pytest

from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree, shown
from penstock.planning.constants import (
    BUILT_IN,
    VARIABLE,
    PlanConstants,
    load_constants,
    save_constants,
)
from penstock.planning.costs import Constant, CostLibrary, IndexCosts, Measured
from penstock.planning.model import (
    ClassModel,
    InputModel,
    JoinModel,
    PredicateModel,
    SelectionModel,
)
from penstock.planning.plan_costs import cost, thinned
from penstock.planning.search import best_plans, placed, search
from penstock.planning.selections import chain, ranked
from penstock.planning.tree_enumeration import trees
from penstock.vocabulary.errors import PenstockError
from tests.support.plan_costs import ROUND


def chained(rates: list[float], windows: list[float], *selectivities: float) -> JoinModel:
    inputs = tuple(
        InputModel(name=name, rate=rate, rows=rows)
        for name, rate, rows in zip("ABCDEF", rates, windows, strict=False)
    )
    predicates = tuple(
        PredicateModel(mask=0b11 << place, selectivity=f) for place, f in enumerate(selectivities)
    )
    return JoinModel(inputs=inputs, predicates=predicates)


def tree(text: str) -> Tree:
    """Read `((A B) C)`: pairs of letters."""
    nest = eval(text.replace(" ", ","), {name: Leaf(k) for k, name in enumerate("ABCDEF")})

    def built(part: object) -> Tree:
        return part if isinstance(part, Leaf) else Join(built(part[0]), built(part[1]))  # type: ignore[index]

    return built(nest)


EXAMPLE = chained([10, 20, 70], [10, 10, 10], 0.5, 0.2)
B4 = chained([10, 20, 30, 40], [10, 20, 30, 40], 0.1, 0.05, 0.02)

# Tree; input rate of the first join, intermediate rate and window, input rate of the second;
# capacity, memory; utilisation at 0.5 ms; a; v / a.
TABLE = {
    "((A B) C)": (30, 150, 50, 220, 250, 80, 0.125, (60, 120, 70), (5 / 3, 5 / 3, 10)),
    "((B C) A)": (90, 180, 20, 190, 280, 50, 0.14, (10, 60, 210), (10, 10 / 3, 10 / 3)),
    "((A C) B)": (80, 800, 100, 820, 900, 130, 0.45, (110, 20, 770), (10 / 11, 10, 10 / 11)),
}  # fmt: skip


@pytest.mark.parametrize("text", TABLE)
def test_example_1(text: str) -> None:
    first, rate, window, second, capacity, memory, utilisation, a, ratios = TABLE[text]
    costing = cost(EXAMPLE, tree(text), Constant(1.0))
    below, root = costing.joins
    assert below.left_rate + below.right_rate == pytest.approx(first)
    assert (below.rate, below.window) == pytest.approx((rate, window))
    assert root.left_rate + root.right_rate == pytest.approx(second)
    assert (costing.cpu, costing.memory_rows) == pytest.approx((capacity, memory))
    assert costing.output_rate == pytest.approx(1000)
    assert costing.v == pytest.approx([100, 200, 700])
    assert costing.a == pytest.approx(a)
    assert costing.v / costing.a == pytest.approx(ratios)
    assert cost(EXAMPLE, tree(text), Constant(0.0005)).cpu == pytest.approx(utilisation)
    assert sum(each.cpu for each in costing.joins) == pytest.approx(costing.cpu)


def test_each_objective_picks_its_plan() -> None:
    by_cpu, by_memory = (
        search(EXAMPLE, Constant(1)),
        search(EXAMPLE, Constant(1), objective="memory"),
    )
    assert (shown(by_cpu.plan.tree, "ABC"), by_cpu.cpu) == ("(A ⋈ B) ⋈ C", 250)
    assert (shown(by_memory.plan.tree, "ABC"), by_memory.memory_rows) == ("(B ⋈ C) ⋈ A", 50)
    assert search(EXAMPLE, Constant(1), worst=True).cpu == pytest.approx(900)


def test_figure_4() -> None:
    cheap = SelectionModel(input=0, selectivity=0.25, cost_s=0.0005)
    dear = SelectionModel(input=0, selectivity=0.5, cost_s=0.001)
    assert chain(1000, [cheap, dear]) == pytest.approx([0.5, 0.25])
    assert chain(1000, [dear, cheap]) == pytest.approx([1.0, 0.25])
    inputs = (InputModel(name="s", rate=1000, rows=1),)
    alone = JoinModel(inputs=inputs, selections=(dear, cheap))
    costing = cost(alone, Leaf(0), Constant(1.0))
    assert (costing.cpu, costing.output_rate) == pytest.approx((0.75, 125))
    assert search(alone, Constant(1.0)).cpu == pytest.approx(0.75)


def test_the_rank_rule_beats_every_other_order() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        selections = [
            SelectionModel(input=0, selectivity=float(s), cost_s=float(c))
            for s, c in zip(random.uniform(0, 1, 4), random.uniform(0, 1, 4), strict=True)
        ]
        least = min(sum(chain(1.0, order)) for order in permutations(selections))
        assert sum(chain(1.0, ranked(selections))) == pytest.approx(least)


B4_COSTS = {
    "((A B) (C D))": (188, 144),
    "(A (B (C D)))": (220, 148),
    "(((A B) C) D)": (230, 150),
    "(A ((B C) D))": (232, 154),
    "((A (B C)) D)": (250, 160),
    "((A (B D)) C)": (4100, 1700),
}


def test_the_four_way_benchmark() -> None:
    for text, (cpu, memory) in B4_COSTS.items():
        costing = cost(B4, tree(text), Constant(1.0))
        assert (costing.cpu, costing.memory_rows) == pytest.approx((cpu, memory)), text
        assert (costing.output_rate, costing.window) == pytest.approx((96, 24))
    rates = {each.mask: each.rate for t in trees(4) for each in cost(B4, t, Constant(1)).joins}
    expected = {0b0011: 40, 0b0110: 60, 0b1100: 48, 0b0111: 90, 0b1110: 72}
    assert {mask: rates[mask] for mask in expected} == pytest.approx(expected)
    assert search(B4, Constant(1)).cpu == pytest.approx(188)
    assert search(B4, Constant(1), shape="left-deep").cpu == pytest.approx(220)
    assert search(B4, Constant(1), worst=True).cpu == pytest.approx(4100)
    listed = [each.cpu for each in best_plans(B4, Constant(1), 5)]
    assert listed == pytest.approx([188, 220, 230, 232, 250])


def test_plans_whose_cost_misleads() -> None:
    inverted = chained([100, 10, 20], [10, 100, 100], 0.1, 0.5)
    cartesian = chained([5, 80, 5], [100, 5, 100], 0.1, 0.2)
    for model, output, expected in (
        (inverted, 51500, {"((A B) C)": 1140, "((B C) A)": 1630, "((A C) B)": 10330}),
        (cartesian, 16100, {"((A B) C)": 892.5, "((A C) B)": 1090, "((B C) A)": 1695}),
    ):
        found = {text: cost(model, tree(text), Constant(1.0)) for text in expected}
        assert {text: each.cpu for text, each in found.items()} == pytest.approx(expected)
        assert all(each.output_rate == pytest.approx(output) for each in found.values())
    assert cost(cartesian, tree("((A C) B)"), Constant(1)).memory_rows == pytest.approx(10205)
    assert cost(cartesian, tree("((A B) C)"), Constant(1)).memory_rows == pytest.approx(255)


def test_time_windows() -> None:
    inputs = tuple(
        InputModel(name=name, rate=rate, range_s=seconds)
        for name, rate, seconds in (("A", 10, 1.0), ("B", 20, 0.5), ("C", 70, 0.2))
    )
    model = JoinModel(inputs=inputs, predicates=EXAMPLE.predicates)
    for text, pair in (
        ("((A B) C)", (150, 50)),
        ("((B C) A)", (196, 28)),
        ("((A C) B)", (840, 140)),
    ):
        costing = cost(model, tree(text), Constant(1.0))
        assert (costing.output_rate, costing.window) == pytest.approx((1120, 140))
        assert (costing.joins[0].rate, costing.joins[0].window) == pytest.approx(pair)


@pytest.mark.parametrize(
    ("f", "sigma", "cost_s", "push", "pull"),
    [(0.01, 0.2, 0.001, 0.240, 0.375), (0.001, 0.9, 0.005, 0.780, 0.3375)],
)
def test_push_or_pull(f: float, sigma: float, cost_s: float, push: float, pull: float) -> None:
    selection = SelectionModel(input=0, selectivity=sigma, cost_s=cost_s)
    model = replace(chained([100, 50], [50, 50], f), selections=(selection,))
    pulled = JoinPlan(tree=tree("(A B)"), pulled=(Pulled(input=0, part="terms", mask=3),))
    below, above = cost(model, tree("(A B)"), Constant(0.002)), cost(model, pulled, Constant(0.002))
    assert (below.cpu, above.cpu) == pytest.approx((push, pull))
    assert (above.output_rate, above.window) == pytest.approx((below.output_rate, below.window))
    assert (below.memory_rows, above.memory_rows) == pytest.approx((sigma * 50 + 50, 100))
    best = search(model, Constant(0.002))
    assert best.cpu == pytest.approx(min(push, pull))
    assert bool(best.plan.pulled) == (pull < push)
    assert placed(model, tree("(A B)"), Constant(0.002)).plan.pulled == best.plan.pulled
    assert search(model, Constant(0.002), pulling=False).cpu == pytest.approx(push)


def test_a_pushed_selection_keeps_its_share_of_the_window() -> None:
    kept = SelectionModel(input=0, selectivity=0.3)
    costing = cost(replace(EXAMPLE, selections=(kept,)), tree("((A B) C)"), Constant(1.0))
    assert costing.leaves[0].window == pytest.approx(3)
    assert (costing.leaves[0].arriving, costing.leaves[0].rate) == pytest.approx((10, 3))


def test_a_residual_is_asked_at_its_input_or_of_the_results() -> None:
    dear = SelectionModel(input=0, part="residual", selectivity=0.9, cost_s=10.0)
    rare = chained([100, 100, 100], [10, 10, 10], 0.001, 0.001)
    plan = search(replace(rare, selections=(dear,)), Constant(1.0)).plan
    assert plan.pulled == (Pulled(input=0, part="residual", mask=0b111),)


def test_tables_have_no_rate_and_their_joins_no_cost() -> None:
    stream = InputModel(name="s", rate=100, rows=50)
    one, other = (
        InputModel(name=n, rate=0, rows=r, is_table=True) for n, r in (("t", 8), ("u", 4))
    )
    predicates = tuple(PredicateModel(mask=m, selectivity=0.25) for m in (0b011, 0b110))
    model = JoinModel(inputs=(stream, one, other), predicates=predicates)
    costing = cost(model, tree("(A (B C))"), Measured(BUILT_IN))
    tables, root = costing.joins
    assert (tables.cpu, tables.rate, tables.window) == (0.0, 0.0, 8.0)
    assert root.rate == pytest.approx(0.25 * 8 * 100) and root.window == pytest.approx(
        0.25 * 8 * 50
    )
    assert costing.a[1:] == pytest.approx(0) and costing.v[1:] == pytest.approx(0)


def test_arrivals_results_and_the_fixed_part_are_operators_of_their_own() -> None:
    library = Measured(replace(BUILT_IN, batch=1e6))
    costing = cost(EXAMPLE, tree("((A B) C)"), library)
    fixed = 1e-3 + 100 * BUILT_IN.read * 1e-9
    assert costing.arrive_cpu == pytest.approx(100 * BUILT_IN.arrive * 1e-9)
    assert costing.emit_cpu == pytest.approx(1000 * BUILT_IN.emit * 1e-9)
    assert costing.fixed_cpu == pytest.approx(fixed)
    joins = sum(each.cpu for each in costing.joins)
    rest = costing.arrive_cpu + costing.emit_cpu + costing.fixed_cpu
    assert costing.cpu == pytest.approx(joins + rest) == pytest.approx(costing.at([1, 1, 1])[0])
    assert costing.at([0, 0, 0]) == pytest.approx((fixed, 0))


def test_rows_that_a_box_turns_away_are_read_all_the_same() -> None:
    library = Measured(replace(BUILT_IN, batch=0.0))
    model, plan = EXAMPLE, tree("((A B) C)")
    behind = thinned(thinned(model, [0.5, 0.5, 0.5]), [0.5, 0.5, 0.5])
    assert [each.offered for each in behind.inputs] == [each.rate for each in model.inputs]
    full, part = cost(model, plan, library), cost(behind, plan, library)
    assert part.fixed_cpu == full.fixed_cpu == pytest.approx(100 * BUILT_IN.read * 1e-9)
    assert part.arrive_cpu == pytest.approx(full.arrive_cpu / 4)


def test_indexes_cost_what_the_table_says() -> None:
    library = Measured(ROUND)
    ns = 1e-9
    assert library.probe("hash", 1023, 0.1) == pytest.approx((60 + 3 * 10 + 12 * 102.3) * ns)
    assert library.probe("loop", 100, 0.1) == pytest.approx(300 * ns)
    step = ROUND.ordered_step * log2(1 + 100)
    assert library.probe("ordered", 100, 0.5) == pytest.approx((step + 12 * 50) * ns)
    assert library.insert("ordered", 100) == pytest.approx(step * ns)
    assert library.indexes(True) == ("hash", "loop")
    assert library.indexes(False) == ("loop",)


def test_each_window_chooses_its_own_index() -> None:
    model = chained([1000, 1000], [10_000, 2], 0.01)
    join = cost(model, tree("(A B)"), Measured(ROUND)).joins[0]
    assert (join.left_index, join.right_index) == ("hash", "loop")
    given = JoinPlan(tree=Join(Leaf(0), Leaf(1), "loop", "loop"))
    assert cost(model, given, Measured(ROUND)).joins[0].left_index == "loop"
    assert cost(model, given, Measured(ROUND), indexes="best").joins[0].left_index == "hash"
    apart = JoinModel(inputs=model.inputs)
    hashed = JoinPlan(tree=Join(Leaf(0), Leaf(1)))
    assert cost(apart, hashed, Measured(ROUND)).joins[0].left_index == "loop"


def test_bytes_composites_and_further_predicates_cost_more() -> None:
    priced = replace(
        ROUND, arrive_byte=2.0, emit_byte=3.0, composite_probe=5.0,
        composite_match=13.0, several_probe=7.0, several_match=11.0,
    )  # fmt: skip
    chain = chained([100, 100, 100], [10, 10, 10], 0.1, 0.1)
    wide = replace(chain, inputs=tuple(replace(each, row_bytes=8.0) for each in chain.inputs))

    def more(model: JoinModel) -> float:
        pair = (cost(model, tree("((A B) C)"), Measured(each)) for each in (priced, ROUND))
        dearer, cheaper = pair
        return (dearer.cpu - cheaper.cpu) * 1e9

    # C's rows probe the composites of A and B, of which there are ten: one matches.
    composites = 100 * (5 + 13)
    assert more(chain) == pytest.approx(composites)
    output = cost(chain, tree("((A B) C)"), Constant(0.0)).output_rate
    assert more(wide) == pytest.approx(composites + 300 * 8 * 2 + output * 24 * 3)
    ring = PredicateModel(mask=0b101, selectivity=0.5, is_equality=False)
    closed = replace(chain, predicates=(*chain.predicates, ring))
    first, second = cost(closed, tree("((A B) C)"), Constant(0.0)).joins
    # At the top two predicates are asked: of every probe, and of every row with its key.
    probes = 100 + first.rate
    matches = 100 * 0.1 * second.left_window + first.rate * 0.1 * second.right_window
    assert more(closed) == pytest.approx(composites + 7 * probes + 11 * matches)


def test_loops_over_composites_cost_more_and_are_avoided() -> None:
    dear = Measured(replace(ROUND, loop_composite=100.0))
    chain = chained([1000, 1000, 1000], [3, 3, 3], 0.9, 0.9)
    cheap, careful = (
        cost(chain, tree("((A B) C)"), each).joins[1] for each in (Measured(ROUND), dear)
    )
    assert (cheap.left_index, careful.left_index) == ("loop", "hash")
    assert cheap.right_index == careful.right_index
    forced = JoinPlan(tree=Join(Join(Leaf(0), Leaf(1)), Leaf(2), "loop", "loop"))
    costs = [cost(chain, forced, each).cpu for each in (Measured(ROUND), dear)]
    assert costs[1] - costs[0] == pytest.approx(1000 * 100e-9 * cheap.left_window)


def test_a_library_is_a_plug_in() -> None:
    textbook = IndexCosts(name="hash", probe_s=3.0, probe_row_s=0.5, insert_s=1.0, invalidate_s=1.0)
    costing = cost(chained([1, 2], [10, 20], 0.1), tree("(A B)"), CostLibrary(table=(textbook,)))
    assert costing.cpu == pytest.approx(1 * (3 + 10 + 2) + 2 * (3 + 5 + 2))


def test_only_equalities_are_looked_up() -> None:
    less = PredicateModel(mask=0b11, selectivity=0.01, is_equality=False)
    model = chained([1000, 1000], [1000, 1000], 0.1)
    both = replace(model, predicates=(*model.predicates, less))
    one, two = (cost(each, tree("(A B)"), Measured(ROUND)) for each in (model, both))
    assert two.joins[0].cpu == pytest.approx(one.joins[0].cpu)
    assert two.output_rate == pytest.approx(one.output_rate * 0.01)


def test_boxes_thin_windows_as_they_count() -> None:
    inputs = (InputModel(name="A", rate=10, rows=10), InputModel(name="B", rate=20, range_s=0.5))
    model = JoinModel(inputs=inputs, predicates=(PredicateModel(mask=3, selectivity=0.5),))
    faithful, subset = (thinned(model, [0.5, 0.2], boxes) for boxes in ("faithful", "subset"))
    assert [each.window for each in faithful.inputs] == pytest.approx([10, 2])
    assert [each.window for each in subset.inputs] == pytest.approx([5, 2])
    assert [each.rate for each in subset.inputs] == pytest.approx([5, 4])
    exact, kept = (cost(each, tree("(A B)"), Constant(1)).output_rate for each in (model, subset))
    assert kept == pytest.approx(0.5 * 0.2 * exact)


def test_bytes_are_those_of_rows_and_of_references() -> None:
    inputs = tuple(replace(each, row_bytes=100.0) for each in EXAMPLE.inputs)
    costing = cost(replace(EXAMPLE, inputs=inputs), tree("((A B) C)"), Constant(1))
    assert costing.memory_bytes == pytest.approx(30 * 100 + 50 * (24 + 2 * 8))


def test_there_are_so_many_trees() -> None:
    assert [len(set(trees(inputs))) for inputs in range(1, 7)] == [1, 1, 3, 15, 105, 945]
    deep = [len(set(trees(inputs, "left-deep"))) for inputs in range(1, 7)]
    assert deep == [1, 1, 3, 12, 60, 360]


def test_a_join_graph_that_is_not_connected() -> None:
    apart = chained([1, 1, 1], [1, 1, 1], 0.5)
    with pytest.raises(PenstockError, match="PLN-011"):
        search(apart, Constant(1), products=False)
    assert search(apart, Constant(1)).plan.tree.mask == 0b111
    many = tuple(InputModel(name=f"s{k}", rate=1, rows=1) for k in range(13))
    with pytest.raises(PenstockError, match="PLN-011"):
        search(JoinModel(inputs=many), Constant(1), products=False)


def test_too_many_inputs() -> None:
    many = tuple(InputModel(name=f"s{k}", rate=1, rows=1) for k in range(17))
    with pytest.raises(PenstockError, match="PLN-012"):
        search(JoinModel(inputs=many), Constant(1))


def test_a_key_that_nothing_has_costs_its_probes_only() -> None:
    model = JoinModel(inputs=EXAMPLE.inputs, classes=(ClassModel(mask=0b111, selectivity=0.0),))
    found = search(model, Measured(BUILT_IN))
    assert found.costing.output_rate == 0 and 0 < found.cpu < 1


def test_constants_are_kept_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "constants.json"
    monkeypatch.setenv(VARIABLE, str(path))
    mine = replace(BUILT_IN, hash_probe=77.0, source="here")
    assert save_constants(mine) == path
    assert load_constants() == mine


def test_built_in_constants_serve_where_no_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_constants() is BUILT_IN
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none.json"))
    with pytest.raises(PenstockError, match="PLN-010"):
        load_constants()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 9}, "format 9"),
        ({"hash_probe": -1.0}, "hash_probe is -1.0"),
        ({"hash_probe": "fast"}, "hash_probe is 'fast'"),
        ({"hash_probe": True}, "hash_probe is True"),
        ({"loop_row": 0.0}, "loop_row cannot be 0"),
        ({"speed": 1.0}, "no constant speed"),
        ({"emit": None}, "emit is None"),
    ],
)
def test_broken_constants_are_refused(
    change: dict[str, object], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "constants.json"
    path.write_text(json.dumps({**BUILT_IN.to_json(), **change}))
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(PenstockError, match="PLN-010") as caught:
        load_constants()
    assert reason in str(caught.value)


def test_constants_that_lack_one_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BUILT_IN.to_json()
    del data["residual"]
    path = tmp_path / "constants.json"
    path.write_text(json.dumps(data))
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(PenstockError, match="it lacks 'residual'"):
        load_constants()
    assert PlanConstants.from_json(BUILT_IN.to_json()) == BUILT_IN
