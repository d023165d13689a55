"""The operator of model queries: rows in, what models say of each query out.

Rows of all streams stand in one order of event time. Those that are near the model of their key
are dropped; the others change models, whose segments go through the plan. What the plan says is
told to the queries whose keys and numbers it satisfies.

A query is told of the time from its birth on, which is where its streams had come: first what the
models say then, as far as they say anything of the time to come, later what changes in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.models import ModelQueryStep
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource
from penstock.operators.model_query.answers import Answers
from penstock.operators.model_query.entries import entry_schema
from penstock.operators.model_query.figures import (
    CONFIRMED,
    EXPIRIES,
    KEYS,
    LARGEST_BOUND,
    MODEL_ROWS,
    OUTPUT_SEGMENTS,
    RETRACTIONS,
    SEGMENTS,
    SEGMENTS_HELD,
    SLACK_SEGMENTS,
    SOLUTIONS,
    STANDING,
    TEXTS,
    VALIDATED,
    VIOLATIONS,
)
from penstock.operators.model_query.flow import SegmentFlow, SegmentRun
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.live_facts import tolerances_of
from penstock.operators.model_query.source_readers import SourceReader
from penstock.operators.model_query.standing_segments import StandingSegments
from penstock.operators.model_query.state import (
    SegmentRound,
    rounds_of,
    rounds_to_bytes,
    state_of,
    state_to_bytes,
)
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.births import Births
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.intake import Arrived, hurry, nothing, released_until
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.losses import FORGOTTEN_SEGMENTS, KEYS_WITHOUT_ROOM
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, NULL_VALUES, QUERIES, RESULTS

COUNTED: dict[str, Figure] = {
    "rows": MODEL_ROWS, "validated": VALIDATED, "violations": VIOLATIONS, "expiries": EXPIRIES,
    "segments": SEGMENTS, "slack_segments": SLACK_SEGMENTS,
}  # fmt: skip
"""What sources count, and the figure that it is told as."""
BILLION = 1_000_000_000


class ModelQueryOperator:
    """All model queries of one shape."""

    def __init__(
        self, step: ModelQueryStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._step = step
        self._codes = KeyCodes(step)
        self._readers = [
            SourceReader(number, source, self._codes, share, step.shard_key)
            for number, source in enumerate(step.sources)
        ]
        told: set[str] = set()
        for reader in self._readers:
            reader.tells &= reader.source.relation not in told
            told.add(reader.source.relation)
        self._is_first = share.number == 0
        self._flow = SegmentFlow(step)
        self._standing = StandingSegments(len(step.key), len(step.attributes))
        self._queries = Queries(entry_schema(step), ())
        self._births = Births(1)
        self._now = LOWEST_TIME
        self._is_unborn = True
        self._rounds: list[SegmentRound] = []
        self._counts = Tally()
        if snapshot is not None:
            self._restore(snapshot)
        self._answers = Answers(step, self._codes, self._queries, self._births)

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
        """Take how far the streams had come before the group."""
        del tables
        for reader in self._readers:
            reader.intake.clock = clocks.get(reader.source.relation, LOWEST_TIME)
        if any(reader.intake.clock > LOWEST_TIME for reader in self._readers):
            self._now = self._reached()
            self._settle(self._flow.push([], self._now))
            self._note([], [], bears=False)

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch; give what is told to queries, and what is taken back."""
        self._counts = counts = Tally()
        if not any(name in batch and batch[name].num_rows for name in self._step.relations):
            return []
        before = self._intakes()
        arrived = [
            reader.arrive(batch[reader.source.relation], counts)
            if reader.source.relation in batch
            else nothing(reader.schema)
            for reader in self._readers
        ]
        if self._intakes() == before:
            return []
        hurried = hurry([reader.intake for reader in self._readers], WAITING_ROWS)
        counts[HURRIED_ROWS] += hurried if self._is_first else 0
        bears = self._bear()
        begun = self._answers.begun(self._standing.segments, self._now)
        counted = [source.counts for source in self._flow.sources]
        ends = self._ends()
        released = [
            reader.intake.release(end) for reader, end in zip(self._readers, ends, strict=True)
        ]
        self._now = now = max(self._now, self._reached())
        runs = self._flow.changes(self._readers, released, now)
        said = self._flow.push(runs, now)
        results = self._answers.tell(begun, said, now)
        lost = self._settle(said)
        self._count(counted, said, lost)
        counts[RESULTS] += sum(len(own.query) for own in results)
        waiting = [
            own.take(np.flatnonzero(own.times > end))
            for own, end in zip(arrived, ends, strict=True)
        ]
        self._note(waiting, runs, bears)
        return results

    def _intakes(self) -> list[dict[str, int]]:
        return [reader.intake.facts() for reader in self._readers]

    def _reached(self) -> int:
        """Give the time below which no further row can come."""
        return min(reader.intake.reached for reader in self._readers)

    def _ends(self) -> list[int]:
        """Give the time up to which the rows of each source have nothing to wait for."""
        intakes = [reader.intake for reader in self._readers]
        return [released_until(intakes, each.number) for each in intakes]

    def _settle(self, said: Segments) -> int:
        """Keep what the plan said of the time to come; give how much of it has no room."""
        lost = self._standing.take(said, self._now)
        self._answers.forget()
        return lost

    def _count(self, before: list[dict[str, int]], said: Segments, lost: int) -> None:
        """Count what a batch did to models, and what it said."""
        counts = self._counts
        for number, (source, then) in enumerate(zip(self._flow.sources, before, strict=True)):
            now = source.counts
            for name, figure in COUNTED.items():
                counts[figure, number] += now[name] - then[name]
            counts[KEYS_WITHOUT_ROOM] += now["rows_without_room"] - then["rows_without_room"]
            counts[NULL_VALUES] += now["rows_unusable"] - then["rows_unusable"]
        counts[OUTPUT_SEGMENTS] += len(said)
        counts[RETRACTIONS] += int(np.count_nonzero(said.sign < 0))
        counts[SOLUTIONS] += self._answers.solved
        counts[CONFIRMED] += self._answers.confirmed
        counts[FORGOTTEN_SEGMENTS] += lost

    # State.

    def _note(self, waiting: Sequence[Arrived], runs: Sequence[SegmentRun], bears: bool) -> None:
        """Remember what changed, for other copies."""
        self._rounds.append(
            SegmentRound(
                texts=self._codes.fresh(),
                waiting=waiting or [nothing(reader.schema) for reader in self._readers],
                intakes=self._intakes(),
                sources=[dict(source.fresh()) for source in self._flow.sources],
                runs=runs,
                bears=bears,
            )
        )

    def delta(self) -> bytes | None:
        """Give what changed since the last call: models of keys, and their segments."""
        rounds, self._rounds = self._rounds, []
        return rounds_to_bytes(rounds) if rounds else None

    def catch_up(self, delta: bytes) -> None:
        """Follow another copy: its segments go through the plan, and nobody is told."""
        for own in rounds_of(delta):
            if own.bears:
                self._bear()
            self._codes.take(own.texts)
            for reader, rows, facts in zip(self._readers, own.waiting, own.intakes, strict=True):
                reader.intake.take(rows)
                reader.intake.restore(facts)
            for reader, end in zip(self._readers, self._ends(), strict=True):
                reader.intake.release(end)
            for source, arrays in zip(self._flow.sources, own.sources, strict=True):
                source.merge(arrays)
            self._now = max(self._now, self._reached())
            self._settle(self._flow.push(own.runs, self._now))
        self._answers.lose()

    def snapshot(self) -> bytes | None:
        """Give the whole state; copies in one state give the same bytes."""
        if self._now == LOWEST_TIME and not any(own["arrived"] for own in self._intakes()):
            return None
        return state_to_bytes(
            self._codes.all(),
            [reader.intake.waiting for reader in self._readers],
            [*self._flow.arrays(), self._standing.arrays()],
            {"intakes": self._intakes(), "now": self._now, "births": self._births.facts()},
        )

    def _restore(self, snapshot: bytes) -> None:
        texts, waiting, states, facts = state_of(snapshot)
        self._codes.take(texts)
        for reader, rows, told in zip(self._readers, waiting, facts["intakes"], strict=True):
            reader.intake.take(rows)
            reader.intake.restore(told)
        *flow, standing = states
        self._flow.restore(flow)
        self._standing.restore(standing)
        self._now = facts["now"]
        self._births = Births(1, facts["births"])

    # Figures.

    @property
    def sources(self) -> Sequence[SegmentSource]:
        """The sources of segments."""
        return self._flow.sources

    def sizes(self) -> Tally:
        """Say what stands: queries, models, segments, rows that wait."""
        found = Tally({QUERIES: len(self._queries), STANDING: len(self._standing)})
        found[HELD] = sum(len(reader.intake.waiting) for reader in self._readers)
        found[TEXTS] = self._codes.texts.size
        for number, source in enumerate(self._flow.sources):
            found[KEYS, number] = source.counts["keys"]
            largest = tolerances_of(source).max(axis=0, initial=0.0)
            for attribute, own in zip(source.source.attributes, largest.tolist(), strict=True):
                found[LARGEST_BOUND, number, attribute.name] = int(min(own * BILLION, 2.0**62))
        for stage, held in self._flow.sizes().items():
            found[SEGMENTS_HELD, stage] = held
        return found

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts
