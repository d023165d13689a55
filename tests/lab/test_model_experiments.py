"""Experiments with model streams at their smallest size, and what they are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.lab.models import coefficient_flights
from penstock.lab.models.sources import farthest_off, motion_rows, segmented, straight_motion
from penstock.lab.models.workload import moving_objects, random_ticks, regular_ticks, vessels
from penstock.lab.report import Check
from penstock.models.tolerances import SourceTolerances
from tests.lab.conftest import TinyRun


@pytest.mark.parametrize(
    "name",
    [
        "model-filter", "model-aggregate", "model-join", "model-macd", "model-vessels",
        "model-precision", "model-fit", "model-solver", "model-thresholds", "model-airspace",
        "model-predictions", "model-latency", "coefficient-histograms", "selectivity-bounds",
        "model-sharing",
    ],
)  # fmt: skip
def test_experiments_at_tiny_size(name: str, tiny: TinyRun) -> None:
    tiny(name)


def test_upkeep_is_measured_where_no_flights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coefficient_flights, "aircraft_path", lambda: None)
    found = list(coefficient_flights.flights("tiny"))
    assert any(isinstance(each, Check) and each.name.startswith("Upkeep") for each in found)


def test_a_row_beyond_its_bound_would_be_found() -> None:
    rows = motion_rows(moving_objects(np.random.default_rng(1), 5, 500, 20))
    bound = SourceTolerances.absolute(0.01, 0.01)
    _, segments = segmented(straight_motion(), bound, rows)
    assert farthest_off(segments, rows, bound) <= 1
    bent = segments.coefficients.copy()
    bent[np.flatnonzero(segments.sign > 0)[7], 0, 1] += 0.1
    assert farthest_off(replace(segments, coefficients=bent), rows, bound) > 1
    assert farthest_off(segments.take(segments.key[:, 0] > 0), rows, bound) == np.inf


def test_objects_keep_their_velocity_for_as_many_rows_as_is_said() -> None:
    motion = moving_objects(np.random.default_rng(2), 3, 300, 20)
    assert len(motion) == 300
    assert (np.diff(motion.at) >= 0).all()
    for key in range(3):
        mine = motion.key == key
        moved = np.diff(motion.x[mine]) / (np.diff(motion.at[mine]) / 1e6)
        assert np.allclose(moved, motion.vx[mine][:-1])
        assert len(np.unique(motion.vx[mine])) == 5


def test_ticks_and_vessels_come_in_the_order_of_their_times() -> None:
    chance = np.random.default_rng(3)
    ticks = random_ticks(chance, 20, 2_000, 50.0)
    assert (np.diff(ticks.at) >= 0).all()
    assert np.bincount(ticks.key).argmax() == 0, "the first symbol is the most popular"
    assert 15 < ticks.price.min() < ticks.price.max() < 250
    regular = regular_ticks(chance, 4, 400, 100_000)
    assert (np.diff(regular.at[regular.key == 2]) == 100_000).all()
    ships = vessels(chance, 20, 600)
    assert (np.diff(ships.at) >= 0).all()
    apart = []
    for at in range(0, 600_000_000, 60_000_000):
        last = [np.flatnonzero((ships.key == key) & (ships.at >= at))[:1] for key in (18, 19)]
        if all(map(len, last)):
            (one,), (other,) = last
            apart.append(np.hypot(ships.x[one] - ships.x[other], ships.y[one] - ships.y[other]))
    assert max(apart) < 1_200, "one in twenty follows another"
