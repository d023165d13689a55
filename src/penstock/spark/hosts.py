"""What the two hosts share: where a pipeline's things lie, and what a batch reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter_ns
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.parts import Part, assemble
from penstock.expressions.allowances import batch_seconds
from penstock.operators.protocol import GroupFailureError
from penstock.operators.shard import Shard
from penstock.operators.shared.residuals import without_nan
from penstock.spark.layout import Layout
from penstock.spark.offenders import Fails, Offence, find_offender
from penstock.storage.suspensions import Suspension, Suspensions
from penstock.vocabulary.batches import Ints, Results
from penstock.vocabulary.broken import broken_column
from penstock.vocabulary.figure_tables import FigureTable, together
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import CORRUPT_ROWS, FUTURE_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """An engine's data path: its directories, its relations, whether input is recorded."""

    engine: str
    home: Path
    layout: Layout
    record: bool
    event_times: Mapping[str, str] = field(default_factory=dict)
    """The event-time column of each stream that has one."""
    batch_s: float = field(default_factory=batch_seconds)
    """What a group's text may take in a batch, as the engine's process was told."""

    @property
    def checkpoint(self) -> Path:
        """Spark's own checkpoint."""
        return self.home / "checkpoint"

    @property
    def state(self) -> Path:
        """The embedded host's operator state, beside Spark's checkpoint."""
        return self.home / "state"

    @property
    def transcripts(self) -> Path:
        """The cluster host's transcripts, of shards that ask outside."""
        return self.home / "transcripts"

    @property
    def results(self) -> Path:
        """The result log."""
        return self.home / "results"

    @property
    def registry(self) -> Path:
        """The registry."""
        return self.home / "registry"

    def rests(self, batch: int) -> Rests:
        """Say which groups rest in a batch."""
        return Rests(self.registry, self.results, batch, self.batch_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """What one micro-batch did; `seconds` is the host's own part of it.

    `suspended` are the groups that it could not be run with.
    """

    batch: int
    version: int
    rows_in: int
    matches: int
    seconds: float
    figures: FigureTable
    logged: LoggedBatch
    suspended: tuple[Suspension, ...] = ()


OFFENDERS_MAX = 8
"""So many queries of a group may be suspended in a batch, one by one; then the group is."""


class Rests:
    """Which queries rest in one micro-batch, and whether others may be suspended in it.

    A batch that was logged is only run again: what it could be run with, it can be run with now.
    """

    def __init__(self, registry: Path, results: Path, batch: int, batch_s: float) -> None:
        self._suspensions = Suspensions(registry)
        self._batch = batch
        is_new = not ResultLog(results).manifest(batch).exists()
        self._limit_s = batch_s if is_new else None

    @property
    def begun(self) -> tuple[Suspension, ...]:
        """The suspensions that begin with this batch."""
        return tuple(self._suspensions.begun_in(self._batch))

    def noted(self, version: int) -> list[str]:
        """Name what rests in this batch under a version, for its manifest."""
        return sorted(self._suspensions.at(self._batch, version))

    def process(
        self,
        shard: Shard,
        tables: Mapping[str, pa.Table],
        version: int,
        before: Callable[[], Shard],
    ) -> list[tuple[str, Results]]:
        """Run a shard over a batch without the queries that rest.

        Raises
        ------
        GroupFailureError
            If the batch cannot be run with one more query, or group: its suspension is durable now,
            and the batch must be run again, in all shards. Which query it is, is tried with shards
            as they were `before`.
        """
        self._let_rest(shard, version)
        try:
            return shard.process(tables, perf_counter_ns)
        except GroupFailureError as error:
            if self._limit_s is not None and (readers := shard.readers(error.group)):
                shard.close()
                for reader in readers:  # who feeds has no queries: those rest that it feeds
                    self._note(reader, error, Offence(None))
            elif self._limit_s is not None:
                group = error.group
                queries = shard.queries(group)
                shard.close()

                def fails(some: Ints) -> bool:
                    without = np.setdiff1d(queries, some)
                    return self._fails(before(), tables, version, group, without)

                self._suspend(error, queries, fails)
            raise

    def _let_rest(self, shard: Shard, version: int) -> None:
        shard.advance(version)
        groups, queries = set[str](), dict[str, list[int]]()
        for own in self._suspensions.at(self._batch, shard.version).values():
            if own.query is None:
                groups.add(own.group)
            else:
                queries.setdefault(own.group, []).append(own.query)
        shard.rest(groups, self._limit_s, queries)

    def _suspend(self, error: GroupFailureError, queries: Ints, fails: Fails) -> None:
        begun = [own for own in self.begun if own.group == error.group]
        found = find_offender(queries, fails) if len(begun) < OFFENDERS_MAX else Offence(None)
        self._note(error.group, error, found)

    def _note(self, group: str, error: GroupFailureError, found: Offence) -> None:
        reason = f"[{error.code}] {error.fact} {error.remedy}"
        self._suspensions.note(
            Suspension(
                group=group,
                reason=f"{reason} {found.words}".strip(),
                batch=self._batch,
                query=found.query,
            )
        )

    def _fails(
        self,
        shard: Shard,
        tables: Mapping[str, pa.Table],
        version: int,
        group: str,
        without: Ints,
    ) -> bool:
        """Say whether a batch cannot be run with a group alone, `without` some of its queries."""
        self._let_rest(shard, version)
        shard.narrow(group, without)
        try:
            shard.process(tables)
        except GroupFailureError as error:
            return error.group == group
        finally:
            shard.close()
        return False


Resting = tuple[Rests, Callable[[], Shard]]
"""Which queries rest, and how to get the shard as it was before the batch."""


def run_alone(
    before: Callable[[], Shard], rests: Rests, run: Callable[[Shard], Part]
) -> tuple[Shard, Part]:
    """Run a batch in the only shard, as it was `before`; again whenever something is suspended."""
    while True:
        begun = rests.begun
        shard = before()
        try:
            return shard, run(shard)
        except GroupFailureError:
            if len(rests.begun) == len(begun):
                raise


NO_TIMES: Mapping[str, str] = {}
AHEAD_MAX = timedelta(days=1)
"""An event time so far ahead of the machine's clock is a mistake, and told."""


def future_rows(tables: Mapping[str, pa.Table], event_times: Mapping[str, str]) -> FigureTable:
    """Count the rows of streams that have not happened yet: all rows behind them will be late."""
    limit = datetime.now(UTC) + AHEAD_MAX
    found: dict[str, Tally] = {}
    for relation, column in event_times.items():
        if relation in tables:
            times = tables[relation][column]
            ahead = limit if times.type.tz else limit.replace(tzinfo=None)
            later = pc.greater(times, pa.scalar(ahead, times.type))
            found[relation] = Tally({FUTURE_ROWS: pc.sum(later).as_py() or 0})
    return FigureTable(found)


def corrupt_rows(tables: Mapping[str, pa.Table]) -> FigureTable:
    """Count the lines that do not parse, by relation."""
    broken = {name: broken_column(table.schema) for name, table in tables.items()}
    return FigureTable(
        {
            name: Tally({CORRUPT_ROWS: tables[name].num_rows - tables[name][column].null_count})
            for name, column in broken.items()
            if column is not None
        }
    )


def run_batch(
    shard: Shard,
    tables: Mapping[str, pa.Table],
    version: int,
    record: bool,
    counts_input: bool = True,
    event_times: Mapping[str, str] = NO_TIMES,
    resting: Resting | None = None,
) -> Part:
    """Run one micro-batch through a shard: registry changes first, then the events.

    A row that goes to several shards is counted, and recorded, by the one that `counts_input`.
    Unless it is said which queries are `resting`, all groups run, however long they take. From here
    on NaN is NULL: in conditions, in what is told, and in what is recorded.
    """
    tables = {relation: without_nan(table) for relation, table in tables.items()}
    if resting is not None:
        rests, before = resting
        results = rests.process(shard, tables, version, before)
    else:
        shard.advance(version)
        results = shard.process(tables, perf_counter_ns)
    if not counts_input:
        return Part(
            version=shard.version,
            rows_in=0,
            sections=assemble(results, tables, False, shard.resolved(), record),
            told={"figures": shard.figures().to_json()},
        )
    told = together(
        (
            shard.figures(),
            shard.table_figures(),
            corrupt_rows(tables),
            future_rows(tables, event_times),
        )
    )
    return Part(
        version=shard.version,
        rows_in=sum(table.num_rows for table in tables.values()),
        sections=assemble(results, tables, record, shard.resolved(), record),
        told={"figures": told.to_json()},
    )


OnBatch = Callable[[BatchReport], None]


class Host(Protocol):
    """Where operators live."""

    def writer(self, stream: DataFrame) -> DataStreamWriter:
        """Put the pipeline behind the engine's one stream, ready to start."""
