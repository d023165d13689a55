"""Edges of tests, all that they told, and sinks that publish to them."""

from __future__ import annotations

import time

import pyarrow as pa

from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications

PATIENCE_STEPS = 20_000


class Receiver:
    """An edge, and all that it told."""

    def __init__(
        self, url: str, given: pa.Table, narrow: bool = True, name: str | None = None
    ) -> None:
        self.told: list[tuple[int, str, float | None]] = []
        self.values: dict[str, float | None] = {}
        self.firsts = 0
        place = BrokerAddress.of(url)
        announced = None if name is None else (name, broker_at(edge_address(place, name)))
        self.edge = Edge(broker_at(place), given, self.take, narrow=narrow, announced=announced)

    def take(self, notifications: Notifications) -> None:
        told = zip(notifications.ids.to_pylist(), notifications.values.to_pylist(), strict=True)
        pairs = dict(told)
        assert len(pairs) == len(notifications), "one is told twice of a batch"
        self.values.update(pairs)
        if notifications.is_first:
            self.firsts += 1
        else:
            self.told += [(notifications.batch, *pair) for pair in pairs.items()]

    def catch_up(self, batch: int) -> None:
        for _ in range(PATIENCE_STEPS):
            try:
                self.edge.step(0.05)
            except ConnectionError:
                continue
            if self.edge.batch >= batch and self.edge.values() is not None:
                return
        raise AssertionError(f"batch {batch} did not come; there is {self.edge.batch}")


def publisher(url: str, subscription: str = "lows") -> BrokerSink:
    return BrokerSink(SinkAddress(text=url, engine="e", subscription=subscription))


def write(sink: BrokerSink, table: pa.Table, batch: int) -> None:
    """Try again, as whoever feeds a sink does."""
    for _ in range(PATIENCE_STEPS):
        try:
            return sink.write(table, f"{batch}:1")
        except ConnectionError:
            time.sleep(0.02)
    raise AssertionError("the broker does not come back")


def changes_of(
    before: dict[str, float | None], after: dict[str, float | None], batch: int
) -> set[tuple[int, str, float | None]]:
    return {(batch, own, value) for own, value in after.items() if before[own] != value}
