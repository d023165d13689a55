"""Edges of joins: each subscriber is told the rows that come and go in his box, as brute force."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.brokers import point_states
from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.brokers.message_format import ABOUT, BatchEnd, MessageForm
from penstock.brokers.message_kinds import kind_of_results, message_rows
from penstock.brokers.protocol import END
from penstock.delivery import announced_edges, courier, message_publisher, sink_pool, sinks
from penstock.edges import joined_rows
from penstock.edges.edge import Edge
from penstock.edges.joined_rows import BoxIndex
from penstock.edges.notifications import Notifications
from penstock.edges.subscribers import Subscribers
from penstock.engine.home_verification import verify_home
from penstock.engine.scripts import execute
from penstock.lab.brokers import PROGRAMS, missing, running
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun
from tests.support.waiting import until

COLUMNS = [
    ("product", pa.string()), ("quantity", pa.int64()), ("price", pa.float64()),
    ("op", pa.string()),
]  # fmt: skip
RELATIONS = [
    Relation(name=name, kind="table", schema=pa.schema(COLUMNS), change_column="op")
    for name in ("supply", "demand")
]
SELECTED = """
SELECT s.product, s.quantity AS offered, d.quantity AS wanted, s.price < d.price AS is_cheap
FROM supply s JOIN demand d ON s.product = d.product WHERE {where}
"""
BOXES = "s.quantity BETWEEN :slo AND :shi AND d.quantity BETWEEN :dlo AND :dhi"
CONDITIONS = {
    "two ranges": BOXES,
    "two ranges and a partition": f"{BOXES} AND s.product = :product AND d.price >= 2",
    "open ends": ":slo < s.quantity AND d.quantity < :dhi",
    "one range": "(s.quantity >= :slo) AND s.quantity < :shi AND d.product = :product",
    "floats": "s.price BETWEEN :slo AND :shi",
}
ROOTS = count()
Held = dict[str, Counter[str]]


class Market:
    """Rows of both tables that come and go, some of them equal, some with NULL."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.rows: dict[str, list[tuple[Any, ...]]] = {"supply": [], "demand": []}

    def batch(self, come: int, go: int) -> dict[str, pa.Table]:
        return {name: self._changes(rows, come, go) for name, rows in self.rows.items()}

    def _changes(self, rows: list[tuple[Any, ...]], come: int, go: int) -> pa.Table:
        self._rng.shuffle(rows)
        told = [(*rows.pop(), "delete") for _ in range(min(go, len(rows)))]
        for _ in range(come):
            product, quantity, price = self._rng.integers(0, [3, 12, 8]).tolist()
            known = None if quantity == 11 else quantity
            rows.append(("abc"[product], known, price / 2))
            told.append((*rows[-1], "insert"))
        return pa.Table.from_pylist(
            [dict(zip(dict(COLUMNS), row, strict=True)) for row in told], pa.schema(COLUMNS)
        )

    def subscribers(self, size: int) -> pa.Table:
        first, second = self._rng.integers(0, 9, (2, size))
        last, end = first + self._rng.integers(-1, 6, size), second + self._rng.integers(0, 6, size)
        known = ["a", "b", "c", "z", None]
        products = [known[each] for each in self._rng.integers(0, 5, size).tolist()]
        lows: list[int | None] = second.tolist()
        lows[0] = None
        return pa.table({
            "id": [f"s{at}" for at in range(size)], "product": products, "slo": first, "shi": last,
            "dlo": pa.array(lows, pa.int64()), "dhi": end,
        })  # fmt: skip

    def answers(self, given: pa.Table, where: str) -> Held:
        return {each["id"]: self._answer(each, where) for each in given.to_pylist()}

    def _answer(self, own: dict[str, Any], where: str) -> Counter[str]:
        found: Counter[str] = Counter()
        for product, offered, low in self.rows["supply"]:
            for other, wanted, high in self.rows["demand"]:
                if product != other or not lies(own, where, (product, offered, wanted, low, high)):
                    continue
                row = {"product": product, "offered": offered, "wanted": wanted,
                       "is_cheap": low < high}  # fmt: skip
                found[json.dumps(row)] += 1
        return found


def between(low: Any, value: Any, high: Any) -> bool:
    return None not in (low, value, high) and low <= value <= high


def lies(own: dict[str, Any], where: str, row: tuple[Any, ...]) -> bool:
    """Say whether a joined row is in a subscriber's box, by what the conditions are called."""
    product, offered, wanted, low, high = row
    boxed = between(own["slo"], offered, own["shi"]) and between(own["dlo"], wanted, own["dhi"])
    match where:
        case "two ranges":
            return boxed
        case "two ranges and a partition":
            return boxed and own["product"] == product and high >= 2
        case "open ends":
            return None not in (offered, wanted) and own["slo"] < offered and wanted < own["dhi"]
        case "one range":
            is_in = offered is not None and own["slo"] <= offered < own["shi"]
            return is_in and own["product"] == product
    return between(own["slo"], low, own["shi"])


class Receiver:
    """An edge, and what its subscribers were told."""

    def __init__(self, url: str, given: pa.Table) -> None:
        self.held: Held = {own: Counter() for own in given["id"].to_pylist()}
        self.told = 0
        place = BrokerAddress.of(url)
        self._broker = broker_at(place)
        announced = ("north", broker_at(edge_address(place, "north")))
        self.edge = Edge(broker_at(place), given, self._take, announced=announced)

    def _take(self, told: Notifications) -> None:
        lines = [json.loads(line) for line in told.lines().splitlines()]
        assert len(lines) == len(told) and all(each["weight"] for each in lines)
        self.told += len(lines)
        for each in lines:
            assert each.get("first", False) == told.is_first
            held = self.held[each["id"]]
            held[json.dumps(each["value"])] += each["weight"]
            assert min(held.values()) >= 0, "a row goes that did not come"

    def catch_up(self) -> Held:
        newest = self._broker.newest(END)
        assert newest is not None
        self.edge.step(0.01)
        while self.edge.batch < newest.batch or self.edge.values([]) is None:
            self.edge.step(0.01)
        return {own: +rows for own, rows in self.held.items()}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PAUSE_FIRST_S", 0.01)
    monkeypatch.setattr(sink_pool, "LOOK_S", 0.002)
    monkeypatch.setattr(courier, "LOOK_S", 0.005)
    monkeypatch.setattr(announced_edges, "LOOK_S", 0.0)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", *RELATIONS) as made:
        yield made


def publish(run: DeskRun) -> None:
    run.desk.readers.sinks.begin(run.desk.readers.courier)
    run.desk.readers.sinks.finish(drain=True, patience_s=600)


def subscribe(run: DeskRun, where: str, url: str) -> None:
    select = SELECTED.format(where=CONDITIONS[where])
    execute(run.desk, f"SUBSCRIBE pairs TO {select} AS MESSAGES WITH SNAPSHOT INTO '{url}'")


def own_answers(subscription: Any) -> Held:
    """Add up what the standing query of each subscriber was told by the engine."""
    found: Held = {}
    for row in subscription.read().to_pylist():
        told = {key: row[key] for key in ("product", "offered", "wanted", "is_cheap")}
        found.setdefault(row["_id"], Counter())[json.dumps(told)] += row["_sign"]
    return {own: +rows for own, rows in found.items()}


@pytest.mark.parametrize("edges", ["", "&edges=north"])
@pytest.mark.parametrize("where", CONDITIONS)
def test_edges_tell_what_brute_force_tells(
    where: str, edges: str, run: DeskRun, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that comes late; a publisher that begins anew; and as his own standing query."""
    monkeypatch.setattr(message_publisher, "FEW_ROWS", seed % 2)
    monkeypatch.setattr(joined_rows, "WAITING_MIN", 5)
    url, market = f"memory://rows/r{next(ROOTS)}", Market(seed)
    given = market.subscribers(40)
    run.batch(**market.batch(9, 0))
    subscribe(run, where, f"{url}?buckets=4{edges}")
    select = SELECTED.format(where=CONDITIONS[where])
    own = run.desk.subscribe(select, name="own", each=given, key="id", options={"snapshot": True})
    run.batch(**market.batch(3, 2))
    publish(run)
    steady = Receiver(url, given)
    answers = market.answers(given, where)
    assert steady.catch_up() == answers
    for turn in range(6):
        run.batch(**market.batch(*((0, 99) if turn == 3 else (8, 3))))
        publish(run)
        before, answers = answers, market.answers(given, where)
        told = steady.told
        assert steady.catch_up() == answers
        assert (steady.told == told) == (before == answers)
    assert any(answers.values())
    late = Receiver(url, given)
    assert late.catch_up() == answers and (steady.edge.begins == 1 or edges)
    standing = late.edge.values(["s3"])
    assert standing is not None and set(standing.ids.to_pylist()) <= {"s3"}
    assert standing.weights is not None
    assert sum(standing.weights.to_pylist()) == answers["s3"].total()
    if edges:
        return
    by_engine = {name: rows for name, rows in own_answers(own).items() if rows}
    assert by_engine == {name: rows for name, rows in answers.items() if rows}
    outcome = verify_home(run.desk)
    assert len(outcome.answers) == 2, outcome
    assert all(each.equal and each.expected and each.outputs for each in outcome.answers), outcome


def test_an_edge_that_missed_something_tells_what_differs(run: DeskRun) -> None:
    url, market = f"memory://rows/r{next(ROOTS)}?keep=12&buckets=1", Market(3)
    given = market.subscribers(30)
    subscribe(run, "two ranges", url)
    run.batch(**market.batch(9, 0))
    publish(run)
    slow = Receiver(url, given)
    slow.catch_up()
    for _ in range(16):
        run.batch(**market.batch(4, 3))
    publish(run)
    assert slow.catch_up() == market.answers(given, "two ranges") and slow.edge.begins == 2


def test_subscribers_are_replaced_while_an_edge_runs(run: DeskRun) -> None:
    """Who stays with another box is told the rows that differ, and who is new all of his."""
    url, market = f"memory://rows/r{next(ROOTS)}", Market(4)
    given, other = market.subscribers(30), market.subscribers(40)
    subscribe(run, "two ranges", url)
    run.batch(**market.batch(12, 0))
    publish(run)
    receiver = Receiver(url, given)
    receiver.catch_up()
    receiver.held |= {own: Counter() for own in other["id"].to_pylist()[30:]}
    receiver.edge.replace(other)
    assert receiver.catch_up() == market.answers(other, "two ranges")
    receiver.edge.replace(given.take(list(range(29, -1, -1))))
    found = receiver.catch_up()
    assert {own: found[own] for own in given["id"].to_pylist()} == (
        market.answers(given, "two ranges")
    )


def test_rows_that_either_range_leaves_out_are_not_sent(run: DeskRun) -> None:
    url = f"memory://rows/r{next(ROOTS)}"
    given = pa.table({"id": ["anna"], "slo": [0], "shi": [3], "dlo": [5], "dhi": [6]})
    one = {"product": "a", "quantity": 1, "price": 1.0, "op": "insert"}
    subscribe(run, "two ranges", f"{url}?edges=north")
    run.batch(supply=[one, {**one, "quantity": 4}], demand=[{**one, "quantity": 7}])
    publish(run)
    receiver = Receiver(url, given)
    receiver.catch_up()
    for wanted in (5, 1, 4, 6, 7, 9):
        run.batch(demand=[{**one, "quantity": wanted}])
        publish(run)
    rows = [{"product": "a", "offered": 1, "wanted": at, "is_cheap": False} for at in (5, 6)]
    assert receiver.catch_up() == {"anna": Counter(map(json.dumps, rows))}
    broker = broker_at(BrokerAddress.of(url))
    form = MessageForm.of_bytes(broker.kept()[ABOUT])
    sent = [BatchEnd.of_bytes(own.payload) for own in broker.read([END]).take(0.0)]
    told = [form.read(own.rows).to_pylist() for own in sent if own.heard and own.rows]
    assert [[(row["offered"], row["wanted"]) for row in own] for own in told] == [
        [(1, 5)],
        [(1, 6)],
    ]


@pytest.mark.crash
@pytest.mark.parametrize("scheme", PROGRAMS)
def test_rows_pass_a_broker_that_dies(scheme: str, run: DeskRun, seed: int) -> None:
    if (reason := missing(scheme)) is not None:
        pytest.skip(reason)
    market = Market(seed)
    given = market.subscribers(40)
    with running(scheme, durable=True) as server:
        url = f"{server.url}/market.pairs"
        run.batch(**market.batch(9, 0))
        subscribe(run, "two ranges and a partition", url)
        for turn in range(3):
            for _ in range(3):
                run.batch(**market.batch(4, 3))
            if turn == 1:
                server.kill()
                threading.Timer(0.3, server.start).start()
            publish(run)
            receiver = Receiver(url, given)
            assert receiver.catch_up() == market.answers(given, "two ranges and a partition")
            receiver.edge.close()
            run.restart()


def test_a_state_that_would_be_too_large_is_refused(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rows that there are, not by how many came and went."""
    monkeypatch.setattr(point_states, "ROWS_MAX", 4)
    url = f"memory://rows/r{next(ROOTS)}"
    subscribe(run, "two ranges", url)
    one = {"product": "a", "quantity": 1, "price": 1.0, "op": "insert"}
    run.batch(supply=[one], demand=[{**one, "quantity": 2}])
    for quantity in range(6):
        run.batch(supply=[{**one, "quantity": quantity}])
        run.batch(supply=[{**one, "quantity": quantity, "op": "delete"}])
    publish(run)
    given = Market(1).subscribers(3)
    Receiver(url, given).catch_up()
    (sink,) = run.desk.readers.sinks.runners
    assert sink.state.failures == 0
    run.batch(demand=[{**one, "quantity": at} for at in range(9)])
    run.desk.readers.sinks.begin(run.desk.readers.courier)
    until(lambda: sink.state.failures > 0)
    run.desk.readers.sinks.finish(drain=False, patience_s=600)
    assert "BRK-008" in str(sink.state.last_error)


def test_an_edge_of_rows_tells_no_aggregate(run: DeskRun) -> None:
    url, market = f"memory://rows/r{next(ROOTS)}", Market(2)
    subscribe(run, "one range", url)
    run.batch(**market.batch(5, 0))
    publish(run)
    about = json.loads(broker_at(BrokerAddress.of(url)).kept()[ABOUT])
    assert about["partition"] == ["d.product = :product"]
    assert about["conditions"] == [
        {"column": "d.product = :product", "equals": "product"},
        {"column": ":slo <= s.quantity < :shi", "low": "slo", "low_closed": True,
         "high": "shi", "high_closed": False},
    ]  # fmt: skip
    place = BrokerAddress.of(url)
    with pytest.raises(PenstockError, match="EDG-005"):
        Edge(broker_at(place), market.subscribers(2), print, aggregate="sum").step(0.01)
    with pytest.raises(PenstockError, match="EDG-002"):
        Edge(broker_at(place), market.subscribers(2).drop_columns("shi"), print).step(0.01)


def test_rows_of_messages_are_told_once_and_equal_ones_together() -> None:
    names = ["_id", "_query", "_sign", "x", ":lo <= d.n", "_batch", "_version"]
    signs = pa.array([1, 1, -1, 1, 1], pa.int8())
    xs, ns = pa.array([0.0, -0.0, 5.0, 5.0, 7.0]), pa.array([1, 1, 2, 2, None])
    zeros = pa.array([0] * 5)
    told = pa.table([zeros, zeros, signs, xs, ns, zeros, zeros], names=names)
    assert kind_of_results(told.schema) == "row"
    assert message_rows(told).to_pylist() == [
        {"ordinal": 0, "x": 0.0, ":lo <= d.n": 1, "weight": 2}
    ]


@pytest.mark.parametrize("ranges", [1, 2])
def test_boxes_have_the_rows_that_brute_force_finds(ranges: int, seed: int) -> None:
    """In many partitions, at the ends of integers too, and with more boxes than a tail holds."""
    rng = np.random.default_rng(seed)
    values = np.array([-(2**63), -(2**63) + 1, -1, 0, 1, 5, 2**63 - 2, 2**63 - 1])
    ends = np.sort(values[rng.integers(0, len(values), (ranges, 2, 400))], axis=1)
    subscribers = object.__new__(Subscribers)
    subscribers.sides = [(low, high) for low, high in ends]
    subscribers.x1s, subscribers.x2s = subscribers.sides[0]
    subscribers.codes = rng.integers(0, 4, 400)
    subscribers.stands = rng.random(400) < 0.9
    index = BoxIndex(subscribers)
    codes = rng.integers(0, 5, 60)
    points = [values[rng.integers(0, len(values), 60)] for _ in range(ranges)]
    which, slots = index.find(codes, points)
    expected = []
    for at in range(60):
        inside = subscribers.stands & (subscribers.codes == codes[at])
        for (low, high), own in zip(ends, points, strict=True):
            inside = inside & (low <= own[at]) & (own[at] <= high)
        expected += [(at, slot) for slot in np.flatnonzero(inside).tolist()]
    assert list(zip(which.tolist(), slots.tolist(), strict=True)) == expected
