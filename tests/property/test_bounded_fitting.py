"""Scores of families against their definition, key by key; units against arithmetic."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from penstock.kernels.law_fits import (
    AR1,
    BUCKETS,
    BURN,
    COUNTS,
    FLOOR,
    HISTOGRAM,
    LEVEL,
    NOVELTY,
    STRANGE,
    STRANGER,
    STUDENT,
    TREND,
    TRUSTED,
    WALK,
    families_score,
    keys_unit,
)

KEYS = st.lists(st.integers(-60, 60) | st.integers(-9000, 9000), min_size=14, max_size=40)


def foretold(design: np.ndarray, values: np.ndarray, first: int) -> float:
    """Sum the logarithms of what a regression on all values before gave each value."""
    total, kept = 0.0, list[int]()
    for i in range(len(values)):
        strange = False
        if i >= first:
            before, wanted = design[kept], values[kept]
            used, width = len(kept), design.shape[1]
            is_line = np.linalg.matrix_rank(before) == width
            # A line through one place is a mean, and a step to the side is as good as unknown.
            found = np.zeros(width)
            found[0] = wanted.mean()
            reach = 1.0 / used + 1.0
            if is_line:
                found, *_ = np.linalg.lstsq(before, wanted, rcond=None)
                reach = float(design[i] @ np.linalg.inv(before.T @ before) @ design[i])
            freedom = max(used - width, 1)
            rest = float(((wanted - before @ found) ** 2).sum()) / freedom
            scale = math.sqrt(max(rest, FLOOR) * (1.0 + reach))
            residual = float(values[i] - design[i] @ found)
            strange = used >= TRUSTED and residual**2 > STRANGE * scale**2
            score = min(float(stats.t.logpdf(residual / scale, freedom)) - math.log(scale), 0.0)
            total += max(score, STRANGER) if strange else score
        if not strange and not np.isnan(design[i]).any():
            kept.append(i)
    return total


def naive(keys: list[int], ticks: list[int]) -> dict[int, float]:
    values, times = np.array(keys, dtype=float), np.array(ticks, dtype=float)
    ones = np.ones((len(values), 1))
    steps = np.diff(values, prepend=np.nan)
    lasts = np.concatenate(([np.nan], values[:-1]))
    begin = np.where(np.isnan(steps), np.nan, 1.0)[:, None]
    found = {
        LEVEL: foretold(ones, values, BURN),
        TREND: foretold(np.column_stack((ones, times)), values, BURN),
        WALK: foretold(begin, steps, BURN),
        AR1: foretold(np.column_stack((begin, lasts)), steps, BURN),
        COUNTS: 0.0,
        HISTOGRAM: 0.0,
    }
    span = max(keys) - min(keys) + 1
    width = max(span / BUCKETS, 1.0)
    places = [min(int((key - min(keys)) / width), BUCKETS - 1) for key in keys]
    for i in range(BURN, len(keys)):
        seen, distinct = keys[:i].count(keys[i]), len(set(keys[:i]))
        share = seen - NOVELTY if seen else (1 + NOVELTY * distinct) / span
        found[COUNTS] += math.log(share / (i + 1))
        share = (places[:i].count(places[i]) + 0.5) / (i + 0.5 * BUCKETS) / width
        found[HISTOGRAM] += min(math.log(share), 0.0)
    return found


@settings(max_examples=60, deadline=None)
@given(keys=KEYS, gaps=st.lists(st.integers(1, 3), min_size=40, max_size=40))
def test_scores_are_what_was_foretold(keys: list[int], gaps: list[int]) -> None:
    ticks = np.cumsum(gaps)[: len(keys)].tolist()
    lengths = np.array([len(keys), 12])
    scores, wholes = families_score(
        np.array(ticks, dtype=np.float64), np.array(keys), lengths, True, STUDENT
    )
    begun = len(keys) - 12 + BURN
    whole = naive(keys, ticks)
    for family, wanted in whole.items():
        assert math.isclose(scores[0, family], wanted, rel_tol=1e-6, abs_tol=1e-6)
        assert wholes[0, family] == scores[0, family]
    for family in (LEVEL, TREND, WALK, AR1):
        wanted = naive(keys[-12:], ticks[-12:])[family]
        assert math.isclose(scores[1, family], wanted, rel_tol=1e-6, abs_tol=1e-6)
        wanted = whole[family] - naive(keys[:begun], ticks[:begun])[family]
        assert math.isclose(wholes[1, family], wanted, rel_tol=1e-6, abs_tol=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    keys=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30),
    unit=st.integers(1, 10**6),
    base=st.integers(-(10**9), 10**9),
)
def test_the_unit_divides_all_differences(keys: list[int], unit: int, base: int) -> None:
    found = keys_unit(np.array([base + unit * key for key in keys]))
    assert found == math.gcd(*(unit * (key - keys[0]) for key in keys))


def test_the_unit_of_the_farthest_keys() -> None:
    assert keys_unit(np.array([-(2**63), 0, 2**63 - 1])) == 1
    assert keys_unit(np.array([-(2**62), 2**62])) == 2**62
    assert keys_unit(np.array([5, 5])) == 0
