"""Data state on both hosts: deltas, snapshots, catching up, rollback, restore; without a JVM.

The embedded host is given batches as Spark would; the cluster host's processor runs on Spark's own
test bench for stateful processors, in several workers that do not share memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.delivery.log import ResultLog
from penstock.delivery.parts import part_from_bytes
from penstock.operators.catalogue import OPERATORS
from penstock.registry import folds
from penstock.spark import operate
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Pipeline
from penstock.spark.lanes import Lane, Lanes
from penstock.storage import disk, state
from penstock.vocabulary.errors import PenstockError
from tests.support.bench import WORKERS, Bench
from tests.support.checkpoints import plan
from tests.support.schedules import GROUP, LAYOUT, Answer, Schedule
from tests.support.tally import KIND, TALLY

LANES = Lanes((Lane(None, (0,)),))
SETTLED_AFTER = 8
"""As the engine does, with smaller numbers: versions are folded that no restart goes back to."""

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=25)


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Make snapshots and bases frequent, and flushes free."""
    patch = pytest.MonkeyPatch()
    patch.setitem(OPERATORS, KIND, TALLY)
    patch.setattr(state, "SNAPSHOT_EVERY_BATCHES", 4)
    patch.setattr(state, "SPARE_BATCHES", 2)
    patch.setattr(operate, "SNAPSHOT_EVERY_STEPS", 3)
    patch.setattr(folds, "VERSIONS_PER_BASE_MAX", 2)
    patch.setattr(disk, "flush", lambda path: None)
    yield
    patch.undo()


class Frame:
    """What `foreachBatch` hands over."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def toArrow(self) -> pa.Table:
        return self._table


def answer_of(log: ResultLog, number: int) -> tuple[int, Answer]:
    """Read a batch's version and pairs back from the log."""
    logged = log.read(number)
    assert logged is not None
    found = []
    for section in logged.sections:
        numbers = section.events()["n"].to_pylist()
        matches = section.matches(GROUP)
        queries, rows = matches["query"].to_pylist(), matches["event"].to_pylist()
        found += [(query, numbers[row]) for query, row in zip(queries, rows, strict=True)]
    return logged.version, sorted(found)


class Crash(BaseException):
    """The process dies here."""


@given(seed=seeds)
@some
def test_an_embedded_host_starts_from_any_crash(seed: int) -> None:
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        schedule = Schedule.at(root, seed)
        pipeline = Pipeline(engine="e", home=root, layout=LAYOUT, record=False)
        reports: list[BatchReport] = []

        def start() -> EmbeddedHost:
            return EmbeddedHost(pipeline, reports.append)

        host = start()
        for number in range(14):
            batch = schedule.draw()
            plan(root / "checkpoint", number)
            for crash in ("state", "part", "commit", "after"):
                if chance.random() < 0.12:
                    with pytest.MonkeyPatch.context() as patch, pytest.raises(Crash):
                        _crash_at(crash, host, patch)
                        host._run(Frame(batch.table), number)  # type: ignore[arg-type]
                    host = start() if chance.random() < 0.5 else host
            host._run(Frame(batch.table), number)  # type: ignore[arg-type]
            if chance.random() < 0.2:
                # Spark did not get to commit: the same batch comes again, here or elsewhere.
                host = start() if chance.random() < 0.5 else host
                host._run(Frame(batch.table), number)  # type: ignore[arg-type]
            if number >= SETTLED_AFTER:
                schedule.registry.tidy(schedule.batches[number - SETTLED_AFTER].version)
        log = ResultLog(root / "results")
        for number, batch in enumerate(schedule.batches):
            assert answer_of(log, number) == (batch.version, batch.answer), number


def _crash_at(where: str, host: EmbeddedHost, patch: pytest.MonkeyPatch) -> None:
    """Let the next batch die right behind one of its steps."""

    def die(*_: Any, **_beside: Any) -> None:
        raise Crash

    if where == "after":
        patch.setattr(host, "_on_batch", die)
    elif where == "state":
        patch.setattr("penstock.spark.embedded.write_part", die)
    elif where == "part":
        patch.setattr(host._log, "commit", die)
    else:
        whole = host._log.commit

        def commit(*arguments: Any, **beside: Any) -> None:
            whole(*arguments, **beside)
            raise Crash

        patch.setattr(host._log, "commit", commit)


def answer_in(parts: dict[int, bytes]) -> Answer:
    found = []
    for section in part_from_bytes(parts[0]).sections if parts else ():
        numbers = section.events["n"].to_pylist()
        queries, rows = (section.matches[name].to_pylist() for name in ("query", "event"))
        found += [(query, numbers[row]) for query, row in zip(queries, rows, strict=True)]
    return sorted(found)


@given(seed=seeds)
@some
def test_shards_bounce_between_workers_that_die_and_batches_that_fail(seed: int) -> None:
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as directory:
        schedule = Schedule.at(Path(directory), seed)
        bench = Bench(Path(directory), LAYOUT, LANES)
        for number in range(20):
            batch = schedule.draw()
            while chance.random() < 0.2:
                # An attempt whose state was never committed; its worker may live on.
                before, lost = bench.store(), int(chance.integers(WORKERS))
                bench.run(batch.table, lost)
                bench.roll_back(before)
                if chance.random() < 0.5:
                    bench.workers[lost].clear()
            parts = bench.run(batch.table, int(chance.integers(WORKERS)))
            assert answer_in(parts) == batch.answer, number
            assert not parts or part_from_bytes(parts[0]).version == batch.version
            if chance.random() < 0.1:
                bench.workers[int(chance.integers(WORKERS))].clear()
            if number >= SETTLED_AFTER:
                schedule.registry.tidy(schedule.batches[number - SETTLED_AFTER].version)


def test_a_cold_worker_reads_a_snapshot_and_few_deltas(tmp_path: Path) -> None:
    """The state store does not grow with the number of batches."""
    schedule, bench = Schedule.at(tmp_path, 5), Bench(tmp_path, LAYOUT, LANES)
    for number in range(60):
        bench.run(schedule.draw().table, number % WORKERS)
    deltas = bench.tester.handle.map_states["deltas"].state[0]
    assert len(deltas) <= 3 * operate.SNAPSHOT_EVERY_STEPS
    bench.workers[0].clear()
    batch = schedule.draw()
    assert answer_in(bench.run(batch.table, 0)) == batch.answer


def test_a_shard_whose_state_was_put_back_is_refused(tmp_path: Path) -> None:
    """Spark's store has files of its own, and knows nothing of the batches that were told."""
    schedule, bench = Schedule.at(tmp_path, 5), Bench(tmp_path, LAYOUT, LANES)
    log = ResultLog(tmp_path / "results")
    kept = []
    for number in range(6):
        kept.append(bench.store())
        batch = schedule.draw()
        assert answer_in(bench.run(batch.table, 0, number)) == batch.answer
        heads = {str(key): bench.steps[key] for key in bench.steps}
        log.commit(number, batch.version, [], heads=heads)
    newest, batch = bench.store(), schedule.draw()
    for older in (kept[0], kept[-1]):
        bench.roll_back(older)
        with pytest.raises(PenstockError, match=r"\[RUN-016\].*shard 0 .*batch 5 left it at step"):
            bench.run(batch.table, 0, 6)
    bench.roll_back(newest)
    assert answer_in(bench.run(batch.table, 1, 6)) == batch.answer
    # Homes of before noted no heads.
    log.commit(6, batch.version, [])
    bench.run(schedule.draw().table, 1, 7)
