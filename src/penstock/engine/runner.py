"""The runner: one Spark query at a time, from start to end, and what its batches report."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from penstock.engine.budgets import refuse_small_budgets
from penstock.engine.desk import Desk
from penstock.engine.errands import Done, Errands
from penstock.engine.heartbeat import PATIENCE_S, Heartbeat
from penstock.engine.home import Home
from penstock.engine.pipeline_start import divisions_of, start_pipeline
from penstock.engine.relations import Relations
from penstock.engine.run_figures import RunFigures
from penstock.engine.scripts import execute
from penstock.engine.shutdown import Gate
from penstock.engine.tuple_explanation import Answer
from penstock.operators.catalogue import asks_outside, cooldown_s
from penstock.operators.shard import Shard
from penstock.registry.records import Draft
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Host
from penstock.spark.queries import RunningQuery
from penstock.spark.sessions import check_workers, is_local
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, together

LOG = logging.getLogger("penstock.engine")
REPORTS_KEPT = 1_000
BEAT_S = 5.0
"""How often it is looked whether rows wait for a database, where none is asked yet."""
LOOK_S = 0.2
SINKS_END_S = 5.0
"""Sinks have so long to end; what they did not take is told, and they get it in the next run."""
IN_HAND_S_MAX = 60.0
"""Who stops waits so long for the end of the batch in hand; a stream without rows has none."""
GIVEN_UP = (
    "The micro-batch in hand did not end in time and was given up. Nothing is lost: the next start "
    "runs it again, whole."
)

HostName = Literal["auto", "embedded", "cluster"]


class Runner:
    """Runs what a desk has registered over the sources of its relations."""

    def __init__(
        self, desk: Desk, relations: Relations, host: HostName, shards: int | None
    ) -> None:
        self._desk, self._relations = desk, relations
        self._host, self._shards = host, shards
        self._query: RunningQuery | None = None
        self._live: Host | None = None
        self.listeners: list[Callable[[BatchReport], None]] = []
        self.listener_failures: Counter[str] = Counter()
        self._seen = threading.Condition()
        self._gate = Gate(lambda: self.running)
        self.reports: deque[BatchReport] = deque(maxlen=REPORTS_KEPT)
        self._figures = FigureTable()
        self._spent_s = 0.0
        self.totals = {"batches": 0, "events": 0, "matches": 0}
        self._heartbeat: Heartbeat | None = None
        self._errands = Errands(desk.home.path, self._carry_out, desk.kept.read)

    @property
    def host(self) -> str:
        """Where operators live: embedded or cluster."""
        if self._host != "auto":
            return self._host
        known = self._desk.home.facts.get("host")
        return str(known) if known else "embedded" if is_local(self._relations.spark) else "cluster"

    @property
    def running(self) -> bool:
        """Say whether the pipeline runs."""
        if self._query is not None and self._query.running:
            return True
        return self._heartbeat is not None and self._heartbeat.pending

    def start(self, available_now: bool, trigger_seconds: float, patience_s: float | None) -> None:
        """Start the pipeline, on the host that the home is settled on from now on."""
        if self.running:
            raise PenstockError("ENG-009", "The engine runs already.", "Stop it first.")
        self._desk.registry.reserve()  # refuses a home that was closed
        home, registry, spark = self._desk.home, self._desk.registry, self._relations.spark
        self._relations.frames()
        if self.host == "cluster":
            check_workers(spark)
        shards = (
            self._shards
            or home.facts.get("shards")
            or (1 if self.host == "embedded" else spark.sparkContext.defaultParallelism)
        )
        divided = 1 if self.host == "embedded" else shards
        refuse_small_budgets(registry.steps.values(), divided)
        record = bool(home.facts.get("record"))
        home.settle(host=self.host, shards=shards, record=record)
        if self.host == "cluster" and home.facts.get("lanes") is None:
            home.settle(lanes=divisions_of(registry))
        spark.conf.set("spark.sql.shuffle.partitions", shards)
        registry.keep_announcements()
        self._desk.watcher.begin(available_now, divided)
        if self._is_asking() and self._desk.log.newest() >= 0:
            self._beat()  # rows may wait since the last run
        self._heartbeat = Heartbeat(
            query=lambda: self._query,
            every_s=self._cooldown_s,
            beat=self._beat,
            begin_again=(lambda: self._launch(True, 0.0)) if available_now else None,
            tell=self._tell_waiting,
            patience_s=PATIENCE_S if patience_s is None else patience_s,
        )
        self._launch(available_now, trigger_seconds)
        self._desk.readers.sinks.begin(self._desk.readers.courier)
        self._desk.upkeep.begin()
        self._errands.begin()

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
        if self._heartbeat is not None and self._heartbeat.error is not None:
            raise self._heartbeat.error
        return True

    def wait_for(self, holds: Callable[[BatchReport], bool], what: str, timeout_s: float) -> int:
        """Wait until a batch's report holds; give the number of the batch."""

        def found() -> int | None:
            return next((report.batch for report in self.reports if holds(report)), None)

        deadline = monotonic() + timeout_s
        with self._seen:
            # A query that fails tells nobody: look now and then whether it still runs.
            while (batch := found()) is None and self.running and monotonic() < deadline:
                self._seen.wait(LOOK_S)
        if batch is None:
            self.raise_failure()
            raise PenstockError(
                "ENG-011",
                f"{what} did not come within {timeout_s:g} s.",
                "Start the engine, bring events, or wait longer.",
            )
        return batch

    def insist(self) -> None:
        """Let whoever stops the pipeline wait no longer for the batch in hand."""
        self._gate.insist()

    def stop(self, patience_s: float = IN_HAND_S_MAX) -> None:
        """Stop the pipeline after the batch in hand, or give that up; everything is kept."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        query = self._query
        try:
            if query is not None:
                ended = self._gate.stop(query.stop, lambda: query.is_busy, patience_s)
                if not ended:
                    self._desk.watcher.tell_subscription("", GIVEN_UP)
        finally:
            self._rest()

    def close(self) -> None:
        """Stop, and let the operators go."""
        try:
            self.stop()
        finally:
            if isinstance(self._live, EmbeddedHost):
                self._live.close()

    def raise_failure(self) -> None:
        """Raise what ended the run, if that was a failure."""
        if self._query is not None:
            self._query.raise_failure()

    # What the desk and users may ask

    def figures(self, live: bool) -> RunFigures:
        """Give the figures of this run, as of now."""
        planned = self._desk.watcher.figures()
        with self._seen:
            return RunFigures(
                desk=self._desk,
                totals=dict(self.totals),
                reports=tuple(self.reports),
                told=together([self._figures, planned]),
                spent_s=self._spent_s,
                batch_seconds_of=dict if self._query is None else self._query.batch_seconds,
                host=self._live,
                is_live=live,
            )

    def ask(self, question: Callable[[Shard], Answer]) -> Answer | None:
        """Ask the live shard while the pipeline runs in this process."""
        if self.running and isinstance(self._live, EmbeddedHost):
            return self._live.ask(question)
        return None

    def ask_kept(self, question: Callable[[Shard], Answer]) -> Answer | None:
        """Ask the shard in this process, also if the pipeline has ended."""
        return self._live.ask(question) if isinstance(self._live, EmbeddedHost) else None

    def met(self) -> FigureTable | None:
        """Give what groups met in this run; None before its first batch."""
        with self._seen:
            return self._figures if self.reports else None

    def facts(self, group: str) -> dict[str, Any]:
        """Say what a group was seen to do in this run."""
        figures = self.figures(live=True)
        if group in figures.budgets.groups:
            uses = figures.memory.values() if self.reports else ()
            return next((use.explained() for use in uses if use.group == group), {})
        found = figures.joins.get(group)
        return {} if found is None else found.to_json()

    def known_shards(self, home: Home) -> int | None:
        """Give the number of shards, if it is known before a start."""
        host = home.facts.get("host") or self._host
        return 1 if host == "embedded" else self._shards or home.facts.get("shards")

    # Inside

    def _carry_out(self, script: str, directory: Path) -> Done:
        """Do what another process asked for."""
        registry = self._desk.registry
        with registry.reserve():
            outcome = execute(self._desk, script, None, self._relations, directory)
            return outcome.done(registry.version)

    def _launch(self, available_now: bool, trigger_seconds: float) -> None:
        frames, registry = self._relations.frames(), self._desk.registry
        if isinstance(self._live, EmbeddedHost):
            self._live.close()  # what its operators hold open is for those of the next query
        self._query, self._live = start_pipeline(
            spark=self._relations.spark,
            home=self._desk.home,
            frames=frames,
            relations=registry.catalog.values(),
            steps=registry.steps,
            announcements=registry.announcements,
            on_batch=self._on_batch,
            available_now=available_now,
            trigger_seconds=trigger_seconds,
        )

    def _is_asking(self) -> bool:
        """Say whether any group asks a database, so that rows may wait."""
        return any(asks_outside(own) for own in self._desk.registry.steps.values())

    def _cooldown_s(self) -> float:
        """Give the shortest time after which a database that did not answer may be asked again."""
        told = (cooldown_s(described) for described in self._desk.registry.steps.values())
        return min((each for each in told if each is not None), default=BEAT_S)

    def _beat(self) -> int:
        """Publish an empty version: its announcement is a batch."""
        return self._desk.registry.publish(Draft())

    def _tell_waiting(self, text: str) -> None:
        """Tell those whose rows wait for a database, or waited."""
        report = self.reports[-1]
        for group, described in self._desk.registry.steps.items():
            if asks_outside(described):
                self._desk.watcher.tell(group, report.batch, text)

    def _on_batch(self, report: BatchReport) -> None:
        self._gate.batch_began()
        desk = self._desk
        with self._seen:
            self.reports.append(report)
            self.totals["batches"] += 1
            self.totals["events"] += report.rows_in
            self.totals["matches"] += report.matches
            # Groups that were let go tell nothing any more.
            self._figures = self._figures.without(desk.registry.let_go).then(report.figures)
            self._spent_s += report.seconds
            desk.left_out.take(report)
            self._seen.notify_all()
        desk.suspended.tell(report.suspended)
        desk.readers.courier.committed(report.batch)
        desk.watcher.take(report)
        if self._heartbeat is not None:
            self._heartbeat.take(report)
        for listener in list(self.listeners):
            try:
                listener(report)
            except Exception as error:  # noqa: BLE001  # a listener is the user's code
                self._listener_failed(listener, report.batch, error)
        self._gate.batch_ended()

    def _listener_failed(self, listener: object, batch: int, error: Exception) -> None:
        """Count, log and, the first time, tell that a listener raised; it is called again."""
        name = getattr(listener, "__qualname__", type(listener).__name__)
        LOG.error("Listener %s raised after batch %d", name, batch, exc_info=error)
        self.listener_failures[name] += 1
        if self.listener_failures[name] == 1:
            fact = f"{type(error).__name__}: {error}"
            text = f"Listener {name} raised after batch {batch} ({fact}); it is called again."
            self._desk.watcher.tell_subscription("", text)

    def _rest(self, drain: bool = False) -> None:
        """Let sinks end: with `drain` when they have all that is there, if they are not slow."""
        if self._desk.home.is_closed:
            return  # it may be another process's by now
        self._errands.finish()
        self._desk.watcher.finish()
        self._desk.readers.sinks.finish(drain, SINKS_END_S)
        self._desk.upkeep.finish()
        self._desk.kept.tidy(self._desk.log)
