"""A group of joins lives: queries and rows come and go, copies follow; all are as the twin says."""

from __future__ import annotations

from typing import Any

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

from penstock.algebra.joins import StandingJoin
from penstock.operators.join import JoinOperator, register
from penstock.operators.join import operator as operator_module
from penstock.operators.shared import chunks as chunks_module
from penstock.operators.shared import common_keys, entries
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import QUERIES, ROWS
from tests.oracle.joins import JoinTwin, answer, found_by
from tests.support.joins import (
    CHANGE,
    LOCALS,
    changed_rows,
    data_row,
    data_table,
    forms,
    parameter_rows,
    parameter_table,
    standing_join,
    stream_rows,
)

STRATEGIES = {
    "select_join": ("scan", "join", "selection", "ssi", "hot", "dynamic"),
    "band_join": ("queries", "data", "merge", "ssi", "hot", "dynamic"),
    "window_join": ("join", "selection", "ssi", "hot", "dynamic"),
}
chances = st.integers(0, 2**32 - 1).map(np.random.default_rng)


class JoinLife(RuleBasedStateMachine):
    """Drives one operator per strategy, a follower by deltas, and the twin."""

    kind = "select_join"

    @initialize(
        chance=chances,
        local=st.sampled_from(sorted(LOCALS)),
        mode=st.sampled_from(["full", "identify"]),
        selfish=st.booleans(),
        held=st.integers(0, 6),
        tight=st.booleans(),
    )
    def start(
        self, chance: np.random.Generator, local: str, mode: str, selfish: bool, held: int,
        tight: bool,
    ) -> None:  # fmt: skip
        # Tight limits: triples a few at a time, chunks of few rows, codes forgotten at once.
        operator_module.TRIPLES_MAX = 3 if tight else 1 << 20
        operator_module.CODES_MIN = -1000 if tight else 1 << 12
        chunks_module.CHUNK_ROWS_MAX = 5 if tight else 1 << 20
        form = str(chance.choice(forms(self.kind)))
        self.stream = self.kind == "window_join"
        self.logicals: list[StandingJoin] = [
            standing_join(self.kind, form, local, mode, strategy, selfish and not self.stream)
            for strategy in STRATEGIES[self.kind]
        ]
        self.logical = self.logicals[0]
        self.operators = [JoinOperator(logical.step()) for logical in self.logicals]
        self.follower = JoinOperator(self.logical.step())
        self.twin = JoinTwin(self.logical, answer)
        self.changes: list[QueryChanges] = []
        self.held: dict[str, list[Any]] = {"left": [], "right": []}
        self.clocks = {"left": 0, "right": 0}
        self.next = 0
        if held and not self.stream:
            for name in self.logical.relations:
                self.held[name] = [data_row(chance) for _ in range(held)]
            tables = {name: data_table(name, rows) for name, rows in self.held.items()}
            for operator in self.operators:
                operator.begin(tables)
            self.twin.begin({name: list(rows) for name, rows in self.held.items()})
            self.follow()
        if held and self.stream:
            clocks = {"left": held * 10**6, "right": 10**6}
            for operator in self.operators:
                operator.begin({}, clocks)
            self.twin.begin({}, clocks)
            self.follow()
        self.change(chance, 12, 0)
        self.batch(chance, (3, 3))

    def follow(self) -> None:
        delta = self.operators[0].delta()
        if delta is not None:
            self.follower.catch_up(delta)
        assert self.follower.snapshot() == self.operators[0].snapshot()
        assert self.follower.sizes() == self.operators[0].sizes()

    @rule(chance=chances, size=st.integers(0, 10), share=st.integers(0, 3))
    def change(self, chance: np.random.Generator, size: int, share: int) -> None:
        drops = sorted(n for n in self.twin.queries if chance.random() * 4 < share)
        rows = parameter_rows(chance, size)
        registration = register(self.logical, self.logical.step(), parameter_table(rows), self.next)
        assert len(registration.refusals.row) == 0
        adds = {self.next + i: row for i, row in enumerate(rows)}
        self.twin.apply(adds, drops)
        self.next += size + 2
        change = QueryChanges(
            adds=registration.adds, drops=np.array([-4, *drops, self.next + 9], dtype=np.int64)
        )
        self.changes.append(change)
        for operator in (*self.operators, self.follower):
            operator.apply(change)

    @rule(chance=chances, sizes=st.tuples(st.integers(0, 4), st.integers(0, 4)))
    def batch(self, chance: np.random.Generator, sizes: tuple[int, int]) -> None:
        """Bring changes on both sides, one side, or neither; most of them some."""
        sizes = 3 * sizes[0], 3 * sizes[1]
        batch: dict[str, list[Any]] = {}
        for name, size in zip(("left", "right"), sizes, strict=True):
            if self.stream:
                batch[name], self.clocks[name] = stream_rows(chance, self.clocks[name], size)
            else:
                batch[name] = changed_rows(chance, self.held[name], size)
        tables = {name: data_table(name, rows) for name, rows in batch.items() if rows}
        joined, affected = self.twin.process(batch)
        for operator, logical in zip(self.operators, self.logicals, strict=True):
            found = found_by(operator.process(tables), logical)
            if logical.mode == "full":
                assert found[0] == joined
            else:
                assert found[1] == affected
        self.follow()

    @rule()
    def restart(self) -> None:
        """Make every operator anew from its snapshot and all query changes."""
        for at, (operator, logical) in enumerate(zip(self.operators, self.logicals, strict=True)):
            operator.delta()
            snapshot = operator.snapshot()
            again = JoinOperator(logical.step(), snapshot)
            for change in self.changes:
                again.apply(change)
            assert again.snapshot() == snapshot
            self.operators[at] = again

    @rule()
    def swap(self) -> None:
        """Let the follower go on as the first operator."""
        self.operators[0], self.follower = self.follower, self.operators[0]

    @invariant()
    def sizes(self) -> None:
        for operator in getattr(self, "operators", []):
            sizes = operator.sizes()
            assert sizes[QUERIES] <= len(self.twin.queries)
            for number in range(2):
                assert sizes[ROWS, number] <= len(self.twin.rows[number])


@pytest.mark.parametrize("kind", sorted(STRATEGIES))
def test_joins_live_as_their_twin(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (operator_module, "TRIPLES_MAX"), (operator_module, "CODES_MIN"),
        (chunks_module, "CHUNK_ROWS_MAX"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name))  # Restored afterwards.
    life = type(f"Life of {kind}", (JoinLife,), {"kind": kind})
    run_state_machine_as_test(life, settings=settings(max_examples=10, stateful_step_count=12))


@pytest.mark.parametrize("mode", ["full", "identify"])
def test_texts_whose_hashes_collide_are_told_apart(
    mode: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for module in (entries, common_keys):
        monkeypatch.setattr(module, "text_hashes", lambda texts: np.zeros(len(texts), np.int64))
    chance = np.random.default_rng(seed)
    logical = standing_join("select_join", "number", "texts", mode, "selection")
    operator, twin = JoinOperator(logical.step()), JoinTwin(logical, answer)
    rows = parameter_rows(chance, 20)
    adds = register(logical, logical.step(), parameter_table(rows), 0).adds
    operator.apply(QueryChanges(adds=adds))
    twin.apply(dict(enumerate(rows)), [])
    total, place = 0, int(mode == "identify")
    for _ in range(3):
        batch = {
            name: [{**data_row(chance), CHANGE: "+"} for _ in range(15)]
            for name in logical.relations
        }
        tables = {name: data_table(name, own) for name, own in batch.items()}
        expected = twin.process(batch)[place]
        total += len(expected)
        assert found_by(operator.process(tables), logical)[place] == expected
    assert total
