"""What EXPLAIN says of a plan: Example 1 of the paper, word for word, and drawings that open."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.trees import Join, Leaf
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant, CostLibrary, Measured
from penstock.planning.figures import figure, percent, seconds, size
from penstock.planning.model import InputModel, JoinModel, PredicateModel, SelectionModel
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.plan_explanation import PlanExplanation
from penstock.planning.plan_facts import inputs_in, joins_in
from penstock.planning.plan_run import SeenPlan

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    "rate(a)": "declared",
    "rate(b)": "measured",
    "rate(c)": "assumed",
    "selectivity(a, b)": "declared",
    "costs": "built in",
}
GOLDEN = """\
SELECT a.x FROM a [ROWS 10], b [ROWS 10], c [ROWS 10] WHERE a.x = b.x AND b.y = c.y
INSUFFICIENT: the cheapest order needs 125 % of one processor; with 27.8 % of a and of b \
dropped it emits 91.7 % as many rows; 52.2 % of the full answer is among them.

(a ⋈ b) ⋈ c  in 150 + 70/s  out 1,000/s  state 50 + 10 rows (2.5 kB)  busy 110 %  hash + hash
├ a ⋈ b      in 10 + 20/s   out 150/s    state 10 + 10 rows (960 B)   busy 15 %   hash + hash
│ ├ a        10/s [declared]  ROWS 10  pass 72.2 %
│ └ b        20/s [measured]  ROWS 10  pass 72.2 %
└ c          70/s [assumed]   ROWS 10  pass 100 %

  what if    cost = 5 MILLISECONDS
  what if    headroom = 0
  resources  1 processor, headroom 0 %: up to 100 % may be busy
  demand     busy 125 %, 80 rows (3.4 kB), 1,000 results/s
  matches    a.x = b.x: 50 % of pairs [declared]
  matches    b.y = c.y: 20 % of pairs
  dropped    27.8 % of a, 27.8 % of b (faithful, exact), once it is seen to fall behind
  emitted    916.7 results/s, 91.7 % as many as without dropping, busy 100 %
  found      52.2 % of the full answer is among them, which is 56.9 % of what is emitted
  value/cost c 10, a 1.67, b 1.67 (results per row of capacity)
  capacity   70 rows/s → 700/s, 250 rows/s → 1,000/s
  runner-up  (b ⋈ c) ⋈ a: busy 140 %, 50 rows, would emit 733.3/s
  runner-up  (a × c) ⋈ b: busy 450 %, 130 rows, would emit 363.6/s
  time for   a ⋈ b 10.8 %, (a ⋈ b) ⋈ c 89.2 %
  costs      5 ms per row and join"""


def example_1(**others: object) -> JoinModel:
    inputs = tuple(
        InputModel(name=name, rate=rate, rows=10, row_bytes=48)
        for name, rate in zip("abc", (10, 20, 70), strict=True)
    )
    ab = PredicateModel(mask=0b011, selectivity=0.5)
    bc = PredicateModel(mask=0b110, selectivity=0.2)
    return JoinModel(inputs=inputs, predicates=(ab, bc), **others)  # type: ignore[arg-type]


def explained(
    model: JoinModel,
    library: CostLibrary,
    resources: Resources | None = None,
    choices: Choices | None = None,
    **told: object,
) -> PlanExplanation:
    planned = optimise(model, library, resources or Resources(headroom=0), choices)
    return PlanExplanation.of(planned, model, **told)  # type: ignore[arg-type]


def at_5_ms() -> PlanExplanation:
    return explained(
        example_1(),
        Constant(0.005),
        sql="SELECT a.x\n  FROM a [ROWS 10], b [ROWS 10], c [ROWS 10]\n"
        "  WHERE a.x = b.x AND b.y = c.y",
        tags=TAGS,
        what_if=("cost = 5 MILLISECONDS", "headroom = 0"),
        predicates=("a.x = b.x", "b.y = c.y"),
        constant_s=0.005,
    )


def test_example_1_at_five_milliseconds_word_for_word() -> None:
    assert at_5_ms().text() == GOLDEN


def test_example_1_for_machines() -> None:
    facts = json.loads(json.dumps(at_5_ms().to_json(), allow_nan=False))
    assert facts["verdict"] == "INSUFFICIENT"
    assert facts["plan"] == "(a ⋈ b) ⋈ c"
    assert facts["utilisation"] == pytest.approx(1.25)
    assert facts["utilisation_worst"] == pytest.approx(4.5)
    assert (facts["memory_rows"], facts["output_rate"]) == (80, pytest.approx(1000))
    top = facts["tree"]
    assert top["rates"] == pytest.approx([150, 70])
    assert top["rows"] == pytest.approx([50, 10])
    assert top["utilisation"] == pytest.approx(1.1)
    assert top["left"]["output_rate"] == pytest.approx(150)
    assert top["left"]["left"]["pass_fraction"] == pytest.approx(130 / 180)
    assert top["left"]["left"]["origins"] == {"rate": "declared"}
    assert top["right"]["pass_fraction"] == 1
    shed = facts["shedding"]
    assert shed["output"] == pytest.approx(916.67, abs=0.01)
    assert shed["exact_share"] == pytest.approx((130 / 180) ** 2 * 1000 / 916.67, rel=1e-4)
    assert {name: ratio * 0.005 for name, ratio in shed["ratios"].items()} == pytest.approx(
        {"a": 5 / 3, "b": 5 / 3, "c": 10}
    )
    assert [used / 0.005 for used, _ in shed["breakpoints"]] == pytest.approx([0, 70, 250])
    rivals = {each["name"]: each for each in facts["runner_ups"]}
    assert rivals["(b ⋈ c) ⋈ a"]["output"] == pytest.approx(733.33, abs=0.01)
    assert rivals["(a × c) ⋈ b"]["utilisation"] == pytest.approx(4.5)
    assert sum(each["share"] for each in facts["shares"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("kappa_s", "verdict"), [(0.0005, "ABUNDANT"), (0.002, "TIGHT"), (0.004, "TIGHT (critical)")]
)
def test_plans_that_keep_up_say_so_and_drop_nothing(kappa_s: float, verdict: str) -> None:
    explanation = explained(example_1(), Constant(kappa_s), constant_s=kappa_s)
    text = explanation.text()
    assert text.startswith(f"{verdict}: ")
    assert "dropped" not in text
    assert "value/cost" not in text
    assert explanation.to_json()["shedding"] is None
    assert all(each.pass_fraction == 1 for each in inputs_in(explanation.tree))


def test_shedding_another_plan_than_the_cheapest_shows_both() -> None:
    inputs = tuple(
        InputModel(name=name, rate=rate, rows=rows)
        for name, rate, rows in zip("abc", (100, 10, 20), (10, 100, 100), strict=True)
    )
    ab = PredicateModel(mask=0b011, selectivity=0.1)
    bc = PredicateModel(mask=0b110, selectivity=0.5)
    model = JoinModel(inputs=inputs, predicates=(ab, bc))
    explanation = explained(model, Constant(1 / 570))
    assert explanation.shedding is not None
    assert explanation.shedding.output == pytest.approx(50460.78, abs=0.01)
    assert "(a ⋈ b) ⋈ c costs least, and would emit 26,000/s" in explanation.text()


def test_orders_that_do_not_keep_up_are_marked() -> None:
    text = explained(example_1(), Constant(0.004)).text()
    assert "(b ⋈ c) ⋈ a: busy 112 %, 50 rows, does not keep up" in text
    assert "does not keep up" not in explained(example_1(), Constant(0.0005)).text()


def test_selections_stand_where_they_are_asked() -> None:
    asked = SelectionModel(input=0, selectivity=0.3, cost_s=1e-6)
    model = example_1(selections=(asked,))
    explanation = explained(
        model,
        Constant(0.0005),
        tags={"selectivity(a)": "assumed"},
        selections={0: "a.kind = 1"},
    )
    (leaf,) = [each for each in inputs_in(explanation.tree) if each.name == "a"]
    places = [leaf.selections, *(each.asked for each in joins_in(explanation.tree))]
    assert sum(len(each) for each in places) == 1
    assert "a.kind = 1: 30 % [assumed]" in explanation.text()


def test_tables_and_ranges_are_named_as_what_they_are() -> None:
    stream = InputModel(name="s", rate=40, range_s=2.5)
    table = InputModel(name="t", rate=0, rows=1234, is_table=True)
    model = JoinModel(
        inputs=(stream, table), predicates=(PredicateModel(mask=0b11, selectivity=0.01),)
    )
    tags = {"rate(s)": "what if", "rows(t)": "declared"}
    text = explained(model, Measured(BUILT_IN), tags=tags).text()
    assert "40/s [what if]  RANGE 2.5 s, 100 rows" in text
    assert "table" in text
    assert "1,234 rows [declared]" in text


def test_long_trees_are_told_by_number() -> None:
    names = [f"stream_{number}" for number in range(8)]
    inputs = tuple(InputModel(name=name, rate=5, rows=3) for name in names)
    chain = tuple(PredicateModel(mask=0b11 << place, selectivity=0.3) for place in range(7))
    model = JoinModel(inputs=inputs, predicates=chain)
    explanation = explained(model, Constant(1e-6))
    tree = explanation.text().split("\n\n")[1].splitlines()
    assert len(tree) == 15
    assert tree[0].startswith("join 7 ")
    assert max(len(line) for line in tree) < 140
    assert explanation.to_json()["tree"]["name"] == explanation.to_json()["plan"]


def test_what_the_engine_knows_is_told() -> None:
    explanation = explained(
        example_1(),
        Constant(0.0005),
        group="multi_join-1",
        queries=3,
        is_new=False,
        run=SeenPlan(
            rate={"a": 12_345.0}, expected_share_emitted=0.92, measured_share_emitted=0.905
        ),
        notes=("The verdict was ABUNDANT before.",),
    )
    text = explanation.text()
    assert "multi_join-1 (with 3 standing queries)" in text
    assert "12,345" in text
    assert "    expected share emitted 92 %\n    measured share emitted 90.5 %" in text
    assert text.endswith("note       The verdict was ABUNDANT before.")


def test_the_drawing_has_every_join_every_input_and_the_gates() -> None:
    drawing = ElementTree.fromstring(at_5_ms().svg())
    texts = [each.text or "" for each in drawing.iter(f"{SVG}text")]
    for shown in ("(a ⋈ b) ⋈ c", "a ⋈ b", "a", "b", "c", "out 1,000/s", "150/s"):
        assert shown in texts
    assert texts.count("passes 72.2 %") == 2
    gates = [each for each in drawing.iter(f"{SVG}path") if each.get("class") == "gate"]
    edges = [each for each in drawing.iter(f"{SVG}path") if each.get("class") == "edge"]
    assert (len(gates), len(edges)) == (2, 4)
    heats = [each.get("class") for each in drawing.iter(f"{SVG}rect")]
    assert (heats.count("hot"), heats.count("cool")) == (1, 1)


def test_thicker_edges_carry_more() -> None:
    drawing = ElementTree.fromstring(at_5_ms().svg())
    widths = [
        float(each.get("stroke-width", ""))
        for each in drawing.iter(f"{SVG}path")
        if each.get("class") == "edge"
    ]
    assert sorted(widths, reverse=True)[0] == max(widths) == widths[0]  # 150/s, drawn first
    assert min(widths) < max(widths)


@given(names=st.lists(st.text(min_size=1, max_size=40), min_size=2, max_size=5, unique=True))
@settings(max_examples=60, deadline=None)
def test_drawings_of_odd_names_are_well_formed(names: list[str]) -> None:
    inputs = tuple(InputModel(name=name, rate=5, rows=3) for name in names)
    chain = tuple(
        PredicateModel(mask=0b11 << place, selectivity=0.5) for place in range(len(names) - 1)
    )
    tree: Join | Leaf = Leaf(0)
    for number in range(1, len(names)):
        tree = Join(tree, Leaf(number))
    model = JoinModel(inputs=inputs, predicates=chain)
    explanation = explained(model, Constant(0.5), choices=Choices(tree=tree))
    drawing = ElementTree.fromstring(explanation.svg())
    boxes = [each for each in drawing.iter(f"{SVG}rect") if each.get("class") == "box"]
    assert len(boxes) == 2 * len(names) - 1
    box = drawing.get("viewBox", "").split()
    for each in boxes:
        right = float(each.get("x", "")) + float(each.get("width", ""))
        assert 0 <= float(each.get("x", "")) <= right <= float(box[2])


def test_figures_are_for_people() -> None:
    assert figure(math.inf) == "unlimited"
    assert figure(-1234.6) == "-1,235"
    assert percent(math.inf) == "unlimited"
    assert size(2.5e9) == "2.5 GB"
    assert seconds(0) == "0 s"
