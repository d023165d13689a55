"""A running query, with a Spark that does as the tests say: looks, new starts and ends at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark import queries
from penstock.spark.queries import STARTS_MAX, RunningQuery
from penstock.vocabulary.errors import PenstockError

DIED = StreamingQueryException("Python worker exited unexpectedly (crashed)")


class FakeQuery:
    """A query of Spark; whoever asks for its failure may do something first."""

    def __init__(self) -> None:
        self.isActive = True
        self.lastProgress: object = None
        self.failure: StreamingQueryException | None = None
        self.then: Callable[[], None] = lambda: None
        self.ended = threading.Event()

    def exception(self) -> StreamingQueryException | None:
        found = self.failure
        self.then()
        return found

    def fail(self) -> None:
        self.failure, self.isActive = DIED, False
        self.ended.set()

    def stop(self) -> None:
        self.isActive = False
        self.ended.set()

    def awaitTermination(self, timeout_s: float | None = None) -> bool:
        ended = self.ended.wait(timeout_s)
        if ended and self.failure is not None:
            raise self.failure
        return ended


class FakeWriter:
    """Starts queries, unless it is told to refuse."""

    def __init__(self) -> None:
        self.started: list[FakeQuery] = []
        self.refusal: Exception | None = None

    def option(self, *_: object) -> FakeWriter:
        return self

    def trigger(self, **_: object) -> FakeWriter:
        return self

    def start(self) -> FakeQuery:
        if self.refusal is not None:
            raise self.refusal
        self.started.append(FakeQuery())
        return self.started[-1]


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> FakeWriter:
    """Give a writer whose queries nobody looks after but the test."""
    monkeypatch.setattr(queries, "LOOK_S", 1_000.0)
    return FakeWriter()


def running(writer: FakeWriter) -> RunningQuery:
    return RunningQuery(cast(DataStreamWriter, writer), Path("c"), False, 0.0)


def test_a_query_that_dies_while_it_is_looked_at_is_not_taken_for_ended(
    writer: FakeWriter,
) -> None:
    """Between two questions it fails: it neither failed nor runs, and nobody would start it."""
    query = running(writer)
    first = writer.started[0]

    def die_once() -> None:
        first.then = lambda: None
        first.fail()

    first.then = die_once
    assert query.running and query.running
    assert len(writer.started) == 2 and not query.failed


def test_a_start_that_spark_refuses_ends_the_query_with_what_it_says(writer: FakeWriter) -> None:
    query = running(writer)
    writer.started[0].fail()
    writer.refusal = AnalysisException("[PATH_NOT_FOUND] Path does not exist: /gone. ")
    assert not query.running and query.failed
    for ask in (query.raise_failure, lambda: query.wait(None)):
        with pytest.raises(PenstockError, match="SRC-002"):
            ask()


def test_a_query_that_was_stopped_is_not_started_again(writer: FakeWriter) -> None:
    query = running(writer)
    writer.started[0].then = writer.started[0].fail
    query.stop()
    assert not query.running and not query.running
    assert len(writer.started) == 1


@pytest.mark.parametrize("comes_on", [False, True])
def test_starts_are_counted_from_one_batch_to_the_next(writer: FakeWriter, comes_on: bool) -> None:
    query = running(writer)
    for _ in range(2 * STARTS_MAX):
        writer.started[-1].lastProgress = {"batchId": 1} if comes_on else None
        writer.started[-1].fail()
        if not query.running:
            break
    assert query.running == comes_on
    assert len(writer.started) == (1 + 2 * STARTS_MAX if comes_on else STARTS_MAX)


def test_who_waits_goes_on_with_the_query_that_follows(writer: FakeWriter) -> None:
    query = running(writer)
    ended: list[Any] = []
    waiting = threading.Thread(target=lambda: ended.append(query.wait(None)))
    waiting.start()
    writer.started[0].fail()
    while len(writer.started) < 2:
        assert waiting.is_alive()
    assert not query.wait(0.01)
    query.stop()
    waiting.join()
    assert ended == [True]
