"""Edges of counts, sums, averages, distinct values and truths: as brute force, told once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.brokers.protocol import END
from penstock.delivery import courier, message_publisher, sink_pool
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications
from penstock.engine.scripts import execute
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

COLUMNS = [
    ("id", pa.int64()), ("site", pa.string()), ("risk", pa.float64()), ("n", pa.int64()),
    ("price", pa.decimal128(9, 2)), ("mass", pa.float64()), ("is_new", pa.bool_()),
    ("op", pa.string()),
]  # fmt: skip
OFFERS = Relation(name="offers", kind="table", schema=pa.schema(COLUMNS), change_column="op")
SUBSCRIBED = """
SUBSCRIBE asked TO SELECT {asked} FROM offers WHERE site = :site AND risk BETWEEN :lo AND :hi
  AS MESSAGES WITH SNAPSHOT INTO '{url}?buckets=4'
"""
ROOTS = count()
Values = list[Any]


def total(values: Values) -> Any:
    return sum(values[1:], values[0]) if values else None


def mean(values: Values) -> float | None:
    return float(sum(map(Decimal, values))) / len(values) if values else None


CASES: list[tuple[str, str | None, str, Callable[[Values], Any]]] = [
    ("COUNT(*)", "count", "id", len),
    ("COUNT(n)", "count", "n", len),
    ("SUM(n)", "sum", "n", total),
    ("SUM(n)", "count", "n", len),
    ("AVG(n)", "sum", "n", total),
    ("SUM(price)", "sum", "price", total),
    ("AVG(price)", "avg", "price", mean),
    ("SUM(mass)", "sum", "mass", total),
    ("COUNT(DISTINCT price)", None, "price", lambda values: len(set(values))),
    ("MAX(is_new)", None, "is_new", lambda values: max(values, default=None)),
]


class Table:
    """Offers that come and go; masses are sums of a few powers of two, so that floats are exact."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.rows: dict[int, dict[str, Any]] = {}
        self._count = 0

    def batch(self, come: int, go: int) -> pa.Table:
        gone = self._rng.permutation(list(self.rows))[:go].tolist()
        rows = [{**self.rows.pop(id_), "op": "delete"} for id_ in gone]
        for _ in range(come):
            self._count += 1
            draw = self._rng.integers
            row = {
                "id": self._count, "site": "ab"[int(draw(0, 2))], "risk": float(draw(0, 20)) / 2,
                "n": None if draw(0, 5) == 0 else int(draw(-9, 9)),
                "price": None if draw(0, 7) == 0 else Decimal(int(draw(1, 12))) / 4,
                "mass": float(2.0 ** draw(-20, 20)), "is_new": [None, True, False][draw(0, 3)],
                "op": "insert",
            }  # fmt: skip
            self.rows[self._count] = row
            rows.append(row)
        return pa.Table.from_pylist(rows, OFFERS.schema)

    def subscribers(self, size: int) -> pa.Table:
        first = self._rng.integers(0, 9, size)
        sites = ["abc"[code] for code in self._rng.integers(0, 3, size).tolist()]
        last = first + self._rng.integers(-1, 5, size)
        ids = [f"s{at}" for at in range(size)]
        return pa.table({"id": ids, "site": sites, "lo": first, "hi": last})

    def answers(self, given: pa.Table, column: str, oracle: Callable[[Values], Any]) -> dict:
        found = {}
        for each in given.to_pylist():
            found[each["id"]] = oracle([
                row[column]
                for row in self.rows.values()
                if row["site"] == each["site"] and each["lo"] <= row["risk"] <= each["hi"]
                and row[column] is not None
            ])  # fmt: skip
        return found


class Receiver:
    """An edge, and all that it told."""

    def __init__(self, url: str, given: pa.Table, aggregate: str | None) -> None:
        self.values: dict[str, Any] = {}
        self.told: list[dict[str, Any]] = []
        self._broker = broker_at(BrokerAddress.of(url))
        place = BrokerAddress.of(url)
        announced = ("north", broker_at(edge_address(place, "north")))
        self.edge = Edge(
            broker_at(place), given, self._take, aggregate=aggregate, announced=announced
        )

    def _take(self, told: Notifications) -> None:
        pairs = dict(zip(told.ids.to_pylist(), told.values.to_pylist(), strict=True))
        assert len(pairs) == len(told), "one is told twice of a batch"
        self.values.update(pairs)
        if not told.is_first:
            self.told.append(pairs)

    def catch_up(self) -> None:
        newest = self._broker.newest(END)
        assert newest is not None
        self.edge.step(0.01)
        while self.edge.batch < newest.batch or self.edge.values([]) is None:
            self.edge.step(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_pool, "LOOK_S", 0.002)
    monkeypatch.setattr(courier, "LOOK_S", 0.005)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", OFFERS) as made:
        yield made


def publish(run: DeskRun) -> None:
    run.desk.readers.sinks.begin(run.desk.readers.courier)
    run.desk.readers.sinks.finish(drain=True, patience_s=600)


@pytest.mark.parametrize("edges", ["", "&edges=north"])
@pytest.mark.parametrize(("asked", "aggregate", "column", "oracle"), CASES)
def test_edges_tell_what_brute_force_tells(
    asked: str, aggregate: str | None, column: str, oracle: Callable[[Values], Any],
    edges: str, run: DeskRun, seed: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Also one that comes late, from a state; and a publisher that begins anew with each batch.

    Where the edge is named, what does not concern it is left out.
    """
    monkeypatch.setattr(message_publisher, "FEW_ROWS", seed % 2)
    url, table = f"memory://aggregates/r{next(ROOTS)}", Table(seed)
    given = table.subscribers(40)
    run.batch(offers=table.batch(12, 0))
    address = SUBSCRIBED.format(asked=asked, url=url).replace("buckets=4", f"buckets=4{edges}")
    execute(run.desk, address)
    run.batch(offers=table.batch(5, 2))
    publish(run)
    steady = Receiver(url, given, aggregate)
    steady.catch_up()
    answers = table.answers(given, column, oracle)
    assert steady.values == answers and not steady.told
    for turn in range(8):
        run.batch(offers=table.batch(*((0, 99) if turn == 5 else (4, 3))))
        publish(run)
        steady.catch_up()
        before, answers = answers, table.answers(given, column, oracle)
        changed = {own: value for own, value in answers.items() if before[own] != value}
        told = steady.told.pop() if changed else {}
        assert told == changed and not steady.told and steady.values == answers
    late = Receiver(url, given, aggregate)
    late.catch_up()
    assert late.values == answers


@pytest.mark.parametrize("edges", ["", "&edges=north"])
def test_what_a_broker_lost_is_published_again(edges: str, run: DeskRun) -> None:
    """A power cut took what it had not written, and the engine too: its cursor is further."""
    url, table = f"memory://aggregates/r{next(ROOTS)}", Table(8)
    given = table.subscribers(40)
    address = SUBSCRIBED.format(asked="MAX(n)", url=url).replace("buckets=4", f"buckets=4{edges}")
    run.batch(offers=table.batch(12, 0))
    execute(run.desk, address)
    run.batch(offers=table.batch(5, 2))
    publish(run)
    shelf = broker_at(BrokerAddress.of(url))._shelf  # type: ignore[attr-defined]
    written = {name: copy(own) for name, own in vars(shelf).items() if name != "changed"}
    for _ in range(4):
        run.batch(offers=table.batch(4, 3))
        publish(run)
    vars(shelf).update(written)
    run.batch(offers=table.batch(4, 3))
    publish(run)
    late = Receiver(url, given, None)
    late.catch_up()
    assert late.values == table.answers(given, "n", lambda values: max(values, default=None))


def test_an_edge_of_totals_that_missed_something_tells_what_differs(run: DeskRun) -> None:
    url, table = f"memory://aggregates/r{next(ROOTS)}?keep=12&buckets=1", Table(3)
    given = table.subscribers(30)
    execute(run.desk, SUBSCRIBED.format(asked="SUM(n)", url=url).replace("?buckets=4", ""))
    run.batch(offers=table.batch(20, 0))
    publish(run)
    slow = Receiver(url, given, "sum")
    slow.catch_up()
    for _ in range(16):
        run.batch(offers=table.batch(4, 4))
    publish(run)
    slow.catch_up()
    assert slow.values == table.answers(given, "n", total) and slow.edge.begins == 2


@pytest.mark.parametrize(
    ("asked", "aggregate"),
    [("SUM(n)", None), ("COUNT(*)", "sum"), ("SUM(n)", "min"), ("MIN(n)", "sum"),
     ("COUNT(DISTINCT n)", "count")],
)  # fmt: skip
def test_what_messages_do_not_tell_is_refused(
    asked: str, aggregate: str | None, run: DeskRun
) -> None:
    url, table = f"memory://aggregates/r{next(ROOTS)}", Table(3)
    execute(run.desk, SUBSCRIBED.format(asked=asked, url=url))
    run.batch(offers=table.batch(9, 0))
    publish(run)
    with pytest.raises(PenstockError) as refused:
        Receiver(url, table.subscribers(3), aggregate).edge.step(0.01)
    assert refused.value.code == "EDG-005"
