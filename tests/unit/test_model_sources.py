"""Sources of models: what they refuse, count and keep, and what the specification measured."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from penstock.algebra.models import (
    ErrorBound,
    Fit,
    ModelComparison,
    ModelConjunction,
    ModelSource,
    Monomial,
    Polynomial,
)
from penstock.kernels.segment_validation import rows_validate
from penstock.models.conditions import ConditionSolver
from penstock.models.inversion import inversion
from penstock.models.segments import WIDTH
from penstock.models.sources import SegmentSource, SourceTolerances
from penstock.vocabulary.errors import PenstockError
from tests.support.model_rows import SECOND, constant_rows, model_source, series

ANY = SourceTolerances(())


def line(*factors: float) -> Polynomial:
    """Give `factors[0] + factors[1] · x0 + …`."""
    count = len(factors) - 1
    powers = [tuple(int(i == k) for i in range(1, count + 1)) for k in range(count + 1)]
    return Polynomial(
        terms=tuple(Monomial(factor=f, powers=p) for f, p in zip(factors, powers, strict=True))
    )


def test_violations_fall_steeply_as_the_bound_grows() -> None:
    """Prices walk by 2e-4 a trade: a model lives with the square of its bound."""
    rng = np.random.default_rng(7)
    count = 200_000
    prices = np.round(100.0 * np.exp(np.cumsum(rng.normal(0.0, 2e-4, count))), 2)
    rows = constant_rows(np.arange(count) * SECOND, prices)
    found = []
    for share in (0.001, 0.002, 0.003, 0.005, 0.01, 0.02):
        source = SegmentSource(
            model_source(powers=1, horizon_us=10**15), SourceTolerances.relative(share)
        )
        source.process(rows)
        assert source.counts["violations"] == source.counts["segments"] - 1
        found.append(source.counts["violations"])
    assert found == sorted(found, reverse=True)
    assert found[0] >= 30 * found[4]
    indicative = (6411, 1830, 826, 336, 73, 15)
    assert all(0.4 < mine / theirs < 2.5 for mine, theirs in zip(found, indicative, strict=True))


def test_rows_that_cannot_be_written_take_no_kernel_of_their_own() -> None:
    """Event times are Arrow's memory at times; to compile a kernel for them takes half a minute."""
    rows = constant_rows(np.arange(9) * SECOND, np.arange(9.0))
    source = SegmentSource(model_source(powers=1, horizon_us=10**15), ANY)
    source.process(rows)
    kernel: Any = rows_validate
    known = list(kernel.overloads)
    for each in fields(rows):
        getattr(rows, each.name).flags.writeable = False
    made = SegmentSource(model_source(powers=1, horizon_us=10**15), ANY).process(rows)
    assert len(made) and list(kernel.overloads) == known


def test_rows_inside_make_nothing() -> None:
    """What the processor is given is violations, expiries and beginnings, whatever the rows."""
    rng = np.random.default_rng(1)
    source = SegmentSource(model_source(horizon_us=100 * SECOND), SourceTolerances.absolute(1.0))
    rows = constant_rows(np.arange(1000) * SECOND // 10, 5.0 + rng.uniform(-0.4, 0.4, 1000))
    assert len(source.process(rows)) == 1
    counts = source.counts
    assert (counts["validated"], counts["violations"], counts["expiries"]) == (999, 0, 0)
    assert len(source.process(constant_rows(np.array([100 * SECOND]), np.array([9.0])))) == 1
    assert (source.counts["expiries"], source.counts["segments"]) == (1, 2)
    assert len(source.advance(10**12)) == 0


def test_a_meeting_that_no_row_shows() -> None:
    """Models meet between rows: an answer that rows do not give."""
    solver = ConditionSolver(ModelComparison(polynomial=line(0.0, 1.0, -1.0), comparator="="), 2)
    models = np.zeros((1, 2, WIDTH))
    models[0, 0, 1], models[0, 1, :2] = 1.0, (3.0, -1.0)
    _, low, high = solver.solve(models, np.zeros(1), np.full(1, 3.0))
    assert low.tolist() == high.tolist() == [1.5]
    seconds = np.arange(4.0)
    assert not (seconds == 3.0 - seconds).any()


def test_a_crossing_that_models_do_not_show() -> None:
    """A row inside the tolerance is dropped, and with it the answer that it would have been."""
    source = SegmentSource(model_source(powers=1), SourceTolerances.absolute(1.0))
    found = source.process(constant_rows(np.array([0, SECOND]), np.array([4.5, 5.2])))
    assert len(found) == 1
    solver = ConditionSolver(ModelComparison(polynomial=line(-5.0, 1.0), comparator=">"), 1)
    assert len(solver.restrict(found)) == 0


def test_decisions_agree_where_models_are_farther_from_the_threshold_than_rows_from_them() -> None:
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=2000))
    at = np.arange(2000) * SECOND
    source = SegmentSource(
        model_source(powers=1, horizon_us=10**12), SourceTolerances.absolute(2.0)
    )
    found = source.process(constant_rows(at, values))
    begun = found.take(found.sign > 0)
    mine = np.searchsorted(begun.reference, at, side="right") - 1
    models = begun.coefficients[mine, 0, 0]
    sure = np.abs(models - 3.0) > 2.0
    assert 0 < sure.sum() < 2000
    assert ((models > 3.0) == (values > 3.0))[sure].all()


def test_horizons_adapt() -> None:
    """They grow by half when they pass, and shrink to what a model lived."""
    definition = model_source(powers=1, horizon_us=30 * SECOND, horizon_min_us=2 * SECOND)
    source = SegmentSource(definition, SourceTolerances.absolute(0.5))
    at = np.array([0, 4, 11, 18, 19]) * SECOND
    found = source.process(constant_rows(at, np.array([0.0, 9.0, 9.0, 9.0, 0.0])))
    begun = found.take(found.sign > 0)
    assert begun.high.tolist() == [30.0, 4.0, 6.0, 9.0, 2.0]


def test_keys_without_room_are_told() -> None:
    """Ended models make room; while there are none, new keys are counted and skipped."""
    source = SegmentSource(model_source(powers=1), SourceTolerances.absolute(1.0), keys_max=2)
    at = np.array([0, 1, 2, 11, 12, 13]) * SECOND
    key = np.array([1, 2, 3, 4, 3, 2])
    found = source.process(constant_rows(at, np.zeros(6), key))
    assert found.key[:, 0].tolist() == [1, 2, 4, 3]
    counts = source.counts
    assert (counts["rows_without_room"], counts["keys_evicted"], counts["keys"]) == (2, 2, 2)


def test_open_pieces_keep_their_room() -> None:
    fit = Fit(error=0.5)
    source = SegmentSource(model_source(fit=fit), ANY, keys_max=1)
    rows = series(np.array([0, 11]) * SECOND, np.zeros((2, 1)), np.array([1, 2]))
    assert len(source.process(rows)) == 0
    assert source.counts["rows_without_room"] == 1
    assert source.frontier(11 * SECOND) == 0
    assert source.advance(11 * SECOND).high.tolist() == [10.0]
    later = series(np.array([12]) * SECOND, np.zeros((1, 1)), np.array([2]))
    source.process(later)
    assert (source.counts["rows_without_room"], source.counts["keys_evicted"]) == (1, 1)
    assert source.frontier(13 * SECOND) == 12 * SECOND


def test_fits_that_do_not_go_together_are_refused() -> None:
    both = model_source(2, fit=Fit(error=1.0))
    swab = replace(both.attributes[1], fit=Fit(method="swab", error=1.0))
    symbolic = replace(both.attributes[1], fit=None, coefficients=("c0",))
    for other in (swab, symbolic):
        mixed: ModelSource = replace(both, attributes=(both.attributes[0], other))
        for order in (mixed, replace(mixed, attributes=mixed.attributes[::-1])):
            with pytest.raises(PenstockError, match="MDL-046"):
                SegmentSource(order, ANY)
    for fit in (Fit(degree=4, error=1.0), Fit(buffer=3, error=1.0), Fit(buffer=5000, error=1.0)):
        with pytest.raises(PenstockError, match="MDL-048"):
            SegmentSource(model_source(fit=fit), ANY)


def test_fits_need_an_error_that_bounds_allow() -> None:
    unsaid = model_source(fit=Fit())
    with pytest.raises(PenstockError, match="MDL-047"):
        SegmentSource(unsaid, inversion(unsaid, ("x0",), []).sources[0])
    bounds = [ErrorBound(amount=0.5)]
    allowed = inversion(unsaid, ("x0",), bounds).sources[0]
    assert SegmentSource(unsaid, allowed).counts["rows"] == 0
    with pytest.raises(PenstockError, match="MDL-049"):
        inversion(model_source(fit=Fit(error=0.6)), ("x0",), bounds)
    assert inversion(model_source(fit=Fit(error=0.6)), ("x0",), []).sources


def test_relative_bounds_of_fits_are_shares_of_the_model() -> None:
    rng = np.random.default_rng(5)
    values = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, (500, 1)), axis=0))
    source = SegmentSource(
        model_source(fit=Fit(), horizon_us=10**12), SourceTolerances.relative(0.05)
    )
    at = np.arange(500) * SECOND
    source.process(series(at, values))
    pieces = source.advance(10**15)
    assert len(pieces) == 1
    assert 5 < source.counts["segments"] < 100


def test_a_condition_that_never_holds_lets_all_rows_go() -> None:
    never = ModelConjunction(
        terms=(
            ModelComparison(polynomial=line(-5.0, 1.0), comparator="<"),
            ModelComparison(polynomial=line(-3.0, 1.0), comparator=">"),
        )
    )
    allowed = replace(SourceTolerances.absolute(0.0), condition=never)
    source = SegmentSource(model_source(powers=1), allowed)
    rows = constant_rows(np.array([0, 1, 2, 3]) * SECOND, np.array([9.0, 12.9, 5.1, 4.9]))
    assert source.process(rows).sign.tolist() == [1, -1, 1]
