"""Sources give what their slow twin gives, however rows are cut, kept, restored and merged."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import ModelComparison, ModelSource, Monomial, Polynomial
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows, SourceTolerances
from penstock.models.tolerances import TolerancePool
from tests.oracle.model_sources import SlowSource
from tests.support.model_rows import SECOND, constant_rows, model_source, same_segments

ATTRIBUTES, POWERS = 2, 3
Row = tuple[tuple[int, int], int, tuple[float, ...], tuple[tuple[float, ...], ...], tuple[int, ...]]
numbers = st.sampled_from([-3.0, -1.5, -0.25, 0.0, 0.3, 0.8, 2.0, 7.0])
spoilt = st.sampled_from([math.nan, math.inf, -math.inf])
amounts = st.sampled_from([0.0, 0.37, 1.13, 4.21, math.inf])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Draw rows of few keys, some late, some without numbers."""
    found: list[Row] = []
    now = 0
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.sampled_from([0, 1, SECOND // 3, SECOND, 4 * SECOND, 13 * SECOND]))
        at = now - draw(st.sampled_from([0, 0, 0, 0, 2 * SECOND]))
        models = tuple(tuple(draw(numbers) for _ in range(POWERS)) for _ in range(ATTRIBUTES))
        observed = tuple(model[0] + draw(st.sampled_from([0.0, 0.0, 0.2])) for model in models)
        if draw(st.integers(0, 9)) == 0:
            observed = (draw(spoilt), *observed[1:])
        if draw(st.integers(0, 9)) == 0:
            models = (models[0], (models[1][0], draw(spoilt), 0.0))
        key = draw(st.integers(0, 3)), 0
        found.append((key, at, observed, models, (draw(st.sampled_from([5, 5, 5, 6])),)))
    return found


def arrays(drawn: list[Row]) -> SourceRows:
    """Give drawn rows as arrays."""
    models = np.zeros((len(drawn), ATTRIBUTES, WIDTH))
    models[:, :, :POWERS] = np.array([row[3] for row in drawn])
    return SourceRows(
        np.array([row[0] for row in drawn], np.int64), np.array([row[1] for row in drawn]),
        np.array([row[2] for row in drawn]), models, np.array([row[4] for row in drawn], np.int64),
    )  # fmt: skip


@st.composite
def tolerances(draw: st.DrawFn) -> SourceTolerances:
    """Draw what bounds allow."""
    pools = tuple(
        TolerancePool(
            draw(st.sampled_from(["absolute", "relative"])), (draw(amounts), draw(amounts))
        )
        for _ in range(draw(st.integers(0, 2)))
    )
    return SourceTolerances(pools, split=draw(st.sampled_from(["equi", "gradient"])), floor=0.05)


def in_parts(source: SegmentSource, given_rows: SourceRows, cuts: list[int]) -> Segments:
    """Take rows in several calls."""
    ends = [0, *sorted(min(cut, len(given_rows)) for cut in cuts), len(given_rows)]
    parts = [source.process(given_rows.take(slice(*span))) for span in pairwise(ends)]
    return Segments.joined(parts)


@settings(deadline=None, max_examples=150)
@given(
    rows(), tolerances(), st.booleans(), st.sampled_from([2, 3, 100]),
    st.lists(st.integers(0, 40), max_size=3), st.integers(0, 40),
)  # fmt: skip
def test_sources_are_their_twin(
    drawn: list[Row], allowed: SourceTolerances, adapts: bool, keys_max: int,
    cuts: list[int], stop: int,
) -> None:  # fmt: skip
    horizon, least = 10 * SECOND, SECOND if adapts else None
    definition = model_source(
        ATTRIBUTES, keys=2, carried=1, powers=POWERS, horizon_us=horizon, horizon_min_us=least
    )
    source = SegmentSource(definition, allowed, keys_max=keys_max)
    found = in_parts(source, arrays(drawn), cuts)
    twin = SlowSource(
        horizon, least, tuple((pool.form, pool.amounts) for pool in allowed.pools),
        allowed.split == "gradient", floor=allowed.floor, keys_max=keys_max,
    )  # fmt: skip
    for row in drawn:
        twin.row(*row)
    told = [
        (sign, tuple(key), reference, low, high, tuple(tuple(m[:POWERS]) for m in models))
        for sign, key, reference, low, high, models in zip(
            found.sign.tolist(), found.key.tolist(), found.reference.tolist(), found.low.tolist(),
            found.high.tolist(), found.coefficients.tolist(), strict=True,
        )
    ]  # fmt: skip
    assert told == twin.changes
    assert not found.coefficients[:, :, POWERS:].any()
    counted = {name: source.counts[name] for name in twin.counts}
    assert counted == twin.counts
    made = sum(
        source.counts[n] for n in ("violations", "expiries", "beginnings", "carried_changes")
    )
    assert source.counts["segments"] == made == int((found.sign > 0).sum())
    # Whatever is carried, a key has one model at a time.
    assert_one_value_at_a_time(replace(found, key=found.key[:, :2]))
    assert_states_go_on(definition, allowed, keys_max, arrays(drawn), stop, found)


def assert_one_value_at_a_time(found: Segments) -> None:
    """What is taken back was said, and no key has two models at an instant."""
    starts = found.reference + np.round(found.low * SECOND).astype(np.int64)
    ends = found.reference + np.round(found.high * SECOND).astype(np.int64)
    for key in {tuple(each) for each in found.key.tolist()}:
        mine = (found.key == key).all(axis=1)
        for at in starts[mine]:
            holds = mine & (starts <= at) & (at < ends)
            assert int(found.sign[holds].sum()) == 1
    for serial in found.serial[found.sign < 0]:
        assert found.sign[found.serial == serial].tolist() == [1, -1]


def assert_states_go_on(
    definition: ModelSource, allowed: SourceTolerances, keys_max: int, given_rows: SourceRows,
    stop: int, whole: Segments,
) -> None:  # fmt: skip
    """A source that is restored, or merged from changes, goes on as if nothing had been."""
    first, rest = given_rows.take(slice(0, stop)), given_rows.take(slice(stop, None))
    old = SegmentSource(definition, allowed, keys_max=keys_max)
    begun = old.process(first.take(slice(0, stop // 2)))
    merged = SegmentSource(definition, allowed, keys_max=keys_max)
    merged.merge(old.fresh())
    begun = Segments.joined([begun, old.process(first.take(slice(stop // 2, None)))])
    merged.merge(old.fresh())
    restored = SegmentSource(definition, allowed, keys_max=keys_max)
    restored.process(given_rows)
    restored.restore(old.arrays())
    for other in (merged, restored):
        for name, array in old.arrays().items():
            assert array.tobytes() == other.arrays()[name].tobytes(), name
        assert same_segments(Segments.joined([begun, other.process(rest)]), whole)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=30),
    st.sampled_from([0.0, 0.4]), st.sampled_from(["<", "<="]),
)  # fmt: skip
def test_slack_never_loses_a_row_that_satisfies(
    drawn: list[tuple[float, float, float]], amount: float, comparator: str
) -> None:
    """While `2 x0 + 1 < 0` has no solution, rows that come to satisfy it are never dropped."""
    line = Polynomial(
        terms=(Monomial(factor=1.0, powers=(0, 0)), Monomial(factor=2.0, powers=(1, 0)))
    )
    condition = ModelComparison(polynomial=line, comparator=comparator)  # type: ignore[arg-type]
    allowed = SourceTolerances((TolerancePool("absolute", (amount, amount)),), condition=condition)
    source = SegmentSource(model_source(2, powers=2, keys=0), allowed)
    models = np.zeros((len(drawn), 2, WIDTH))
    models[:, 0, :2] = [row[:2] for row in drawn]
    models[:, 1, 0] = [row[2] for row in drawn]
    at = np.arange(len(drawn)) * SECOND
    empty = np.empty((len(drawn), 0), np.int64)
    given_rows = SourceRows(empty, at, np.ascontiguousarray(models[:, :, 0]), models, empty)
    slope = intercept = low = 0.0
    for i in range(len(drawn)):
        before = source.counts
        expired = i > 0 and (i - low) >= 10.0
        dropped = not len(source.process(given_rows.take(slice(i, i + 1))))
        x = drawn[i][0]
        if dropped:
            worst = min(intercept, intercept + 10.0 * slope)
            in_slack = source.counts["slack_segments"] and 2.0 * worst + 1.0 > 0.0
            off = abs(x - (intercept + slope * (i - low)))
            if in_slack and 2.0 * off > 2.0 * amount:
                assert not (2.0 * x + 1.0 < 0.0)
            assert not expired
        else:
            intercept, slope, low = x, drawn[i][1], float(i)
            has_slack = source.counts["slack_segments"] > before["slack_segments"]
            worst = min(intercept, intercept + 10.0 * slope)
            assert has_slack == (worst + 0.5 > 0.0 and worst + 0.5 > amount)


def test_slack_of_the_specification() -> None:
    """`x = 10 - t` on [0, 4) is 1 away from `x < 5`: rows may be off by nearly 1."""
    below = Polynomial(
        terms=(Monomial(factor=-5.0, powers=(0,)), Monomial(factor=1.0, powers=(1,)))
    )
    condition = ModelComparison(polynomial=below, comparator="<")
    allowed = SourceTolerances((TolerancePool("absolute", (0.0,)),), condition=condition)
    source = SegmentSource(model_source(horizon_us=4 * SECOND), allowed)
    first = constant_rows(np.array([0]), np.array([10.0]))
    first.coefficients[0, 0, 1] = -1.0
    assert len(source.process(first)) == 1
    rows_after = constant_rows(np.array([1, 2, 3]) * SECOND, np.array([9.9, 7.01, 8.01]))
    assert source.process(rows_after).sign.tolist() == [-1, 1]
    assert (source.counts["slack_segments"], source.counts["validated"]) == (2, 2)
