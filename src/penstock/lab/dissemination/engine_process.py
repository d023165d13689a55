"""An engine in a process of its own, which publishes minima of ranges as messages, to be killed.

`python -m penstock.lab.dissemination.engine_process HOME URL FILE`: the home's embedded host, its
log, its sink and its cursors, on batches that are planned without Spark. Every line of standard
input is a batch up to which it may run; behind each batch it writes that one's number. When the
input ends, it runs on to the last, waits until the broker has all, and ends.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.engine.live import NoRun
from penstock.engine.registration import draft_declaration
from penstock.engine.scripts import execute
from penstock.lab.crash_points.planned_host import planned_host
from penstock.registry.records import Declaration, Source
from penstock.spark.hosts import BatchReport

OFFERS = Relation(
    name="offers",
    kind="table",
    schema=pa.schema(
        [("id", pa.int64()), ("risk", pa.int64()), ("price", pa.int64()), ("op", pa.string())]
    ),
    change_column="op",
)
BATCH = "batch"
"""The column of a file of changes that says with which batch each comes."""
SUBSCRIBED = """
SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE risk BETWEEN :lo AND :hi
  AS MESSAGES WITH SNAPSHOT INTO '{url}'
"""
PATIENCE_S = 600.0


class PlannedRun(NoRun):
    """A run of planned batches: while it stands, more may come, and sinks wait for them."""

    running = True


def run(home: str, url: str, file: str) -> None:
    """Go on from where the process before died, to the end."""
    changes = pq.read_table(file)
    last = pc.max(changes[BATCH]).as_py()

    def files(batch: int) -> Mapping[str, pa.Table]:
        own = changes.filter(pc.equal(changes[BATCH], batch)).drop_columns([BATCH])
        return {OFFERS.name: own} if len(own) else {}

    def told(report: BatchReport) -> None:
        desk.readers.courier.committed(report.batch)

    with closing(Desk(home, record=False)) as desk:
        if OFFERS.name not in desk.registry.catalog:
            declaration = Declaration(relation=OFFERS, source=Source())
            desk.registry.publish(draft_declaration(declaration))
        if "lows" not in desk.registry.subscriptions:
            execute(desk, SUBSCRIBED.format(url=url))
        batches, host = planned_host(desk, [OFFERS], files, told)
        sinks = desk.readers.sinks
        desk.run = PlannedRun()
        sinks.begin(desk.readers.courier)
        allowed = _allowed(last)
        upto = next(allowed)
        for batch in range(batches.next(), last + 1):
            while batch > upto:
                upto = next(allowed)
            planned = batches.plan(batch)
            host.run(batch, planned.tables, planned.version)
            batches.commit(batch)
            sys.stdout.write(f"{batch}\n")
            sys.stdout.flush()
        desk.run = NoRun()
        sinks.finish(drain=True, patience_s=PATIENCE_S)
        host.close()


def _allowed(last: int) -> Iterator[int]:
    """Give the batches up to which it may run, line by line, and then the last."""
    yield from map(int, sys.stdin)
    yield last


class EngineProcess:
    """Starts, drives and kills the process of an engine; `kills` counts those behind it."""

    def __init__(self, home: Path, url: str, file: Path) -> None:
        self._command = [sys.executable, "-m", __name__, str(home), url, str(file)]
        self._process: subprocess.Popen[str] | None = None
        self.kills = 0
        self.batch = -1
        """The newest batch that it was heard of."""

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, start_new_session=True,
            )  # fmt: skip
        return self._process

    def run_upto(self, batch: int) -> None:
        """Let it run up to a batch, and wait until it has run the one before."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{batch}\n")
        process.stdin.flush()
        while self.batch < batch - 1:
            line = process.stdout.readline()
            assert line.endswith("\n"), "the engine ended before its time"
            self.batch = int(line)

    def kill(self, after_s: float) -> None:
        """Kill it (-9) a moment later, whatever it does then."""
        process = self._started()
        time.sleep(after_s)
        assert process.poll() is None, "the engine ended before its time"
        process.send_signal(signal.SIGKILL)
        self.kills += 1
        self._end(process)

    def finish(self) -> None:
        """Let it run to the last batch, and the broker have all."""
        process = self._started()
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, "the engine failed"
        self._process = None

    def abandon(self) -> None:
        """Kill it for good."""
        if self._process is not None:
            self._process.kill()
            self._end(self._process)

    def _end(self, process: subprocess.Popen[str]) -> None:
        process.wait(PATIENCE_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None


if __name__ == "__main__":
    run(*sys.argv[1:])
