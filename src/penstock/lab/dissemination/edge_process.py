"""An edge in a process of its own, which tells how many it notified of a batch, and when."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow.parquet as pq

from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.edges.edge import Edge
from penstock.edges.notifications import Notifications

PATIENCE_S = 600.0


def run(url: str, file: str, name: str = "") -> None:
    """Run an edge until the input ends; tell every batch, and the values at the end."""
    stop = threading.Event()

    def tell(notifications: Notifications) -> None:
        own = notifications
        told = [own.batch, len(own), monotonic(), own.is_first, edge.begins]
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()

    place = BrokerAddress.of(url)
    announced = (name, broker_at(edge_address(place, name))) if name else None
    edge = Edge(broker_at(place), pq.read_table(file), tell, announced=announced)
    following = threading.Thread(target=edge.run, args=(stop,), daemon=True)
    following.start()
    for line in sys.stdin:
        # Batches that concern nobody are told by nobody: wait until the one that is asked for.
        until_s = monotonic() + PATIENCE_S
        while edge.batch < int(line) or edge.values([]) is None:
            assert not stop.wait(0.005) and monotonic() < until_s, "messages did not come"
        sys.stdout.write(json.dumps(["reached", int(line), edge.begins]) + "\n")
        sys.stdout.flush()
    values = edge.values()
    stop.set()
    following.join()
    assert values is not None
    told = [values.ids.to_pylist(), values.values.to_pylist()]
    sys.stdout.write(json.dumps(["values", *told]) + "\n")


@dataclass(slots=True)
class EdgeLife:
    """What one process of an edge told."""

    batches: dict[int, int] = field(default_factory=dict)
    """How many notifications there were of each batch."""
    moments: dict[int, float] = field(default_factory=dict)
    first_batch: int = -1
    """The batch behind which it began."""
    begins: int = 1
    """How often it began with a state: more than once, if messages were missing."""
    settled: int = 1
    """How often it had to, until a publisher had heard of all edges."""

    def settle(self, batch: int) -> None:
        """Count from here on: edges have been heard, and stand behind a batch."""
        self.settled, self.first_batch = self.begins, batch
        self.batches.clear()
        self.moments.clear()


class EdgeProcess:
    """Starts, asks and kills the process of an edge."""

    def __init__(self, url: str, file: Path, name: str = "") -> None:
        self._command = [sys.executable, "-m", __name__, url, str(file), name]
        self.lives: list[EdgeLife] = []
        self._start()

    def _start(self) -> None:
        self.lives.append(EdgeLife())
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip

    def reach(self, batch: int) -> None:
        """Wait until it stands behind a batch."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{batch}\n")
        self._process.stdin.flush()
        while (told := self._next()) is not None:
            if told[0] == "reached":
                self.lives[-1].begins = told[2]
                return
        raise AssertionError("an edge ended before its time")

    def _next(self) -> list[Any] | None:
        """Read a line; keep what it tells of a batch."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            return None
        told = json.loads(line)
        life = self.lives[-1]
        if isinstance(told[0], int):
            batch, count, moment, is_first, life.begins = told
            if is_first:
                life.first_batch = batch
            else:
                life.batches[batch] = life.batches.get(batch, 0) + count
                life.moments[batch] = moment
        return list(told)

    def kill(self) -> None:
        """Kill it, and start another in its place."""
        self._process.send_signal(signal.SIGKILL)
        while self._next() is not None:
            pass
        self._end()
        self._start()

    def finish(self) -> dict[str, Any]:
        """End it; give the values that its subscribers have."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        while (told := self._next()) is not None:
            if told[0] == "values":
                self._end()
                return dict(zip(*told[1:], strict=True))
        raise AssertionError("an edge ended before its time")

    def _end(self) -> None:
        self._process.wait(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

    def abandon(self) -> None:
        """Kill it for good."""
        if self._process.poll() is None:
            self._process.kill()
        self._end()


if __name__ == "__main__":
    run(*sys.argv[1:])
