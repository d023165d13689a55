"""Joins: sides, groups, types, names, bands, refusals; the golden files show the rest."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.joins import JoinStep, StandingJoin
from penstock.algebra.physical import signature
from penstock.algebra.predicates import Bound
from penstock.kinds.binder import bind
from penstock.language.differences import difference_type
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import EACH, KEYED, SCHEMA, WINDOW, join, refusal


def on(condition: str, each: pa.Schema | None = EACH) -> StandingJoin:
    return join(f"SELECT x.id FROM a x JOIN b y ON {condition}", each)


@pytest.mark.parametrize(
    "same",
    [
        [
            "a x JOIN b y ON x.id = y.id WHERE x.price > 5 AND y.small < 3",
            "b y INNER JOIN a x ON y.id = x.id AND y.small BETWEEN 1 AND 2 AND x.price <= 7",
            "a AS y, b AS x WHERE y.id = x.id AND 4 > y.price AND x.small > 3 AND 1 = 1",
            "a JOIN b USING (id) WHERE a.price > 5 AND 2 >= b.small",
        ],
        [
            "a x JOIN b y ON abs(x.price - y.price) < 5",
            "b y, a x WHERE y.price - x.price BETWEEN -1 AND 2.5",
            "a x JOIN b y ON 3 >= x.price - y.price",
        ],
        [
            "s x JOIN t y ON x.id = y.id WITHIN 5 SECONDS",
            "t y JOIN s x USING (id) WITHIN 2 DAYS",
            "s x JOIN t y ON x.id = y.id WITHIN :n HOURS",
        ],
        [
            "a x JOIN b y ON x.id = y.id AND x.price + y.price > 5",
            "a x JOIN b y ON x.id = y.id AND 7 < x.price + y.price",
        ],
    ],
    ids=lambda same: same[0],
)
def test_equal_shapes_make_one_group(same):
    groups = {signature(join(f"SELECT 1 AS one FROM {sql}", EACH).step()) for sql in same}
    assert len(groups) == 1


def test_constants_do_not_make_groups_and_options_do():
    text = "SELECT x.id FROM a x JOIN b y ON x.id = y.id WHERE x.price > {} AND y.word = '{}'"
    groups = {signature(join(text.format(i, "ab"[i % 2])).step()) for i in range(4)}
    groups.add(signature(join(text.format(9, "c")).step()))
    assert len(groups) == 1
    assert signature(join(text.format(9, "c"), mode="identify").step()) not in groups


def test_steps_travel_as_json():
    flat = pa.schema([field for field in SCHEMA if field.name not in {"info", "raw", "half"}])
    catalog = {
        name: Relation(name=name, kind="stream", schema=flat, event_time="ts") for name in "st"
    }
    bound = bind("SELECT * FROM s JOIN t USING (id) WITHIN 5 SECONDS", catalog, None)
    step = bound.step()
    assert isinstance(step, JoinStep)
    assert JoinStep.from_json(json.loads(json.dumps(step.to_json()))) == step


def test_sides_stand_in_the_order_of_names():
    bound = join("SELECT y.id FROM B y JOIN a x ON x.id = y.extra")
    assert tuple(each.relation for each in bound.inputs) == ("a", "B")
    assert bound.keys == (("id", "extra"),)
    assert bound.outputs[0].sql == '"i1.id"'
    assert bound.relations == ("a", "B")


def test_joins_with_oneself_stand_as_written():
    bound = join("SELECT y.id FROM a y JOIN a x ON x.id = y.small")
    assert bound.keys == (("small", "id"),)
    assert bound.outputs[0].sql == '"i0.id"'
    assert bound.relations == ("a",)


def test_sides_know_their_relation():
    bound = join("SELECT x.id FROM a x JOIN b y ON x.id = y.id")
    assert [name for name, _ in bound.inputs[0].columns] == SCHEMA.names
    assert bound.inputs[0].change_column == "op"
    assert (bound.inputs[0].event_time, bound.inputs[0].lateness_us) == (None, 0)
    bound = join("SELECT x.id FROM s x JOIN t y ON x.id = y.id WITHIN 5 SECONDS")
    assert (bound.inputs[0].event_time, bound.inputs[1].event_time) == ("ts", "naive")
    assert bound.inputs[1].lateness_us == 7_000_000
    assert bound.window is not None
    assert bound.constants[bound.window.within.parameter] == 5_000_000


def test_stars_number_the_names_that_are_taken():
    names = [output.name for output in join("SELECT * FROM a JOIN b ON a.id = b.id").outputs]
    assert names[: len(SCHEMA)] == SCHEMA.names
    assert names[len(SCHEMA) :] == [*(f"{name}_1" for name in SCHEMA.names), "extra"]
    bound = join("SELECT y.*, x.id AS id_1, x.* EXCLUDE (word, price) FROM a x JOIN b y USING (id)")
    by_name = {output.name: output.sql for output in bound.outputs}
    assert by_name["id"] == '"i1.id"'
    assert by_name["id_1"] == by_name["id_2"] == '"i0.id"'
    assert "word_1" not in by_name
    star = join("SELECT * EXCLUDE (word, y.price) FROM a x JOIN b y USING (id)").outputs
    names = [output.name for output in star]
    assert names.count("id") == 1
    assert {"id_1", "word", "price_1"}.isdisjoint(names)
    assert "price" in names


def test_names_find_their_side():
    bound = join("SELECT extra, x.info.a, Y.Word FROM a x JOIN b y ON x.id = y.id AND extra > 3")
    assert [output.sql for output in bound.outputs] == ['"i1.extra"', '"i0.info".a', '"i1.word"']
    assert [output.name for output in bound.outputs] == ["extra", "a", "word"]
    assert bound.inputs[1].branch.ranges[0].column == "extra"


@pytest.mark.parametrize(
    ("one", "two", "is_key"),
    [
        ("id", "small", True),
        ("big", "big", True),
        ("big", "id", True),
        ("word", "word", True),
        ("price", "price", True),
        ("price", "ratio", True),
        ("price", "id", False),
        ("half", "half", False),
        ("cost", "cost", True),
        ("cost", "rate", True),
        ("cost", "id", True),
        ("cost", "price", False),
        ("vast", "vast", False),
        ("day", "day", True),
        ("day", "naive", False),
        ("naive", "ts", True),
        ("naive", "nano", True),
        ("nano", "nano", True),
        ("flag", "flag", True),
        ("raw", "raw", False),
    ],
)
def test_keys_are_of_one_kind(one, two, is_key):
    if is_key:
        assert on(f"x.{one} = y.{two}").keys == ((one, two),)
    else:
        error = refusal(f"SELECT x.id FROM a x JOIN b y ON x.{one} = y.{two}")
        assert error.place is not None
        assert (error.code, error.place.column) == ("SQL-061", 34)


@pytest.mark.parametrize(
    ("left", "right", "type_"),
    [
        (pa.int8(), pa.uint32(), pa.int64()),
        (pa.int64(), pa.uint64(), None),
        (pa.date32(), pa.date32(), pa.int32()),
        (pa.date32(), pa.int32(), None),
        (pa.float32(), pa.float32(), pa.float32()),
        (pa.float32(), pa.float64(), None),
        (pa.float16(), pa.float16(), None),
        (pa.decimal128(4, 2), pa.decimal128(9, 2), pa.decimal128(18, 2)),
        (pa.decimal128(4, 2), pa.decimal128(9, 3), None),
        (pa.decimal128(19, 2), pa.decimal128(9, 2), None),
        (pa.timestamp("us"), pa.timestamp("us"), None),
        (pa.string(), pa.string(), None),
    ],
    ids=str,
)
def test_differences_have_a_type(left, right, type_):
    assert difference_type(left, right) == type_


@pytest.mark.parametrize(
    ("condition", "lows", "highs"),
    [
        ("y.price - x.price < :p", "", "< p"),
        ("x.price - y.price < :p", "> -p", ""),
        (":p <= x.price - y.price", "", "<= -p"),
        ("y.price - x.price BETWEEN :p AND 3", ">= p", "<= 3.0"),
        ("abs(x.price - y.price) <= :p", ">= -p", "<= p"),
        ("abs((y.price - x.price)) < 3", "> -3.0", "< 3.0"),
        ("5 > abs(y.price - x.price)", "> -5.0", "< 5.0"),
        ("y.id - x.id = :n", ">= n", "<= n"),
        ("x.id > y.id", "", "< 0"),
        ("y.id <= x.id + 5", "", "<= 5"),
        ("y.id <= 5 + x.id", "", "<= 5"),
        ("x.id - :n >= y.id", "", "<= -n"),
        ("x.id < y.id + 2.0 - 3", None, None),
        ("x.id BETWEEN y.id - 1 AND y.id + :n", ">= -n", "<= 1"),
        ("NOT y.id - x.id > 3", "", "<= 3"),
        ("y.day - x.day > 3", "> 3", ""),
        ("y.day BETWEEN x.day - :n AND x.day", ">= -n", "<= 0"),
        ("y.cost <= x.cost + 1.25", "", "<= 1.25"),
        ("y.small - x.small >= NULL", ">= None", ""),
        ("y.cost - x.cost < 1.255", None, None),
        ("y.id - x.id < 2.5", None, None),
        ("y.id <= x.id + 2e0", None, None),
        ("y.id <= x.id + :p", None, None),
        ("y.price <= x.price + 1", None, None),
        ("y.id - x.price < 1", None, None),
        ("y.big - x.big < 1", None, None),
        ("abs(y.id - x.id) > 3", None, None),
        ("y.id - x.id <> 3", None, None),
        ("y.id - x.id < :p AND x.price > :p", None, None),
        ("y.id BETWEEN x.id - 1 AND x.small + 1", None, None),
        ("y.id - x.id < 3 OR y.id - x.id > 5", None, None),
        ("y.id - x.id > -9223372036854775808", None, None),
    ],
)
def test_bands(condition, lows, highs):
    if lows is None:
        assert refusal(f"SELECT x.id FROM a x JOIN b y ON {condition}").code == "SQL-060"
        return
    bound = on(condition)
    assert bound.band is not None

    def shown(ends: tuple[Bound, ...], sign: str) -> str:
        return " ".join(
            f"{sign}{'=' * end.closed} {'-' * end.negated}"
            f"{bound.constants.get(end.parameter, end.parameter)}"
            for end in ends
        )

    assert (shown(bound.band.lows, ">"), shown(bound.band.highs, "<")) == (lows, highs)
    assert bound.residual is None


def test_a_difference_with_both_ends_is_the_band():
    bound = on("y.id - x.id < 3 AND y.price - x.price BETWEEN 1 AND 2")
    assert bound.band is not None
    assert (bound.band.left, bound.band.right) == ("price", "price")
    assert bound.residual is not None
    assert bound.residual.columns == ("i1.id", "i0.id")


def test_beside_a_key_a_difference_is_residual():
    bound = on("x.word = y.word AND abs(x.price - y.price) < :p")
    assert bound.band is None
    assert bound.residual is not None
    assert bound.residual.columns == ("i0.price", "i1.price")


def test_lists_and_alternatives_of_a_side_are_residual():
    bound = on("x.id = y.id AND x.word IN ('a', 'b') AND (x.price > 1 OR x.small = 2) AND x.flag")
    branch = bound.inputs[0].branch
    assert [term.column for term in branch.equalities] == ["flag"]
    assert branch.residual is not None
    assert set(branch.residual.columns) == {"word", "price", "small"}
    assert on("x.id = y.id AND x.word IN ('a')").inputs[0].branch.residual is None


def test_windows_take_whole_parameters():
    sql = "SELECT x.id FROM s x JOIN t y ON x.id = y.id WITHIN :w milliseconds"
    bound = join(sql, EACH)
    assert bound.window is not None
    assert (bound.window.unit_us, bound.parameters) == (1_000, {"w": pa.int64()})
    assert not bound.window.within.closed
    included = join(sql, EACH, inclusive=True).window
    assert included is not None
    assert included.within.closed
    # Compared with a column as well, the parameter keeps the type of its rows.
    assert join(f"{sql} WHERE x.small > :w", EACH).parameters == {"w": pa.int32()}


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("FROM a x LEFT JOIN b y ON x.id = y.id", "SQL-010"),
        ("FROM a x RIGHT OUTER JOIN b y ON x.id = y.id", "SQL-010"),
        ("FROM a x FULL JOIN b y ON x.id = y.id", "SQL-010"),
        ("FROM a x SEMI JOIN b y ON x.id = y.id", "SQL-010"),
        ("FROM a x ANTI JOIN b y ON x.id = y.id", "SQL-010"),
        ("FROM a x NATURAL JOIN b y", "SQL-010"),
        ("FROM a x CROSS JOIN b y", "SQL-010"),
        ("FROM a x POSITIONAL JOIN b y", "SQL-010"),
        ("FROM a x ASOF JOIN b y ON x.id >= y.id", "SQL-010"),
        ("FROM a x, LATERAL (SELECT x.id) y", "SQL-010"),
        (f"{KEYED}, a z", "SQL-088"),
        ("FROM a x JOIN b y JOIN a z ON y.id = z.id ON x.id = y.id", "SQL-010"),
        ("FROM a x JOIN (SELECT 1) y ON TRUE", "SQL-013"),
        ("FROM a x, unnest([1]) y", "SQL-013"),
        ("FROM a x JOIN range(3) y ON TRUE", "SQL-015"),
        (f"{KEYED} GROUP BY x.id", "SQL-011"),
        ("FROM a x JOIN b y USING (extra)", "SQL-020"),
        (f"{KEYED} AND z.id = 3", "SQL-021"),
        (f"{KEYED} AND price > 3", "SQL-025"),
        ("FROM a JOIN a ON a.id = a.id", "SQL-026"),
        ("FROM a x JOIN b X ON x.id = x.id", "SQL-026"),
        (f"{KEYED} AND x.id = y.word", "SQL-030"),
        (f"{KEYED} AND abs(x.word) > y.id", "SQL-032"),
        (f"{KEYED} AND x.id + y.id", "SQL-034"),
        (f"{KEYED} AND x.word < :n", "SQL-042"),
        (f"{KEYED} AND NULL", "SQL-050"),
        ("FROM a x, b y", "SQL-060"),
        ("FROM a x JOIN b y ON x.price > 3 AND y.price < 3", "SQL-060"),
        ("FROM a x JOIN b y ON x.id + 1 = y.id * 2", "SQL-060"),
        ("FROM s x JOIN t y ON x.id = y.id", "SQL-062"),
        ("FROM a x JOIN t y ON x.id = y.id", "SQL-062"),
        ("FROM timeless x JOIN t y ON x.id = y.id WITHIN 1 DAY", "SQL-063"),
        ("FROM a x JOIN t y ON x.id = y.id WITHIN 1 DAY", "SQL-063"),
        (f"{KEYED} WITHIN 1 DAY", "SQL-063"),
        ("FROM whole x JOIN t y ON x.id = y.id WITHIN 1 DAY", "SQL-063"),
        ("FROM fine x JOIN t y ON x.id = y.id WITHIN 1 DAY", "SQL-063"),
        ("FROM s x, t y WITHIN 1 DAY", "SQL-064"),
        ("FROM s x JOIN t y ON y.id - x.id < 3 WITHIN 1 DAY", "SQL-064"),
        (f"FROM s x {WINDOW} WITHIN 0 DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN -1 DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN 0.5 microseconds", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN 1e18 DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN NULL DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN '1' DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN x.id DAYS", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN 1 fortnight", "SQL-065"),
        (f"FROM s x {WINDOW} WITHIN :k DAYS", "SQL-042"),
        (f"FROM s x {WINDOW} WITHIN :p DAYS", "SQL-042"),
        (f"{KEYED} AND y.OP = 'insert'", "SQL-066"),
    ],
)
def test_refusals(rest, code):
    assert refusal(f"SELECT 1 AS one {rest}").code == code


def test_parameters_stand_in_joins_too():
    with pytest.raises(PenstockError, match="SQL-040"):
        on("x.id = y.id AND x.price > :p", None)
    with pytest.raises(PenstockError, match="SQL-041"):
        on("x.id = y.id AND x.price > :q")
    with pytest.raises(PenstockError, match="SQL-043"):
        join("SELECT :p FROM a x JOIN b y ON x.id = y.id", EACH)
