"""Solvers and scores that must agree: lookups as joins, and every weighting that falls."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.scores import table_score
from penstock.operators.bounded.laws import History
from penstock.operators.bounded.laws_independent import Offline, Stationary
from penstock.operators.bounded.laws_noise import Uniform
from penstock.operators.bounded.offline import lfd, opt_offline
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential, Fixed, Weighting
from tests.oracle.bounded import caching_values
from tests.oracle.bounded_curves import caching_curve, dominated_subset
from tests.oracle.bounded_reduction import paired, reduced
from tests.oracle.bounded_scores import direct_score
from tests.support.bounded import random_laws, trend
from tests.support.laws import AnyWeighting, Inverse, Schedule

FALLING = (Exponential(0.7), Exponential(9.0), Exponential(300.0))


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6), keys=st.integers(1, 15))
def test_the_best_lookups_are_the_best_join_of_the_reduced_streams(seed, budget, keys) -> None:
    references = np.random.default_rng(seed).integers(0, keys, 60)
    demand, supply = reduced(references)
    numbers = paired(np.concatenate((demand, supply)))
    best = opt_offline(numbers[:60], numbers[60:], budget).values
    for rows in range(1, budget + 1):
        assert best[rows] == lfd(references, rows).sum()


@pytest.mark.parametrize("weighting", [*FALLING, Inverse()], ids=repr)
def test_every_falling_weighting_discards_the_farthest_reference(weighting: AnyWeighting) -> None:
    keys = np.random.default_rng(8).integers(0, 7, 40)
    law = Offline(keys=keys)
    for now in (0, 17, 33):
        after = keys[now + 1 :].tolist()
        waits = {key: after.index(key) for key in set(after)}
        scores = {
            key: direct_score(law, weighting, key, History(now), caching=True) for key in waits
        }
        assert sorted(waits, key=waits.__getitem__) == sorted(scores, key=lambda k: -scores[k])


@pytest.mark.parametrize("weighting", FALLING, ids=repr)
def test_every_falling_weighting_discards_the_least_likely(weighting: Exponential) -> None:
    chances = np.random.default_rng(9).permutation(10) / 45
    law = Stationary(keys=np.arange(10), probabilities=chances)
    table = score_table(law, weighting, caching=True)
    order = np.argsort([table_score(table, key, 0, 0) for key in range(10)])
    assert order.tolist() == np.argsort(chances).tolist()


@pytest.mark.parametrize("weighting", [*FALLING, Fixed(30)], ids=repr)
def test_every_weighting_discards_the_smallest_key_of_a_rising_trend(weighting: Weighting) -> None:
    law = trend(Uniform(half_width=6))
    table = score_table(law, weighting, caching=True)
    scores = [table_score(table, key, 0, 0) for key in range(-6, 7)]
    assert np.all(np.diff(scores) > 0.0)
    assert table_score(table, -7, 0, 0) == 0.0


def tick_law(laws: list[dict[int, float]], tick: int, _last: int | None) -> dict[int, float]:
    return laws[tick]


def test_some_best_lookup_lets_dominated_keys_go() -> None:
    generator, found = np.random.default_rng(31), 0
    for _ in range(60):
        ticks, budget = int(generator.integers(2, 5)), int(generator.integers(1, 3))
        laws = random_laws(generator, ticks, 5)
        full = [{**law, 99: 1.0 - sum(law.values())} for law in laws]
        keys = sorted(generator.permutation(5)[: budget + 2].tolist())
        law, before = Schedule(distributions=tuple(laws)), History(now=-1)
        curves = np.array([caching_curve(law, key, ticks, before) for key in keys])
        gone = {keys[place] for place in dominated_subset(curves, 2)}
        values = caching_values(keys, budget, ticks, partial(tick_law, full))
        best = max(values.values())
        assert any(not gone & set(kept) for kept, own in values.items() if own >= best - 1e-12)
        found += bool(gone)
    assert found > 20
