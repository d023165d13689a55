"""BoundedJoinOperator: joins of two streams each that never hold more rows than their budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.crossings import CrossedShape
from penstock.operators.bounded.forecasts import curve_facts
from penstock.operators.bounded_join.flow import BoundedFlow
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.operators.bounded_join.live_facts import BoundedJoinFacts
from penstock.operators.bounded_join.shapes import ShapeQueries, shape_of
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared import input_state as state
from penstock.operators.shared.births import Births
from penstock.operators.shared.combinations import Combinations
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.flow_operator import FlowOperator
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.results import made
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import QUERIES, RESULTS


class BoundedJoinOperator(FlowOperator):
    """Holds rows of streams within a budget and finds the pairs that queries ask for.

    All queries ask alike, of two streams. Or they share a memory: then their shapes come with them,
    each joins two of its streams, and a row is worth what it brings to all of them.

    Only rows whose key belongs to this shard are joined and held, within its share of the budget;
    the others are seen.
    """

    def __init__(
        self, step: BoundedJoinStep, snapshot: bytes | None = None, share: Share = WHOLE
    ) -> None:
        self._step = step
        self._memory = step.memory
        self._shared = step.shared
        self._flow = BoundedFlow(step, share)
        super().__init__(step, self._flow, share)
        self._born: dict[str, dict[str, Any]] = {}
        """What a snapshot knew of when queries were born, by their port."""
        if snapshot is not None:
            parts, facts = state.from_bytes(snapshot)
            self._flow.restore(parts, facts)
            self._born = facts["births"] if step.shared else {PORT: facts["births"]}
        self._shapes: dict[str, ShapeQueries] = {}
        """The queries that stand, by the port of their shape."""
        if not step.shared:
            self._shapes[PORT] = self._shaped(PORT, step, self._flow.keys)

    def _shaped(self, port: str, shape: CrossedShape, keys: JoinKeys) -> ShapeQueries:
        born = self._born.get(port)
        return ShapeQueries(shape, self._flow.streams, keys, shared=self._shared, births=born)

    # Queries.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries of earlier versions."""
        super().apply(changes)
        for each in self._shapes.values():
            each.queries.drop(changes.drops)
        if self._shared:
            self._shapes = {p: each for p, each in self._shapes.items() if len(each.queries)}
        for port, queries in sorted(changes.adds.items()):
            if queries.num_rows:
                if port not in self._shapes:
                    shape = shape_of(queries)
                    self._shapes[port] = self._shaped(port, shape, JoinKeys(shape))
                self._shapes[port].queries.add(queries)

    def _settle(self) -> None:
        """Let the streams be asked what the queries ask that stand now."""
        if self._is_stale:
            self._is_stale = False
            self._born = {}
            self._flow.arrange(list(self._shapes.values()), self._shared)

    def _standing(self) -> list[tuple[Queries, Births]]:
        return [(shape.queries, shape.births) for shape in self._shapes.values()]

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take over how far the streams had come before the group."""
        assert not tables, "all inputs are streams"
        self._flow.begin(clocks)
        if self._flow.clocks().max() > LOWEST_TIME:
            self._rounds.note({}, begins=True)

    def _arrive(self, batch: Mapping[str, pa.Table]) -> state.Parts:
        return self._flow.arrive(batch, self._counts)

    def _results(self, found: Combinations) -> list[Results]:
        results: list[Results] = []
        for shape in self._shapes.values():
            pairs, rows, queries = shape.pairs(found, self._flow.oldest, self._counts)
            self._counts[RESULTS] += len(rows)
            results += made(self._step, self._flow.inputs, pairs, rows, queries)
        return results

    # State.

    def snapshot(self) -> bytes | None:
        """Give the rows held and all that says who goes; copies in one state give the same."""
        self._settle()
        parts, facts = self._flow.snapshot()
        born = {port: shape.births.facts() for port, shape in sorted(self._shapes.items())}
        return state.to_bytes(parts, {**facts, "births": born if self._shared else born[PORT]})

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands: queries, rows held of each stream, the budget, rows that wait."""
        self._settle()
        stands = self._flow.sizes()
        stands[QUERIES] = sum(len(shape.queries) for shape in self._shapes.values())
        return stands

    def facts(self) -> BoundedJoinFacts:
        """Say what numbers do not: the policy and the laws in force, and how rows fare."""
        cache, account = self._flow.cache, self._flow.cache.account
        told = {
            **self._flow.steering.facts(),
            "policy": self._memory.policy,
            "in_force": self._flow.steering.policy().name,
            "budget": self._flow.budget,
            "held": list(cache.held),
            "residence_ticks": account.residence,
            "window_ticks": list(cache.window_ticks()),
            "recall_weight": self._flow.meter.weight,
            "recall_rows": self._flow.meter.remembered,
        }
        return BoundedJoinFacts.from_json(told)

    def forecasting(self) -> Callable[[], dict[str, Any]] | None:
        """Give what forecasts recall against memory, by what is known now; None if that is little.

        It takes its time and needs the operator no more.
        """
        cache, joins = self._flow.cache, self._flow.joins
        fits = [fit for fit in self._flow.steering.fits if fit is not None]
        if len(fits) < len(self._flow.streams) or not joins.any():
            return None
        return partial(
            curve_facts, self._memory, [fit.law for fit in fits], [fit.rate for fit in fits],
            cache.window_ticks(), now=cache.now, joins=joins,
        )  # fmt: skip
