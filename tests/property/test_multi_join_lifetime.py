"""A group of multi-way joins lives: queries, plans, rows come and go; all is as the twin says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from penstock.algebra.inputs import WAITING_ROWS
from penstock.operators.multi_join import MultiJoinOperator, register
from penstock.operators.protocol import Share
from penstock.operators.shared import chunks as chunks_module
from penstock.operators.shared import combinations as verifying_module
from penstock.operators.shared import fields as fields_module
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.losses import LATE_ROWS
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, QUERIES, ROWS
from tests.support.joins import parameter_rows
from tests.support.multi_joins import (
    FORMS,
    LOCALS,
    TABLES,
    GroupTwin,
    Source,
    data_table,
    drawn_plan,
    found_by,
    multi_join,
    queries_of,
    replan,
    tables_of,
)

chances = st.integers(0, 2**32 - 1).map(np.random.default_rng)
WAITING = st.sampled_from([1, 2, 3, 7, WAITING_ROWS])
PLANS_FROM = 10**6
"""Plans have numbers that no query has."""


class MultiJoinLife(RuleBasedStateMachine):
    """Drives one operator, two shards, a follower by deltas, and the twin."""

    form = "chain"

    @initialize(
        chance=chances, local=st.sampled_from(sorted(LOCALS)), held=st.integers(0, 6),
        tight=st.booleans(), size=st.integers(1, 6), waiting=WAITING,
        clocks=st.dictionaries(st.sampled_from("abcd"), st.integers(95, 110)),
    )  # fmt: skip
    def start(
        self, chance: np.random.Generator, local: str, held: int, tight: bool, size: int,
        waiting: int, clocks: dict[str, int],
    ) -> None:  # fmt: skip
        # Tight limits: pairs a few at a time, chunks of few rows, codes forgotten at once.
        verifying_module.PAIRS_MAX = 3 if tight else 1 << 20
        fields_module.CODES_MIN = -1000 if tight else 1 << 12
        chunks_module.CHUNK_ROWS_MAX = 5 if tight else 1 << 20
        self.logical = replace(multi_join(self.form, local), waiting=waiting)
        self.step = self.logical.step()
        self.operator = MultiJoinOperator(self.step)
        self.shards = [MultiJoinOperator(self.step, None, Share(n, 2)) for n in range(2)]
        self.follower = MultiJoinOperator(self.step)
        self.twin = GroupTwin(self.logical)
        self.source = Source(chance)
        self.changes: list[QueryChanges] = []
        self.next, self.plans = 0, PLANS_FROM
        for name in {*self.logical.relations} & {*TABLES}:
            self.source.held[name] = [self.source.row() for _ in range(held)]
        tables = {name: data_table(name, rows) for name, rows in self.source.held.items()}
        for operator in (self.operator, *self.shards):
            operator.begin(tables, clocks)
        self.twin.begin(self.source.held, clocks)
        self.follow()
        self.change(chance, size, 0)
        self.batch(9)

    def follow(self) -> None:
        delta = self.operator.delta()
        if delta is not None:
            self.follower.catch_up(delta)
        assert self.follower.snapshot() == self.operator.snapshot()
        assert self.follower.sizes() == self.operator.sizes()

    def apply(self, change: QueryChanges) -> None:
        self.changes.append(change)
        for operator in (self.operator, self.follower, *self.shards):
            operator.apply(change)

    @rule(chance=chances, size=st.integers(0, 4), share=st.integers(0, 4))
    def change(self, chance: np.random.Generator, size: int, share: int) -> None:
        drops = [n for n in self.twin.queries if chance.random() * 4 < share]
        rows = parameter_rows(chance, size)
        strangers = [-4, self.next + size + 9]
        self.apply(queries_of(self.logical, register, rows, self.next, [*drops, *strangers]))
        self.twin.apply({self.next + i: row for i, row in enumerate(rows)}, drops)
        self.next += size + 2

    @rule(chance=chances, boxes=st.booleans())
    def plan(self, chance: np.random.Generator, boxes: bool) -> None:
        """Put another plan in the place of the one before."""
        plan = drawn_plan(chance, self.logical, boxes)
        self.apply(replan(self.plans + 1, plan, self.plans))
        self.plans += 1
        self.twin.plan = plan

    @rule(size=st.integers(0, 12))
    def batch(self, size: int) -> None:
        batch = self.source.batch(self.logical, size)
        tables = tables_of(batch)
        waiting = self.twin.waiting
        before = waiting.late, waiting.hurried
        expected = self.twin.process(batch)
        assert found_by(self.operator.process(tables), self.logical) == expected
        parts = [found_by(shard.process(tables), self.logical) for shard in self.shards]
        assert parts[0] + parts[1] == expected
        told = waiting.late - before[0], waiting.hurried - before[1]
        for counts in (self.operator.counts(), self.shards[0].counts()):
            assert (counts[LATE_ROWS], counts[HURRIED_ROWS]) == told
        assert self.shards[1].counts()[HURRIED_ROWS] == 0
        assert self.operator.sizes()[HELD] == len(waiting.waiting) <= self.logical.waiting
        self.follow()

    @rule()
    def restart(self) -> None:
        """Make the operator anew from its snapshot and all changes."""
        self.operator.delta()
        snapshot = self.operator.snapshot()
        again = MultiJoinOperator(self.step, snapshot)
        for change in self.changes:
            again.apply(change)
        assert again.snapshot() == snapshot
        assert again.sizes() == self.operator.sizes()
        self.operator = again

    @rule()
    def swap(self) -> None:
        """Let the follower go on as the operator."""
        self.operator, self.follower = self.follower, self.operator

    @invariant()
    def sizes(self) -> None:
        if not hasattr(self, "operator"):
            return
        sizes = self.operator.sizes()
        assert sizes[QUERIES] <= len(self.twin.queries)
        for number, kept in enumerate(self.twin.join.kept):
            assert sizes[ROWS, number] <= len(kept)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_multi_way_joins_live_as_their_twin(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (verifying_module, "PAIRS_MAX"), (fields_module, "CODES_MIN"),
        (chunks_module, "CHUNK_ROWS_MAX"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name))  # Restored afterwards.
    life = type(f"Life of {form}", (MultiJoinLife,), {"form": form})
    run_state_machine_as_test(life, settings=settings(max_examples=8, stateful_step_count=12))
