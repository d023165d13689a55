"""An embedded engine under moderate load, with registrations and drops going on beside it.

Files come several times a second; of the input only the last files stay, as they would be moved
away. Each second subscriptions come and go, of known shapes and of shapes of their own, some with
sinks. On a machine on which batches take longer than that, all of it waits for them: what a home
holds follows the batches, and how many there are in a minute must not decide whether it grows.
Results of some batches are kept, few beside those of the run.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any

import pyarrow.parquet as pq

from penstock.delivery.changes import Change
from penstock.engine import Engine
from penstock.lab.draws import generator
from penstock.lab.report import Cell
from penstock.lab.soak.samples import IN_YARDSTICKS, MB, processor_s, resident_mb, sizes_of
from penstock.lab.soak.simulated_year import (
    COMING,
    LASTING,
    STANDING,
    SYMBOLS,
    VIEW_OPTIONS,
    VIEWS,
    ordered,
    traded,
)
from penstock.lab.soak.yardstick import Yardstick

STREAMS, TABLE = ("trades", "quotes"), "orders"
FILES_PER_S, FILES_PER_BATCH = 2.0, 1.0
REGISTRATIONS_PER_S, REGISTRATIONS_PER_BATCH = 1.0, 0.5
"""Whichever is less."""
YARDSTICK_S = 0.5
FILE_ROWS = 40
FILES_STAY = 40
"""Files that were read stay for a while: relations need not be read abreast."""
FILE_AGE_S = 60
FIRST_S = 300
"""So long may the first batch take."""
SINKS_EVERY = 4


class EngineLoad:
    """An engine on a home, its input, and who comes and goes."""

    def __init__(self, place: Path) -> None:
        self._home, self._input = place / "home", place / "in"
        self._engine = Engine(self._home, host="embedded")
        self._files: deque[Path] = deque()
        self._coming: deque[str] = deque()
        self._written = self._registered = self.taken = self._first = 0
        self._yardstick, self._laid_on_s = Yardstick(), 0.0
        for name in (*STREAMS, TABLE):
            (self._input / name).mkdir(parents=True)
            self._write(name)
        age = f"{FILE_AGE_S}s"
        for name in STREAMS:
            source = f"parquet:{self._input / name}"
            self._engine.stream(name, source, event_time="ts", maxFileAge=age)
        source = f"parquet:{self._input / TABLE}"
        self._engine.table(TABLE, source, changes="op", key=["id"], maxFileAge=age)

    def run(
        self, seconds: float, batches: int, samples: int, kept: str
    ) -> Iterator[Mapping[str, Cell]]:
        """Run for so long, and for so many batches; now and then say how large everything is."""
        with self._engine as engine:
            engine.keep(kept)
            for name, sql in VIEWS.items():
                engine.subscribe(sql, name=name, options={"view": name, **VIEW_OPTIONS})
            for name, sql in LASTING.items():
                engine.subscribe(sql, name=name)
            engine.start()
            engine.wait_for_version(engine.desk.registry.version, timeout=FIRST_S)
            began_s = self._laid_on_s = monotonic()
            self._first = engine.runner.totals["batches"]
            before = self._spent()
            for number in range(1, samples + 1):
                share = number / samples
                self._load(began_s, began_s + seconds * share, self._first + batches * share)
                now = self._spent()
                yield self._sample(monotonic() - began_s, before, now)
                before = now
            engine.stop()
            self._yardstick.close()

    def _load(self, began_s: float, until_s: float, until_batch: float) -> None:
        """Bring files and subscriptions at their pace."""
        while (now_s := monotonic()) < until_s or self._batches() < until_batch:
            passed_s, batches = now_s - began_s, 1 + self._batches() - self._first
            each = min(passed_s * FILES_PER_S, batches * FILES_PER_BATCH)
            if self._written < (len(STREAMS) + 1) * each:
                for name in (*STREAMS, TABLE):
                    self._write(name)
            due = min(passed_s * REGISTRATIONS_PER_S, batches * REGISTRATIONS_PER_BATCH)
            if self._registered < due:
                self._register()
            if now_s > self._laid_on_s + YARDSTICK_S:
                self._yardstick.lay_on()
                self._laid_on_s = now_s
            self._engine.wait(0.02)
            sleep(0.02)

    def _write(self, name: str) -> None:
        chance = generator(29, self._written)
        first_us = int(1.7e15 + self._written * 250_000)
        path = self._input / name / f"{self._written:08}.parquet"
        beside = path.with_name(f".{path.name}")
        rows = (
            ordered(chance, FILE_ROWS)
            if name == TABLE
            else traded(chance, first_us, FILE_ROWS, 250_000)
        )
        pq.write_table(rows, beside)
        beside.rename(path)
        self._files.append(path)
        self._written += 1
        read = self._engine.runner.totals["events"] // FILE_ROWS
        while len(self._files) > self._written - read + FILES_STAY:
            self._files.popleft().unlink()

    def _register(self) -> None:
        engine, number = self._engine, self._registered
        name = f"s{number}"
        sql = COMING[number % len(COMING)].format(number % SYMBOLS, number)
        subscription = engine.subscribe(sql, name=name)
        if number % SINKS_EVERY == 0:
            subscription.to(self._take, name="sink")
        self._coming.append(name)
        if len(self._coming) > STANDING:
            engine.subscription(self._coming.popleft()).drop()
        self._registered += 1

    def _take(self, _change: Change) -> None:
        self.taken += 1

    def _java(self) -> Any:
        return self._engine.spark.sparkContext._jvm

    def _spent(self) -> tuple[int, float]:
        """Give how many batches were run, and what they and all else took of processors."""
        spent_s = process_time() + processor_s(self._java_process) - self._yardstick.spent_s
        return self._batches(), spent_s

    def _batches(self) -> int:
        return self._engine.runner.totals["batches"]

    @property
    def _java_process(self) -> int:
        return int(self._java().java.lang.ProcessHandle.current().pid())

    def _sample(
        self, at_s: float, before: tuple[int, float], now: tuple[int, float]
    ) -> Mapping[str, Cell]:
        java = self._java()
        java.java.lang.System.gc()
        heap = java.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
        sizes = sizes_of(self._home)
        batch_ms = 1e3 * (now[1] - before[1]) / max(now[0] - before[0], 1)
        length_ms = 1e3 * self._yardstick.length_s()
        return {
            "minute": round(at_s / 60, 2),
            "batches": now[0],
            "registrations": self._registered,
            "resident MB": resident_mb([os.getpid()]),
            "Java heap MB": heap.getUsed() / MB,
            "Java resident MB": resident_mb([self._java_process]),
            "files": sizes.pop("files"),
            "home MB": sizes.pop("bytes") / MB,
            **{f"{part} MB": size / MB for part, size in sizes.items()},
            "batch ms": batch_ms,
            "yardstick ms": length_ms,
            IN_YARDSTICKS: batch_ms / length_ms,
        }
