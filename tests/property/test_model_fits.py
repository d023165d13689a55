"""Fits keep every row within their error, their pieces tile time, and nothing hangs on calls."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import Fit, FitMethod
from penstock.kernels.segment_regressions import FitRoom, rows_fit
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows, SourceTolerances
from penstock.vocabulary.batches import Floats
from tests.support.model_rows import SECOND, model_source, same_segments, series

ANY = SourceTolerances(())
HORIZON = 60 * SECOND
WAYS: list[tuple[FitMethod, int]] = [
    ("sliding", 0), ("sliding", 1), ("sliding", 2), ("sliding", 3),
    ("bottom_up", 0), ("bottom_up", 1), ("bottom_up", 3), ("swab", 0), ("swab", 1), ("swab", 2),
]  # fmt: skip


def fitted(method: FitMethod, degree: int, error: float, buffer: int | None = 8) -> SegmentSource:
    """Give a source with two fitted attributes."""
    fit = Fit(method=method, degree=degree, error=error, buffer=buffer)
    return SegmentSource(model_source(2, fit=fit, horizon_us=HORIZON), ANY)


@st.composite
def drawn_rows(draw: st.DrawFn) -> SourceRows:
    """Draw rows of two keys: steps, slopes, noise, equal times, pauses."""
    count = draw(st.integers(1, 60))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    pauses = np.array([0, 1, SECOND // 10, SECOND, 3 * SECOND, 70 * SECOND])
    chances = draw(
        st.sampled_from([(0.0, 0.0, 0.5, 0.5, 0.0, 0.0), (0.1, 0.1, 0.3, 0.3, 0.1, 0.1)])
    )
    at = draw(st.sampled_from([0, 1_700_000_000 * SECOND])) + np.cumsum(
        rng.choice(pauses, count, p=chances)
    )
    steps = rng.choice([0.0, 0.1, 1.0, 50.0], (count, 2)) * rng.normal(size=(count, 2))
    level = draw(st.sampled_from([0.0, 100.0, 1e9]))
    values = level + np.cumsum(steps, axis=0)
    return series(at, values, rng.integers(0, 2, count))


def modelled(found: Segments, piece: int, at: np.ndarray) -> Floats:
    """Evaluate a piece as everybody does."""
    since = (at - found.reference[piece]) / 1e6
    values = np.zeros((len(at), found.coefficients.shape[1]))
    for power in range(found.coefficients.shape[2] - 1, -1, -1):
        values = values * since[:, None] + found.coefficients[piece, :, power]
    return values


def assert_kept(found: Segments, rows: SourceRows, error: float, horizon: int) -> None:
    """Every row is within the error of its piece; pieces tile time while rows come."""
    starts = found.reference
    ends = starts + np.round(found.high * SECOND).astype(np.int64)
    assert (found.sign == 1).all()
    assert (found.low == 0.0).all()
    assert (ends > starts).all()
    assert (ends - starts <= horizon).all()
    assert len(np.unique(found.serial)) == len(found)
    for key in np.unique(rows.key):
        pieces = np.flatnonzero(found.key[:, 0] == key)
        mine = rows.take(rows.key[:, 0] == key)
        # Of rows at one instant that cannot be near one model, the last ones have the say.
        last = np.append(np.diff(mine.at) > 0, True)
        for before, after in pairwise(pieces):
            assert starts[before] < ends[before] <= starts[after]
            inside = (mine.at >= ends[before]) & (mine.at < starts[after])
            assert not inside.any(), "a row has no piece"
            assert ends[before] == starts[after] or ends[before] <= starts[after]
        assert starts[pieces[0]] == mine.at[0]
        assert ends[pieces[-1]] > mine.at[-1]
        for piece in pieces.tolist():
            inside = (mine.at >= starts[piece]) & (mine.at < ends[piece]) & last
            off = np.abs(modelled(found, piece, mine.at[inside]) - mine.observed[inside])
            assert (off <= error).all()


def through(source: SegmentSource, rows: SourceRows, cuts: list[int], told: bool) -> Segments:
    """Take rows in several calls; `told`: time passes between them."""
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = []
    for low, high in pairwise(ends):
        parts.append(source.process(rows.take(slice(low, high))))
        if told and high < len(rows):
            parts.append(source.advance(int(rows.at[high])))
    parts.append(source.advance(int(rows.at[-1]) + HORIZON))
    return Segments.joined(parts)


HUGE = [1.7e308, -1.7e308, 1e303, -1e200, 1e15]


@pytest.mark.parametrize("way", [*WAYS, ("bottom_up", 2), ("swab", 3)])
@pytest.mark.parametrize("spike", [(HUGE[0],), (HUGE[0], HUGE[1]), (0.0, HUGE[2]), tuple(HUGE)])
def test_rows_beside_huge_ones_are_within_the_error(
    way: tuple[FitMethod, int], spike: tuple[float, ...]
) -> None:
    """A fit that is no number is near no row."""
    values = np.array([[1.0 + 0.1 * k, 2.0] for k in range(20)])
    values[5 : 5 + len(spike), 0] = spike
    values[12 : 12 + len(spike), 1] = spike
    for step in (1, SECOND):
        rows = series(np.arange(len(values)) * step, values, np.zeros(len(values), np.int64))
        with np.errstate(over="ignore", invalid="ignore"):
            assert_kept(through(fitted(*way, 0.5), rows, [], told=False), rows, 0.5, HORIZON)


@settings(deadline=None, max_examples=150)
@given(
    drawn_rows(), st.sampled_from(WAYS), st.sampled_from([0.0001, 0.5, 20.0]),
    st.lists(st.integers(0, 60), max_size=3), st.integers(0, 60),
)  # fmt: skip
def test_fits_are_a_guarantee(
    rows: SourceRows, way: tuple[FitMethod, int], error: float, cuts: list[int], stop: int
) -> None:
    whole = through(fitted(*way, error), rows, [], told=False)
    assert_kept(whole, rows, error, HORIZON)
    assert same_segments(whole, through(fitted(*way, error), rows, cuts, told=False))
    told = through(fitted(*way, error), rows, cuts, told=True)
    assert places(told) == places(whole)
    old = fitted(*way, error)
    begun = old.process(rows.take(slice(0, stop)))
    merged, restored = fitted(*way, error), fitted(*way, error)
    merged.merge(old.fresh())
    restored.restore(old.arrays())
    for other in (merged, restored):
        rest = (
            through(other, rows.take(slice(stop, None)), [], told=False)
            if stop < len(rows)
            else (other.advance(int(rows.at[-1]) + HORIZON))
        )
        assert same_segments(Segments.joined([begun, rest]), whole)


def places(found: Segments) -> list[tuple[object, ...]]:
    """Give pieces in an order of their own, without numbers: these say when they were told."""
    return sorted(
        zip(
            found.key[:, 0].tolist(), found.reference.tolist(), found.high.tolist(),
            [each.tobytes() for each in found.coefficients], strict=True,
        )
    )  # fmt: skip


def test_pieces_tile_time_without_pauses() -> None:
    rng = np.random.default_rng(3)
    rows = series(np.arange(300) * SECOND // 4, np.cumsum(rng.normal(size=(300, 2)), axis=0))
    for method, degree in WAYS:
        source = fitted(method, degree, 1.0, 32)
        found = Segments.joined([source.process(rows), source.advance(1000 * SECOND)])
        ends = found.reference + np.round(found.high * SECOND).astype(np.int64)
        assert ends[:-1].tolist() == found.reference[1:].tolist()
        assert source.frontier(10**12) == 10**12


@pytest.mark.parametrize(("last", "pieces"), [(1.01, 1), (0.99, 2)])
def test_a_cone_closes_where_no_line_is_left(last: float, pieces: int) -> None:
    """Through 0, a line within 1 of 2 after a second rises by 1 at least, to 2 after another."""
    source = SegmentSource(model_source(fit=Fit(error=1.0), horizon_us=HORIZON), ANY)
    rows = series(np.arange(3) * SECOND, np.array([[0.0], [2.0], [last]]))
    found = Segments.joined([source.process(rows), source.advance(10 * HORIZON)])
    assert len(found) == pieces


def walks(count: int, rows: int) -> list[Floats]:
    """Draw random walks."""
    return [np.cumsum(np.random.default_rng(seed).normal(size=rows)) for seed in range(count)]


def test_swab_needs_about_as_many_pieces_as_bottom_up_with_all_rows() -> None:
    """On 40 series of 400 points, within 10 %."""
    counts: dict[FitMethod, int] = {"sliding": 0, "bottom_up": 0, "swab": 0}
    for method in counts:
        for values in walks(40, 400):
            fit = Fit(
                method=method, degree=1, error=3.0, buffer=400 if method == "bottom_up" else None
            )
            source = SegmentSource(model_source(fit=fit, horizon_us=1000 * SECOND), ANY)
            source.process(series(np.arange(400) * SECOND, values[:, None]))
            source.advance(2000 * SECOND)
            counts[method] += source.counts["segments"]
    assert counts["swab"] == pytest.approx(counts["bottom_up"], rel=0.1), counts


def test_predictions_are_fitted_to_the_newest_rows() -> None:
    """A line with a bend: after the bend one more model is enough."""
    at = np.arange(200) * SECOND // 10
    values = np.where(at < 10 * SECOND, at / 1e6, 20.0 - at / 1e6)[:, None]
    fit = Fit(degree=1, error=0.01, buffer=8)
    source = SegmentSource(
        model_source(fit=fit, horizon_us=100 * SECOND), SourceTolerances.absolute(0.05),
        predicts=True,
    )  # fmt: skip
    found = source.process(series(at, values))
    assert source.counts["violations"] <= 8
    newest = found.take(np.array([len(found) - 1]))
    assert modelled(newest, 0, np.array([19 * SECOND]))[0, 0] == pytest.approx(1.0, abs=0.05)
    assert found.sign.sum() == 1


@settings(deadline=None, max_examples=40)
@given(
    drawn_rows(), st.integers(0, 3), st.lists(st.integers(0, 60), max_size=3), st.integers(0, 60)
)
def test_predictions_hang_on_rows_alone(
    rows: SourceRows, degree: int, cuts: list[int], stop: int
) -> None:
    def made() -> SegmentSource:
        fit = Fit(degree=degree, error=0.3, buffer=5)
        definition = model_source(2, fit=fit, horizon_us=5 * SECOND, horizon_min_us=SECOND)
        return SegmentSource(definition, SourceTolerances.absolute(0.5, 0.7), predicts=True)

    whole = made().process(rows)
    parted = made()
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [parted.process(rows.take(slice(*span))) for span in pairwise(ends)]
    assert same_segments(Segments.joined(parts), whole)
    old, merged = made(), made()
    begun = old.process(rows.take(slice(0, stop)))
    merged.merge(old.fresh())
    assert same_segments(
        Segments.joined([begun, merged.process(rows.take(slice(stop, None)))]), whole
    )


@given(
    size=st.integers(1, 40), degree=st.integers(0, 3), seed=st.integers(0, 2**32 - 1),
    instants=st.sampled_from([1, 2, 3, 1_000]), level=st.sampled_from([0.0, -300.0]),
)  # fmt: skip
@settings(max_examples=60)
def test_regressions_are_those_of_least_squares(
    size: int, degree: int, seed: int, instants: int, level: float
) -> None:
    """Where rows are of few instants, the polynomial has the degree that these determine."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, instants, size)) * (SECOND // 10)
    values = level + rng.normal(size=(size, 1)).cumsum(axis=0)
    room = FitRoom(
        np.empty((4, 5)), np.empty(12), at, values, np.empty(size, np.int64), np.empty(size),
        np.empty((1, WIDTH)),
    )  # fmt: skip
    out = np.full(WIDTH, np.nan)
    rows_fit(at, values, 0, size, 0, int(at[0]), degree, room, out)
    since = (at - at[0]) / SECOND
    powers = min(degree, len(np.unique(at)) - 1)
    middle, scale = since.mean(), max(float(np.ptp(since)), 1.0)
    basis = np.vander((since - middle) / scale, powers + 1, increasing=True)
    best = basis @ np.linalg.lstsq(basis, values[:, 0], rcond=None)[0]
    np.testing.assert_allclose(np.polynomial.polynomial.polyval(since, out), best, atol=1e-6)
    assert not out[powers + 1 :].any()
