"""The operator of model streams: rows in, segments out, for all groups that read them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.algebra.model_streams import ModelStreamStep
from penstock.models.netting import netted
from penstock.models.segments import Segments
from penstock.models.shapes import source_shape
from penstock.models.source_histograms import SourceHistograms
from penstock.models.sources import SegmentSource
from penstock.models.streams import stream_tolerances
from penstock.operators.model_query.figures import (
    GATE_EXPECTED,
    GATE_PASSED,
    GATE_TAKEN,
    MIGRATIONS,
    MODEL_ROWS,
    STREAM_CHANGES,
    STREAM_GATES,
    STREAM_ROWS,
    STREAM_STANDING,
)
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.row_inflow import InflowState, RowInflow
from penstock.operators.model_query.standing_segments import StandingSegments
from penstock.operators.model_query.state import (
    SegmentRound,
    rounds_of,
    rounds_to_bytes,
    state_of,
    state_to_bytes,
)
from penstock.operators.model_query.stream_boxes import told_boxes
from penstock.operators.model_query.stream_gates import StreamGates
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FORGOTTEN_SEGMENTS


class ModelStreamOperator:
    """One source of segments; groups of model queries are attached to it.

    What it tells of rows and models is told by those groups, as if each had made them.
    """

    def __init__(
        self, step: ModelStreamStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._inflow = RowInflow(step, [stream_tolerances(step)], share)
        self._columns = len(step.source.made_key), len(step.source.attributes)
        self._standing = StandingSegments(*self._columns)
        self._rounds: list[SegmentRound] = []
        self._changed = Segments.none(*self._columns)
        self._netted: Segments | None = None
        self._gates = StreamGates(len(step.source.attributes))
        # Every shard that has a part of the keys follows the plans: the first one tells of them.
        self._tells_plans = share.number == 0
        self._migrations = 0
        self._histograms = SourceHistograms(source_shape(step.source).degrees)
        self._boxes: Tally | None = None
        self._held: Tally | None = None
        self._frontier: int | None = None
        self.has_moved = False
        """Whether rows came, or time passed, in the last batch."""
        self.met = Tally()
        """What the last batch met, for those that read it to tell."""
        if snapshot is not None:
            self._restore(snapshot)

    # What readers ask.

    @property
    def codes(self) -> KeyCodes:
        """The codes of keys."""
        return self._inflow.codes

    @property
    def source(self) -> SegmentSource:
        """What makes segments."""
        return self._inflow.sources[0]

    @property
    def now(self) -> int:
        """The time below which no further row can come."""
        return self._inflow.now

    @property
    def frontier(self) -> int:
        """The event time before which nothing changes any more."""
        if self._frontier is None:
            self._frontier = self._inflow.frontier
        return self._frontier

    @property
    def standing(self) -> Segments:
        """What was said and not taken back, as far as it speaks of the time to come."""
        return self._standing.segments

    def changed(self, net: bool, reader: str) -> Segments:
        """Give what a reader needs of what changed in the last batch.

        `net`: without what came and went in it.
        """
        if not net:
            return self._gates.passed(reader, self._changed)
        if self._netted is None:
            self._netted = netted(self._changed)
        return self._netted

    @property
    def changes(self) -> int:
        """How many segments changed in the last batch, before any gate."""
        return len(self._changed)

    @property
    def held(self) -> Tally:
        """What is held of rows and models, for those that read it to tell."""
        if self._held is None:
            self._held = self._inflow.sizes()
        return self._held

    # Data.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes: another plan; there are no queries."""
        self._gates.apply(changes)

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take how far the stream had come before."""
        del tables
        if self._inflow.begin(clocks):
            self._frontier = None
            self._rounds.append(self._inflow.round([]))

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch, and make segments of it; nobody is told but those that read them."""
        self.met, self._migrations = Tally(), self._gates.migrations
        self._gates.migrations = 0
        runs = self._inflow.process(batch, self.met)
        self.has_moved = runs is not None
        if runs is None:
            return []
        self._take([run.segments for run in runs])
        self._rounds.append(self._inflow.round(runs))
        return []

    def _take(self, parts: list[Segments]) -> None:
        """Keep what changed, for readers, and what stands then."""
        none = Segments.none(*self._columns)
        self._changed, self._netted = Segments.joined([none, *parts]), None
        self._gates.renew()
        before = self._histograms.summaries
        self._histograms.count(self._changed)
        if self._histograms.summaries is not before:
            self._boxes = None
        lost = self._standing.take(self._changed, self.now)
        self.met[FORGOTTEN_SEGMENTS] += lost
        self._held = self._frontier = None

    # State.

    def delta(self) -> bytes | None:
        """Give what changed since the last call: rows that wait, models, and their segments."""
        rounds, self._rounds = self._rounds, []
        return rounds_to_bytes(rounds) if rounds else None

    def catch_up(self, delta: bytes) -> None:
        """Follow another copy; those that read it follow after it."""
        parts = [run.segments for own in rounds_of(delta) for run in self._inflow.follow(own)]
        self._take(parts)

    def snapshot(self) -> bytes | None:
        """Give the whole state; copies in one state give the same bytes."""
        if self._inflow.is_new:
            return None
        own = self._inflow.state()
        facts = {"intakes": own.intakes, "now": own.now}
        kept = [*own.sources, self._standing.arrays(), self._histograms.arrays()]
        return state_to_bytes(own.texts, own.waiting, kept, facts)

    def _restore(self, snapshot: bytes) -> None:
        texts, waiting, (source, standing, *histograms), facts = state_of(snapshot)
        state = InflowState(texts, waiting, facts["intakes"], [source], facts["now"])
        self._inflow.restore(state)
        self._standing.restore(standing)
        # Streams of homes from before have counted nothing yet.
        for each in histograms:
            self._histograms.restore(each)

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands."""
        if self._boxes is None:
            self._boxes = told_boxes(self._histograms)
        found = Tally({STREAM_STANDING: len(self._standing), STREAM_GATES: len(self._gates)})
        for gate, share in self._gates.expected.items():
            found[GATE_EXPECTED, gate] = round(1e6 * share)
        found.add(self._boxes)
        return found

    def counts(self) -> Tally:
        """Say what the last batch met, once for all that read it."""
        changed = len(self._changed) if self.has_moved else 0
        found = Tally({STREAM_ROWS: self.met[MODEL_ROWS, 0], STREAM_CHANGES: changed})
        if self._tells_plans:
            found[MIGRATIONS] = self._migrations
        for gate, taken, passed in self._gates.counted() if self.has_moved else ():
            found[GATE_TAKEN, gate], found[GATE_PASSED, gate] = taken, passed
        return found
