"""Scores of rows: golden values, tables against sums, windows, partners, splines."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from penstock.kernels.scores import (
    KEYED,
    SPLINE,
    STEPS,
    SURFACE,
    ScoreTable,
    table_score,
    window_score,
)
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import (
    HistogramLaw,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Gaussian, Noise, Normal, Uniform
from penstock.operators.bounded.scores import is_unimodal, score_table
from penstock.operators.bounded.scores_markov import spline_of
from penstock.operators.bounded.weightings import Exponential, Fixed, Weighting, alpha_of
from tests.oracle.bounded import bounded_normal, first_passages, trend_score, uniform
from tests.oracle.bounded_scores import (
    IncrementalScores,
    direct_score,
    lookup_back,
    lookup_forward,
    score_back,
    score_forward,
    shifted_score,
)
from tests.support.laws import Masses, Schedule, any_table, chain_of

CONFIGURATIONS = {
    "TOWER": (3.0, bounded_normal(1.0, 10), bounded_normal(2.0, 15)),
    "ROOF": (8.3, bounded_normal(3.3, 10), bounded_normal(5.0, 15)),
    "FLOOR": (12.5, uniform(10), uniform(15)),
}
NOISES: dict[str, tuple[Noise, Noise]] = {
    "TOWER": (BoundedNormal(sigma=1.0, half_width=10), BoundedNormal(sigma=2.0, half_width=15)),
    "ROOF": (BoundedNormal(sigma=3.3, half_width=10), BoundedNormal(sigma=5.0, half_width=15)),
    "FLOOR": (Uniform(half_width=10), Uniform(half_width=15)),
}
GOLDEN = [
    ("TOWER", 1, (0.0018, 0.0594, 0.1966, 0.2916, 0.1699, 0.0243)),
    ("TOWER", 0, (0.0000, 0.0041, 0.1899, 0.4157, 0.1439, 0.0190)),
    ("ROOF", 1, (0.0948, 0.2010, 0.2813, 0.3482, 0.3896, 0.3055)),
    ("ROOF", 0, (0.0375, 0.1672, 0.3084, 0.4332, 0.4762, 0.3014)),
    ("FLOOR", 1, (0.2098, 0.2455, 0.2648, 0.2811, 0.3010, 0.3248)),
    ("FLOOR", 0, (0.1867, 0.2666, 0.3097, 0.3463, 0.3908, 0.4443)),
]
REAL = Ar1(phi0=5.59, phi1=0.72, sigma=4.22, grid=0.1)
COARSE = Ar1(phi0=2.0, phi1=0.6, sigma=1.5, grid=0.5)


def trend(noise: Noise, slope: float = 1.0, intercept: float = 0.0) -> LinearTrend:
    return LinearTrend(slope=slope, intercept=intercept, noise=noise)


def curve_of(table: ScoreTable, keys: range, now: int = 0, last: int = 0) -> list[float]:
    return [table_score(table, key, now, last) for key in keys]


@pytest.mark.parametrize(("name", "partner", "golden"), GOLDEN)
def test_offset_tables_have_their_golden_values(name, partner, golden) -> None:
    weighting = Exponential(alpha_of(CONFIGURATIONS[name][0]))
    table = score_table(trend(NOISES[name][partner], intercept=-1), weighting)
    now = 40
    found = [table_score(table, now - 1 + d, now, 0) for d in (-5, -2, 0, 2, 5, 10)]
    np.testing.assert_allclose(found, golden, atol=5.1e-5)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("slope", [1, 2, -1, -3])
def test_offset_tables_are_the_sums(name: str, caching: bool, slope: int) -> None:
    residence, *laws = CONFIGURATIONS[name]
    alpha = alpha_of(residence)
    for noise, law in zip(NOISES[name], laws, strict=True):
        table = score_table(trend(noise, slope, 5.0), Exponential(alpha), caching=caching)
        for offset in range(-90, 91):
            expected = trend_score(law, slope, offset, alpha, caching)
            found = table_score(table, offset + slope * 7 + 5, 7, 0)
            assert found == pytest.approx(expected, abs=1e-12, rel=1e-9)


@pytest.mark.parametrize("slope", [1, 2, -1, -3])
@pytest.mark.parametrize("intercept", [0.0, 0.25, -3.9])
def test_crooked_noise_and_means_between_keys_are_exact(slope: int, intercept: float) -> None:
    noise = Masses(first=1, masses=np.array([4.0, 0.0, 1.0, 2.0]))
    law = trend(noise, slope, intercept)
    weighting = Exponential(3.0)
    for caching in (False, True):
        table = score_table(law, weighting, caching=caching)
        for now, distance in product((0, 5), range(-12, 13)):
            key = math.floor(law.mean(now)) + distance
            history = History(now=now)
            exact = direct_score(law, weighting, key, history, caching=caching, epsilon=1e-16)
            assert table_score(table, key, now, 0) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_lowest_score_stands_at_an_end(name: str) -> None:
    generator = np.random.default_rng(5)
    weighting = Exponential(alpha_of(CONFIGURATIONS[name][0]))
    tables = [score_table(trend(noise), weighting) for noise in NOISES[name]]
    assert all(is_unimodal(table) for table in tables)
    for _ in range(300):
        sides = [np.sort(generator.integers(-16, 17, size=6)) for _ in tables]
        scores = [
            [table_score(table, key, 0, 0) for key in keys.tolist()]
            for table, keys in zip(tables, sides, strict=True)
        ]
        ends = min(min(found[0], found[-1]) for found in scores)
        assert ends == pytest.approx(min(map(min, scores)), abs=1e-14)


def test_steep_trends_are_not_taken_for_unimodal() -> None:
    steep = score_table(trend(BoundedNormal(sigma=1.0, half_width=5), 8.0), Exponential(10.0))
    assert not is_unimodal(steep)
    keyed = Stationary(keys=np.arange(3), probabilities=np.array([0.2, 0.5, 0.3]))
    assert not is_unimodal(score_table(keyed, Exponential(3.0)))


@pytest.mark.parametrize("slope", [0.37, -1.3, 0.004, -1e-9, 0.0])
@pytest.mark.parametrize("noise", [Normal(sigma=2.0), Uniform(half_width=3)], ids=repr)
def test_trends_between_whole_numbers_are_near_the_sums(slope: float, noise: Noise) -> None:
    law = trend(noise, slope, 0.3)
    weighting = Exponential(6.0)
    for caching in (False, True):
        table = score_table(law, weighting, caching=caching)
        peak = table.cells.max()
        for now, key in product((0, 3, 1000), range(-30, 31, 3)):
            place = key + math.floor(law.mean(now))
            exact = direct_score(law, weighting, place, History(now=now), caching=caching)
            assert table_score(table, place, now, 0) == pytest.approx(exact, abs=5e-3 * peak)


def test_h1_curves_have_their_golden_values() -> None:
    weighting = Exponential(10.0)
    curves = {}
    for drift in (0, 2, 4):
        table = score_table(RandomWalk(drift=drift, step=Gaussian(sigma=1.0)), weighting)
        curves[drift] = curve_of(table, range(94, 131), now=3, last=100)
    np.testing.assert_allclose(curves[0][4:9], (0.924, 1.378, 1.635, 1.378, 0.924), atol=5.1e-4)
    assert np.argmax(curves[2]) == 6 + 2
    assert max(curves[2]) == pytest.approx(0.448, abs=5.1e-4)
    for distance, height in ((4, 0.351), (8, 0.239), (12, 0.192)):
        place = 6 + distance
        assert curves[4][place] == pytest.approx(height, abs=5.1e-4)
        assert curves[4][place] > max(curves[4][place - 1], curves[4][place + 1])


@pytest.mark.parametrize(
    "step",
    [
        Normal(sigma=1.0),
        Gaussian(sigma=0.4),
        Gaussian(sigma=3.0),
        Uniform(half_width=3),
        Masses(first=1, masses=np.array([1.0, 1.0])),
        Masses(first=-2, masses=np.array([2.0, 0.0, 0.0, 1.0])),
    ],
    ids=repr,
)
@pytest.mark.parametrize("drift", [0, 1, -2])
def test_walk_tables_are_the_sums(step: Noise, drift: int) -> None:
    law = RandomWalk(drift=drift, step=step)
    for weighting in (Exponential(4.0), Fixed(5)):
        for caching in (False, True):
            table = score_table(law, weighting, caching=caching)
            for distance in (*range(-12, 13), -60, 60):
                history = History(now=9, last=1000)
                exact = direct_score(law, weighting, 1000 + distance, history, caching=caching)
                # A real walk's rounded places are no chain: two renewals need not agree.
                slack = 5e-3 if caching and law.is_real else 2e-9
                found = table_score(table, 1000 + distance, 9, 1000)
                assert found == pytest.approx(exact, abs=slack), (weighting, caching, distance)


def test_far_rows_of_a_walk_keep_their_order() -> None:
    for alpha in (2.0, 10.0, 3000.0):
        table = score_table(RandomWalk(drift=0, step=Normal(sigma=1.0)), Exponential(alpha))
        scores = np.array(curve_of(table, range(0, 600, 7)))
        assert np.all(np.diff(scores) < 0.0)
        assert scores == pytest.approx(curve_of(table, range(0, -600, -7)))


@pytest.mark.parametrize(
    ("key", "last", "joining", "caching"),
    [
        (200, 200, 0.32960, 0.24789),
        (200, 300, 0.31713, 0.23851),
        (300, 200, 0.08125, 0.07397),
        (300, 300, 0.09836, 0.08955),
    ],
)
def test_the_temperature_surface_has_its_golden_values(key, last, joining, caching) -> None:
    for control_points in (None, 65):
        for is_caching, golden in ((False, joining), (True, caching)):
            table = REAL_TABLES[is_caching, control_points]
            slack = 5.1e-6 if control_points is None else 2e-3
            assert table_score(table, key, 0, last) == pytest.approx(golden, abs=slack)


REAL_TABLES = {
    (caching, points): score_table(REAL, Exponential(50.0), caching=caching, control_points=points)
    for caching in (False, True)
    for points in (None, 5, 65)
}


def test_control_points_lie_on_the_surface_and_errors_stay_in_their_band() -> None:
    exact, rough, fine = (REAL_TABLES[True, points] for points in (None, 5, 65))
    assert (exact.kind, rough.kind, fine.kind) == (SURFACE, SPLINE, SPLINE)
    assert rough.cells.shape == (1, 7, 7)
    peak = exact.cells.max()
    errors = {}
    for name, table in (("rough", rough), ("fine", fine)):
        gaps = [
            abs(table_score(table, key, 0, last) - table_score(exact, key, 0, last))
            for key, last in product(range(0, 400, 9), range(0, 400, 9))
        ]
        errors[name] = max(gaps) / peak
    assert 0.10 < errors["rough"] < 0.48
    assert errors["fine"] < 0.02
    # On a point, up to the rounding of a point to a key.
    middle = round(REAL.mean / REAL.grid)
    gap = table_score(rough, middle, 0, middle) - table_score(exact, middle, 0, middle)
    assert abs(gap) < 1e-3 * peak


def test_splines_carry_cubics() -> None:
    places = np.arange(6.0)
    cubic = 2.0 - places + 0.5 * places**2 - 0.25 * places**3
    samples = np.outer(cubic, cubic)
    cells = spline_of(spline_of(samples).T).T
    base = REAL_TABLES[True, 5]
    table = base._replace(
        cells=cells[None].copy(), first=0.0, width=10.0, state_first=0.0, state_width=10.0
    )
    line = lambda x: 2.0 - x + 0.5 * x**2 - 0.25 * x**3  # noqa: E731
    for key, last in product(range(0, 51, 3), range(0, 51, 7)):
        expected = line(key / 10) * line(last / 10)
        assert table_score(table, key, 0, last) == pytest.approx(expected, abs=1e-9)


def test_caching_surfaces_are_first_passages() -> None:
    low, high = -25, 45
    matrix = chain_of(COARSE, low, high).matrix.tolist()
    for alpha in (1.5, 8.0):
        table = score_table(COARSE, Exponential(alpha), caching=True)
        for key, state in product((0, 3, 10, 20), (0, 9, 20)):
            firsts = first_passages(matrix, state - low, key - low, math.ceil(28 * alpha))
            expected = sum(math.exp(-n / alpha) * mass for n, mass in enumerate(firsts, start=1))
            # The chain stands on whole keys at every tick, the autoregression does not.
            assert table_score(table, key, 0, state) == pytest.approx(expected, rel=0.02)


WINDOWED: list[tuple[Law, Weighting]] = [
    (trend(BoundedNormal(sigma=2.0, half_width=7)), Exponential(5.0)),
    (trend(Uniform(half_width=4), -2.0), Exponential(5.0)),
    (trend(Uniform(half_width=4)), Fixed(6)),
    (trend(Uniform(half_width=4), 0.0, 0.5), Exponential(5.0)),
    (Stationary(keys=np.arange(-9, 9), probabilities=np.full(18, 1 / 18)), Exponential(5.0)),
    (Stationary(keys=np.arange(-9, 9), probabilities=np.full(18, 1 / 18)), Fixed(6)),
    (HistogramLaw(first=-9, width=4, buckets=np.array([1.0, 2.0, 3.0])), Exponential(5.0)),
    (RandomWalk(drift=1, step=Normal(sigma=1.0)), Exponential(5.0)),
    (RandomWalk(drift=0.5, step=Gaussian(sigma=1.0)), Fixed(6)),
    (Offline(keys=np.array([1, 2, 3, 1, 1, 3, 2, 1, 5, 1, 1, 3])), Exponential(5.0)),
    (Schedule(distributions=({1: 0.5, 2: 0.5},) * 3 + ({2: 1.0}, {1: 0.1}) * 4), Exponential(5.0)),
]


@pytest.mark.parametrize(("law", "weighting"), WINDOWED)
def test_windows_cut_the_sum(law: Law, weighting: Weighting) -> None:
    window = 9
    table = any_table(law, weighting, window=window)
    for key, remaining in product(range(-8, 9), range(-1, window + 1)):
        exact = direct_score(law, weighting, key, History(now=2, last=1), remaining=remaining)
        found = window_score(table, key, 2, 1, remaining)
        assert found == pytest.approx(exact, abs=1e-9), (key, remaining)


def test_windows_of_surfaces_and_long_windows_are_near_the_sum() -> None:
    weighting = Exponential(40.0)
    walk = RandomWalk(drift=0, step=Normal(sigma=1.0))
    for law, keys, last, slack in ((walk, (0, 3, 20), 0, 0.01), (COARSE, (8, 10, 14), 9, 0.03)):
        table = score_table(law, weighting, window=500)
        assert len(table.lifetimes) < 120
        for key, remaining in product(keys, (1, 5, 63, 90, 301, 500)):
            history = History(now=0, last=last)
            exact = direct_score(law, weighting, key, history, remaining=remaining)
            found = window_score(table, key, 0, last, remaining)
            assert found == pytest.approx(exact, rel=slack, abs=1e-4)


def windowed(alpha: float) -> tuple[float, float, float]:
    partner = Stationary(keys=np.array([1, 2, 3]), probabilities=np.array([0.50, 0.49, 0.01]))
    table = score_table(partner, Exponential(alpha), window=51)
    x1, x2, x3 = (window_score(table, key, 0, 0, left) for key, left in ((1, 1), (2, 50), (3, 51)))
    return x1, x2, x3


def test_the_sliding_window_example() -> None:
    for alpha in (0.26, 10.0, 1258.0):
        x1, x2, x3 = windowed(alpha)
        assert x2 > x1 > x3
    np.testing.assert_allclose(windowed(10.0), (0.4524, 4.6277, 0.0945), atol=5.1e-5)
    assert windowed(1260.0)[2] > windowed(1260.0)[0]
    assert windowed(0.25)[0] > windowed(0.25)[1]
    # The limits are PROB (x1 > x2 > x3) and LIFE (x2 > x3 > x1).
    assert list(np.argsort(windowed(0.02))) == [2, 1, 0]
    assert list(np.argsort(windowed(1e7))) == [0, 2, 1]


def test_keys_far_apart_are_looked_up_in_a_list() -> None:
    keys = np.array([-(1 << 62), 5, 1 << 62])
    chances = np.array([0.2, 0.5, 0.3])
    sparse = Stationary(keys=keys, probabilities=chances)
    close = Stationary(keys=np.array([1, 5, 9]), probabilities=chances)
    tables = [score_table(each, Exponential(4.0)) for each in (sparse, close)]
    assert [table.kind for table in tables] == [KEYED, STEPS]
    for table, places in zip(tables, (keys.tolist(), [1, 5, 9]), strict=True):
        found = [table_score(table, key, 0, 0) for key in places]
        np.testing.assert_allclose(found, chances / math.expm1(0.25))
        assert table_score(table, 6, 0, 0) == 0.0
        assert table_score(table, 1 << 61, 0, 0) == 0.0


@pytest.mark.parametrize("weighting", [Exponential(7.0), Fixed(30)])
def test_stationary_caching_under_every_weighting(weighting: Weighting) -> None:
    chances = np.array([0.05, 0.3, 0.65, 0.0])
    partner = Stationary(keys=np.arange(4), probabilities=chances)
    bounded = trend(Uniform(half_width=4))
    for law in (partner, bounded):
        table = score_table(law, weighting, caching=True)
        for key in range(4):
            exact = direct_score(law, weighting, key, History(now=0), caching=True)
            assert table_score(table, key, 0, 0) == pytest.approx(exact, abs=1e-8)


def test_lookups_have_no_window() -> None:
    partner = trend(Uniform(half_width=4))
    with pytest.raises(ValueError, match="window"):
        score_table(partner, Exponential(3.0), caching=True, window=5)


def test_rates_add_up() -> None:
    weighting = Exponential(6.0)
    laws: tuple[Law, ...] = (
        trend(Uniform(half_width=4)),
        RandomWalk(drift=0, step=Normal(sigma=1.0)),
        Stationary(keys=np.arange(5), probabilities=np.full(5, 0.2)),
    )
    for law in laws:
        once, twice = (score_table(law, weighting, rate=rate) for rate in (1.0, 2.0))
        assert table_score(twice, 3, 1, 2) == pytest.approx(2 * table_score(once, 3, 1, 2))


@pytest.mark.parametrize("caching", [False, True])
def test_scores_carried_from_tick_to_tick_stay_right(caching: bool) -> None:
    law = trend(BoundedNormal(sigma=5.0, half_width=15))
    weighting = Exponential(1.443)
    carried = IncrementalScores(law, weighting, caching=caching)
    for key in (10, 14, 0, 15):
        carried.admit(key, History(now=0))
    carried.discard(2)
    for now in range(1, 60):
        carried.advance(History(now=now))
        if now % 7 == 0:
            carried.admit(now + 9, History(now=now))
        for key, score in zip(carried.keys, carried.scores, strict=True):
            exact = direct_score(law, weighting, int(key), History(now=now), caching=caching)
            # Errors of the last digit may grow by e^15 before they are renewed.
            assert score == pytest.approx(exact, abs=1e-8)
    assert len(carried.keys) == 3 + 8


def test_a_certain_reference_is_recomputed() -> None:
    law = Offline(keys=np.array([1, 2, 1, 1]))
    carried = IncrementalScores(law, Exponential(2.0), caching=True)
    carried.admit(1, History(now=0))
    carried.advance(History(now=1))
    carried.advance(History(now=2))
    assert carried.scores[0] == pytest.approx(math.exp(-0.5))
    with pytest.raises(ValueError, match="depend"):
        IncrementalScores(RandomWalk(drift=0, step=Uniform(half_width=1)), Exponential(2.0))


def test_steps_back_undo_steps_forward() -> None:
    growth, shrink = math.exp(0.5), math.exp(-0.5)
    assert score_back(score_forward(0.6, 0.2, growth), 0.2, shrink) == pytest.approx(0.6)
    assert lookup_back(lookup_forward(0.6, 0.2, growth), 0.2, shrink) == pytest.approx(0.6)
    assert score_forward(0.1, 0.9, growth) == 0.0
    assert math.isnan(lookup_forward(0.6, 1.0, growth))


def test_keys_between_ticks_have_no_neighbour() -> None:
    law = trend(Uniform(half_width=4), 2.0)
    assert shifted_score(law, Exponential(3.0), 5, 6, 0.4, 3) is None
    assert shifted_score(law, Exponential(3.0), 5, 7, 0.4, 3) is not None
