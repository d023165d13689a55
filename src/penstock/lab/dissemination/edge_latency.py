"""From an update to its notification: an engine with Spark, a real broker, and edges.

Updates come as files, one after the other, each a micro-batch of a few changes. The engine
publishes what they mean for all ranges, and edges in processes of their own tell their subscribers.
Time goes from before a file gets its name until an edge tells; beside it stands what the
micro-batch took by itself, as Spark says. Engine, broker and edges share the machine. How many each
edge tells of every batch, and what all have in the end, is held against the server's index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine import Engine
from penstock.kernels.range_messages import RangeTuples
from penstock.lab.brokers import missing, running
from penstock.lab.correctness.runs import scratch
from penstock.lab.dissemination.edge_process import EdgeProcess
from penstock.lab.dissemination.workload import DOMAIN, AskedRanges, codes, drawn_ranges
from penstock.lab.draws import generator
from penstock.lab.report import Cell, Findings, Size, Table, at_most, sized
from penstock.lab.timing import say
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.operators.shared.subscription_points import SubscriptionPoints, rectangles
from penstock.spark.hosts import BatchReport
from penstock.spark.sessions import local_session
from penstock.vocabulary.batches import Floats, Ints

SCHEME = "nats"
CHANGES = 10
"""Updates of a batch."""
SCRIPT = """
CREATE TABLE offers FROM 'parquet:{files}' OPTIONS (changes = 'op');
SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE risk BETWEEN :lo AND :hi
  AS MESSAGES WITH SNAPSHOT INTO '{url}/lows';
"""
PERCENTS = (50, 99)
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class LatencyEffort:
    """How many subscribers, edges, tuples and batches."""

    subscribers: int
    edges: int
    tuples: int
    batches: int


EFFORTS = sized(
    LatencyEffort(2_000, 1, 300, 3),
    LatencyEffort(200_000, 4, 10_000, 40),
    LatencyEffort(1_000_000, 4, 10_000, 100),
)


class OfferFiles:
    """Tuples whose values are drawn anew, as files of changes, and what every range has."""

    def __init__(self, random: np.random.Generator, place: Path, tuples: int) -> None:
        self._random, self._place, self._count = random, place, 0
        self.files = place / "offers"
        self.files.mkdir()
        self._xs = np.unique(codes(random.uniform(0, DOMAIN, tuples)))
        self._ys = codes(random.uniform(0, DOMAIN, len(self._xs)))
        self.extremes = Extremes(self._tuples(np.arange(len(self._xs))))

    def _tuples(self, who: Ints) -> RangeTuples:
        return RangeTuples(np.zeros(len(who), np.int64), self._xs[who], self._ys[who])

    def first(self) -> None:
        """Write all tuples."""
        self._put([(self._tuples(np.arange(len(self._xs))), "insert")])

    def draw(self, points: list[SubscriptionPoints]) -> tuple[list[int], float]:
        """Let some change; give how many ranges of each edge do, and when the file was there."""
        who = self._random.permutation(len(self._xs))[:CHANGES]
        old = self._tuples(who)
        self._ys[who] = codes(self._random.uniform(0, DOMAIN, len(who)))
        new = self._tuples(who)
        told = rectangles(self.extremes.net(old, new))
        affected = [len(own.find(told)[1]) for own in points]
        return affected, self._put([(old, "delete"), (new, "insert")])

    def _put(self, sides: list[tuple[RangeTuples, str]]) -> float:
        tables = [
            pa.table({"risk": own.xs, "price": own.ys, "op": [word] * len(own.xs)})
            for own, word in sides
        ]
        hidden = self._place / "next.parquet"
        pq.write_table(pa.concat_tables(tables), hidden)
        self._count += 1
        moment = monotonic()
        os.rename(hidden, self.files / f"{self._count:06}.parquet")
        return moment


def run(size: Size) -> Findings:
    """Run the experiment, if there is a broker."""
    effort = EFFORTS[size]
    if (reason := missing(SCHEME)) is not None:
        yield f"Not run: {reason}."
        return
    with ExitStack() as stack:
        place = Path(stack.enter_context(scratch()))
        offers = OfferFiles(generator(70), place, effort.tuples)
        offers.first()
        server = stack.enter_context(running(SCHEME))
        engine = stack.enter_context(Engine(place / "home", spark=local_session(), host="embedded"))
        engine.sql(SCRIPT.format(files=offers.files, url=server.url))
        reports: SimpleQueue[BatchReport] = SimpleQueue()
        engine.on_batch(reports.put)
        engine.start()
        yield from _measured(engine, reports, offers, effort, f"{server.url}/lows", place, stack)


def _measured(
    engine: Engine, reports: SimpleQueue[BatchReport], offers: OfferFiles, effort: LatencyEffort,
    url: str, place: Path, stack: ExitStack,
) -> Findings:  # fmt: skip
    """Start edges behind the first batch, then write files one by one."""
    begun = _next(reports)
    say(f"edge-latency: {effort.subscribers:,} subscribers at {effort.edges} edges")
    ranges = list(_divided(effort))
    points = [own.points() for own in ranges]
    edges = list[EdgeProcess]()
    for number, own in enumerate(ranges):
        file = place / f"{number}.parquet"
        ids = np.arange(len(own.x1s)).astype(str)
        pq.write_table(pa.table({"id": ids, "lo": own.x1s, "hi": own.x2s}), file)
        edges.append(EdgeProcess(url, file))
        stack.callback(edges[-1].abandon)
    for edge in edges:
        edge.reach(begun.batch)
    say(f"edge-latency: {effort.batches} batches of {CHANGES} changes")
    put_s, host_s = dict[int, float](), list[float]()
    due: list[dict[int, int]] = [{} for _ in edges]
    for _ in range(effort.batches):
        affected, moment = offers.draw(points)
        report = _next(reports)
        put_s[report.batch] = moment
        host_s.append(report.seconds)
        for edge, counts, count in zip(edges, due, affected, strict=True):
            if count:
                counts[report.batch] = count
            edge.reach(report.batch)
    lives = [edge.lives[0] for edge in edges]
    wrong = sum(
        life.batches.get(batch) != own.get(batch)
        for life, own in zip(lives, due, strict=True)
        for batch in life.batches.keys() | own.keys()
    )
    took_s = [moment - put_s[batch] for life in lives for batch, moment in life.moments.items()]
    batch_s = [each for batch, each in engine.figures().batch_seconds.items() if batch in put_s]
    records = [
        _spread("update to notification", np.array(took_s)),
        _spread("micro-batch, as Spark says", np.array(batch_s)),
        _spread("of it in the engine's host", np.array(host_s)),
    ]
    yield Table.of(
        f"{effort.subscribers:,} subscribers at {effort.edges} edges over {SCHEME}, "
        f"{len(host_s):,} batches of {CHANGES} changes, "
        f"{sum(map(sum, (own.values() for own in due))) / len(host_s) / CHANGES:.1f} "
        "notifications of each",
        records,
    )
    yield at_most("batches of which an edge told too many or too few", wrong, 0)
    yield at_most(
        "subscribers with another value than the server's", _differing(offers, edges, ranges), 0
    )


def _divided(effort: LatencyEffort) -> Iterator[AskedRanges]:
    """Draw ranges, and give each edge its own."""
    ranges = drawn_ranges(generator(71), effort.subscribers)
    whose = generator(72).integers(0, effort.edges, effort.subscribers)
    for edge in range(effort.edges):
        yield AskedRanges(ranges.x1s[whose == edge], ranges.x2s[whose == edge])


def _next(reports: SimpleQueue[BatchReport]) -> BatchReport:
    """Wait for the next batch with rows."""
    while not (report := reports.get(timeout=PATIENCE_S)).rows_in:
        continue
    return report


def _spread(what: str, seconds: Floats) -> dict[str, Cell]:
    percents = np.percentile(1e3 * seconds, PERCENTS) if len(seconds) else (None, None)
    names = (f"p{each} ms" for each in PERCENTS)
    return {"what": what, **dict(zip(names, percents, strict=True)), "measured": len(seconds)}


def _differing(offers: OfferFiles, edges: list[EdgeProcess], ranges: list[AskedRanges]) -> int:
    """Count the subscribers whose value is not what the index gives."""
    found = 0
    for edge, own in zip(edges, ranges, strict=True):
        values = edge.finish()
        answers, empty = offers.extremes.answers(np.zeros_like(own.x1s), own.x1s, own.x2s)
        for at, (answer, is_empty) in enumerate(zip(answers.tolist(), empty, strict=True)):
            found += values[str(at)] != (None if is_empty else answer)
    return found
