"""The operator of model queries: rows in, what models say of each query out.

Rows of all streams stand in one order of event time. Those that are near the model of their key
are dropped; the others change models, whose segments go through the plan. What the plan says is
told to the queries whose keys and numbers it satisfies.

A query is told of the time from its birth on, which is where its streams had come: first what the
models say then, as far as they say anything of the time to come, later what changes in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.models.inversion import step_inversion
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource
from penstock.operators.model_query.answers import Answers
from penstock.operators.model_query.entries import entry_schema
from penstock.operators.model_query.figures import (
    CONFIRMED,
    OUTPUT_SEGMENTS,
    PASSED_FIRST,
    RETRACTIONS,
    SEGMENTS_HELD,
    SOLUTIONS,
    STANDING,
    TAKEN,
)
from penstock.operators.model_query.flow import SegmentFlow
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.row_inflow import InflowState, RowInflow
from penstock.operators.model_query.standing_segments import StandingSegments
from penstock.operators.model_query.state import (
    SegmentRound,
    SegmentRun,
    followed_bytes,
    rounds_of,
    rounds_to_bytes,
    state_of,
    state_to_bytes,
)
from penstock.operators.model_query.stream_inflow import StreamInflow
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.births import Births
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FORGOTTEN_SEGMENTS
from penstock.vocabulary.shared_figures import QUERIES, RESULTS


class Inflow(Protocol):
    """Where the segments of a group come from: its own rows, or a model stream."""

    @property
    def codes(self) -> KeyCodes:
        """The codes of keys."""

    @property
    def sources(self) -> Sequence[SegmentSource]:
        """The sources of segments."""

    @property
    def now(self) -> int:
        """The time below which no further row can come."""

    @property
    def frontier(self) -> int:
        """The event time before which no source changes anything any more."""

    @property
    def is_new(self) -> bool:
        """Whether nothing has come yet."""

    def process(self, batch: Mapping[str, pa.Table], counts: Tally) -> list[SegmentRun] | None:
        """Give what a batch changes in models; None: nothing came, and time did not pass."""

    def round(self, runs: Sequence[SegmentRun], bears: bool = False) -> SegmentRound:
        """Give what changed, for other copies."""

    def follow(self, told: SegmentRound) -> Sequence[SegmentRun]:
        """Follow another copy; give what it changed in models."""

    def state(self) -> InflowState:
        """Give all that is kept."""

    def sizes(self) -> Tally:
        """Say what stands: models, and rows that wait."""


class ModelQueryOperator:
    """All model queries of one shape."""

    def __init__(
        self, step: ModelQueryStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._step = step
        self._flow = SegmentFlow(step)
        self._none = Segments.none(len(step.key), len(step.attributes))
        self._standing = StandingSegments(len(step.key), len(step.attributes))
        self._queries = Queries(entry_schema(step), ())
        self._births = Births(1)
        self._now = LOWEST_TIME
        self._is_unborn = True
        self._rounds: list[SegmentRound] = []
        self._counts = Tally()
        rows = None if step.reads else RowInflow(step, step_inversion(step).sources, share)
        if snapshot is not None:
            self._restore(snapshot, rows)
        if rows is not None:
            self._put(rows)

    def attach(self, feeders: Sequence[Any]) -> None:
        """Read the segments of a model stream, from now on."""
        (stream,) = feeders
        self._put(StreamInflow(stream, self._step))

    def _put(self, inflow: Inflow) -> None:
        self._inflow = inflow
        self._answers = Answers(self._step, inflow.codes, self._queries, self._births)

    # Queries.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; they hold from the next batch on."""
        gone = self._queries.drop(changes.drops)
        table = changes.adds.get(PORT)
        if table is not None and table.num_rows:
            self._queries.add(table)
            self._is_unborn = True
        self._answers.follow(gone)

    def _bear(self) -> bool:
        """Note where the streams had come for queries that are new; say whether some may be."""
        bears, self._is_unborn = self._is_unborn, False
        if bears:
            now = np.array([self._now], dtype=np.int64)
            self._answers.bear(self._queries.live(), now)
        return bears

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take how far the streams had come before the group, and what a model stream says then."""
        del tables
        inflow = self._inflow
        if isinstance(inflow, RowInflow):
            if inflow.begin(clocks):
                self._begin([])
                self._rounds.append(inflow.round([]))
        elif isinstance(inflow, StreamInflow) and not inflow.is_new:
            runs = inflow.beginning()
            self._begin(runs)
            self._rounds.append(SegmentRound.of_reader(runs, begun=self._now))

    def _begin(self, runs: Sequence[SegmentRun], now: int | None = None) -> None:
        """Begin with what stands."""
        self._now = self._inflow.now if now is None else now
        self._settle(self._flow.push(runs, min(self._inflow.frontier, self._now)))

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch; give what is told to queries, and what is taken back."""
        self._counts = counts = Tally()
        runs = self._inflow.process(batch, counts)
        if runs is None:
            return self._tell_newborn()
        counts[TAKEN] += sum(len(run.segments) for run in runs)
        bears = self._bear()
        begun = self._answers.begun(self._standing.segments, self._now)
        self._now = max(self._now, self._inflow.now)
        said = self._flow.push(runs, self._inflow.frontier)
        results = self._answers.tell(begun, said, self._now)
        lost = self._settle(said)
        self._count(said, lost)
        counts[RESULTS] += sum(len(own.query) for own in results)
        self._rounds.append(self._inflow.round(runs, bears))
        return results

    def _tell_newborn(self) -> list[Results]:
        """Tell new queries what stands, in a batch that brings nothing."""
        if not self._is_unborn or self._inflow.is_new:
            return []
        self._bear()
        begun = self._answers.begun(self._standing.segments, self._now)
        self._begin([], self._now)
        self._rounds.append(SegmentRound.of_reader(bears=True, begun=self._now))
        results = self._answers.tell(begun, self._none, self._now)
        self._counts[RESULTS] += sum(len(own.query) for own in results)
        return results

    def _settle(self, said: Segments) -> int:
        """Keep what the plan said of the time to come; give how much of it has no room."""
        lost = self._standing.take(said, self._now)
        self._answers.forget()
        return lost

    def _count(self, said: Segments, lost: int) -> None:
        """Count what a batch said."""
        counts = self._counts
        counts[OUTPUT_SEGMENTS] += len(said)
        counts[PASSED_FIRST] += self._flow.passed_first
        counts[RETRACTIONS] += int(np.count_nonzero(said.sign < 0))
        counts[SOLUTIONS] += self._answers.solved
        counts[CONFIRMED] += self._answers.confirmed
        counts[FORGOTTEN_SEGMENTS] += lost

    # State.

    def delta(self) -> bytes | None:
        """Give what changed since the last call: models of keys, and their segments."""
        rounds, self._rounds = self._rounds, []
        if len(rounds) == 1 and rounds[0].is_plain:
            return followed_bytes()
        return rounds_to_bytes(rounds) if rounds else None

    def catch_up(self, delta: bytes) -> None:
        """Follow another copy: its segments go through the plan, and nobody is told."""
        for own in rounds_of(delta):
            if own.bears:
                self._bear()
            if own.begun is not None:
                self._begin(own.runs, own.begun)
                continue
            runs = self._inflow.follow(own)
            self._now = max(self._now, self._inflow.now)
            self._settle(self._flow.push(runs, self._inflow.frontier))
        self._answers.lose()

    def snapshot(self) -> bytes | None:
        """Give the whole state; copies in one state give the same bytes."""
        if self._inflow.is_new:
            return None
        own = self._inflow.state()
        return state_to_bytes(
            own.texts,
            own.waiting,
            [*own.sources, self._flow.arrays(), self._standing.arrays()],
            {"intakes": own.intakes, "now": self._now, "births": self._births.facts()},
        )

    def _restore(self, snapshot: bytes, rows: RowInflow | None) -> None:
        texts, waiting, (*sources, plan, standing), facts = state_of(snapshot)
        self._now = facts["now"]
        if rows is not None:
            rows.restore(InflowState(texts, waiting, facts["intakes"], sources, self._now))
        self._flow.restore(plan)
        self._standing.restore(standing)
        self._births = Births(1, facts["births"])

    # Figures.

    @property
    def sources(self) -> Sequence[SegmentSource]:
        """The sources of segments."""
        return self._inflow.sources

    def sizes(self) -> Tally:
        """Say what stands: queries, models, segments, rows that wait."""
        found = self._inflow.sizes()
        found[QUERIES], found[STANDING] = len(self._queries), len(self._standing)
        for stage, held in self._flow.sizes().items():
            found[SEGMENTS_HELD, stage] = held
        return found

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts
