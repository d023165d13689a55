"""The experiments with bounded joins and lookups run at their smallest size."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.caching.compare import residence_error
from penstock.lab.caching.flow_expect import FlowExpect
from penstock.lab.caching.temperature import heeb
from penstock.lab.caching.workload import (
    CONFIGURATIONS,
    DAYS,
    ROOF,
    TEMPERATURES,
    TOWER,
    fitted,
    results,
    seasons,
    temperatures,
)
from penstock.operators.bounded.lookups_caches import LookupCache
from tests.lab.conftest import TinyRun

TABLES = {
    "join-cache-compare": 2,
    "join-cache-sweep": 4,
    "join-cache-lifetimes": 1,
    "join-cache-speed": 2,
    "look-ahead": 1,
    "histogram-policy": 1,
    "memory-allocation": 1,
    "temperature-cache": 2,
    "cache-peers": 5,
    "h1-curves": 1,
    "benefit-curves": 4,
    "recall-estimate": 3,
    "memory-curve": 1,
    "model-fitting": 3,
    "policy-contest": 1,
}


@pytest.mark.parametrize("name", TABLES)
def test_experiment_at_tiny_size(name: str, tiny: TinyRun) -> None:
    _, facts = tiny(name)
    assert len(facts["figures"]) == TABLES[name]


def test_traces_have_the_moments_that_were_published() -> None:
    for draw in (temperatures, seasons):
        values = np.concatenate([draw(DAYS, seed) for seed in range(5)]) * 0.1
        assert values.mean() == pytest.approx(19.96, abs=0.6)
        assert values.std() == pytest.approx(6.08, abs=0.3)
    refit = fitted(np.concatenate([seasons(DAYS, seed) for seed in range(5)]))
    assert refit.phi1 == pytest.approx(0.73, abs=0.03)
    assert refit.phi0 == pytest.approx(5.4, abs=0.5)
    assert refit.sigma == pytest.approx(4.2, abs=0.15)


def test_noise_stays_in_its_bounds() -> None:
    ticks = np.arange(3000)
    for configuration in CONFIGURATIONS[:3]:
        first, second = configuration.draw(3000, 1)
        assert np.abs(first - ticks + 1).max() <= 10
        assert np.abs(second - ticks).max() <= 15


def test_every_row_stays_half_the_budget_on_average() -> None:
    for configuration in CONFIGURATIONS:
        keys = configuration.draw(1000, 2)
        for policy in (configuration.heeb(10), *configuration.baselines(3)):
            assert residence_error(policy, keys) < 0.01


def test_policies_are_level_with_the_reference_at_ten_rows() -> None:
    made: dict[str, list[int]] = {}
    for seed in range(4):
        keys = ROOF.draw(2000, seed)
        for policy in (ROOF.heeb(10), *ROOF.baselines(seed)):
            made.setdefault(policy.name, []).append(results(policy, keys, 10, 40))
    means = {name: float(np.mean(runs)) for name, runs in made.items()}
    assert means["RAND"] / means["HEEB"] == pytest.approx(2412 / 3605, abs=0.03)
    assert means["LIFE_p"] / means["HEEB"] == pytest.approx(2673 / 3605, abs=0.03)
    assert means["PROB_p"] / means["HEEB"] == pytest.approx(1799 / 3605, abs=0.03)


def test_flow_expect_and_heeb_are_level_on_a_tower() -> None:
    keys = TOWER.draw(600, 3)
    flow = results(FlowExpect(laws=TOWER.laws, ahead=5), keys, 10, 40)
    assert flow == pytest.approx(results(TOWER.heeb(10), keys, 10, 40), rel=0.02)


def test_a_coarse_surface_costs_few_hits() -> None:
    keys = temperatures(DAYS, 0)
    exact = LookupCache(100, heeb(TEMPERATURES, 100)).feed(keys).sum()
    coarse = LookupCache(100, heeb(TEMPERATURES, 100, 5)).feed(keys).sum()
    assert coarse >= 0.96 * exact
