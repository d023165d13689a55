"""Selectivities of conditions and of whole plans, by example."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.algebra.models import (
    MappedAttribute,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelNegation,
    ModelStage,
    stages,
)
from penstock.lab.models.coefficients import LineSet, line_segments, normal_lines, uniform_lines
from penstock.lab.models.queries import crossed, macd, polynomial, windowed
from penstock.lab.models.sources import straight_motion
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import PLACES_MAX, CoefficientHistogram
from penstock.models.conditions import ConditionSolver
from penstock.models.plans import SegmentPlan
from penstock.models.source_histograms import (
    EVERY_UNTIL,
    ONE_IN,
    SEGMENTS_MIN,
    SourceHistograms,
)
from penstock.planning.selectivity.bounds import frechet, greedy
from penstock.planning.selectivity.chains import condition_estimate, stage_estimates
from penstock.planning.selectivity.conjunctions import conjunction
from penstock.planning.selectivity.filters import derived, passed, thresholds_passed, volumes
from penstock.planning.selectivity.maps import counted
from penstock.planning.selectivity.samples import baseline, bins_heaviest, bins_sampled
from penstock.planning.selectivity.statistics import GUESS, Estimation, SegmentStatistics
from penstock.planning.selectivity.sums import folded, window_bins
from penstock.planning.selectivity.terms import ValueBand, bands, bound

BIN = CoefficientBins.of([[100.0, -1.0]], [[110.0, 1.0]], [1], 10.0)
LITERAL = Estimation(fidelity="literal")


def compared(comparator: str, number: float, place: int = 0, count: int = 1) -> ModelComparison:
    own = tuple(int(k == place) for k in range(count))
    row = polynomial((1.0, own), (-number, (0,) * count))
    return ModelComparison(polynomial=row, comparator=comparator)  # type: ignore[arg-type]


def binned(lines: np.ndarray, length: float = 10.0) -> CoefficientBins:
    return counted(lines, np.zeros(len(lines)), np.full(len(lines), length))


def known(*sets: np.ndarray, keys: int = 1) -> SegmentStatistics:
    return SegmentStatistics.of(*map(binned, sets), seconds=100.0, keys=keys)


def test_the_published_bin() -> None:
    below, above = volumes(BIN, 105.0)
    assert (20 * below[0], 20 * above[0]) == pytest.approx((6.25, 6.25))
    assert 20 * (1 - below[0] - above[0]) == pytest.approx(7.5)
    band = ValueBand(0, high=105.0)
    assert passed(BIN, band).pieces[0] == pytest.approx(0.6875)
    assert passed(BIN, band, "literal").pieces[0] == pytest.approx(0.3125)


def test_the_published_bounds() -> None:
    one = np.array([400.0, 600.0]), np.array([400.0, 0.0])
    other = np.array([300.0, 700.0]), np.array([300.0, 0.0])
    assert greedy([one, other])[1] == pytest.approx(0.30)
    assert frechet([0.4, 0.3], [0.4, 0.3])[1] == 0.3
    # Sorted by how many pass, the heavy bin would be taken first, and the bound fall short.
    uneven = np.array([1000.0, 50.0]), np.array([100.0, 50.0])
    even = np.array([1050.0]), np.array([150.0])
    assert greedy([uneven, even])[1] >= (150 / 1050) ** 2


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        (compared("<", 150.0), None),
        (compared(">=", 150.0), None),
        (compared("=", 150.0), None),
        (compared("<>", 150.0), None),
        (ModelConjunction(terms=(compared(">", 140.0), compared("<=", 160.0))), None),
        (ModelNegation(term=compared("<", 150.0)), None),
        (ModelDisjunction(terms=(compared("<", 130.0), compared(">", 170.0))), None),
        (ModelConjunction(terms=(compared(">", 160.0), compared("<", 140.0))), 0.0),
        (ModelConjunction(terms=()), 1.0),
    ],
)
def test_conditions_let_through_what_segments_do(
    condition: ModelCondition, share: float | None
) -> None:
    lines = uniform_lines(np.random.default_rng(1), 8000)
    made = lines.segments()
    true = baseline(condition, made)
    found = condition_estimate(condition, known(lines.coefficients))
    assert found.estimate == pytest.approx(true, abs=0.015)
    if share is not None:
        assert found.estimate == share


def test_curves_pass_as_often_as_they_do() -> None:
    chance = np.random.default_rng(2)
    curves = chance.normal([0, 0, 0], [2, 1, 0.5], (4000, 3))
    made = line_segments(curves, 3.0)
    band = ModelConjunction(terms=(compared(">", -1.0), compared("<", 2.0)))
    statistics = SegmentStatistics.of(binned(curves, 3.0))
    assert condition_estimate(band, statistics).estimate == pytest.approx(
        baseline(band, made), abs=0.03
    )
    literal = condition_estimate(compared("<", 1.0), statistics, how=LITERAL)
    assert literal.estimate == pytest.approx(baseline(compared("<", 1.0), made), abs=0.08)


def test_filters_behind_filters_are_conjunctions() -> None:
    lines = normal_lines(np.random.default_rng(3), 8000)
    plan: ModelStage = straight_motion(axes="x")
    for condition in (compared("<", 160.0), compared("<", 120.0), compared(">", 100.0)):
        plan = ModelFilter(input=plan, condition=condition)
    found = stage_estimates(plan, [known(lines.coefficients)])
    assert [each.stage for each in found] == list(stages(plan))
    made = lines.segments()
    before = float(len(made))
    for estimate in found[1:]:
        assert isinstance(estimate.stage, ModelFilter)
        made = ConditionSolver(estimate.stage.condition, 1).restrict(made)
        assert estimate.given == pytest.approx(before, rel=0.02)
        assert estimate.selectivity.estimate == pytest.approx(len(made) / before, abs=0.02)
        assert estimate.made.count == pytest.approx(len(made), rel=0.03)
        assert estimate.made.attributes[0].total == pytest.approx(estimate.made.count)  # type: ignore[union-attr]
        before = float(len(made))
    literal = stage_estimates(plan, [known(lines.coefficients)], how=LITERAL)
    assert literal[-1].made.count == pytest.approx(len(made), rel=0.25)
    assert not np.isnan(literal[-1].made.attributes[0].displacement).any()  # type: ignore[union-attr]


def test_two_attributes_must_pass_at_one_time() -> None:
    """Each of them passes in every segment, and never together."""
    rising = CoefficientBins.of([[-1.0, 1.0]], [[-1.0, 1.0]], [100.0], 2.0)
    falling = CoefficientBins.of([[1.0, -1.0]], [[1.0, -1.0]], [100.0], 2.0)
    terms = [ValueBand(0, high=-0.2), ValueBand(1, high=-0.2)]
    bins = {0: rising, 1: falling}
    apart = conjunction(bins, terms, bounds="frechet").selectivity
    assert (apart.estimate, apart.low, apart.high) == (0.0, 0.0, 1.0)
    literal = conjunction(bins, terms, fidelity="literal").selectivity
    assert literal.estimate == 0.0, "no bin meets another in time"
    together = conjunction(bins, [terms[0], ValueBand(1, low=0.2)]).selectivity
    assert together.estimate == pytest.approx(1.0)


def test_what_passes_holds_for_as_long_as_it_passes() -> None:
    line = CoefficientBins.of([[100.0, 2.0]], [[100.0, 2.0]], [7.0], 10.0)
    made = derived(line, ValueBand(0, high=110.0))
    assert (made.begins.tolist(), made.ends.tolist(), made.total) == ([0.0], [5.0], 7.0)
    literal = derived(line, ValueBand(0, high=110.0), "literal")
    assert (literal.begins.tolist(), literal.ends.tolist()) == ([0.0], [5.0])


def test_parameters_are_what_a_query_says() -> None:
    row = polynomial((1.0, (1,)))
    asked = ModelComparison(polynomial=row, comparator=">", parameter="limit")
    squared = ModelComparison(polynomial=row, comparator=">", parameter="limit", squared=True)
    assert bands(bound(asked, {"limit": 3.0})) == (ValueBand(0, low=3.0),)
    assert bands(bound(squared, {"limit": -3.0})) == (ValueBand(0, low=-9.0),)
    lines = uniform_lines(np.random.default_rng(4), 4000).coefficients
    plan = ModelFilter(input=straight_motion(axes="x"), condition=asked)
    shares = [
        stage_estimates(plan, [known(lines)], {"limit": each})[-1].selectivity.estimate
        for each in (90.0, 150.0, 260.0)
    ]
    assert shares[0] == 1.0 > shares[1] > shares[2] == 0.0


def test_joins_meet_those_who_stand() -> None:
    chance = np.random.default_rng(5)
    keys, total = 20, 2000
    left, right = (uniform_lines(chance, total).coefficients for _ in range(2))
    plan = crossed()
    started = np.sort(chance.uniform(0, 100, 2 * total))
    run, found = SegmentPlan(plan), 0
    for place, at in enumerate(started.tolist()):
        side = place % 2
        own = line_segments((left, right)[side][place // 2][np.newaxis])
        own.key[:] = place // 2 % keys
        own.reference[:] = int(at * 1e6)
        made = run.push(side, own)
        found += int((made.sign > 0).sum())
    known_sides = [known(left, keys=total), known(right, keys=total)]
    estimate = stage_estimates(plan, known_sides)[-1]
    assert estimate.selectivity.estimate * estimate.given == pytest.approx(found, rel=0.1)
    literal = stage_estimates(plan, known_sides, how=LITERAL)[-1].selectivity.estimate
    assert 0 < literal < estimate.selectivity.estimate


def test_keys_decide_which_pairs_meet() -> None:
    lines = uniform_lines(np.random.default_rng(6), 2000).coefficients
    plan = crossed()
    assert isinstance(plan, ModelJoin)
    sides = [known(lines, keys=10)] * 2
    free = stage_estimates(plan, sides)[-1].selectivity.estimate
    for change, share in (({"equal": ((0, 0),)}, 0.1), ({"unequal": ((0, 0),)}, 0.9)):
        own = ModelJoin(left=plan.left, right=plan.right, condition=plan.condition, **change)  # type: ignore[arg-type]
        found = stage_estimates(own, sides)[-1].selectivity.estimate
        assert found == pytest.approx(free * share)


def test_of_what_nothing_is_known_a_guess_is_told() -> None:
    plan = ModelFilter(
        input=ModelMap(
            input=straight_motion(axes="xy"),
            attributes=(
                MappedAttribute(name="far", polynomial=polynomial((1.0, (2, 0))), function="sqrt"),
                MappedAttribute(name="both", polynomial=polynomial((1.0, (1, 0)), (1.0, (0, 1)))),
            ),
            key=(0,),
        ),
        condition=compared("<", 3.0, 0, 2),
    )
    lines = uniform_lines(np.random.default_rng(7), 2000).coefficients
    found = stage_estimates(plan, [known(lines, lines)])
    assert found[-1].selectivity == GUESS
    assert not found[1].selectivity.known
    total = found[1].made.attributes[1]
    assert total is not None
    assert 200 <= total.low[:, 0].min() < 230 and 370 < total.high[:, 0].max() <= 400
    empty = SegmentStatistics.of(None, seconds=1.0)
    for stage in (
        crossed(), windowed(straight_motion(axes="x"), "max", 60, 2),
        windowed(straight_motion(axes="x"), "avg", 60, 2),
        ModelEnvelope(input=straight_motion(axes="x"), function="min", attribute=0, name="least"),
    ):  # fmt: skip
        assert not stage_estimates(stage, [empty, empty])[-1].selectivity.known


def test_sums_add_up_what_their_windows_hold() -> None:
    """Means and spreads of a window's integral are those of its segments', added."""
    chance = np.random.default_rng(8)
    bins = binned(chance.normal([5, 0], [1, 0.01], (4000, 2)))
    made = window_bins(bins, 6.0, 1, 4096)
    assert made is not None and made.width == 3
    middle = made.middle
    mean = float((middle[:, 0] * made.frequency).sum() / made.total)
    # At the instant at which a segment begins, six whole ones lie in the window.
    assert mean == pytest.approx(6 * 10 * 5, rel=0.02)
    spread = np.sqrt(float((((middle[:, 0] - mean) ** 2) * made.frequency).sum() / made.total))
    assert spread == pytest.approx(10 * np.sqrt(6), rel=0.15)
    least, step, shares = folded(1.0, 1.0, np.array([0.5, 0.5]), 2000)
    values = least + step * np.arange(len(shares))
    assert shares.sum() == pytest.approx(1.0)
    assert (values * shares).sum() == pytest.approx(3000, rel=0.001)


def test_a_long_plan_is_estimated_to_its_end() -> None:
    prices = np.random.default_rng(9).normal(100, 1, (3000, 1))
    found = stage_estimates(macd(), [known(prices, keys=10)] * 2)
    assert [each.stage.kind for each in found] == [
        "source", "window", "source", "window", "join", "map",
    ]  # fmt: skip
    assert all(each.selectivity.known for each in found)
    assert 0 < found[-1].made.count < 1e7


def test_many_thresholds_at_once_are_each_by_itself() -> None:
    chance = np.random.default_rng(14)
    for width in (1, 2, 3):
        bins = binned(chance.normal(0, 1, (500, width)), 2.0)
        numbers = np.linspace(-3, 3, 7)
        for side in ("<", ">"):
            comparisons = [compared(side, each) for each in numbers.tolist()]
            one = [condition_estimate(each, SegmentStatistics.of(bins)).estimate
                   for each in comparisons]  # fmt: skip
            assert thresholds_passed(bins, numbers, side) == pytest.approx(one)


def test_a_grid_holds_no_more_bins_than_it_may() -> None:
    chance = np.random.default_rng(10)
    lines = chance.normal(0, 1, (3000, 2))
    small = CoefficientHistogram(2, places_max=100)
    small.count(line_segments(lines), 0)
    assert len(small) <= 100 and small.counted == 3000
    assert small.bins().total == 3000
    other = CoefficientHistogram(2, places_max=100)
    other.count(line_segments(lines + 5), 0)
    small.merge(other)
    assert len(small) <= 100 and small.counted == 6000
    assert PLACES_MAX >= 64 * 64 * 16, "one place for every key, length and sign of coefficients"


def test_what_is_no_number_is_counted_apart() -> None:
    lines = np.array([[1.0, np.nan], [1.0, 2.0], [np.inf, 0.0]])
    histogram = CoefficientHistogram(2)
    histogram.count(line_segments(lines), 0)
    assert (histogram.counted, histogram.unplaced, len(histogram)) == (1, 2, 1)


def test_a_wild_coefficient_is_forgotten() -> None:
    chance = np.random.default_rng(11)
    source = SourceHistograms((1, 7), period_us=10_000_000 * SEGMENTS_MIN)
    lines = chance.normal(0, 1, (12 * SEGMENTS_MIN, 2))
    lines[3] = 1e9
    made = line_segments(np.stack([lines, lines], 1).reshape(len(lines), -1)[:, :2])
    both = np.repeat(made.coefficients, 2, axis=1)
    source.count(type(made)(made.key, made.reference, made.low, made.high, both, made.sign,
                            made.serial))  # fmt: skip
    bins = source.bins(0)
    assert bins is not None and source.bins(1) is None
    assert (bins.high - bins.low)[:, 0].max() < 1e4
    assert source.counted == bins.total <= 3 * SEGMENTS_MIN
    assert source.bins_held == len(bins) > 2


def test_a_sample_by_identity_stands_for_all_segments() -> None:
    """The first segments are counted, of the others one in sixteen counts for sixteen."""
    chance = np.random.default_rng(14)
    made = line_segments(chance.normal(0, 1, (30_000, 2)))
    made.key[:, 0] = chance.integers(0, 50, len(made))
    source, young = SourceHistograms((1,)), SourceHistograms((1,))
    young.count(made.take(np.arange(EVERY_UNTIL)))
    assert young.counted == EVERY_UNTIL
    source.count(made)
    looked_at = EVERY_UNTIL + (source.counted - EVERY_UNTIL) / ONE_IN
    assert looked_at < 0.1 * len(made) < source.counted != len(made)
    assert source.counted == pytest.approx(len(made), rel=0.1)
    bins = source.bins(0)
    assert bins is not None
    for height in (-1.0, 0.0, 1.0):
        exact = float((made.coefficients[:, 0, 0] < height).mean())
        told = float((bins.frequency * (bins.middle[:, 0] < height)).sum() / bins.total)
        assert told == pytest.approx(exact, abs=0.06)
    taken_back = type(made)(made.key, made.reference, made.low, made.high, made.coefficients,
                            -made.sign, made.serial)  # fmt: skip
    source.count(taken_back)
    assert source.counted == bins.total, "what takes back is not counted"


@pytest.mark.parametrize("width", [1, 2, 4])
def test_segments_of_all_lengths_are_counted(width: int) -> None:
    """Lengths and signs stay apart however wide cells are: no limit makes fewer bins of them."""
    chance = np.random.default_rng(16)
    made = line_segments(chance.normal(0, 1, (3_000, width)))
    made.high[:] = 1.5e-6 * 2.0 ** chance.integers(0, 26, len(made))
    source, split = SourceHistograms((width - 1,)), SourceHistograms((width - 1,))
    source.count(made)
    for begin in range(0, len(made), 70):
        split.count(made.take(np.arange(begin, min(begin + 70, len(made)))))
    mine, theirs = source.arrays(), split.arrays()
    assert all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)
    told, every = source.summaries[0], source.bins(0)
    assert every is not None and len(told) <= 64 and told.total <= every.total == source.counted
    assert every.total >= EVERY_UNTIL
    exact = float((told.ends * told.frequency).sum() / told.total)
    assert exact == pytest.approx(float(made.high[:EVERY_UNTIL].mean()), rel=0.5)
    source.merge(split)
    assert source.counted == 2 * split.counted


def test_summaries_are_made_anew_as_more_comes_and_of_a_state_that_has_none() -> None:
    """So seldom that making them costs little, and soon enough to say what came."""
    chance = np.random.default_rng(15)
    made = line_segments(chance.normal(0, 1, (40_000, 2)))
    source = SourceHistograms((1,))
    summaries: list[object] = []
    for begin in range(0, len(made), 100):
        source.count(made.take(np.arange(begin, begin + 100)))
        if not summaries or source.summaries is not summaries[-1]:
            summaries.append(source.summaries)
        told = source.summaries[0]
        assert len(told) <= 64 and source.counted / 2 < told.total <= source.counted
    assert 5 < len(summaries) < 30
    kept = {name: own for name, own in source.arrays().items() if "summary" not in name}
    del kept["due"]
    old = SourceHistograms((1,))
    old.restore(kept)
    assert old.summaries[0].total == source.counted


def test_some_bins_say_nearly_what_all_do() -> None:
    lines = normal_lines(np.random.default_rng(12), 20_000)
    every = lines.bins(4)
    chance = np.random.default_rng(13)
    band = ValueBand(0, high=150.0)

    def told(bins: CoefficientBins) -> float:
        return float((passed(bins, band).pieces * bins.frequency).sum() / bins.total)

    for some in (bins_sampled(every, chance), bins_heaviest(every), bins_heaviest(every, 0.5)):
        assert len(some) < len(every) and some.total > 0.95 * every.total
        assert told(some) == pytest.approx(told(every), abs=0.02)
    assert len(bins_sampled(every, chance, 0.25)) == round(len(every) / 4)
    assert isinstance(lines, LineSet)
