"""Range aggregates in a home: told, restored, verified by DuckDB, followed by messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.operators.range_aggregate.figures import MESSAGES, NOTIFICATIONS, TUPLES, UPDATES
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

COLUMNS = [
    ("id", pa.int64()), ("category", pa.string()), ("risk", pa.float64()), ("price", pa.int64()),
    ("rate", pa.float64()), ("cost", pa.decimal128(9, 2)), ("op", pa.string()),
]  # fmt: skip
OFFERS = Relation(
    name="offers",
    kind="table",
    schema=pa.schema(COLUMNS),
    change_column="op",
    key=("id",),
    sequence=("id",),
)
PLAIN = Relation(name="bag", kind="table", schema=pa.schema(COLUMNS), change_column="op")
TICKS = Relation(name="ticks", kind="table", schema=pa.schema(COLUMNS), change_column="op")
EACH = [
    {"id": "wide", "lo": 0.0, "hi": 9.0, "category": "a", "top": 7.0},
    {"id": "narrow", "lo": 2.0, "hi": 3.0, "category": "b", "top": 5.0},
    {"id": "none", "lo": 100.0, "hi": 200.0, "category": "a", "top": 900.0},
    {"id": "null", "lo": None, "hi": 2.0, "category": "a", "top": 7.0},
]
TEXTS = {
    "lowest": "SELECT MIN(price) AS low FROM {of} WHERE risk BETWEEN :lo AND :hi",
    "highest": "SELECT MAX(cost) - MIN(cost) AS spread, COUNT(*) AS n, COUNT(DISTINCT price) AS d "
    "FROM {of} WHERE risk >= :lo AND risk < :hi AND category = :category",
    "sums": "SELECT SUM(price) AS s, AVG(rate) AS r, SUM(cost) AS c, COUNT(rate) AS n FROM {of} "
    "WHERE risk > :lo AND price <> 4",
    "few": "SELECT MIN(price, 3) AS lows, MAX(cost, 2) AS highs FROM {of} "
    "WHERE risk BETWEEN :lo AND :hi",
    "boxes": "SELECT MIN(price) AS low, MAX(cost) AS high, COUNT(*) AS n, SUM(cost), AVG(rate) "
    "FROM {of} WHERE risk BETWEEN :lo AND :hi AND rate >= :lo AND rate < :top AND category <> 'c'",
}
SUBSCRIBED = (
    ("lowest", "offers"), ("highest", "offers"), ("sums", "bag"), ("lowest", "ticks"),
    ("sums", "ticks"), ("boxes", "offers"), ("boxes", "bag"),
    ("few", "offers"), ("few", "bag"),
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", OFFERS, PLAIN, TICKS) as made:
        yield made


class Market:
    """Draws changes of rows; those of `bag` go only if they are there."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.held: list[dict[str, Any]] = []
        self.number = 0

    def row(self) -> dict[str, Any]:
        chance = self.chance
        self.number += 1
        risk = None if chance.random() < 0.1 else float(chance.integers(0, 9))
        rate = float("nan") if chance.random() < 0.1 else float(chance.random() * 9)
        return {
            "id": self.number, "category": "abc"[chance.integers(3)], "risk": risk,
            "price": None if chance.random() < 0.1 else int(chance.integers(0, 9)), "rate": rate,
            "cost": None if chance.random() < 0.1 else int(chance.integers(0, 900)) / 100,
        }  # fmt: skip

    def batch(self) -> dict[str, Any]:
        bag = []
        for _ in range(int(self.chance.integers(1, 8))):
            if self.held and self.chance.random() < 0.4:
                gone = self.held.pop(int(self.chance.integers(len(self.held))))
                bag.append({**gone, "op": "delete"})
            else:
                self.held.append(self.row())
                bag.append({**self.held[-1], "op": "insert"})
        keyed = [{**self.row(), "op": "insert"} for _ in range(3)]
        if self.number > 9:
            keyed.append({**self.row(), "id": int(self.chance.integers(1, 9)), "op": "delete"})
        count = int(self.chance.integers(0, 5))
        ticks = [{**self.row(), "op": "insert"} for _ in range(count)]
        return {"bag": tabled(bag, PLAIN), "offers": tabled(keyed, OFFERS),
                "ticks": tabled(ticks, TICKS)}  # fmt: skip


def tabled(rows: list[dict[str, Any]], relation: Relation) -> pa.Table:
    plain = [{name: row[name] for name in relation.schema.names if name != "cost"} for row in rows]
    cents = pa.array([row["cost"] for row in rows], pa.float64()).cast(pa.decimal128(9, 2))
    schema = relation.schema
    table = pa.Table.from_pylist(plain, schema=schema.remove(schema.get_field_index("cost")))
    return table.append_column("cost", cents).select(schema.names)


def verified(run: DeskRun) -> dict[str, SubscriptionOutcome]:
    found = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    for each in found.values():
        assert each.equal, (each.subscription, each.examples, each.failures)
    return found


def test_the_value_of_every_query_is_duckdbs_after_every_batch(run: DeskRun, seed: int) -> None:
    market = Market(seed)
    run.batch(**market.batch())
    for name, of in SUBSCRIBED:
        asked = {"snapshot": True} if name == "lowest" else {}
        run.desk.subscribe(TEXTS[name].format(of=of), f"{name}_{of}", EACH, options=asked)
    run.batch(**market.batch())
    run.batch(**market.batch())
    more = [{"id": "more", "lo": 1.0, "hi": 4.0, "category": "c", "top": 8.0}]
    for name, of in SUBSCRIBED:
        run.desk.subscription(f"{name}_{of}").add(more)
    run.desk.subscription("highest_offers").drop(["wide"])
    for _ in range(3):
        run.batch(**market.batch())
        run.restart()
    run.batch()
    run.batch(**market.batch())
    found = verified(run)
    assert len(found) == len(SUBSCRIBED)
    assert found["lowest_offers"].expected > 3 and found["sums_bag"].expected > 8
    told = run.desk.explain("boxes_offers").text()
    for words in ("rate and risk", "min(price), max(cost)", "count(*), sum(cost), avg(rate)"):
        assert words in told, told
    assert found["boxes_offers"].expected > 8 and found["boxes_bag"].expected > 8


def told(run: DeskRun, name: str) -> list[tuple[Any, ...]]:
    return [
        (change.batch, change.id, change.sign, *change.row.values())
        for change in run.desk.subscription(name).changes(follow=False)
    ]


def row(number: int, risk: float, price: int, op: str = "insert") -> dict[str, Any]:
    return {"id": number, "category": "a", "risk": risk, "price": price, "rate": 1.0,
            "cost": None, "op": op}  # fmt: skip


def test_a_change_is_told_once_and_only_if_something_differs(run: DeskRun) -> None:
    run.desk.subscribe(TEXTS["lowest"].format(of="bag"), "low", EACH[:2])
    run.batch(bag=tabled([row(1, 2.0, 5), row(2, 2.5, 7)], PLAIN))
    run.batch(bag=tabled([row(3, 2.2, 6)], PLAIN))
    run.batch(bag=tabled([row(1, 2.0, 5, "delete"), row(4, 2.0, 6)], PLAIN))
    run.batch(bag=tabled([row(2, 2.5, 7, "delete")], PLAIN))
    changes = [
        (0, "wide", -1, None), (0, "wide", 1, 5), (0, "narrow", -1, None), (0, "narrow", 1, 5),
        (2, "wide", -1, 5), (2, "wide", 1, 6), (2, "narrow", -1, 5), (2, "narrow", 1, 6),
    ]  # fmt: skip
    assert sorted(told(run, "low"), key=str) == sorted(changes, key=str)
    figures = run.figures[run.desk.subscription("low").group]
    assert figures[TUPLES] == 2 and not figures[NOTIFICATIONS]


def test_the_lowest_values_of_a_range_are_a_list(run: DeskRun) -> None:
    text = "SELECT MIN(price, 2) AS low, MAX(price, 2) AS high FROM bag WHERE risk < :hi"
    run.desk.subscribe(text, "few", EACH[:1])
    run.batch(bag=tabled([row(1, 2.0, 5), row(2, 2.5, 7), row(3, 2.5, 5)], PLAIN))
    run.batch(bag=tabled([row(4, 2.0, 6)], PLAIN))
    run.batch(bag=tabled([row(1, 2.0, 5, "delete"), row(4, 2.0, 6, "delete")], PLAIN))
    run.batch(bag=tabled([row(2, 2.5, 7, "delete"), row(3, 2.5, 5, "delete")], PLAIN))
    came = [line[2:] for line in told(run, "few") if line[2] > 0]
    assert came == [(1, [5, 5], [7, 5]), (1, [5, 5], [7, 6]), (1, [5, 7], [7, 5]), (1, None, None)]
    assert "min(price, 2), max(price, 2)" in run.desk.explain("few").text()
    assert verified(run)["few"].expected == 8


def test_a_query_is_told_what_it_finds_only_if_it_asks(run: DeskRun) -> None:
    text = TEXTS["lowest"].format(of="bag")
    run.batch(bag=tabled([row(1, 2.0, 5)], PLAIN))
    loud = run.desk.subscribe(text, "loud", EACH[:3], options={"snapshot": True})
    quiet = run.desk.subscribe(text, "quiet", EACH[:3])
    assert loud.group == quiet.group
    run.batch()
    found = [(1, "wide", 1, 5), (1, "narrow", 1, 5), (1, "none", 1, None)]
    assert sorted(told(run, "loud"), key=str) == sorted(found, key=str)
    assert told(run, "quiet") == []
    run.restart()
    run.batch(bag=tabled([row(2, 2.0, 3)], PLAIN))
    assert len(told(run, "quiet")) == 4 and len(told(run, "loud")) == 7
    verified(run)


def test_messages_are_results_like_others(run: DeskRun, seed: int) -> None:
    market = Market(seed)
    texts = {
        "lows": "SELECT MIN(price) FROM {of} WHERE risk BETWEEN :lo AND :hi",
        "highs": "SELECT MAX(cost) FROM {of} WHERE risk > :lo AND category = :category "
        "AND price <> 4",
        "counts": "SELECT COUNT(*) FROM {of} WHERE risk < :hi AND category = :category",
        "sums": "SELECT SUM(cost) FROM {of} WHERE risk BETWEEN :lo AND :hi",
        "sets": "SELECT COUNT(DISTINCT price) FROM {of} WHERE risk BETWEEN :lo AND :hi",
        "means": "SELECT AVG(rate) FROM {of} WHERE risk BETWEEN :lo AND :hi",
    }
    told_of = {"lows": "offers", "highs": "ticks", "counts": "offers", "sums": "ticks",
               "means": "offers", "sets": "offers"}  # fmt: skip
    for name, of in told_of.items():
        run.desk.subscribe(texts[name].format(of=of), name, options={"messages": True})
    for _ in range(3):
        run.batch(**market.batch())
    run.restart()
    for name in ("highs", "sums", "sets"):
        begun = {"messages": True, "snapshot": True}
        run.desk.subscribe(texts[name].format(of="offers"), f"late_{name}", options=begun)
    for _ in range(3):
        run.batch(**market.batch())
    found = verified(run)
    assert len(found) == 9
    assert all(each.expected > 30 for each in found.values())
    (first, *_) = run.desk.subscription("lows").changes(follow=False)
    assert list(first.row) == ["min", "inner_l", "inner_r", "outer_l", "outer_r"]
    (first, *_) = run.desk.subscription("counts").changes(follow=False)
    assert list(first.row) == ["category", "op", "x_old", "y_old", "x_new", "y_new"]


def test_the_rectangles_of_the_worked_example(run: DeskRun) -> None:
    points = [(20, 3), (30, 8), (40, 12), (50, 5), (70, 6), (100, 2)]
    text = "SELECT MIN(price) FROM bag WHERE risk BETWEEN :lo AND :hi"
    run.desk.subscribe(text, "lows", options={"messages": True})
    run.batch(bag=tabled([row(x, float(x), y) for x, y in points], PLAIN))
    run.batch(bag=tabled([row(50, 50.0, 5, "delete"), row(50, 50.0, 9)], PLAIN))
    assert [line[3:] for line in told(run, "lows") if line[0] == 1] == [
        (8, 30.0, 50.0, 20.0, 70.0), (9, 50.0, 50.0, 30.0, 70.0), (6, 50.0, 70.0, 20.0, 100.0),
    ]  # fmt: skip
    figures = run.figures[run.desk.subscription("lows").group]
    assert figures[MESSAGES] == 3
    assert figures.by(UPDATES) == {"difficult": 1}


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("SELECT MIN(price), MAX(price) FROM bag WHERE risk < :hi", {"messages": True}, "AGG-007"),
        ("SELECT MIN(price) FROM bag WHERE risk < :hi", {"messages": "yes"}, "SQL-071"),
        ("SELECT MIN(price) FROM bag WHERE risk < 5", {"mode": "full"}, "SQL-070"),
    ],
)
def test_options_are_checked(run: DeskRun, text: str, options: Any, code: str) -> None:
    with pytest.raises(PenstockError, match=code):
        run.desk.subscribe(text, options=options)


def test_messages_have_no_rows_of_their_own(run: DeskRun) -> None:
    text = "SELECT MIN(price) FROM bag WHERE risk < :hi"
    with pytest.raises(PenstockError, match="AGG-007"):
        run.desk.subscribe(text, each=[{"id": 1, "hi": 2.0}], options={"messages": True})
