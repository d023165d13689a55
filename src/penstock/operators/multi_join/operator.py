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
from penstock.operators.shared.flow_operator import FlowOperator
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.inputs import key_of_all
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.results import made
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import DROPPED, QUERIES, RESULTS


class MultiJoinOperator(FlowOperator):
    """Keeps the windows of several relations and finds the combinations that queries ask for.

    If all inputs have one key, only rows that belong to this shard are kept; else the first shard
    does everything.
    """

    def __init__(
        self, step: MultiJoinStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._step = step
        names = residual_names(step)
        self._queries = Queries(entry_schema(step), names)
        self._plans = Plans(step)
        self._flow = Flow(step, self._queries, share)
        self._verifying = Verifying(step, self._flow.inputs, self._queries, names[-1])
        super().__init__(step, self._flow, share)
        self._is_idle = share.number > 0 and key_of_all(step) is None
        self._births = Births(len(step.inputs))
        if snapshot is not None:
            parts, facts = state.from_bytes(snapshot)
            self._flow.restore(parts, facts)
            self._births = Births(len(step.inputs), facts["births"])

    # Queries and plans.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries and plans of earlier versions."""
        super().apply(changes)
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

    def _standing(self) -> list[tuple[Queries, Births]]:
        return [(self._queries, self._births)]

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take the rows that tables held, and how far streams had come, before the group."""
        if self._is_idle:
            return
        self._flow.begin(clocks)
        parts = self._flow.change_tables(tables, Tally())
        if parts or self._flow.clocks().max() > LOWEST_TIME:
            self._rounds.note(parts, begins=True)

    def _arrive(self, batch: Mapping[str, pa.Table]) -> state.Parts:
        parts = self._flow.change_tables(batch, self._counts)
        parts |= self._flow.arrive(batch, self._plans.plan, self._counts)
        self._counts[SHED_ROWS] = self._counts.total(DROPPED)
        return parts

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
