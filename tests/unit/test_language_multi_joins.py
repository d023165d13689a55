"""Multi-way joins: windows, crossings, names, groups, refusals; golden files show the rest."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.crossings import Comparison, Difference
from penstock.algebra.inputs import WindowLength
from penstock.algebra.multi_joins import MultiJoin, MultiJoinStep
from penstock.algebra.physical import signature
from penstock.kinds.binder import bind
from penstock.language.refusals import INPUTS_MAX
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import CATALOG, EACH, SCHEMA, refusal

LEAST, MOST = -(2**63), 2**63 - 1


def multi(sql: str, each: pa.Schema | None = None, **options: object) -> MultiJoin:
    bound = bind(sql, CATALOG, each, options)
    assert isinstance(bound, MultiJoin)
    return bound


def where(condition: str, each: pa.Schema | None = EACH) -> MultiJoin:
    tables = "s x [ROWS 3], t y [RANGE 5 SECONDS], s z [ROWS 1]"
    return multi(f"SELECT x.id FROM {tables} WHERE {condition}", each, products=True)


def test_inputs_stand_in_the_order_of_from():
    bound = multi(
        "SELECT 1 AS one FROM t q [RANGE 2 MINUTES] JOIN B USING (id), s [ROWS 7] WHERE s.id = q.id"
    )
    assert [each.name for each in bound.inputs] == ["q", "B", "s"]
    assert [each.relation for each in bound.inputs] == ["t", "B", "s"]
    assert [each.window for each in bound.inputs] == [
        WindowLength("range", 120_000_000),
        None,
        WindowLength("rows", 7),
    ]
    assert [each.event_time for each in bound.inputs] == ["naive", None, "ts"]
    assert [each.change_column for each in bound.inputs] == [None, "op", None]
    assert [each.lateness_us for each in bound.inputs] == [7_000_000, 0, 7_000_000]
    assert "op" not in dict(bound.inputs[1].columns)
    assert bound.relations == ("t", "B", "s")


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("s [ROWS 10] x", WindowLength("rows", 10)),
        ("s AS x[rows 10]", WindowLength("rows", 10)),
        ("s x [ROWS (5 + 5)]", WindowLength("rows", 10)),
        ("s x [ROWS 10.0]", WindowLength("rows", 10)),
        ("s [range 1 second] AS x", WindowLength("range", 1_000_000)),
        ("s x [RANGE 1.5 MINUTES]", WindowLength("range", 90_000_000)),
        ("s x [RANGE 0.25 MILLISECONDS]", WindowLength("range", 250)),
        ("s x [RANGE 7 DAYS]", WindowLength("range", 7 * 86_400_000_000)),
    ],
)
def test_windows(written, window):
    bound = multi(f"SELECT x.id FROM a, {written} WHERE a.id = x.id")
    assert bound.inputs[1].window == window


def test_brackets_elsewhere_are_lists():
    bound = multi(
        "SELECT [x.id, 1][1] AS first FROM s x [ROWS 1], a "
        "WHERE x.id = a.id AND x.id IN [1, 2] AND x.word[1] = 'a'"
    )
    assert bound.outputs[0].sql == '["i0.id", 1][1]'
    assert bound.inputs[0].branch.residual is not None


@pytest.mark.parametrize(
    ("condition", "equalities"),
    [
        ("y.id = x.id", [((0, "id"), (1, "id"))]),
        ("z.small = y.id AND y.id = z.small", [((1, "id"), (2, "small"))]),
        ("x.naive = y.ts", [((0, "naive"), (1, "ts"))]),
        ("NOT (x.word <> z.word)", [((0, "word"), (2, "word"))]),
        (
            "x.price = y.price AND x.cost = z.cost",
            [((0, "cost"), (2, "cost")), ((0, "price"), (1, "price"))],
        ),
    ],
)
def test_equalities(condition, equalities):
    bound = where(condition)
    assert list(bound.crossing.equalities) == equalities
    assert bound.residual is None


@pytest.mark.parametrize(
    ("condition", "comparison"),
    [
        ("x.id < y.small", Comparison((0, "id"), "<", (1, "small"))),
        ("x.id > y.id", Comparison((1, "id"), "<", (0, "id"))),
        ("z.price >= y.price", Comparison((1, "price"), "<=", (2, "price"))),
        ("z.day <> y.day", Comparison((1, "day"), "<>", (2, "day"))),
        ("NOT (x.ts <= y.naive)", Comparison((1, "naive"), "<", (0, "ts"))),
        ("x.cost <= z.cost", Comparison((0, "cost"), "<=", (2, "cost"))),
        ("x.flag <> z.flag", Comparison((0, "flag"), "<>", (2, "flag"))),
        ("x.big < z.big", Comparison((0, "big"), "<", (2, "big"))),
    ],
)
def test_comparisons(condition, comparison):
    bound = where(condition)
    assert bound.crossing.comparisons == (comparison,)
    assert bound.residual is None


@pytest.mark.parametrize(
    ("condition", "difference"),
    [
        ("y.id - x.small BETWEEN -1 AND 5", ((0, "small"), (1, "id"), -1, 5)),
        ("x.id - y.id BETWEEN -1 AND 5", ((0, "id"), (1, "id"), -5, 1)),
        ("abs(x.id - z.id) <= 3", ((0, "id"), (2, "id"), -3, 3)),
        ("3 > abs(z.id - x.id)", ((0, "id"), (2, "id"), -2, 2)),
        ("y.id - x.id = 4", ((0, "id"), (1, "id"), 4, 4)),
        ("y.id > x.id + 2", ((0, "id"), (1, "id"), 3, MOST)),
        ("x.id > y.id + 2", ((0, "id"), (1, "id"), LEAST, -3)),
        ("y.id BETWEEN x.id AND 5 + x.id", ((0, "id"), (1, "id"), 0, 5)),
        ("y.id - x.id > 0 AND y.id - x.id < 9 AND x.id >= y.id - 4", ((0, "id"), (1, "id"), 1, 4)),
        ("z.day - y.day <= 7", ((1, "day"), (2, "day"), LEAST, 7)),
        ("z.ts - y.naive < INTERVAL 1 SECOND", ((1, "naive"), (2, "ts"), LEAST, 999_999)),
        ("y.ts BETWEEN x.ts - INTERVAL 1 DAY AND x.ts", ((0, "ts"), (1, "ts"), -86_400_000_000, 0)),
        ("abs(epoch_us(y.ts) - epoch_us(x.ts)) <= 5", ((0, "ts"), (1, "ts"), -5, 5)),
    ],
)
def test_differences(condition, difference):
    bound = where(condition)
    assert bound.crossing.differences == (Difference(*difference),)
    assert bound.residual is None


@pytest.mark.parametrize(
    "condition",
    [
        "x.word < y.word",
        "x.id = y.price",
        "x.big < y.id",
        "x.cost < y.rate",
        "x.cost = y.price",
        "x.nano <> y.ts",
        "x.nano < y.naive",
        "x.half = y.half",
        "x.raw = y.raw",
        "x.price - y.price < 1",
        "x.cost - y.cost < 1",
        "x.id - y.id < 1.5",
        "x.id - y.id < :n",
        "y.id <= x.id + :n",
        "x.id - y.id < NULL",
        "x.id - y.id <> 3",
        "x.ts - y.ts < INTERVAL 1 MONTH",
        "epoch_us(x.ts) - y.id < 5",
        "epoch_ms(x.ts) - epoch_ms(y.ts) < 5",
        "x.id + y.id > z.id",
        "(x.flag OR y.flag)",
        "x.id = y.id OR x.id = z.id",
        "x.id IS NOT DISTINCT FROM y.id",
    ],
)
def test_everything_else_is_residual(condition):
    bound = where(condition)
    assert not any(
        (bound.crossing.equalities, bound.crossing.comparisons, bound.crossing.differences)
    )
    assert bound.residual is not None
    assert all(column[:3] in {"i0.", "i1.", "i2."} for column in bound.residual.columns)


def test_terms_of_one_input_are_its_branch():
    bound = where(
        "x.id = 5 AND y.price BETWEEN 1 AND :p AND z.word IN ('a', 'b') AND :n > 3 "
        "AND x.id = y.id AND y.id = z.id AND x.small = x.id"
    )
    first, second, third = (each.branch for each in bound.inputs)
    assert [term.column for term in first.equalities] == ["id"]
    assert first.residual is not None and set(first.residual.columns) == {"id", "small"}
    assert [term.column for term in second.ranges] == ["price"]
    assert third.residual is not None and third.residual.columns == ("word",)
    assert bound.residual is None
    assert set(bound.named_parameters) == {"p", "n"}


def test_constants_outputs_and_options_do_not_make_groups():
    tables = "s x [ROWS 3], t y [ROWS 4], a"
    text = f"SELECT {{}} FROM {tables} WHERE x.id = y.id AND a.id = y.id AND x.price > {{}}"
    bound = [
        multi(text.format("x.id", 5)),
        multi(text.format("y.*, x.price AS worth", 7), order="((x a) y)", selectivity_x=0.3),
    ]
    steps = [each.step() for each in bound]
    assert signature(steps[0]) == signature(steps[1])
    assert MultiJoinStep.from_json(json.loads(json.dumps(steps[0].to_json()))) == steps[0]
    other = multi(text.replace("ROWS 4", "ROWS 5").format("x.id", 5)).step()
    assert signature(other) != signature(steps[0])


@pytest.mark.parametrize(
    "options",
    [
        {"shedding": "subset"}, {"shedding": "off"}, {"shed_at_once": True}, {"minimum_x": 0.5},
        {"weight_y": 3.0}, {"headroom": 0.5}, {"processors": 4}, {"strict": True},
    ],
)  # fmt: skip
def test_what_decides_which_rows_may_be_dropped_makes_groups(options: dict[str, object]):
    """What one subscriber puts up with, another need not."""
    text = "SELECT x.id FROM s x [ROWS 3], t y [ROWS 4] WHERE x.id = y.id"
    plain, other = multi(text).step(), multi(text, **options).step()
    assert signature(plain) != signature(other)
    assert MultiJoinStep.from_json(json.loads(json.dumps(other.to_json()))) == other
    off = multi(text, **{**options, "shedding": "off"}).step()
    assert off == multi(text, shedding="off").step(), "who drops nothing is all one"


def test_how_many_rows_may_wait_makes_groups():
    """Queries that may let other rows be late do not share their answers."""
    text = "SELECT x.id FROM s x [ROWS 3], t y [ROWS 4] WHERE x.id = y.id"
    plain, patient = multi(text, headroom=0.1), multi(text, Waiting=5_000_000, headroom=0.1)
    assert (plain.waiting, patient.waiting) == (1_000_000, 5_000_000)
    assert plain.options == patient.options == {"headroom": 0.1}, "the planner does not ask"
    steps = [each.step() for each in (plain, patient)]
    assert signature(steps[0]) != signature(steps[1])
    assert signature(steps[0]) == signature(multi(text, waiting=1_000_000, headroom=0.1).step())
    assert MultiJoinStep.from_json(json.loads(json.dumps(steps[1].to_json()))) == steps[1]


@pytest.mark.parametrize("waiting", [0, -1, 1.5, 10_000_001, True, "1000", "many", None])
def test_no_other_number_of_rows_may_wait(waiting):
    found = refusal("SELECT x.id FROM s x [ROWS 3], t y [ROWS 4] WHERE x.id = y.id",
                    waiting=waiting)  # fmt: skip
    assert found.code == "SQL-071"
    assert found.remedy == "Write a whole number from 1 to 10,000,000."


def test_a_relation_may_stand_twice():
    bound = multi("SELECT * FROM s x [ROWS 3], s y [ROWS 4] WHERE x.id = y.id")
    assert [each.relation for each in bound.inputs] == ["s", "s"]
    assert bound.relations == ("s",)
    names = [output.name for output in bound.outputs]
    assert names == [*SCHEMA.names, *(f"{name}_1" for name in SCHEMA.names)]


def test_using_merges_since_the_last_comma():
    bound = multi(
        "SELECT extra, y.id FROM a, s x [ROWS 1] JOIN t y [ROWS 1] USING (id) "
        "JOIN b USING (id, word) WHERE a.id = x.id".replace("(id, word)", "(ID)")
    )
    assert bound.crossing.equalities == (
        ((0, "id"), (1, "id")),
        ((1, "id"), (2, "id")),
        ((1, "id"), (3, "id")),
    )
    ambiguous = refusal(
        "SELECT id FROM a, s x [ROWS 1] JOIN t y [ROWS 1] USING (id) WHERE a.id = x.id"
    )
    assert ambiguous.code == "SQL-025"
    assert "a.id or x.id" in ambiguous.remedy
    unknown = refusal("SELECT 1 AS one FROM b, s x [ROWS 1] JOIN t y [ROWS 1] USING (extra)")
    assert unknown.code == "SQL-020"
    merged = multi("SELECT * FROM s [ROWS 1] JOIN t [ROWS 1] USING (id, word)")
    assert len(merged.outputs) == 2 * len(SCHEMA) - 2


def test_conditions_are_the_users_own_words():
    bound = multi(
        "SELECT x.id FROM s x [ROWS 1] INNER JOIN t y [ROWS 1] ON (x.id = y.id), a z "
        "JOIN b w ON z.id = w.id AND z.word IN ('JOIN', ',') WHERE w.id /* ! */ = y.id"
    )
    assert bound.where_sql == (
        '((i0.".id" = i1.".id")) AND (i2.".id" = i3.".id" AND i2.".word" IN (\'JOIN\', \',\')) '
        'AND (i3.".id" = i1.".id")'
    )
    product = multi("SELECT x.id FROM s x [ROWS 1], a", products=True)
    assert product.where_sql == "TRUE"


def chain(count: int) -> str:
    tables = ", ".join(f"s s{number} [ROWS 1]" for number in range(count))
    terms = " AND ".join(f"s{number}.id = s{number + 1}.id" for number in range(count - 1))
    return f"SELECT s0.id FROM {tables} WHERE {terms}"


def test_so_many_inputs_and_no_more():
    assert len(multi(chain(INPUTS_MAX)).inputs) == INPUTS_MAX
    assert refusal(chain(INPUTS_MAX + 1)).code == "SQL-087"


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("s [ROWS 1]", "SQL-080"),
        ("s x [ROWS 1] JOIN t y [ROWS 1] ON x.id = y.id WITHIN 1 DAY", "SQL-081"),
        ("s x, t y, a WHERE x.id = y.id AND y.id = a.id", "SQL-082"),
        ("a [ROWS 1], s [ROWS 1] WHERE a.id = s.id", "SQL-083"),
        ("s [ROWS 1099511627776], a WHERE a.id = s.id", "SQL-084"),
        ("s [ROWS NULL], a WHERE a.id = s.id", "SQL-084"),
        ("s [ROWS 1 / 0], a WHERE a.id = s.id", "SQL-001"),
        ("s [ROWS (1 / 0)], a WHERE a.id = s.id", "SQL-084"),
        ("s [ROWS a.id], a WHERE a.id = s.id", "SQL-084"),
        ("s [RANGE -1 SECOND], a WHERE a.id = s.id", "SQL-084"),
        ("timeless [ROWS 1], a WHERE a.id = timeless.id", "SQL-085"),
        ("whole [ROWS 1], a WHERE a.id = whole.id", "SQL-085"),
        ("fine [ROWS 1], a WHERE a.id = fine.id", "SQL-085"),
        ("s [ROWS 1], a WHERE s.id = 1 AND a.id = 1", "SQL-086"),
        ("s [ROWS 1], a WHERE s.* = a.id", "SQL-013"),
        ("a, b, a c WHERE a.id = b.id AND b.id = c.id", "SQL-088"),
        ("s [ROWS 1] CROSS JOIN a", "SQL-010"),
        ("s [ROWS 1] NATURAL JOIN a", "SQL-010"),
        ("(s [ROWS 1]), a", "SQL-013"),
    ],
)
def test_refusals(rest, code):
    assert refusal(f"SELECT 1 AS one FROM {rest}").code == code


def test_parts_that_nothing_joins_are_named():
    error = refusal(
        "SELECT 1 AS one FROM s x [ROWS 1], t y [ROWS 1], a, b WHERE x.id = b.id AND b.id = y.id"
    )
    assert error.fact == "Nothing joins (x, y, b) with (a): all their rows meet."
    assert error.place is not None and error.place.column == 50


@pytest.mark.parametrize("condition", ["x.price + a.price > 5", "x.id < a.id", "x.word <> a.word"])
def test_any_term_joins(condition):
    assert multi(f"SELECT 1 AS one FROM s x [ROWS 1], a WHERE {condition}").inputs


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"rate": 0.0}, "CAT-007"),
        ({"rate": float("nan")}, "CAT-007"),
        ({"rate": -1.0}, "CAT-007"),
        ({"size": -1}, "CAT-007"),
        ({"distinct": {"id": 0}}, "CAT-008"),
        ({"distinct": {"nothing": 5}}, "CAT-008"),
    ],
)
def test_declared_sizes_are_checked(sizes, code):
    with pytest.raises(PenstockError) as caught:
        Relation(name="r", kind="stream", schema=SCHEMA, **sizes)
    assert caught.value.code == code


def test_declared_sizes_are_kept():
    relation = Relation(name="r", kind="stream", schema=SCHEMA, rate=70.0, distinct={"id": 5})
    assert (relation.rate, relation.distinct, relation.size) == (70.0, {"id": 5}, None)
