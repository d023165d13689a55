"""Flow operators: what joins of inputs in event-time order do alike, batch by batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import Step
from penstock.operators.protocol import Share
from penstock.operators.shared.births import Births
from penstock.operators.shared.codec import Part
from penstock.operators.shared.combinations import Combinations
from penstock.operators.shared.input_state import Parts, facts_of
from penstock.operators.shared.inputs import Input, StreamInput
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.rounds import Rounds
from penstock.operators.shared.times import BEGUN, LOWEST_TIME
from penstock.vocabulary.batches import Ints, QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import SPAN


class RowFlow(ABC):
    """Rows on their way from arrival into combinations."""

    inputs: list[Input]
    streams: Sequence[StreamInput]

    def begin(self, clocks: Mapping[str, int]) -> None:
        """Take over how far the streams have come."""
        for each in self.streams:
            each.intake.clock = clocks.get(each.shape.relation, LOWEST_TIME)

    def clocks(self) -> Ints:
        """Give the newest event time of every stream."""
        found = np.full(len(self.inputs), LOWEST_TIME, dtype=np.int64)
        for each in self.streams:
            found[each.number] = each.intake.clock
        return found

    def reached(self) -> int:
        """Give the time up to which the order of all streams is known."""
        return min(each.intake.reached for each in self.streams)

    @abstractmethod
    def lows(self) -> Ints:
        """Give, for every input, a time below which it has no row and gets none."""

    @abstractmethod
    def release(self, emit: bool, counts: Tally) -> tuple[Combinations, int]:
        """Let all rows go on that need not wait; give what they make, and the oldest's time."""

    @abstractmethod
    def repeat(self, parts: list[Part], told: list[dict[str, Any]]) -> None:
        """Take what came to another copy, silently."""

    @abstractmethod
    def forget(self) -> None:
        """Forget what no row can meet any more."""


class FlowOperator(ABC):
    """Takes batches into a flow, gives what it finds, and tells other copies what came.

    Queries are born where the streams had come before the first batch that changes anything after
    they were registered: copies are told of such batches alone.
    """

    _is_idle = False
    """Whether another shard does everything."""

    def __init__(self, step: Step, flow: RowFlow, share: Share) -> None:
        self._relations = step.relations
        self._rows = flow
        self._is_first = share.number == 0
        self._is_stale = self._is_unborn = True
        self._rounds = Rounds(flow.inputs)
        self._counts = Tally()

    @abstractmethod
    def _settle(self) -> None:
        """Let everything follow the queries that stand now."""

    @abstractmethod
    def _arrive(self, batch: Mapping[str, pa.Table]) -> Parts:
        """Take a batch's rows; give what came, by the number of the input."""

    @abstractmethod
    def _results(self, found: Combinations) -> list[Results]:
        """Give the rows that combinations make, and the queries that each is for."""

    @abstractmethod
    def _standing(self) -> Iterable[tuple[Queries, Births]]:
        """Give the queries that stand, and how far the streams had come when they came."""

    @abstractmethod
    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries of earlier versions."""
        self._is_stale = self._is_unborn = True

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch: made rows, and the queries that each is for."""
        self._counts = Tally()
        met = any(name in batch and batch[name].num_rows for name in self._relations)
        if self._is_idle or not met:
            return []
        self._settle()
        flow = self._rows
        clocks, facts, before = flow.clocks(), facts_of(flow.inputs), flow.reached()
        parts = self._arrive(batch)
        results: list[Results] = []
        if parts or facts_of(flow.inputs) != facts:
            self._bear(clocks)
            found, oldest = flow.release(emit=True, counts=self._counts)
            if flow.reached() > BEGUN and self._is_first:
                self._counts[SPAN] = flow.reached() - (before if before > BEGUN else oldest)
            results = self._results(found)
            self._rounds.note(parts)
            self._forget()
        return results

    def _bear(self, clocks: Ints) -> None:
        """Note how far the streams had come for queries that are new with this batch."""
        if self._is_unborn:
            self._is_unborn = False
            for queries, births in self._standing():
                births.note(queries.live(), queries.numbers, clocks)

    def _forget(self) -> None:
        self._rows.forget()
        known = [births for _, births in self._standing()]
        if any(map(len, known)):
            lows = self._rows.lows()
            for births in known:
                births.forget(lows)

    def delta(self) -> bytes | None:
        """Give the rows that came since the last call."""
        return self._rounds.delta()

    def catch_up(self, delta: bytes) -> None:
        """Repeat what another copy took, silently."""
        self._settle()
        for parts, told, bears in self._rounds.read(delta):
            if bears:
                self._bear(self._rows.clocks())
            self._rows.repeat(parts, told)
            self._forget()

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts
