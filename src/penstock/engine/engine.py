"""The engine: streams in, standing queries registered, answers out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self

import pyarrow as pa

from penstock.algebra.catalog import LATENESS_US, Relation
from penstock.engine.adapting import Notice, Watcher
from penstock.engine.declaring import Declared, declare_relation, makes_rows, reopen
from penstock.engine.desk import Desk
from penstock.engine.figures import join_figures
from penstock.engine.registration import Options
from penstock.engine.running import divisions_of, start_pipeline
from penstock.engine.stopping import Gate
from penstock.engine.tuples import Answer, ask_shard
from penstock.engine.what_if import WhatIf
from penstock.operators.protocol import Operator
from penstock.operators.shard import Shard
from penstock.planning.explanation import Explanation
from penstock.registry.records import Source
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Host
from penstock.spark.queries import RunningQuery
from penstock.spark.sessions import is_local, local_session, prepared
from penstock.spark.sources import arrow_schema, open_source
from penstock.spark.types import DataFrame, SparkSession
from penstock.vocabulary.batches import added
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError

REPORTS_KEPT = 1_000
LOOK_S = 0.2
SINKS_END_S = 5.0
"""Sinks have so long to end; what they did not take, they get in the next run."""
SETTLED_AFTER_BATCHES = 200
"""No restart goes back further than the last snapshot; hosts take one far more often than this."""

HostName = Literal["auto", "embedded", "cluster"]


class Engine(Desk):
    """A continuous-query engine on one Spark Structured Streaming query.

    Parameters
    ----------
    home
        The directory of everything durable: registry, checkpoint, state, results.
    spark
        A session to use; without one, a local session is built.
    host
        Where operators live: `embedded` (this process), `cluster` (Spark's workers), or `auto`:
        embedded on a local master, cluster on any other.
    record
        Keep all input events in the result log, so that `verify` can replay them; by default as
        the home does, and a new home does not.
    shards
        How many shards a cluster host runs; by default as many as there are cores.
    """

    def __init__(
        self,
        home: str | Path,
        spark: SparkSession | None = None,
        host: HostName = "auto",
        record: bool | None = None,
        shards: int | None = None,
    ) -> None:
        super().__init__(home, record)
        self._given = spark
        self._session: SparkSession | None = None
        self._host = host
        self._shards = shards
        self._frames: dict[str, DataFrame] = {}
        self._query: RunningQuery | None = None
        self._live: Host | None = None
        self._listeners: list[Callable[[BatchReport], None]] = []
        self._seen = threading.Condition()
        self._gate = Gate(lambda: self.running)
        self.reports: deque[BatchReport] = deque(maxlen=REPORTS_KEPT)
        self._counts: dict[str, int] = {}
        self._spent_s = 0.0
        self.totals = {"batches": 0, "events": 0, "matches": 0}
        self._watcher = Watcher(self.planner)

    # Relations

    @property
    def spark(self) -> SparkSession:
        """The session that the engine runs on."""
        if self._session is None:
            # A session of the engine's own: two engines in one process do not share settings.
            self._session = prepared(self._given or local_session())
        return self._session

    def stream(
        self,
        name: str,
        source: DataFrame | str,
        event_time: str | None = None,
        lateness: str | timedelta | int | None = None,
        rate: float | None = None,
        distinct: Mapping[str, int] | None = None,
        **options: Any,
    ) -> Relation:
        """Declare a stream: a streaming DataFrame, or the text of a source ('parquet:/dir', …).

        In window joins, rows may come so much behind the newest `event_time` as `lateness` says:
        '10 seconds', a timedelta, or microseconds; by default a minute. Later ones are left out.
        `rate` (rows per second) and `distinct` (values by column) are for the planner of multi-way
        joins, until it has measured them.
        """
        return self.declare(
            "stream",
            name,
            source,
            event_time=event_time,
            lateness=lateness,
            options=options,
            declared=Declared(rate=rate, distinct=distinct or {}),
        )

    def table(
        self,
        name: str,
        source: DataFrame | str,
        changes: str,
        rows: int | None = None,
        distinct: Mapping[str, int] | None = None,
        **options: Any,
    ) -> Relation:
        """Declare a table: its source brings changes, told apart by the column `changes`.

        `rows` and `distinct` say how many rows, and values by column, the planner may expect.
        """
        declared = Declared(rows=rows, distinct=distinct or {})
        if rows is not None and isinstance(source, str) and makes_rows(source):
            options["rows"] = rows
        return self.declare(
            "table", name, source, changes=changes, options=options, declared=declared
        )

    def declare(
        self,
        kind: Literal["stream", "table"],
        name: str,
        source: DataFrame | str,
        event_time: str | None = None,
        changes: str | None = None,
        options: dict[str, Any] | None = None,
        columns: pa.Schema | None = None,
        lateness: str | timedelta | int | None = None,
        declared: Declared | None = None,
    ) -> Relation:
        """Declare a relation, or bring the source of one that this home knows already."""
        lateness_us = LATENESS_US if lateness is None else microseconds(lateness)
        texts = {key: str(value) for key, value in (options or {}).items()}
        if isinstance(source, str):
            frame = open_source(self.spark, source, texts, columns)
            where = Source(name=source, options=texts)
        else:
            frame, where = source, Source()
        if not frame.isStreaming:
            raise PenstockError(
                "SRC-013",
                f"The frame for {name!r} is not a streaming frame.",
                "Read it with spark.readStream, or use penstock.sources.replay.",
            )
        relation = Relation(
            name=name,
            kind=kind,
            schema=arrow_schema(frame),
            event_time=event_time,
            change_column=changes,
            lateness_us=lateness_us,
        )
        relation = (declared or Declared()).told(relation)
        declare_relation(self.registry, self.home.path, relation, where)
        self._frames[name.lower()] = frame
        return relation

    # Running

    @property
    def host(self) -> str:
        """Where operators live: embedded or cluster."""
        if self._host != "auto":
            return self._host
        known = self.home.facts.get("host")
        return str(known) if known else "embedded" if is_local(self.spark) else "cluster"

    @property
    def running(self) -> bool:
        """Say whether the pipeline runs."""
        return self._query is not None and self._query.running

    def start(self, available_now: bool = False, trigger_seconds: float = 0.0) -> Self:
        """Start the pipeline; with `available_now` it ends when all that is there is processed."""
        if self.running:
            raise PenstockError("ENG-009", "The engine runs already.", "Stop it first.")
        for name, item in self.registry.declarations.items():
            if name not in self._frames:
                self._frames[name] = reopen(self.spark, item)
        if not self._frames:
            raise PenstockError("ENG-010", "There is no stream.", "Declare one with `stream`.")
        frames = {
            item.relation.name: self._frames[name]
            for name, item in self.registry.declarations.items()
        }
        shards = (
            self._shards
            or self.home.facts.get("shards")
            or (1 if self.host == "embedded" else self.spark.sparkContext.defaultParallelism)
        )
        record = bool(self.home.facts.get("record"))
        self.home.settle(host=self.host, shards=shards, record=record)
        if self.host == "cluster" and self.home.facts.get("lanes") is None:
            self.home.settle(lanes=divisions_of(self.registry))
        self.spark.conf.set("spark.sql.shuffle.partitions", shards)
        self.registry.keep_announcements()
        self._query, self._live = start_pipeline(
            spark=self.spark,
            home=self.home,
            frames=frames,
            schemas={n: self.registry.catalog[n.lower()].schema for n in frames},
            steps=self.registry.steps,
            announcements=self.registry.announcements,
            on_batch=self._on_batch,
            available_now=available_now,
            trigger_seconds=trigger_seconds,
        )
        for runner in self._sinks:
            if not runner.is_alive() and runner.ident is None:
                runner.start()
        return self

    def run_available(self, timeout_s: float | None = None) -> Self:
        """Process all that is there, then stop."""
        self.start(available_now=True)
        self.wait(timeout_s)
        return self

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the pipeline ends; a failure becomes an error that says what to do."""
        ended = self._query is None or self._query.wait(timeout_s)
        if ended:
            self._rest(drain=True)
        return ended

    def wait_for_version(self, version: int, timeout_s: float = 60.0) -> int:
        """Wait until a registry version is in force; returns the batch in which it began."""
        return self._wait_for(
            lambda report: report.version >= version, f"Version {version}", timeout_s
        )

    def wait_for_batch(self, batch: int, timeout_s: float = 600.0) -> int:
        """Wait until a micro-batch is committed."""
        return self._wait_for(lambda report: report.batch >= batch, f"Batch {batch}", timeout_s)

    def _wait_for(self, holds: Callable[[BatchReport], bool], what: str, timeout_s: float) -> int:
        def found() -> int | None:
            return next((report.batch for report in self.reports if holds(report)), None)

        deadline = monotonic() + timeout_s
        with self._seen:
            # A query that fails tells nobody: look now and then whether it still runs.
            while (batch := found()) is None and self.running and monotonic() < deadline:
                self._seen.wait(LOOK_S)
        if batch is None:
            if self._query is not None:
                self._query.raise_failure()
            raise PenstockError(
                "ENG-011",
                f"{what} did not come within {timeout_s:g} s.",
                "Start the engine, bring events, or wait longer.",
            )
        return batch

    def stop(self) -> None:
        """Stop the pipeline after the batch in hand; everything is kept."""
        if self._query is not None:
            self._gate.stop(self._query.stop)
        self._rest()

    def close(self) -> None:
        """Stop, and let another process open this home. The Spark session stays."""
        self.stop()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def on_batch(self, listener: Callable[[BatchReport], None]) -> None:
        """Call a listener after every micro-batch."""
        self._listeners.append(listener)

    def metrics(self) -> dict[str, int]:
        """Count queries, slow paths, values passed over, events, matches; times are in ms."""
        sizes = self.reports[-1].sizes if self.reports else {}
        spent = {"operators_ms": round(self._spent_s * 1e3)}
        found = {**sizes, **self._counts, **self.registry.counts(), **self.totals, **spent}
        return {name: figure for name, figure in found.items() if "/" not in name}

    def join_figures(self) -> dict[str, dict[str, Any]]:
        """Say of every group of joins what it did in this run: plan shares, moves, rebuilds, cost.

        Costs are those that the router expects; compare them with what the host took, in all.
        """
        with self._seen:
            return join_figures(self._counts, self.reports[-1].sizes if self.reports else {})

    @property
    def notices(self) -> deque[Notice]:
        """What users should know of their multi-way joins: verdicts that changed, new plans."""
        return self._watcher.notices

    def shedding(self) -> dict[str, dict[str, Any]]:
        """Say of every multi-way join what is let through, and the share of results kept."""
        return self._watcher.shedding()

    def explain(
        self,
        query: str,
        each: Any = None,
        options: Options | None = None,
        what_if: WhatIf = (),
    ) -> Explanation:
        """Say how a query, or a subscription by its name, is or would be processed."""
        explanation = super().explain(query, each, options, what_if)
        if explanation.plan is None:
            return replace(explanation, run=self.join_figures().get(explanation.group, {}))
        run = self._watcher.run_facts(explanation.group)
        return replace(explanation, run=run, plan=replace(explanation.plan, run=run))

    def batch_seconds(self) -> dict[int, float]:
        """Give how long Spark took for each of the last micro-batches, by batch number."""
        return {} if self._query is None else self._query.batch_seconds()

    # Inside

    def _ask_group(self, group: str, question: Callable[[Operator], Answer]) -> Answer:
        """Ask the live operator of a group while the pipeline runs here, else its kept state."""
        if not self.running or not isinstance(self._live, EmbeddedHost):
            return super()._ask_group(group, question)

        def ask(shard: Shard) -> Answer:
            return ask_shard(shard, group, question)

        answer = self._live.ask(ask)
        return super()._ask_group(group, question) if answer is None else answer

    def _on_batch(self, report: BatchReport) -> None:
        self._gate.batch_began()
        with self._seen:
            self.reports.append(report)
            self.totals["batches"] += 1
            self.totals["events"] += report.rows_in
            self.totals["matches"] += report.matches
            self._counts = added((self._counts, report.counts))
            self._spent_s += report.seconds
            self._seen.notify_all()
        if len(self.reports) > SETTLED_AFTER_BATCHES:
            self.registry.tidy(settled=self.reports[-SETTLED_AFTER_BATCHES].version)
        self._watcher.take(report)
        for listener in self._listeners:
            listener(report)
        self._gate.batch_ended()

    def _rest(self, drain: bool = False) -> None:
        """Let sinks end: with `drain` when they have all that is there, if they are not slow."""
        self._watcher.finish()
        end_s = monotonic() + SINKS_END_S
        for runner in self._sinks:
            if not drain:
                runner.stop()
            if runner.is_alive():
                runner.join(timeout=max(0.0, end_s - monotonic()))
        for runner in self._sinks:
            runner.stop()
        self._sinks.clear()
