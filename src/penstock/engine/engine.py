"""The engine: streams in, standing queries registered, answers out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self

from penstock.algebra.lookups import KIND as LOOKUP
from penstock.engine.budgets import (
    Budgets,
    Facts,
    cooldown_s,
    no_facts,
    refuse_small_budgets,
    run_facts,
)
from penstock.engine.figures import engine_figures, join_figures
from penstock.engine.pulsing import PATIENCE_S, Pulse
from penstock.engine.registration import Options
from penstock.engine.relations import Relations
from penstock.engine.running import divisions_of, start_pipeline
from penstock.engine.stopping import Gate
from penstock.engine.tuples import Answer, live_facts
from penstock.kinds.what_if import WhatIf
from penstock.operators.catalogue import OPERATORS
from penstock.operators.shard import Shard
from penstock.planning.explanation import Explanation
from penstock.registry.records import Draft
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Host
from penstock.spark.queries import RunningQuery
from penstock.spark.sessions import is_local
from penstock.spark.types import SparkSession
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, together
from penstock.vocabulary.figures import Figure

REPORTS_KEPT = 1_000
LOOK_S = 0.2
SINKS_END_S = 5.0
"""Sinks have so long to end; what they did not take, they get in the next run."""
SETTLED_AFTER_BATCHES = 200
"""No restart goes back further than the last snapshot; hosts take one far more often than this."""

HostName = Literal["auto", "embedded", "cluster"]


class Engine(Relations):
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
        super().__init__(home, spark, record)
        self._host = host
        self._shards = shards
        self._query: RunningQuery | None = None
        self._live: Host | None = None
        self._listeners: list[Callable[[BatchReport], None]] = []
        self._seen = threading.Condition()
        self._gate = Gate(lambda: self.running)
        self.reports: deque[BatchReport] = deque(maxlen=REPORTS_KEPT)
        self._figures = FigureTable()
        self._spent_s = 0.0
        self.totals = {"batches": 0, "events": 0, "matches": 0}
        self._budgets = Budgets(self.registry)
        self._pulse: Pulse | None = None

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
        if self._query is not None and self._query.running:
            return True
        return self._pulse is not None and self._pulse.pending

    def start(
        self,
        available_now: bool = False,
        trigger_seconds: float = 0.0,
        patience: str | timedelta | int | None = None,
    ) -> Self:
        """Start the pipeline; with `available_now` it ends when all that is there is processed.

        Then rows that wait for a database to answer are waited for too, until it has been away for
        so long as `patience` says: '10 seconds', a timedelta, or microseconds; by default a minute.
        """
        if self.running:
            raise PenstockError("ENG-009", "The engine runs already.", "Stop it first.")
        self._sources()
        shards = (
            self._shards
            or self.home.facts.get("shards")
            or (1 if self.host == "embedded" else self.spark.sparkContext.defaultParallelism)
        )
        divided = 1 if self.host == "embedded" else shards
        refuse_small_budgets(self.registry.steps.values(), divided)
        record = bool(self.home.facts.get("record"))
        self.home.settle(host=self.host, shards=shards, record=record)
        if self.host == "cluster" and self.home.facts.get("lanes") is None:
            self.home.settle(lanes=divisions_of(self.registry))
        self.spark.conf.set("spark.sql.shuffle.partitions", shards)
        self.registry.keep_announcements()
        self.watcher.begin(available_now, divided)
        if self._is_asking() and self.log.newest() >= 0:
            self._beat()  # rows may wait since the last run
        self._pulse = Pulse(
            query=lambda: self._query,
            every_s=lambda: cooldown_s(self.registry.steps.values()),
            beat=self._beat,
            begin_again=(lambda: self._launch(True, 0.0)) if available_now else None,
            tell=self._tell_waiting,
            patience_s=PATIENCE_S if patience is None else microseconds(patience) / 1e6,
        )
        self._launch(available_now, trigger_seconds)
        self.sinks.begin(self.courier)
        return self

    def run_available(
        self, timeout_s: float | None = None, patience: str | timedelta | int | None = None
    ) -> Self:
        """Process all that is there, then stop; see `start` for rows that wait for a database."""
        self.start(available_now=True, patience=patience)
        self.wait(timeout_s)
        return self

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the pipeline ends; a failure becomes an error that says what to do."""
        deadline_s = None if timeout_s is None else monotonic() + timeout_s
        while self._query is not None:
            left_s = None if deadline_s is None else max(deadline_s - monotonic(), 0.0)
            if not self._query.wait(left_s):
                return False
            if not self.running:
                break
            # Rows wait for a database: another query follows.
            if left_s is not None and left_s <= LOOK_S:
                return False
            with self._seen:
                self._seen.wait(LOOK_S)
        self._rest(drain=True)
        if self._pulse is not None and self._pulse.error is not None:
            raise self._pulse.error
        return True

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
        if self._pulse is not None:
            self._pulse.stop()
        if self._query is not None:
            self._gate.stop(self._query.stop)
        self._rest()

    def close(self) -> None:
        """Stop, and let another process open this home. The Spark session stays."""
        self.stop()
        if isinstance(self._live, EmbeddedHost):
            self._live.close()
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

    def figures(self) -> FigureTable:
        """Give every figure of this run: typed rows, by group, relation or kind.

        What is of the engine as a whole is of the group "".
        """
        with self._seen:
            told = self._figures
            whole = engine_figures(self.totals, self._spent_s, self.registry.counts())
        return together([told, FigureTable({"": whole})])

    def metrics(self) -> dict[str, int]:
        """Count queries, slow paths, values passed over, events, matches; times are in ms."""
        with self._seen:
            whole = self._figures.whole()
        found = {row.name: 0 for row in self._declared()}
        for figure, _, value in whole:
            found[figure.name] = found.get(figure.name, 0) + value
        spent = {"operators_ms": round(self._spent_s * 1e3)}
        return {**found, **self.registry.counts(), **self.totals, **spent}

    def _declared(self) -> set[Figure]:
        """Give the figures that the groups of this home may tell."""
        kinds = {described["kind"] for described in list(self.registry.steps.values())}
        return {figure for kind in kinds for figure in OPERATORS[kind].figures}

    def join_figures(self) -> dict[str, dict[str, Any]]:
        """Say of every group of joins what it did in this run: plan shares, moves, rebuilds, cost.

        Costs are those that the router expects; compare them with what the host took, in all.
        """
        with self._seen:
            return join_figures(self._figures)

    def memory(self, live: bool = True) -> dict[str, dict[str, Any]]:
        """Say of every join and lookup with a budget of rows what it holds, finds and misses.

        By subscription: the budget and the rows held per side, the hit rate, the estimated recall
        and the results lost, the model in force per stream, the rows that wait; of joins those that
        hurried, of lookups whether the database answers. With `live`, `facts` is what operators of
        the embedded host say of their models and sources; they are asked between two batches.

        Figures are of this run; before its first batch, of what the runs before have kept.
        """
        with self._seen:
            figures = self._figures if self.reports else self._budgets.kept(self.log)
        facts: Facts = no_facts
        if live:
            asked = self._budgets.groups, self.home, self.registry, self.log.newest()
            facts = live_facts(*asked, self._live)
        return self._budgets.figures(figures, facts)

    def _met(self) -> FigureTable:
        """Give what groups met in this run; before its first batch, in those before."""
        with self._seen:
            if self.reports:
                return self._figures
        return super()._met()

    def shedding(self) -> dict[str, dict[str, Any]]:
        """Say of every multi-way join what is let through, and the share of results kept."""
        return self.watcher.shedding()

    def explain(
        self,
        query: str,
        each: Any = None,
        options: Options | None = None,
        what_if: WhatIf = (),
    ) -> Explanation:
        """Say how a query, or a subscription by its name, is or would be processed."""
        explanation = super().explain(query, each, options, what_if)
        if explanation.group in self._budgets.groups:
            memory = self.memory() if self.reports else {}
            return replace(explanation, run=run_facts(memory, explanation.group))
        if explanation.plan is None:
            return replace(explanation, run=self.join_figures().get(explanation.group, {}))
        run = self.watcher.run_facts(explanation.group)
        return replace(explanation, run=run, plan=replace(explanation.plan, run=run))

    def batch_seconds(self) -> dict[int, float]:
        """Give how long Spark took for each of the last micro-batches, by batch number."""
        return {} if self._query is None else self._query.batch_seconds()

    # Inside

    def _known_shards(self) -> int | None:
        """Give the number of shards, if it is known before a start."""
        host = self.home.facts.get("host") or self._host
        return 1 if host == "embedded" else self._shards or self.home.facts.get("shards")

    def _launch(self, available_now: bool, trigger_seconds: float) -> None:
        frames = self._sources()
        self._query, self._live = start_pipeline(
            spark=self.spark,
            home=self.home,
            frames=frames,
            schemas={n: self.registry.catalog[n.lower()].recorded for n in frames},
            steps=self.registry.steps,
            announcements=self.registry.announcements,
            on_batch=self._on_batch,
            available_now=available_now,
            trigger_seconds=trigger_seconds,
        )

    def _is_asking(self) -> bool:
        """Say whether any group asks a database, so that rows may wait."""
        return any(described["kind"] == LOOKUP for described in self.registry.steps.values())

    def _beat(self) -> int:
        """Publish an empty version: its announcement is a batch."""
        return self.registry.publish(Draft())

    def _tell_waiting(self, text: str) -> None:
        """Tell those whose rows wait for a database, or waited."""
        report = self.reports[-1]
        for group, described in self.registry.steps.items():
            if described["kind"] == LOOKUP:
                self.watcher.tell(group, report.batch, text)

    def _ask(self, question: Callable[[Shard], Answer]) -> Answer:
        """Ask the live shard while the pipeline runs here, else what it kept."""
        live = self._live if self.running and isinstance(self._live, EmbeddedHost) else None
        answer = None if live is None else live.ask(question)
        return super()._ask(question) if answer is None else answer

    def _on_batch(self, report: BatchReport) -> None:
        self._gate.batch_began()
        with self._seen:
            self.reports.append(report)
            self.totals["batches"] += 1
            self.totals["events"] += report.rows_in
            self.totals["matches"] += report.matches
            self._figures = self._figures.then(report.figures)
            self._spent_s += report.seconds
            self._losses.take(report)
            self._seen.notify_all()
        self.courier.committed(report.batch)
        if len(self.reports) > SETTLED_AFTER_BATCHES:
            self.registry.tidy(settled=self.reports[-SETTLED_AFTER_BATCHES].version)
        self.watcher.take(report)
        if self._pulse is not None:
            self._pulse.take(report)
        for listener in self._listeners:
            listener(report)
        self._gate.batch_ended()

    def _rest(self, drain: bool = False) -> None:
        """Let sinks end: with `drain` when they have all that is there, if they are not slow."""
        self.watcher.finish()
        self.sinks.finish(drain, SINKS_END_S)
