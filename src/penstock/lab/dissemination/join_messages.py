"""Select-joins as messages: bytes on the wire, beside one message per affected subscriber.

An engine joins two tables that change and publishes every joined row that comes or goes, once, over
a real broker; all bytes to and from it pass a relay that counts them. Edges tell each subscriber
the rows in his box. What they tell of every batch must be what DuckDB finds, which joins all rows
and asks every box.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np

from penstock.delivery.announced_edges import LOOK_S
from penstock.lab.brokers import missing
from penstock.lab.correctness.runs import scratch
from penstock.lab.dissemination.fanout_run import unicast_bytes
from penstock.lab.dissemination.join_run import JoinRun, drawn_boxes
from penstock.lab.draws import generator
from penstock.lab.report import Cell, Findings, Size, Table, at_most, chart, sized
from penstock.lab.timing import say

SCHEME = "nats"
SHARE_MAX = 1 / 50
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class JoinEffort:
    """How many subscribers, edges, rows and products, and batches with so many changes."""

    subscribers: tuple[int, ...]
    edges: int
    rows: int
    products: int
    batches: int
    changes: int


EFFORTS = sized(
    JoinEffort((100, 1_000), 2, 60, 6, 8, 4),
    JoinEffort((5_000, 50_000), 4, 1_000, 50, 30, 10),
    JoinEffort((10_000, 100_000, MILLION), 4, 2_000, 100, 60, 10),
)


def run(size: Size) -> Findings:
    """Run the experiment, with edges that are named and with any."""
    if (reason := missing(SCHEME)) is not None:
        yield f"Not run: {reason}."
        return
    effort = EFFORTS[size]
    records: list[dict[str, Cell]] = []
    for count in effort.subscribers:
        for named in (False, True):
            yield from _one(effort, count, named, records)
    title = f"{effort.batches} batches of {effort.changes} changes, over {SCHEME.upper()}"
    yield Table.of(title, records)
    xs = [float(count) for count in effort.subscribers]
    curves = {
        name: (xs, [float(str(own[column])) for own in records if own["edges are"] == kind])
        for name, kind, column in (
            ("messages", "anybody", "bytes per change"),
            ("messages, named edges", "named", "bytes per change"),
            ("one per affected subscriber", "anybody", "bytes per change, unicast"),
        )
    }
    yield chart("Rows of a join, to the last subscriber", "subscribers", "bytes", curves, log="xy")


def _one(effort: JoinEffort, count: int, named: bool, records: list[dict[str, Cell]]) -> Findings:
    what = f"{count:,} subscribers, {'named' if named else 'any'} edges"
    say(f"join-messages: {what}")
    with ExitStack() as stack:
        place = Path(stack.enter_context(scratch()))
        boxes = drawn_boxes(generator(65), count, effort.products, effort.edges)
        own = JoinRun(SCHEME, boxes, effort, generator(64), place, stack, named=named)
        unicast = unicast_bytes(own.url, own.relay)
        wrong = own.begin(effort.rows)
        if named:
            sleep(LOOK_S)  # so that the publisher looks what edges hold
            wrong += own.batch(effort.changes)
        before, rows, affected = own.relay.bytes, own.rows, own.affected
        for _ in range(effort.batches):
            wrong += own.batch(effort.changes)
        sent = own.relay.bytes - before
        changes = effort.batches * effort.changes
        alone = (own.affected - affected) / changes
        record: dict[str, Cell] = {
            "subscribers": count,
            "edges are": "named" if named else "anybody",
            "joined rows per change": (own.rows - rows) / changes,
            "affected per change": alone,
            "bytes per change": sent / changes,
            "bytes per change, unicast": alone * unicast,
            "share of unicast": sent / changes / max(alone * unicast, 1.0),
            "rows of the join": own.standing_rows(),
            "bytes of its state": own.write_state(),
        }
        records.append(record)
        yield at_most(f"batches that edges told otherwise than DuckDB, {what}", wrong, 0)
        yield at_most(f"edges that came late and told otherwise, {what}", own.late(), 0)
        if count >= MILLION:
            share = float(np.round(float(str(record["share of unicast"])), 6))
            yield at_most(f"bytes, as a share of unicast, {what}", share, SHARE_MAX)
