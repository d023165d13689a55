"""From a home to edges: messages of range aggregates go through a broker that may be down."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.delivery import courier, sink_pool, sinks
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications
from penstock.engine.scripts import execute
from penstock.lab.brokers import PROGRAMS, missing, running
from tests.support.desk_runs import DeskRun

COLUMNS = [
    ("id", pa.int64()), ("site", pa.string()), ("risk", pa.float64()),
    ("price", pa.decimal128(9, 2)), ("op", pa.string()),
]  # fmt: skip
OFFERS = Relation(name="offers", kind="table", schema=pa.schema(COLUMNS), change_column="op")
FUNCTIONS = {"lows": min, "highs": max}
SCRIPT = """
SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE site = :site AND risk BETWEEN :lo AND :hi
  AS MESSAGES WITH SNAPSHOT INTO '{url}/of.lows';
SUBSCRIBE highs TO SELECT MAX(price) FROM offers WHERE site = :site AND risk BETWEEN :lo AND :hi
  AS MESSAGES WITH SNAPSHOT INTO '{url}/of.highs?buckets=4';
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PAUSE_FIRST_S", 0.01)
    monkeypatch.setattr(sink_pool, "LOOK_S", 0.005)
    monkeypatch.setattr(courier, "LOOK_S", 0.01)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", OFFERS) as made:
        yield made


class Stall:
    """Offers that come and go, and their true extremes."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._rows: dict[int, dict[str, Any]] = {}
        self._count = 0

    def batch(self) -> pa.Table:
        """Let some come and some go."""
        gone = self._rng.permutation(list(self._rows))[:3].tolist()
        rows = [{**self._rows.pop(id_), "op": "delete"} for id_ in gone]
        for _ in range(5):
            self._count += 1
            price = Decimal(int(self._rng.integers(1, 40))) / 4
            risk = float(self._rng.integers(0, 20)) / 2
            site = "ab"[int(self._rng.integers(0, 2))]
            row = {"id": self._count, "site": site, "risk": risk, "price": price, "op": "insert"}
            self._rows[self._count] = row
            rows.append(row)
        return pa.Table.from_pylist(rows, OFFERS.schema)

    def answers(self, given: pa.Table, name: str) -> dict[str, Decimal | None]:
        """Give every subscriber's value by brute force."""
        found = {}
        for each in given.to_pylist():
            prices = [
                row["price"]
                for row in self._rows.values()
                if row["site"] == each["site"] and each["lo"] <= row["risk"] <= each["hi"]
            ]
            found[each["id"]] = FUNCTIONS[name](prices, default=None)
        return found

    def subscribers(self) -> pa.Table:
        """Draw ranges with whole ends, of a table whose attribute has halves."""
        first = self._rng.integers(0, 9, 40)
        sites = ["ab"[code] for code in self._rng.integers(0, 2, 40).tolist()]
        ids, last = [f"s{at}" for at in range(40)], first + self._rng.integers(0, 4, 40)
        return pa.table({"id": ids, "site": sites, "lo": first, "hi": last})


def values(url: str, given: pa.Table) -> dict[str, Decimal | None]:
    """Let an edge catch up with all that is published; give what its subscribers have."""
    told: dict[str, Decimal | None] = {}

    def tell(notifications: Notifications) -> None:
        pairs = zip(notifications.ids.to_pylist(), notifications.values.to_pylist(), strict=True)
        told.update(pairs)

    edge = Edge(broker_at(BrokerAddress.of(url)), given, tell)
    for _ in range(2_000):
        edge.step(0.05)
        if edge.values() is not None:
            break
    edge.close()
    return told


@pytest.mark.crash
@pytest.mark.parametrize("scheme", ["memory", *PROGRAMS])
def test_edges_have_what_the_table_says(scheme: str, run: DeskRun, seed: int) -> None:
    if scheme == "memory":
        live(run, f"memory://home{seed}", Stall(seed), None)
        return
    if (reason := missing(scheme)) is not None:
        pytest.skip(reason)
    with running(scheme, durable=True) as server:
        live(run, server.url, Stall(seed), server)


def live(run: DeskRun, url: str, stall: Stall, server: Any) -> None:
    """Subscribe over a table that has rows, run, break the broker, and open the home again."""
    given = stall.subscribers()
    run.batch(offers=stall.batch())
    execute(run.desk, SCRIPT.format(url=url))
    for turn in range(3):
        for _ in range(3):
            run.batch(offers=stall.batch())
        if server is not None and turn == 1:
            server.kill()
            threading.Timer(0.3, server.start).start()
        run.desk.readers.sinks.begin(run.desk.readers.courier)
        run.desk.readers.sinks.finish(drain=True, patience_s=600)
        for name in FUNCTIONS:
            assert values(f"{url}/of.{name}", given) == stall.answers(given, name)
        run.restart()
