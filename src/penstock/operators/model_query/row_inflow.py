"""Row inflow: rows of sources in one order of event time, and what they change in models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.model_streams import ModelStreamStep
from penstock.algebra.models import ModelQueryStep
from penstock.models.netting import netted
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.operators.model_query.figures import (
    EXPIRIES,
    KEYS,
    LARGEST_BOUND,
    MODEL_ROWS,
    SEGMENTS,
    SLACK_SEGMENTS,
    TEXTS,
    VALIDATED,
    VIOLATIONS,
)
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.live_facts import tolerances_of
from penstock.operators.model_query.source_readers import (
    SourceReader,
    codes_of,
    floats_of,
    models_of,
)
from penstock.operators.model_query.state import SegmentRound, SegmentRun
from penstock.operators.protocol import Share
from penstock.operators.shared.codec import Arrays
from penstock.operators.shared.intake import Arrived, hurry, nothing, released_until
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.losses import KEYS_WITHOUT_ROOM
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, NULL_VALUES

COUNTED: dict[str, Figure] = {
    "rows": MODEL_ROWS, "validated": VALIDATED, "violations": VIOLATIONS, "expiries": EXPIRIES,
    "segments": SEGMENTS, "slack_segments": SLACK_SEGMENTS,
}  # fmt: skip
"""What sources count, and the figure that it is told as."""
BILLION = 1_000_000_000


class InflowState(NamedTuple):
    """All that is kept of rows and of the models of sources."""

    texts: pa.Array
    waiting: list[Arrived]
    intakes: list[dict[str, int]]
    sources: list[Arrays]
    now: int


class RowInflow:
    """Reads the rows of all sources of a step, and makes segments of them."""

    def __init__(
        self,
        step: ModelQueryStep | ModelStreamStep,
        tolerances: Sequence[SourceTolerances],
        share: Share,
    ) -> None:
        self.codes = KeyCodes(step)
        self.sources = [
            SegmentSource(source, own, predicts=step.predicts)
            for source, own in zip(step.sources, tolerances, strict=True)
        ]
        self._readers = [
            SourceReader(number, source, self.codes, share, step.shard_key)
            for number, source in enumerate(step.sources)
        ]
        told: set[str] = set()
        for reader in self._readers:
            reader.tells &= reader.source.relation not in told
            told.add(reader.source.relation)
        self._relations = step.relations
        self._is_first = share.number == 0
        self._waiting: list[Arrived] = []
        self.now = LOWEST_TIME

    @property
    def is_new(self) -> bool:
        """Whether nothing has come yet."""
        return self.now == LOWEST_TIME and not any(own["arrived"] for own in self._intakes())

    @property
    def frontier(self) -> int:
        """The event time before which no source changes anything any more."""
        return min((source.frontier(self.now) for source in self.sources), default=self.now)

    def begin(self, clocks: Mapping[str, int]) -> bool:
        """Take how far the streams had come; say whether any had."""
        for reader in self._readers:
            reader.intake.clock = clocks.get(reader.source.relation, LOWEST_TIME)
        if all(reader.intake.clock == LOWEST_TIME for reader in self._readers):
            return False
        self.now = self._reached()
        self._waiting = []
        return True

    def process(self, batch: Mapping[str, pa.Table], counts: Tally) -> list[SegmentRun] | None:
        """Give what a batch changes in models; None: nothing came, and time did not pass."""
        if not any(name in batch and batch[name].num_rows for name in self._relations):
            return None
        before = self._intakes()
        arrived = [
            reader.arrive(batch[reader.source.relation], counts)
            if reader.source.relation in batch
            else nothing(reader.schema)
            for reader in self._readers
        ]
        if self._intakes() == before:
            return None
        hurried = hurry([reader.intake for reader in self._readers], WAITING_ROWS)
        counts[HURRIED_ROWS] += hurried if self._is_first else 0
        counted = [source.counts for source in self.sources]
        ends = self._ends()
        released = [
            reader.intake.release(end) for reader, end in zip(self._readers, ends, strict=True)
        ]
        self.now = max(self.now, self._reached())
        runs = self._changes(released)
        self._count(counted, counts)
        self._waiting = [
            own.take(np.flatnonzero(own.times > end))
            for own, end in zip(arrived, ends, strict=True)
        ]
        return runs

    def _changes(self, released: Sequence[Arrived]) -> list[SegmentRun]:
        """Give what released rows, and the passing of time, change in the sources' models.

        What several sources change goes through the plan one source after the other, whatever the
        order of their rows: so models that are made and replaced in between are short segments
        there, and meet only what they last as long as.
        """
        runs: list[SegmentRun] = []
        for reader, source, rows in zip(self._readers, self.sources, released, strict=True):
            parts = [source.process(_rows(reader, rows))] if rows.table.num_rows else []
            parts.append(source.advance(self.now))
            changed = Segments.joined(parts)
            if len(self.sources) > 1:
                changed = netted(changed)
            if len(changed):
                runs.append(SegmentRun(reader.number, changed))
        return runs

    def _count(self, before: list[dict[str, int]], counts: Tally) -> None:
        """Count what a batch did to models."""
        for number, (source, then) in enumerate(zip(self.sources, before, strict=True)):
            now = source.counts
            for name, figure in COUNTED.items():
                counts[figure, number] += now[name] - then[name]
            counts[KEYS_WITHOUT_ROOM] += now["rows_without_room"] - then["rows_without_room"]
            counts[NULL_VALUES] += now["rows_unusable"] - then["rows_unusable"]

    def _intakes(self) -> list[dict[str, int]]:
        return [reader.intake.facts() for reader in self._readers]

    def _reached(self) -> int:
        """Give the time below which no further row can come."""
        return min(reader.intake.reached for reader in self._readers)

    def _ends(self) -> list[int]:
        """Give the time up to which the rows of each source have nothing to wait for."""
        intakes = [reader.intake for reader in self._readers]
        return [released_until(intakes, each.number) for each in intakes]

    # State.

    def round(self, runs: Sequence[SegmentRun], bears: bool = False) -> SegmentRound:
        """Give what changed, for other copies."""
        return SegmentRound(
            texts=self.codes.fresh(),
            waiting=self._waiting or [nothing(reader.schema) for reader in self._readers],
            intakes=self._intakes(),
            sources=[dict(source.fresh()) for source in self.sources],
            runs=runs,
            bears=bears,
        )

    def follow(self, told: SegmentRound) -> Sequence[SegmentRun]:
        """Follow another copy; give what it changed in models."""
        self.codes.take(told.texts)
        for reader, rows, facts in zip(self._readers, told.waiting, told.intakes, strict=True):
            reader.intake.take(rows)
            reader.intake.restore(facts)
        for reader, end in zip(self._readers, self._ends(), strict=True):
            reader.intake.release(end)
        for source, arrays in zip(self.sources, told.sources, strict=True):
            source.merge(arrays)
        self.now = max(self.now, self._reached())
        return told.runs

    def state(self) -> InflowState:
        """Give all that is kept."""
        return InflowState(
            self.codes.all(),
            [reader.intake.waiting for reader in self._readers],
            self._intakes(),
            [dict(own.arrays()) for own in self.sources],
            self.now,
        )

    def restore(self, state: InflowState) -> None:
        """Take what `state` gave."""
        self.codes.take(state.texts)
        for reader, rows, told in zip(self._readers, state.waiting, state.intakes, strict=True):
            reader.intake.take(rows)
            reader.intake.restore(told)
        for own, arrays in zip(self.sources, state.sources, strict=True):
            own.restore(arrays)
        self.now = state.now

    def sizes(self) -> Tally:
        """Say what stands: models, and rows that wait."""
        found = Tally({HELD: sum(len(reader.intake.waiting) for reader in self._readers)})
        found[TEXTS] = self.codes.texts.size
        for number, source in enumerate(self.sources):
            found[KEYS, number] = source.counts["keys"]
            largest = tolerances_of(source).max(axis=0, initial=0.0)
            for attribute, own in zip(source.source.attributes, largest.tolist(), strict=True):
                found[LARGEST_BOUND, number, attribute.name] = int(min(own * BILLION, 2.0**62))
        return found


def _rows(reader: SourceReader, rows: Arrived) -> SourceRows:
    shape, table = reader.shape, rows.table
    return SourceRows(
        codes_of(table, shape.key),
        np.ascontiguousarray(rows.times[rows.kept]),
        floats_of(table, shape.observed),
        models_of(table, shape.coefficients),
        codes_of(table, shape.carried),
    )
