"""The engine: streams in, standing queries registered, answers out.

An engine is put together from parts with one job each: a desk with the registry and its readers,
the relations with their sources, and a runner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.memories import PolicyName, StreamLaw
from penstock.engine.adaptation import Notice
from penstock.engine.declarations import Declared, makes_rows
from penstock.engine.desk import Desk, Subscription
from penstock.engine.home_verification import Outcome, verify_home
from penstock.engine.registration import Options
from penstock.engine.relations import Relations
from penstock.engine.run_figures import RunFigures
from penstock.engine.runner import HostName, Runner
from penstock.engine.scripts import ScriptOutcome, execute
from penstock.kernels.machine_code import keep_code_in
from penstock.kinds.foreign_tables import foreign_table
from penstock.kinds.kept_views import KeptView
from penstock.kinds.protocol import Progress
from penstock.kinds.what_if import WhatIf
from penstock.language.column_lists import Columns
from penstock.planning.explanation import Explanation
from penstock.spark.hosts import BatchReport
from penstock.spark.types import DataFrame, SparkSession
from penstock.vocabulary.durations import Duration, seconds
from penstock.vocabulary.errors import PenstockError


class Engine:
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
        _refuse_odd(spark, host, shards)
        self.desk = Desk(home, record)
        keep_code_in(self.desk.home.path / "kernels")
        self._relations = Relations(self.desk, spark)
        self.runner = Runner(self.desk, self._relations, host, shards)
        self.desk.run = self.runner

    def __repr__(self) -> str:
        state = "running" if self.running else "not running"
        return f"Engine({str(self.desk.home.path)!r}, {state})"

    @property
    def spark(self) -> SparkSession:
        """The session that the engine runs on."""
        return self._relations.spark

    # What is asked, over what

    def stream(
        self,
        name: str,
        source: DataFrame | str,
        event_time: str | None = None,
        lateness: Duration | None = None,
        rate: float | None = None,
        distinct: Mapping[str, int] | None = None,
        schema: Columns | None = None,
        **options: Any,
    ) -> Relation:
        """Declare a stream: a streaming DataFrame, or the text of a source ('parquet:/dir', …).

        A home that has run takes new streams between two runs, on the embedded host tables too.
        A directory is taken from where this process stands.
        `schema` names the columns of a source that does not tell them, CSV and JSON: a schema of
        Arrow, or names with types, {'symbol': 'VARCHAR', 'price': 'DOUBLE'}.

        In window joins, rows may come so much behind the newest `event_time` as `lateness` says,
        by default a minute; later ones are left out. Durations are given as '10 seconds', as a
        timedelta, or as a number of seconds, here and everywhere.
        `rate` (rows per second) and `distinct` (values by column) are for the planner of multi-way
        joins, until it has measured them.
        """
        return self._relations.declare(
            "stream",
            name,
            source,
            event_time=event_time,
            lateness=lateness,
            options=options,
            columns=schema,
            declared=Declared(rate=rate, distinct=distinct or {}),
        )

    def table(
        self,
        name: str,
        source: DataFrame | str,
        changes: str,
        rows: int | None = None,
        distinct: Mapping[str, int] | None = None,
        key: str | Sequence[str] | None = None,
        sequence: str | Sequence[str] | None = None,
        schema: Columns | None = None,
        **options: Any,
    ) -> Relation:
        """Declare a table: its source brings changes, told apart by the column `changes`.

        `key` names the columns (a list, or separated by commas) that say which row a change
        replaces or takes; `sequence` those that say which of two changes of a key is newer. Without
        a sequence, that is taken from the files of a directory, else from arrival.
        `rows` and `distinct` say how many rows, and values by column, the planner may expect;
        `schema` names the columns of a source that does not tell them, CSV and JSON: a schema of
        Arrow, or names with types, {'symbol': 'VARCHAR', 'price': 'DOUBLE'}.
        """
        declared = Declared(rows=rows, distinct=distinct or {})
        if rows is not None and isinstance(source, str) and makes_rows(source):
            options["rows"] = rows
        return self._relations.declare(
            "table",
            name,
            source,
            changes=changes,
            options=options,
            columns=schema,
            declared=declared,
            key=key,
            sequence=sequence,
        )

    def lookup(
        self,
        name: str,
        source: str,
        key: str,
        cache: int,
        columns: pa.Schema | None = None,
        using: PolicyName = "HEEB",
        law: StreamLaw | str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Relation:
        """Declare a table of another database, in which rows of streams look up theirs.

        `source` is 'duckdb:<file>' or 'postgresql://…', `key` the column that rows are looked up
        by, one row for each value. Of the rows that were looked up, as many as `cache` says are
        kept, those that `using` expects to be asked for again, by a `law` of the keys asked for.
        Without `columns` they are read from the source, now. `options` are those of OPTIONS (…):
        `table`, `timeout`, `retries`, `backoff`, `cooldown`, `batch`, `waiting`, `max_age`.

        Spark knows nothing of it, so it may be declared at any time.
        """
        catalog = self.desk.registry.catalog
        return self._relations.declare_asked(
            foreign_table(catalog, name, source, key, cache, columns, using, law, options)
        )

    def undeclare(self, name: str) -> None:
        """Take the declaration of a stream, table or lookup back, to drop it or to correct it.

        It may not be used yet, neither by a subscription nor by a run.
        """
        self._relations.undeclare(name)

    def sql(self, script: str, frames: Mapping[str, Any] | None = None) -> ScriptOutcome:
        """Carry out a script of statements, as `penstock run` does before it starts the engine.

        `frames` are what its FROM and FOR EACH may name without quotes. Statements take effect in
        order; one that fails raises, and those before it stand.
        """
        return execute(self.desk, script, frames, self._relations)

    def subscribe(
        self,
        sql: str,
        name: str | None = None,
        each: Any = None,  # whatever frames users have
        key: str | None = None,
        options: Options | None = None,
    ) -> Subscription:
        """Register a standing query, or one for every row of `each`.

        Every `:parameter` of the text is a column of `each`; the column `key` (by default `id`, if
        there is one) names the standing queries. `options` are those of OPTIONS (…): of a join its
        mode, its strategy and how that is tuned; of tables `snapshot`: WITH SNAPSHOT. Bad rows are
        refused with a reason, see the subscription's `receipt`; a single bad query raises.
        """
        return self.desk.subscribe(sql, name, each, key, options)

    def view(self, name: str) -> KeptView:
        """Give a view, to be read: as of its last flushes, or fresh within its bound.

        `engine.sql("CREATE VIEW v REFRESH WITHIN 500 MILLISECONDS AS SELECT …")` creates one.
        """
        return self.desk.view(name)

    def subscription(self, name: str) -> Subscription:
        """Give a subscription by its name."""
        return self.desk.subscription(name)

    def subscriptions(self) -> list[Subscription]:
        """List the subscriptions."""
        return self.desk.subscriptions()

    def keep(self, limits: str) -> None:
        """Say what results are kept: '7 days', '10 GB', '7 days, 10 GB until read', or 'all'.

        It holds for all subscriptions of the home, until it is said again.
        """
        self.desk.keep(limits)

    # Running

    @property
    def running(self) -> bool:
        """Say whether the pipeline runs."""
        return self.runner.running

    def start(
        self,
        available_now: bool = False,
        trigger: Duration = 0,
        patience: Duration | None = None,
    ) -> Self:
        """Start the pipeline; with `available_now` it ends when all that is there is processed.

        Then rows that wait for a database to answer are waited for too, until it has been away for
        so long as `patience` says, by default a minute. With a `trigger`, batches begin so long
        after each other at least.
        """
        patience_s = None if patience is None else seconds(patience)
        self.runner.start(available_now, seconds(trigger), patience_s)
        return self

    def run_available(
        self, timeout: Duration | None = None, patience: Duration | None = None
    ) -> Self:
        """Process all that is there, then stop; see `start` for rows that wait for a database."""
        self.start(available_now=True, patience=patience)
        self.wait(timeout)
        return self

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until the pipeline ends; a failure becomes an error that says what to do."""
        return self.runner.wait(None if timeout is None else seconds(timeout))

    def wait_for_version(self, version: int, timeout: Duration = "1 minute") -> int:
        """Wait until a registry version is in force; returns the batch in which it began."""
        what, timeout_s = f"Version {version}", seconds(timeout)
        return self.runner.wait_for(lambda report: report.version >= version, what, timeout_s)

    def on_batch(self, listener: Callable[[BatchReport], None]) -> None:
        """Call a listener after every micro-batch."""
        self.runner.listeners.append(listener)

    def stop(self, timeout: Duration = "1 minute") -> None:
        """Stop the pipeline after the batch in hand; everything is kept.

        A batch that does not end within the `timeout` is given up, and a notice says so: the next
        start runs it again.
        """
        self.runner.stop(seconds(timeout))

    def close(self) -> None:
        """Stop, and let another process open this home. The Spark session stays."""
        try:
            self.runner.close()
        finally:
            self.desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What it says of itself

    @property
    def notices(self) -> deque[Notice]:
        """What users should know: what was left out, new verdicts and plans, rows that hurry."""
        return self.desk.notices

    def explain(
        self,
        query: str,
        each: Any = None,
        options: Options | None = None,
        what_if: WhatIf = (),
        key: str | None = None,
    ) -> Explanation:
        """Say how a query, or a subscription by its name, is or would be processed.

        Notes name rows of `each` that `subscribe` would refuse with this `key`.
        Of a multi-way join, `what_if` takes figures for granted: `{"rate(c)": "500/s"}`, or the
        same as text, `"rate(c) = 500/s, cores = 4"`.
        """
        return self.desk.explain(query, each, options, what_if, key)

    def figures(self, live: bool = True) -> RunFigures:
        """Give what this run counted and measured.

        With `live`, operators of the embedded host are asked too what they hold, between two
        batches; a display that must not wait for a batch leaves that out.
        """
        return self.runner.figures(live)

    def verify(self, progress: Progress = lambda _name, _done, _all: None) -> Outcome:
        """Ask DuckDB the same questions over all that was recorded, and compare; see `record`.

        The outcome's `state` is 'equal', 'different' or 'unverified'.
        """
        return verify_home(self.desk, progress)


def _refuse_odd(spark: Any, host: Any, shards: Any) -> None:
    """Refuse what no engine can run on, before a home is made."""
    hosts = get_args(HostName)
    if spark is not None and not hasattr(spark, "newSession"):
        fact = f"The session given is a {type(spark).__name__}."
        remedy = "Pass a SparkSession, or leave it out."
    elif host not in hosts:
        fact, remedy = f"There is no host {host!r}.", f"Choose one of: {', '.join(hosts)}."
    elif shards is not None and (not isinstance(shards, int) or shards < 1):
        fact, remedy = f"shards is {shards!r}.", "Give a whole number from 1 on, or leave it out."
    else:
        return
    raise PenstockError("ENG-070", fact, remedy)
