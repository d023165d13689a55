"""Fitting finds the coefficients behind noisy costs, none negative, and says how sure it is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from penstock.lab.joins import least_squares
from penstock.lab.joins.least_squares import explained, fit


def test_coefficients_come_back_from_noisy_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms = np.stack([np.ones(400), rng.lognormal(3, 2, 400), rng.lognormal(1, 2, 400)], axis=1)
    true = np.array([50.0, 3.0, 0.5])
    found = fit(terms, terms @ true * rng.lognormal(0, 0.1, 400))
    assert found.coefficients == pytest.approx(true, rel=0.1)
    assert (np.abs(found.coefficients - true) <= 3 * found.margins).all()
    assert found.explained > 0.98


def test_a_term_that_would_be_negative_is_left_out() -> None:
    x = np.linspace(1.0, 9.0, 40)
    found = fit(np.stack([np.ones(40), x, 10 - x], axis=1), 5.0 + 2.0 * x)
    assert (found.coefficients >= 0).all()
    assert explained(5.0 + 2.0 * x, 5.0 + 2.0 * x) == 1.0
    assert found.explained == pytest.approx(1.0)


def test_what_explains_nothing_is_told() -> None:
    measured = np.array([1.0, 10.0, 100.0, 1000.0])
    assert fit(np.ones((4, 1)), measured).explained < 0.1


def test_the_fit_is_the_best_of_all_subsets_of_terms() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        rows, columns = int(rng.integers(5, 30)), int(rng.integers(1, 6))
        terms = rng.random((rows, columns)) * 10 ** rng.uniform(-3, 3, columns)
        measured = np.abs(terms @ rng.normal(size=columns)) + 0.01
        x, y = terms / measured[:, None], np.ones(rows)
        found, kept, error = least_squares._nonnegative(x, y)
        assert (found >= 0).all()
        assert set(np.flatnonzero(found)) <= set(kept)
        least = float(y @ y)
        for count in range(1, columns + 1):
            for subset in combinations(range(columns), count):
                tried = np.linalg.lstsq(x[:, subset], y, rcond=None)[0]
                if (tried >= 0).all():
                    least = min(least, float(((x[:, subset] @ tried - y) ** 2).sum()))
        assert error == pytest.approx(least, rel=1e-6, abs=1e-12)
