"""Delivery: what a batch costs its readers as subscriptions grow in number, at equal matches.

All subscriptions are of one group, each with a sink or an iterator of its own. Every event matches
one query, so that a batch has as many matches for ten subscriptions as for ten thousand. Batches
pass the registry, the shard and the result log as on the embedded host; what is measured begins
when a batch is committed and ends when its last change is taken, in seconds and in processor time
of all threads. Beside it stands what reading costs if everyone reads the files alone.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.delivery.change_iterators import followed
from penstock.delivery.changes import Change
from penstock.delivery.courier import Courier
from penstock.engine.scripts import execute
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_most, chart, sized
from penstock.lab.timing import say

COST_RATIO_MAX = 3.0
PATIENCE_S = 600.0
SCHEMA = pa.schema([("n", pa.int64()), ("customer", pa.int64()), ("price", pa.float64())])


@dataclass(frozen=True, slots=True)
class ReadEffort:
    """How many subscriptions, matches per batch and rounds; how many at most by other ways."""

    subscriptions: tuple[int, ...]
    matches: int
    rounds: int
    threads_max: int
    alone_max: int


EFFORTS = sized(
    ReadEffort((4, 40), matches=200, rounds=2, threads_max=40, alone_max=40),
    ReadEffort((10, 1_000), matches=2_000, rounds=5, threads_max=1_000, alone_max=100),
    ReadEffort(
        (10, 100, 1_000, 10_000), matches=10_000, rounds=7, threads_max=1_000, alone_max=1_000
    ),
)


@dataclass(slots=True)
class ReadCost:
    """The best of several batches."""

    wall_s: float = float("inf")
    cpu_s: float = float("inf")

    def take(self, wall_s: float, cpu_s: float) -> None:
        """Take one more batch."""
        self.wall_s, self.cpu_s = min(self.wall_s, wall_s), min(self.cpu_s, cpu_s)


class ChangeCount:
    """Counts what all readers took, and says when they have what they should."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0
        self._done = threading.Event()

    def expect(self, changes: int) -> None:
        """Expect so many changes from now on."""
        self._left, self._done = changes, threading.Event()

    def took(self, changes: int = 1) -> None:
        """Hear that changes were taken."""
        with self._lock:
            self._left -= changes
            if not self._left:
                self._done.set()

    def wait(self) -> None:
        """Wait until all were taken."""
        assert self._done.wait(PATIENCE_S), "changes did not come"


@dataclass(slots=True)
class KeepingSink:
    """A sink that keeps the numbers of the events that it was told of."""

    counted: ChangeCount
    taken: list[int] = field(default_factory=list)

    def __call__(self, change: Change) -> None:
        """Take a change."""
        self.taken.append(change.row["n"])
        self.counted.took()


class ReadHome:
    """So many subscriptions on a home of their own, with readers of one kind at a time."""

    def __init__(self, home: Path, subscriptions: int) -> None:
        self.run = DeskRun(home, Relation(name="orders", kind="stream", schema=SCHEMA))
        self.names = [f"s{number}" for number in range(subscriptions)]
        say(f"registers {subscriptions:,} subscriptions by one script")
        script = (
            f"SUBSCRIBE {name} TO SELECT n, price * 2 AS twice FROM orders WHERE customer = {at};"
            for at, name in enumerate(self.names)
        )
        execute(self.run.desk, "\n".join(script))
        self.counted = ChangeCount()
        self.cost = self.alone = ReadCost()
        self._running = False
        readers = self.run.desk.readers
        self._courier = Courier(readers.log, readers.reader, readers.claims, lambda: self._running)
        self._threads: list[threading.Thread] = []

    def begin(self, kind: str) -> None:
        """Let sinks, an event loop, or threads of their own read from the next batch on."""
        self._running = True
        self.cost = ReadCost()
        self.readers = {name: KeepingSink(self.counted) for name in self.names}
        self.expected: dict[str, list[int]] = {name: [] for name in self.names}
        since = f"{self.run.batches}:0"
        if kind == "sinks":
            for name, reader in self.readers.items():
                runner = self.run.desk.readers.sinks.add(name, reader)
                self.run.desk.readers.sinks.cursors.set(runner.cursor, since)
            self.run.desk.readers.sinks.begin(self._courier)
            return
        if kind == "async for":
            self._threads = [threading.Thread(target=asyncio.run, args=(self._all(since),))]
            self._threads[0].start()
            return
        before = threading.stack_size(256 << 10)
        for name, reader in self.readers.items():
            thread = threading.Thread(target=self._follow, args=(name, since, reader), daemon=True)
            thread.start()
            self._threads.append(thread)
        threading.stack_size(before)

    def _follow(self, name: str, since: str, take: Callable[[Change], None]) -> None:
        for change in followed(self._courier, name, since):
            take(change)

    async def _all(self, since: str) -> None:
        """Let everyone read in one event loop."""
        own = self.readers.items()
        await asyncio.gather(*(self._follow_in_loop(name, since, take) for name, take in own))

    async def _follow_in_loop(self, name: str, since: str, take: Callable[[Change], None]) -> None:
        async for change in followed(self._courier, name, since):
            take(change)

    def end(self) -> None:
        """End all readers."""
        self._running = False
        self.run.desk.readers.sinks.finish(drain=True, patience_s=PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self._threads.clear()

    def batch(self, rng: np.random.Generator, matches: int, measured: bool) -> None:
        """Run a batch in which every event matches one query; then hand it out."""
        customer = rng.integers(0, len(self.names), matches)
        n = np.arange(matches) + self.run.batches * matches
        rows = {"n": n, "customer": customer, "price": rng.uniform(1, 100, matches)}
        self.run.batch(orders=pa.table(rows, schema=SCHEMA))
        for who, number in zip(customer.tolist(), n.tolist(), strict=True):
            self.expected[self.names[who]].append(number)
        self.counted.expect(matches)
        wall_s, cpu_s = perf_counter(), process_time()
        self._courier.committed(self.run.batches - 1)
        self.counted.wait()
        if measured:
            self.cost.take(perf_counter() - wall_s, process_time() - cpu_s)

    def read_alone(self) -> int:
        """Let everyone read the newest batch from the files; give how many changes that were."""
        desk, since = self.run.desk, f"{self.run.batches - 1}:0"
        wall_s, cpu_s = perf_counter(), process_time()
        found = 0
        for name in self.names:
            found += sum(1 for _ in desk.subscription(name).changes(since, follow=False))
        self.alone.take(perf_counter() - wall_s, process_time() - cpu_s)
        return found

    @property
    def differing(self) -> int:
        """Count the readers that did not get exactly what is theirs, in order."""
        return sum(self.readers[name].taken != self.expected[name] for name in self.names)


def run(size: Size) -> Findings:
    """Run the experiment."""
    effort = EFFORTS[size]
    rng = generator(1)
    costs: dict[str, dict[int, ReadCost]] = {}
    differing = 0
    with ExitStack() as stack:
        root = Path(stack.enter_context(scratch()))
        homes = {count: ReadHome(root / str(count), count) for count in effort.subscriptions}
        for home in homes.values():
            stack.callback(home.run.desk.close)
        most_of = {"threads": effort.threads_max}
        for kind in ("sinks", "async for", "threads"):
            most = most_of.get(kind, effort.subscriptions[-1])
            read = {count: home for count, home in homes.items() if count <= most}
            say(f"hands out batches of {effort.matches:,} matches to {kind}")
            for home in read.values():
                home.begin(kind)
            for round_ in range(effort.rounds + 1):
                for home in read.values():
                    home.batch(rng, effort.matches, measured=round_ > 0)
            for home in read.values():
                home.end()
            costs[kind] = {count: home.cost for count, home in read.items()}
            differing += sum(home.differing for home in read.values())
        say("lets everyone read the files alone")
        alone = {count: home for count, home in homes.items() if count <= effort.alone_max}
        for home in alone.values():
            home.alone = ReadCost()
            differing += sum(home.read_alone() != effort.matches for _ in range(2))
        costs["files"] = {count: home.alone for count, home in alone.items()}
    yield Table(
        f"a batch of {effort.matches:,} matches, from its commit to its last change",
        ("read by", "subscriptions", "ms", "ms of processors", "µs per match"),
        [
            (kind, count, cost.wall_s * 1e3, cost.cpu_s * 1e3, cost.cpu_s * 1e6 / effort.matches)
            for kind, by_count in costs.items()
            for count, cost in by_count.items()
        ],
    )
    yield at_most("readers that got anything else than what is theirs", differing, 0)
    few, many = effort.subscriptions[0], effort.subscriptions[-1]
    for kind in ("sinks", "async for"):
        for what, of in (("time", "wall_s"), ("processor time", "cpu_s")):
            own = costs[kind]
            ratio = getattr(own[many], of) / getattr(own[few], of)
            name = f"{what} of a batch for {many:,} subscriptions over {few}, {kind}"
            yield at_most(name, ratio, COST_RATIO_MAX, timed=True)
    yield chart(
        f"What reading a batch of {effort.matches:,} matches costs",
        "subscriptions",
        "ms of processors",
        {kind: (list(own), [c.cpu_s * 1e3 for c in own.values()]) for kind, own in costs.items()},
        log="xy",
    )
