"""What each stream's rows and each shard get: their own window, their own part of the limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import JoinInput
from penstock.algebra.memories import AUTO, Memory
from penstock.kernels.scores import window_score
from penstock.operators.bounded.law_policies import FittedHeeb
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.laws_noise import Gaussian, Normal, Uniform
from penstock.operators.bounded.weightings import Exponential
from penstock.operators.bounded_join import BoundedJoinOperator, register
from penstock.operators.protocol import Share
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import ROWS_BUDGET
from tests.oracle.bounded_scores import direct_score

MODELS: dict[str, tuple[Law, Law]] = {
    "trends": (
        LinearTrend(slope=1, intercept=0, noise=Normal(sigma=2.0)),
        LinearTrend(slope=1, intercept=-2, noise=Uniform(half_width=5)),
    ),
    "walks": (
        RandomWalk(drift=0.0, step=Gaussian(sigma=1.0)),
        RandomWalk(drift=0.5, step=Gaussian(sigma=2.0)),
    ),
    "laws": (
        Stationary(keys=np.arange(9), probabilities=np.arange(9) / 36),
        Stationary(keys=np.arange(9), probabilities=np.full(9, 1 / 9)),
    ),
}


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("windows", [(40.0, 3.0), (3.0, 40.0), (None, 5.0), (5.0, None)], ids=str)
def test_rows_are_scored_by_the_window_of_their_own_stream(
    case: str, windows: tuple[float | None, float | None]
) -> None:
    """A stream's table scores the rows of the other, which live as long as that one's window."""
    laws, rates, weighting = MODELS[case], (1.0, 0.5), Exponential(20.0)
    policy = FittedHeeb(laws=laws, weighting=weighting, rates=rates, windows=windows)
    now, last = 7, 4
    for stream in range(2):
        partner, window = 1 - stream, windows[stream]
        table = policy.rule().tables[partner]
        ticks = (1, 2, int(window)) if window is not None else (1 << 40,)
        for key, remaining in product(range(-4, 14, 3), ticks):
            exact = direct_score(
                laws[partner], weighting, key, History(now, last),
                remaining=None if window is None else remaining,
            )  # fmt: skip
            found = window_score(table, key, now, last, remaining)
            assert found == pytest.approx(rates[partner] * exact, rel=0.01, abs=2e-3)


def join(memory: Memory) -> BoundedJoin:
    inputs = tuple(
        JoinInput(
            name=name, relation=name, window=None, event_time="t",
            columns=(("t", pa.timestamp("us")), ("k", pa.int64())),
        )
        for name in "rs"
    )  # fmt: skip
    crossing = Crossing(equalities=(((0, "k"), (1, "k")),))
    return BoundedJoin(inputs=inputs, outputs=(), crossing=crossing, memory=memory)


@pytest.mark.parametrize(("shards", "most"), [(1, 30), (3, 10), (7, 4)])
def test_shards_divide_what_the_recall_estimate_remembers(shards: int, most: int) -> None:
    logical = join(Memory(rows=14, policy="RAND", laws=(AUTO, AUTO), options={"slice": 30}))
    step = logical.step()
    adds = register(logical, step, pa.table({"_": pa.nulls(1)}), 0).adds
    chance = np.random.default_rng(3)
    batch = {
        name: pa.table(
            {
                "t": pa.array(2 * np.arange(2000) + turn).cast(pa.timestamp("us")),
                "k": chance.integers(0, 400, 2000),
            }
        )
        for turn, name in enumerate("rs")
    }
    for number in range(shards):
        operator = BoundedJoinOperator(step, None, Share(number, shards))
        operator.apply(QueryChanges(adds=adds))
        operator.process(batch)
        facts = operator.facts()
        assert facts.recall_rows <= most
        assert facts.recall_weight > 1
        assert sum(facts.held) == operator.sizes()[ROWS_BUDGET]
