"""A group of bounded joins lives: queries and rows come and go; all is as the twin says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.memories import Memory
from penstock.operators.bounded_join import BoundedJoinOperator
from penstock.operators.bounded_join import contents as contents_module
from penstock.vocabulary.losses import LATE_ROWS
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, ROWS, ROWS_BUDGET
from tests.support.bounded_joins import (
    BUDGETS,
    FORMS,
    WINDOWS,
    BoundedGroupTwin,
    TrendingSource,
    bounded_join,
    plain_parameters,
    queries_of,
)
from tests.support.multi_joins import LOCALS, Source, found_by, tables_of

EXACT = {
    "rand": ("RAND", Source),
    "trend": ("HEEB linear trend", TrendingSource),
    "walk": ("HEEB random walk", TrendingSource),
    "ar1": ("HEEB ar1", Source),
}
"""Budgets whose victims a twin can name without ties being broken by an order of its own."""
WAITING = st.sampled_from([1, 2, 3, 12, WAITING_ROWS])


def letting_wait(logical: BoundedJoin, rows: int) -> BoundedJoin:
    return replace(logical, waiting=rows)


@pytest.mark.parametrize("windows", sorted(WINDOWS))
@pytest.mark.parametrize("case", sorted(EXACT))
@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), budget=st.integers(1, 9), waiting=WAITING
)  # fmt: skip
@settings(max_examples=8)
def test_bounded_joins_live_as_their_twin(case, windows, data, seed, budget, waiting) -> None:
    name, source_of = EXACT[case]
    form = data.draw(st.sampled_from(sorted(FORMS) if case == "rand" else ["numbers", "tests"]))
    local = data.draw(st.sampled_from(sorted(LOCALS)))
    memory = BUDGETS[name](budget)
    if case != "rand":
        memory = Memory(rows=budget, laws=memory.laws, options={"alpha": 4.3})
    logical = letting_wait(bounded_join(form, local, windows, memory), waiting)
    chance = np.random.default_rng(seed)
    operator, twin = BoundedJoinOperator(logical.step()), BoundedGroupTwin(logical)
    clocks = {name: int(chance.integers(95, 110)) for name in "ab" if chance.random() < 0.5}
    operator.begin({}, clocks)
    twin.begin(clocks)
    source, first = source_of(chance), 0
    for _ in range(6):
        rows = plain_parameters(chance, int(chance.integers(0, 4)))
        drops = [n for n in twin.queries if chance.random() < 0.25]
        operator.apply(queries_of(logical, rows, first, drops))
        twin.apply({first + i: row for i, row in enumerate(rows)}, drops)
        first += len(rows)
        batch = source.batch(logical, 40)
        late, hurried = twin.waiting.late, twin.waiting.hurried
        assert found_by(operator.process(tables_of(batch)), logical) == twin.process(batch)
        sizes, counts = operator.sizes(), operator.counts()
        assert counts[LATE_ROWS] == twin.waiting.late - late
        assert counts[HURRIED_ROWS] == twin.waiting.hurried - hurried
        assert sizes[HELD] == len(twin.waiting.waiting) <= waiting
        held = [sum(row.stream == s for row in twin.cache.rows.held) for s in range(2)]
        assert [sizes[ROWS, 0], sizes[ROWS, 1]] == held
        assert sum(held) <= budget == sizes[ROWS_BUDGET]


@given(
    seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(BUDGETS)), cut=st.integers(1, 5),
    waiting=WAITING,
)  # fmt: skip
@example(seed=1, name="HEEB histogram", cut=1, waiting=WAITING_ROWS)  # from two heaps to one
@example(seed=7006, name="HEEB stationary", cut=2, waiting=7)  # from bounds to a heap
@settings(max_examples=30)
def test_a_copy_restored_in_mid_run_evicts_the_same(seed, name, cut, waiting) -> None:
    """Also when the rows that left are forgotten at other times."""
    chance = np.random.default_rng(seed)
    logical = bounded_join(
        "numbers", "ranges", sorted(WINDOWS)[chance.integers(len(WINDOWS))], BUDGETS[name](6)
    )
    step = letting_wait(logical, waiting).step()
    live, source = BoundedJoinOperator(step), TrendingSource(chance)
    changes = queries_of(logical, plain_parameters(chance, 3), 0)
    live.apply(changes)
    copies: list[BoundedJoinOperator] = []
    for turn in range(7):
        tables = tables_of(source.batch(logical, 60))
        expected = found_by(live.process(tables), logical)
        for copy in copies:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(contents_module, "DEAD_MAX", 0)
                assert found_by(copy.process(tables), logical) == expected
            assert copy.snapshot() == live.snapshot()
            assert copy.counts() == live.counts()
        if turn == cut:
            copies.append(BoundedJoinOperator(step, live.snapshot()))
            copies[0].apply(changes)
            assert copies[0].snapshot() == live.snapshot()
