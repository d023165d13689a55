"""One broker with edges in processes of their own, and a server of range minima that publishes.

All bytes to and from the broker pass a relay that counts them. Edges, the broker and the publisher
can be killed; what subscribers have, and what they were told, is held against the server's index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter, sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.compact_rows import compact_of
from penstock.brokers.protocol import BrokerReading, Publication
from penstock.delivery.announced_edges import LOOK_S
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress
from penstock.kernels.range_messages import RangeMessages, RangeTuples
from penstock.lab.brokers import BrokerServer
from penstock.lab.dissemination.edge_process import EdgeProcess
from penstock.lab.dissemination.relay import CountedRelay
from penstock.lab.dissemination.workload import (
    AskedRanges,
    UpdateTrace,
)
from penstock.lab.draws import generator
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.subscription_points import rectangles

UNICASTS = 50
"""So many messages to single subscribers are published, to know what one of them takes."""


@dataclass(frozen=True, slots=True)
class FanoutEffort:
    """How many subscribers by broker, edges, tuples, batches, events of a batch, and kills."""

    subscribers: dict[str, int]
    edges: int
    tuples: int
    batches: int
    events: int
    kills: int
    engine_kills: dict[str, int]
    """How often an engine's process is killed, by broker."""
    named: tuple[str, ...]
    """Brokers over which edges are named as well, so that what concerns none is not sent."""


def batch_changes(trace: UpdateTrace, first: int, end: int) -> tuple[RangeTuples, RangeTuples]:
    """Give what a batch of updates comes to: each tuple's value before it, and after it."""
    who, at_first = np.unique(trace.who[first:end], return_index=True)
    at_last = end - first - 1 - np.unique(trace.who[first:end][::-1], return_index=True)[1]
    old, new = trace.old[first + at_first], trace.new[first + at_last]
    moved = old != new
    xs, zeros = trace.xs[who][moved], np.zeros(int(moved.sum()), np.int64)
    return RangeTuples(zeros, xs, old[moved]), RangeTuples(zeros, xs, new[moved])


def message_table(told: RangeMessages) -> pa.Table:
    """Give messages as a sink is given them."""
    return pa.table(
        {
            "min": pa.array(told.values, mask=told.empty),
            "inner_l": told.inner_l,
            "inner_r": told.inner_r,
            "outer_l": pa.array(told.outer_l - 1, mask=told.outer_l == LOWEST),
            "outer_r": pa.array(told.outer_r + 1, mask=told.outer_r == HIGHEST),
        }
    )


class FanoutRun:
    """One broker with its edges, and a server that publishes."""

    def __init__(
        self, scheme: str, trace: UpdateTrace, ranges: AskedRanges, effort: FanoutEffort,
        place: Path, stack: ExitStack, *, named: bool,
    ) -> None:  # fmt: skip
        self._trace, self._effort, self.named = trace, effort, named
        self._extremes, self._singly = trace.extremes(), trace.extremes()
        self._server = BrokerServer(scheme)
        stack.callback(self._server.remove)
        self._server.start()
        self.relay = CountedRelay(self._server.port)
        stack.callback(self.relay.close)
        self._url = f"{scheme}://127.0.0.1:{self.relay.port}"
        self._sink = self._publisher()
        whose = generator(62).integers(0, effort.edges, len(ranges.x1s))
        self._ranges = [
            AskedRanges(ranges.x1s[whose == own], ranges.x2s[whose == own])
            for own in range(effort.edges)
        ]
        self._points = [own.points() for own in self._ranges]
        self._begin()
        self.edges: list[EdgeProcess] = []
        for number, own in enumerate(self._ranges):
            file = place / f"{scheme}-{number}.parquet"
            ids = np.arange(len(own.x1s)).astype(str)
            pq.write_table(pa.table({"id": ids, "lo": own.x1s, "hi": own.x2s}), file)
            name = f"e{number}" if named else ""
            self.edges.append(EdgeProcess(self._url + "/lows", file, name))
            stack.callback(self.edges[-1].abandon)
        for edge in self.edges:
            edge.reach(0)
        self.expected: list[dict[int, int]] = [{} for _ in self.edges]
        self.published: dict[int, float] = {}
        self.newest = 0
        """The last batch that all edges are sent."""
        self.rows = self.killed = self.affected_singly = 0
        self.useful = self.rows_bytes = self.useful_bytes = 0
        """Rows that concern somebody; bytes of all rows, and of those, written once."""
        self.server_s: list[float] = []

    def _publisher(self) -> BrokerSink:
        names = ",".join(f"e{number}" for number in range(self._effort.edges))
        text = self._url + "/lows" + (f"?edges={names}" if self.named else "")
        address = SinkAddress(text=text, engine="lab", subscription="lows")
        return BrokerSink(address)

    def _begin(self) -> None:
        """Publish the tuples as they are at first, as if they came in one batch."""
        tuples = RangeTuples(np.zeros_like(self._trace.xs), self._trace.xs, self._trace.ys)
        nothing = RangeTuples(*(np.empty(0, np.int64) for _ in range(3)))
        empty = type(self._extremes)()
        self._write(message_table(empty.net(nothing, tuples)), 0)

    def _write(self, table: pa.Table, batch: int) -> None:
        """Publish as whoever feeds a sink does: again, until it is taken."""
        while True:
            try:
                return self._sink.write(table, f"{batch}:{len(table)}")
            except ConnectionError:
                sleep(0.05)

    def batch(self, number: int) -> None:
        """Run a batch, and publish what it changes."""
        size = self._effort.events
        first, end = (number - 1) * size, number * size
        singly = rectangles(self._singly.process(self._trace.updates(first, end)))
        self.affected_singly += sum(len(points.find(singly)[1]) for points in self._points)
        changes = batch_changes(self._trace, first, end)
        began_s = perf_counter()
        told = self._extremes.net(*changes)
        self.server_s.append(perf_counter() - began_s)
        if not len(told.values):
            return
        self.rows += len(told.values)
        concerned = [points.find(rectangles(told)) for points in self._points]
        for (_, slots), expected in zip(concerned, self.expected, strict=True):
            if len(slots):
                expected[number] = len(slots)
        table = message_table(told)
        useful = table.take(np.unique(np.concatenate([where for where, _ in concerned])))
        self.useful += len(useful)
        self.rows_bytes, self.useful_bytes = (
            before + (len(compact_of(own.combine_chunks().to_batches()[0])) if len(own) else 0)
            for before, own in ((self.rows_bytes, table), (self.useful_bytes, useful))
        )
        self.published[number] = monotonic()
        self._write(table, number)
        self.newest = number if len(useful) or not self.named else self.newest

    def settle(self) -> int:
        """Run batches until named edges are heard and sent something; give how many.

        To tell what they hold, and to begin with a state that knows it, is done once.
        """
        number = 0
        if self.named:
            sleep(LOOK_S)
            while not self.newest:
                number += 1
                self.batch(number)
            for edge in self.edges:
                edge.reach(self.newest)
                edge.lives[-1].settle(self.newest)
        self.rows = self.affected_singly = self.useful = self.rows_bytes = self.useful_bytes = 0
        return number

    def kill(self, turn: int) -> None:
        """Kill an edge, the broker, or the publisher, in turn."""
        self.killed += 1
        match turn % 3:
            case 0:
                self.edges[turn // 3 % len(self.edges)].kill()
            case 1:
                self._server.kill()
                self._server.start()
            case _:
                self._sink.broker.close()  # as a crash does: nothing more is written
                self._sink = self._publisher()

    def unicast_bytes(self) -> float:
        """Give what a message to one subscriber takes."""
        return unicast_bytes(self._url, self.relay)

    def finish(self) -> int:
        """End all; count the subscribers whose value is not what the server gives."""
        wrong = 0
        for edge, own in zip(self.edges, self._ranges, strict=True):
            edge.reach(self.newest)
            values = edge.finish()
            zeros = np.zeros_like(own.x1s)
            answers, empty = self._extremes.answers(zeros, own.x1s, own.x2s)
            for at, (answer, is_empty) in enumerate(zip(answers.tolist(), empty, strict=True)):
                wrong += values[str(at)] != (None if is_empty else answer)
        self._sink.close()
        return wrong

    def miscounted(self) -> int:
        """Count the batches of which an edge told more or fewer than it should have."""
        found = 0
        for edge, expected in zip(self.edges, self.expected, strict=True):
            for at, life in enumerate(edge.lives):
                last = max(life.batches, default=-1) if at < len(edge.lives) - 1 else HIGHEST
                if life.begins > life.settled:
                    continue  # what it missed it told at once, as of a later batch
                due = {b: n for b, n in expected.items() if life.first_batch < b <= last}
                found += sum(due.get(b) != n for b, n in life.batches.items())
                found += len(due.keys() - life.batches.keys())
        return found

    def begun_anew(self) -> int:
        """Count the beginnings of edges beside the first of every process."""
        return sum(life.begins - life.settled for edge in self.edges for life in edge.lives)

    def latencies_s(self) -> Iterator[float]:
        """Give how long it took from before a batch was published until an edge told of it."""
        for edge in self.edges:
            for life in edge.lives:
                for number, moment in life.moments.items():
                    yield moment - self.published[number]


def unicast_bytes(url: str, relay: CountedRelay) -> float:
    """Give what a message to one subscriber takes, to the same broker and from it to an edge."""
    broker = broker_at(BrokerAddress.of(url + "/unicast"))
    payload = json.dumps({"id": "100000", "value": 10**9}).encode()
    first, second = (
        [Publication("changes", payload, batch, at) for at in range(UNICASTS)] for batch in (0, 1)
    )
    broker.publish(first)
    reading = broker.read(["changes"])
    _take(reading, UNICASTS)
    before = relay.bytes
    broker.publish(second)
    _take(reading, UNICASTS)
    found = (relay.bytes - before) / UNICASTS
    reading.close()
    broker.close()
    return found


def _take(reading: BrokerReading, count: int) -> None:
    while count > 0:
        count -= len(reading.take(1.0))
