"""Serving: what event streams cost `penstock serve`, and what a client that reads nothing does.

A server in a process of its own serves a home whose batches are run here. Very many streams follow
one subscription, and a few follow another one with long rows. Latency is from the commit of a batch
to the last of its changes at a client, with the server's look at the log and its clients on the
same machine. Then the same again beside a client of the long rows that reads nothing: it must be
cut off, and everyone else must get all changes, in order, as before.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.soak.samples import processor_s, resident_mb
from penstock.lab.timing import say

SCHEMA = pa.schema([("n", pa.int64()), ("price", pa.float64()), ("note", pa.string())])
ROWS = 10
NOTE_BYTES = 40_000
LONG_READERS = 3
PATIENCE_S = 300.0
MEMORY_MAX_KB = 256.0
HARM_RATIO_MAX = 2.0


@dataclass(frozen=True, slots=True)
class StreamEffort:
    """How many streams are open, and how many batches come in each phase."""

    streams: int
    batches: int


EFFORTS = sized(StreamEffort(20, 12), StreamEffort(1_000, 20), StreamEffort(2_000, 60))


class StreamReader(asyncio.Protocol):
    """A client of an event stream: keeps the bytes, and when it had the last of each batch."""

    def __init__(self, head: bytes, is_kept: bool) -> None:
        self._head, self._is_kept = head, is_kept
        self.text = bytearray()
        self.had_s: dict[int, float] = {}
        self._next = 0
        self._tail = b""
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast(asyncio.Transport, transport).write(self._head)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        now_s = perf_counter()
        if self._is_kept:
            self.text += data
        seen = self._tail + data
        while b"\nid: %d:%d\n" % (self._next, ROWS) in seen:
            self.had_s[self._next] = now_s
            self._next += 1
        self._tail = seen[-64:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it ended."""
        self.is_lost = True

    def numbers(self) -> list[int]:
        """Give the numbers of all rows that came, in order."""
        return [int(each) for each in re.findall(rb'"n":(\d+)', without_chunks(bytes(self.text)))]


def without_chunks(text: bytes) -> bytes:
    r"""Give the body of an answer that came in chunks.

    >>> without_chunks(b"HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n2\r\nde\r\n")
    b'abcde'
    """
    body, parts = text.partition(b"\r\n\r\n")[2], []
    while body:
        size, _, rest = body.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    return b"".join(parts)


@dataclass(slots=True)
class ServedProcess:
    """A server in a process of its own, and the event loop of its clients."""

    home: Path
    process: subprocess.Popen[str] = field(init=False)
    address: str = ""
    token: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread = field(init=False)
    _transports: list[asyncio.Transport] = field(default_factory=list)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "penstock", "serve", str(self.home), "--port", "0"]
        self.process = subprocess.Popen([*command, "--json", "-q"], stdout=-1, text=True)
        assert self.process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, "the server did not begin"
            said += line
        facts = json.loads(said)
        self.address, self.token = facts["address"], facts["token"]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End server and clients."""
        self.process.terminate()
        self.process.communicate()
        for transport in self._transports:
            self._loop.call_soon_threadsafe(transport.abort)
        self._loop.call_soon_threadsafe(self._loop.call_later, 0.1, self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def head(self, name: str) -> bytes:
        """Give the request for a stream."""
        place = f"GET /subscriptions/{name}/changes?after=now HTTP/1.1\r\nHost: lab\r\n"
        return f"{place}Authorization: Bearer {self.token}\r\n\r\n".encode()

    def open(self, name: str, count: int, is_kept: bool = True) -> list[StreamReader]:
        """Open so many streams, and wait until they are told where they begin."""
        readers = asyncio.run_coroutine_threadsafe(self._open(name, count, is_kept), self._loop)
        found = readers.result(PATIENCE_S)
        wait_for(lambda: self.metric("streams_open") >= count)
        return found

    async def _open(self, name: str, count: int, is_kept: bool) -> list[StreamReader]:
        place, head, found = urlsplit(self.address), self.head(name), []
        for _ in range(count):
            made = await self._loop.create_connection(
                lambda: StreamReader(head, is_kept), str(place.hostname), int(place.port or 0)
            )
            self._transports.append(made[0])
            found.append(made[1])
        return found

    def metric(self, name: str) -> int:
        """Ask the server for one of its figures."""
        asked = Request(f"{self.address}/metrics")  # noqa: S310
        asked.add_header("Authorization", f"Bearer {self.token}")
        with urlopen(asked, timeout=PATIENCE_S) as answer:  # noqa: S310
            text = answer.read().decode()
        return int(re.findall(rf"^penstock_{name}(?:_total)? (\d+)$", text, re.MULTILINE)[0])

    @property
    def cpu_s(self) -> float:
        """Processor time so far."""
        return processor_s(self.process.pid)

    @property
    def memory_kb(self) -> float:
        """Memory now."""
        return resident_mb([self.process.pid]) * 1e3


def wait_for(is_so: Any) -> None:
    """Wait until something is so."""
    end_s = perf_counter() + PATIENCE_S
    while not is_so():
        assert perf_counter() < end_s, "it did not come"
        sleep(0.02)


@contextmanager
def silent_client(served: ServedProcess, name: str) -> Iterator[None]:
    """Ask for a stream, and read nothing of it."""
    place = urlsplit(served.address)
    with socket.create_connection((place.hostname or "", place.port or 0)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.sendall(served.head(name))
        yield


@dataclass(slots=True)
class PhaseFigures:
    """What a phase took."""

    latencies_ms: np.ndarray[Any, np.dtype[np.float64]]
    cpu_ms: float


class FanOut:
    """A home whose batches are run here, and the streams that follow it."""

    def __init__(self, home: Path) -> None:
        self._committed_s: list[float] = []
        relation = Relation(name="orders", kind="stream", schema=SCHEMA)
        self.run = DeskRun(home, relation, record=False, clock=self._note)
        desk = self.run.desk
        desk.subscribe("SELECT n, price * 2 AS twice FROM orders WHERE price >= 0", name="short")
        desk.subscribe("SELECT n, note FROM orders WHERE price >= 0", name="long")
        self._rng = generator(1)

    def _note(self) -> float:
        self._committed_s.append(perf_counter())
        return 0.0

    def phase(
        self,
        served: ServedProcess,
        batches: int,
        short: list[StreamReader],
        long: list[StreamReader],
    ) -> PhaseFigures:
        """Run batches; wait after each until all have it."""
        began_s, first = served.cpu_s, self.run.batches
        for _ in range(batches):
            at = self.run.batches
            rows = {
                "n": np.arange(at * ROWS, (at + 1) * ROWS),
                "price": self._rng.uniform(1, 100, ROWS),
                "note": ["x" * NOTE_BYTES] * ROWS,
            }
            self.run.batch(orders=pa.table(rows, schema=SCHEMA))
            wait_for(lambda at=at: all(at in own.had_s for own in (*short, *long)))
        taken_s = [
            own.had_s[at] - self._committed_s[at]
            for own in short
            for at in range(first, self.run.batches)
        ]
        spent_s = served.cpu_s - began_s
        return PhaseFigures(np.array(taken_s) * 1e3, spent_s * 1e3 / batches)


def run(size: Size) -> Findings:
    """Run the experiment."""
    effort = EFFORTS[size]
    with scratch() as root:
        fan_out = FanOut(Path(root) / "home")
        served = ServedProcess(Path(root) / "home")
        try:
            yield from _measured(fan_out, served, effort)
        finally:
            served.close()
            fan_out.run.desk.close()


def _measured(fan_out: FanOut, served: ServedProcess, effort: StreamEffort) -> Findings:
    long = served.open("long", LONG_READERS, is_kept=False)
    before_kb = served.memory_kb
    say(f"opens {effort.streams:,} streams")
    began_s = perf_counter()
    short = served.open("short", effort.streams)
    opened_s = perf_counter() - began_s
    each_kb = (served.memory_kb - before_kb) / effort.streams
    fan_out.phase(served, 1, short, long)  # what is done once
    phases = {"all read": fan_out.phase(served, effort.batches, short, long)}
    say("lets a client read nothing")
    with silent_client(served, "long"):
        wait_for(lambda: served.metric("streams_open") > effort.streams + LONG_READERS)
        phases["one reads nothing"] = fan_out.phase(served, effort.batches, short, long)
        wait_for(lambda: served.metric("clients_cut_off") > 0)
    yield Table(
        f"{effort.streams:,} event streams, batches of {ROWS} changes: commit to client",
        ("phase", "p50 ms", "p99 ms", "server's ms of processors per batch", "µs per stream"),
        [
            (
                name, float(np.quantile(own.latencies_ms, 0.5)),
                float(np.quantile(own.latencies_ms, 0.99)), own.cpu_ms,
                own.cpu_ms * 1e3 / effort.streams,
            )
            for name, own in phases.items()
        ],
    )  # fmt: skip
    yield Table(
        "streams", ("streams", "opened in s", "kB each"), [(effort.streams, opened_s, each_kb)]
    )
    wanted = list(range(fan_out.run.batches * ROWS))
    differing = sum(own.numbers() != wanted for own in short)
    yield at_most("streams that got anything else than all changes in order", differing, 0)
    ended = sum(own.is_lost for own in (*short, *long))
    yield at_most("streams of clients that read which ended", ended, 0)
    cut_off = served.metric("clients_cut_off")
    yield at_least("clients cut off, of one that reads nothing", cut_off, 1)
    yield at_most("clients cut off, of one that reads nothing", cut_off, 1)
    yield at_most("kB of memory per stream", each_kb, MEMORY_MAX_KB)
    quiet, beside = (np.quantile(own.latencies_ms, 0.99) for own in phases.values())
    name = "p99 of latency beside a client that reads nothing, over that without"
    yield at_most(name, float(beside / quiet), HARM_RATIO_MAX, timed=True)
    shares = np.linspace(0, 100, 101)
    yield chart(
        "Latency from commit to client",
        "ms",
        "% of changes",
        {
            name: (np.percentile(own.latencies_ms, shares).tolist(), shares.tolist())
            for name, own in phases.items()
        },
    )
