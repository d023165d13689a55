"""MultiJoinOperator: joins of several streams and tables over windows.

The tree of joins that finds combinations is the plan's choice and changes no answer.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.physical import PLAN_PORT
from penstock.operators.multi_join.flow import Flow
from penstock.operators.multi_join.plans import Plans, pulled_masks
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared import input_state as state
from penstock.operators.shared.births import Births
from penstock.operators.shared.combinations import Combinations, Verifying
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.inputs import key_of_all
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.results import made
from penstock.operators.shared.rounds import Rounds
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import BEGUN, LOWEST_TIME
from penstock.vocabulary.batches import Ints, QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import DROPPED, QUERIES, RESULTS, SPAN


class MultiJoinOperator:
    """Keeps the windows of several relations and finds the combinations that queries ask for.

    Parameters
    ----------
    step
        What all queries of the group have in common.
    snapshot
        Data state to begin with.
    share
        If all inputs have one key, only rows that belong to this shard are kept; else the first
        shard does everything.
    """

    def __init__(
        self, step: MultiJoinStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._step = step
        self._is_first = share.number == 0
        self._is_idle = share.number > 0 and key_of_all(step) is None
        names = residual_names(step)
        self._queries = Queries(entry_schema(step), names)
        self._plans = Plans(step)
        self._flow = Flow(step, self._queries, share)
        self._verifying = Verifying(step, self._flow.inputs, self._queries, names[-1])
        self._is_stale = self._is_unborn = True
        self._births = Births(len(step.inputs))
        self._rounds = Rounds(self._flow.inputs)
        self._counts = Tally()
        if snapshot is not None:
            parts, facts = state.from_bytes(snapshot)
            self._flow.restore(parts, facts)
            self._births = Births(len(step.inputs), facts["births"])

    # Queries and plans.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries and plans of earlier versions."""
        self._is_stale = self._is_unborn = True
        self._plans.drop(changes.drops)
        self._queries.drop(changes.drops)
        plans, queries = changes.adds.get(PLAN_PORT), changes.adds.get(PORT)
        if plans is not None:
            self._plans.add(plans)
        if queries is not None and queries.num_rows:
            self._queries.add(queries)

    def _settle(self) -> None:
        """Let everything follow the queries and the plan that hold now."""
        if self._is_stale:
            self._is_stale = False
            self._flow.arrange(self._plans.plan, self._queries.live())

    def _bear(self, clocks: Ints) -> None:
        """Note how far the streams had come for queries that are new with this batch.

        Where a batch changes nothing, that is done with the next: copies are not told of it.
        """
        if self._is_unborn:
            self._is_unborn = False
            slots = self._queries.live()
            self._births.note(slots, self._queries.numbers, clocks)

    def _forget(self) -> None:
        self._flow.forget()
        if len(self._births):
            self._births.forget(self._flow.lows())

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take the rows that tables held, and how far streams had come, before the group."""
        if self._is_idle:
            return
        self._flow.begin(clocks)
        parts = self._flow.change_tables(tables, Tally())
        if parts or self._flow.clocks().max() > LOWEST_TIME:
            self._rounds.note(parts, begins=True)

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch: made rows, and the queries that each is for."""
        self._counts = Tally()
        met = any(name in batch and batch[name].num_rows for name in self._step.relations)
        if self._is_idle or not met:
            return []
        self._settle()
        flow = self._flow
        clocks, facts, before = flow.clocks(), state.facts_of(flow.inputs), flow.reached()
        parts = flow.change_tables(batch, self._counts)
        parts |= flow.arrive(batch, self._plans.plan, self._counts)
        self._counts[SHED_ROWS] = self._counts.total(DROPPED)
        results: list[Results] = []
        if parts or state.facts_of(flow.inputs) != facts:
            self._bear(clocks)
            found, oldest = flow.release(emit=True, counts=self._counts)
            if flow.reached() > BEGUN and self._is_first:
                self._counts[SPAN] = flow.reached() - (before if before > BEGUN else oldest)
            results = self._results(found)
            self._rounds.note(parts)
            self._forget()
        return results

    def _results(self, found: Combinations) -> list[Results]:
        slots = self._queries.live()
        if len(found) == 0 or len(slots) == 0:
            return []
        pulled = frozenset(k for k, part in pulled_masks(self._plans.plan) if part == "terms")
        births = self._births.of[slots]
        rows, whose = self._verifying.pairs(
            found, self._flow.oldest, slots, births, pulled, self._counts
        )
        self._counts[RESULTS] += len(rows)
        numbers = self._queries.numbers[whose]
        return made(self._step, self._flow.inputs, found, rows, numbers)

    # State.

    def delta(self) -> bytes | None:
        """Give the rows that came since the last call."""
        return self._rounds.delta()

    def catch_up(self, delta: bytes) -> None:
        """Repeat what another copy took, silently."""
        self._settle()
        for parts, told, bears in self._rounds.read(delta):
            if bears:
                self._bear(self._flow.clocks())
            self._flow.repeat(parts, told, Tally())
            self._forget()

    def snapshot(self) -> bytes | None:
        """Give all rows of the inputs; copies in one state give the same bytes."""
        if self._is_idle:
            return None
        parts, facts = self._flow.snapshot()
        return state.to_bytes(parts, {**facts, "births": self._births.facts()})

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands: queries, active rows of inputs, what joins keep, rows that wait."""
        self._settle()
        stands = self._flow.sizes()
        stands[QUERIES] = len(self._queries)
        return stands

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts
