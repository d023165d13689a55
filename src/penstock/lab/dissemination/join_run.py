"""One engine that publishes the rows of a join, and edges of its subscribers, beside DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.catalog import Relation
from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.brokers.message_kinds import added_up
from penstock.brokers.protocol import END
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications
from penstock.engine.scripts import execute
from penstock.expressions.connections import connect
from penstock.lab.brokers import running
from penstock.lab.correctness.runs import DeskRun
from penstock.lab.dissemination.relay import CountedRelay

QUANTITIES, WIDTH = 10_000, 2_000
"""Quantities are drawn below the one; a box is as wide as the other at most."""
NAME = "pairs"
SCHEMA = pa.schema([("product", pa.string()), ("quantity", pa.int64()), ("op", pa.string())])
RELATIONS = [
    Relation(name=name, kind="table", schema=SCHEMA, change_column="op")
    for name in ("supply", "demand")
]
SUBSCRIBED = f"""
SUBSCRIBE {NAME} TO
  SELECT s.product, s.quantity AS offered, d.quantity AS wanted
  FROM supply s JOIN demand d ON s.product = d.product
  WHERE s.quantity BETWEEN :slo AND :shi AND d.quantity BETWEEN :dlo AND :dhi
    AND s.product = :product
  AS MESSAGES WITH SNAPSHOT
"""
TOLD = pa.schema([
    ("id", pa.int64()), ("product", pa.string()), ("offered", pa.int64()), ("wanted", pa.int64()),
    ("weight", pa.int64()),
])  # fmt: skip
JOINED = """
SELECT s.product, s.quantity AS offered, d.quantity AS wanted, sum(s.weight * d.weight) AS weight
FROM supply s JOIN demand d ON s.product = d.product GROUP BY ALL
HAVING sum(s.weight * d.weight) <> 0
"""
CHANGED = f"""
SELECT product, offered, wanted, sum(weight) AS weight FROM (
  {JOINED} UNION ALL SELECT product, offered, wanted, -weight FROM before
) GROUP BY ALL HAVING sum(weight) <> 0
"""
MET = """
SELECT b.id, r.product, r.offered, r.wanted, CAST(r.weight AS BIGINT) AS weight
FROM ({rows}) r JOIN boxes b ON b.product = r.product AND r.offered BETWEEN b.slo AND b.shi
AND r.wanted BETWEEN b.dlo AND b.dhi WHERE b.edge = {edge} ORDER BY ALL
"""


class Effort(Protocol):
    """What a run takes of an experiment's effort."""

    @property
    def edges(self) -> int:
        """How many edges there are."""

    @property
    def products(self) -> int:
        """How many products there are."""


def drawn_boxes(random: np.random.Generator, count: int, products: int, edges: int) -> pa.Table:
    """Draw subscribers, each with a product, a box of quantities and an edge."""
    low = random.integers(0, QUANTITIES, (2, count))
    high = low + random.integers(0, WIDTH, (2, count))
    return pa.table({
        "id": np.arange(count), "product": _products(random, count, products),
        "slo": low[0], "shi": high[0], "dlo": low[1], "dhi": high[1],
        "edge": random.integers(0, edges, count),
    })  # fmt: skip


def _products(random: np.random.Generator, count: int, products: int) -> pa.Array:
    numbers = random.integers(0, products, count)
    return pc.binary_join_element_wise("p", pa.array(numbers).cast(pa.string()), "")


class JoinTwin:
    """What DuckDB finds: all joined rows, and every box that has one."""

    def __init__(self, boxes: pa.Table, stack: ExitStack) -> None:
        self._database = stack.enter_context(connect(threads=1, files=True))
        self._database.register("given", boxes)
        self._database.execute("CREATE TABLE boxes AS SELECT * FROM given")
        for name in ("supply", "demand"):
            columns = "product VARCHAR, quantity BIGINT, weight BIGINT"
            self._database.execute(f"CREATE TABLE {name} ({columns})")
        self._database.execute(f"CREATE TABLE before AS {JOINED}")

    def take(self, changes: Mapping[str, pa.Table]) -> int:
        """Take changes of both tables; give how many joined rows come or go."""
        self._database.execute(f"CREATE OR REPLACE TABLE before AS {JOINED}")
        for name, rows in changes.items():
            self._database.register("given", rows)
            self._database.execute(
                f"INSERT INTO {name} SELECT product, quantity, if(op = 'insert', 1, -1) FROM given"
            )
        self._database.execute(f"CREATE OR REPLACE TABLE changed AS {CHANGED}")
        return self._count("changed")

    def standing(self) -> int:
        """Count the joined rows that there are."""
        return self._count(f"({JOINED})")

    def told(self, edge: int, rows: str = "SELECT * FROM changed") -> pa.Table:
        """Give what the subscribers of an edge are to be told."""
        return self._database.sql(MET.format(rows=rows, edge=edge)).to_arrow_table()

    def _count(self, rows: str) -> int:
        ((found,),) = self._database.execute(f"SELECT count(*) FROM {rows}").fetchall()
        return int(found)


class HeardEdge:
    """An edge in this process, and what it told."""

    def __init__(self, url: str, boxes: pa.Table, name: str | None) -> None:
        place = BrokerAddress.of(url)
        announced = None if name is None else (name, broker_at(edge_address(place, name)))
        self._told: list[pa.Table] = []
        self._edge = Edge(broker_at(place), boxes, self._take, announced=announced)
        self.close = self._edge.close

    def _take(self, told: Notifications) -> None:
        rows = (told.values.field(name) for name in TOLD.names[1:-1])
        columns = [told.ids.cast(pa.int64()), *rows, told.weights]
        self._told.append(pa.table(columns, schema=TOLD))

    def heard(self, batch: int) -> pa.Table:
        """Wait until it has told a batch; give all that it told since it was asked last."""
        while self._edge.batch < batch:
            self._edge.step(1.0)
        told, self._told = self._told, []
        net = added_up(pa.concat_tables([TOLD.empty_table(), *told]))
        return net.sort_by([(name, "ascending") for name in TOLD.names])


class JoinRun:
    """An engine, a broker behind a relay that counts bytes, edges, and what DuckDB says."""

    def __init__(
        self, scheme: str, boxes: pa.Table, effort: Effort, random: np.random.Generator,
        place: Path, stack: ExitStack, *, named: bool,
    ) -> None:  # fmt: skip
        self._effort, self._random, self._stack = effort, random, stack
        self._boxes, self._named = boxes, named
        self._rows: dict[str, list[tuple[str, int]]] = {"supply": [], "demand": []}
        self._twin = JoinTwin(boxes, stack)
        server = stack.enter_context(running(scheme))
        self.relay = CountedRelay(server.port)
        stack.callback(self.relay.close)
        self.url = f"{scheme}://127.0.0.1:{self.relay.port}"
        self._beside = broker_at(BrokerAddress.of(f"{server.url}/{NAME}"))
        stack.callback(self._beside.close)
        self._run = stack.enter_context(DeskRun(place / "home", *RELATIONS, record=False))
        execute(self._run.desk, SUBSCRIBED)
        names = ",".join(f"e{number}" for number in range(effort.edges))
        address = f"{self.url}/{NAME}" + (f"?edges={names}" if named else "")
        self._sink = BrokerSink(SinkAddress(text=address, engine="lab", subscription=NAME))
        stack.callback(self._sink.close)
        self._edges: list[HeardEdge] = []
        self.rows = self.affected = 0
        """Joined rows that came or went, and subscribers whom a batch affected."""

    def begin(self, rows: int) -> int:
        """Let rows come into both tables, and edges begin; count those that tell otherwise."""
        self._publish({name: self._changes(name, rows, 0) for name in self._rows})
        self._edges = [self._edge(number) for number in range(self._effort.edges)]
        return self._wrong()

    def batch(self, changes: int) -> int:
        """Let rows come and go; count the edges that tell otherwise than DuckDB."""
        half = changes // 4
        self._publish({name: self._changes(name, changes // 2 - half, half) for name in self._rows})
        return self._wrong()

    def late(self) -> int:
        """Let edges begin beside the others; count those that tell otherwise than DuckDB."""
        newest = self._newest()
        return sum(
            self._edge(number).heard(newest) != self._twin.told(number, JOINED)
            for number in range(self._effort.edges)
        )

    def standing_rows(self) -> int:
        """Count the rows that the join has now."""
        return self._twin.standing()

    def write_state(self) -> int:
        """Write the state with which edges begin; give the bytes of that."""
        before = self.relay.bytes
        self._sink.close()
        return self.relay.bytes - before

    def _edge(self, number: int) -> HeardEdge:
        own = self._boxes.filter(pc.equal(self._boxes["edge"], number))
        url = f"{self.url}/{NAME}"
        edge = HeardEdge(url, own, f"e{number}" if self._named else None)
        self._stack.callback(edge.close)
        return edge

    def _changes(self, name: str, come: int, go: int) -> pa.Table:
        rows, random = self._rows[name], self._random
        random.shuffle(rows)
        told = [(*rows.pop(), "delete") for _ in range(go)]
        products = _products(random, come, self._effort.products).to_pylist()
        quantities = random.integers(0, QUANTITIES, come).tolist()
        new = list(zip(products, quantities, strict=True))
        rows += new
        told += [(*row, "insert") for row in new]
        return pa.Table.from_pylist(
            [dict(zip(SCHEMA.names, row, strict=True)) for row in told], SCHEMA
        )

    def _publish(self, changes: Mapping[str, pa.Table]) -> None:
        number = self._run.batches
        self._run.batch(**changes)
        table = self._run.desk.subscription(NAME).read(f"{number}:0")
        self.rows += self._twin.take(changes)
        if len(table):
            self._sink.write(table, f"{number}:{len(table)}")

    def _wrong(self) -> int:
        newest, wrong = self._newest(), 0
        for number, edge in enumerate(self._edges):
            due = self._twin.told(number)
            self.affected += len(due["id"].unique())
            wrong += edge.heard(newest) != due
        return wrong

    def _newest(self) -> int:
        """Give the last batch that edges are sent."""
        newest = self._beside.newest(END)
        assert newest is not None
        return newest.batch
