"""Thresholds of many queries are answered as if each were alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.models import crossings as module
from penstock.models.conditions import ConditionSolver
from penstock.models.crossings import Crossed, Crossings
from penstock.models.segments import WIDTH
from tests.support.model_conditions import COMPARATORS, attribute, compared


def rows_of(found: Crossed) -> list[tuple[Any, ...]]:
    parts = found.index, found.position, found.low, found.high, found.whole
    return list(zip(*(part.tolist() for part in parts), strict=True))


def alone(
    entries: dict[int, tuple[int, float]], partition: Any, made: Any, low: Any, high: Any, word: str
) -> list[tuple[Any, ...]]:
    """Ask for each entry by itself, by a condition that has its number."""
    solver = ConditionSolver(compared(attribute(0, 1), word, "number"), 1, ["number"])
    found = []
    for position, (code, threshold) in entries.items():
        own = np.flatnonzero(partition == code)
        index, lows, highs = solver.solve(
            made[own, None], low[own], high[own], np.full((len(own), 1), threshold)
        )
        for i, a, b in zip(own[index].tolist(), lows.tolist(), highs.tolist(), strict=True):
            found.append((i, position, a, b, a == low[i] and b == high[i]))
    return sorted(found)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_each_threshold_is_answered_as_if_it_were_alone(drawn: int) -> None:
    rng = np.random.default_rng(drawn)
    entries: dict[int, tuple[int, float]] = {}
    crossings, born = Crossings(), 0
    for _ in range(3):
        count = int(rng.integers(0, 40))
        codes = rng.choice([-4, 0, 1, 1 << 40], count)
        # Halves come often, and are touched; some are no number, or no end.
        thresholds = np.round(rng.normal(size=count) * 4) / 2
        thresholds[rng.random(count) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, 1e300])
        positions = np.arange(born, born + count)
        born += count
        crossings.add(codes, thresholds, positions)
        added = zip(codes.tolist(), thresholds.tolist(), strict=True)
        entries |= dict(zip(positions.tolist(), added, strict=True))
        gone = rng.choice(born, born // 4, replace=False) if born else np.empty(0, np.int64)
        crossings.drop(gone)
        entries = {k: v for k, v in entries.items() if k not in gone}
        assert len(crossings) == len(entries)
        total = int(rng.integers(1, 12))
        made = np.zeros((total, WIDTH))
        degree = int(rng.integers(0, 5))
        made[:, : degree + 1] = np.round(rng.normal(size=(total, degree + 1)) * 2) / 2
        if rng.random() < 0.1:
            made[0, 0] = np.nan
        low = rng.integers(0, 3, total) / 2
        high = low + rng.integers(0, 4, total)
        partition = rng.choice([-4, 0, 1, 5, 1 << 40], total)
        for word in COMPARATORS:
            found = rows_of(crossings.find(partition, made, low, high, word))  # type: ignore[arg-type]
            assert sorted(found) == alone(entries, partition, made, low, high, word)
            assert [row[0] for row in found] == sorted(row[0] for row in found)


def test_pairs_do_not_depend_on_room(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    crossings = Crossings(
        np.zeros(200, np.int64), np.repeat(rng.normal(size=50), 4), np.arange(200)
    )
    made = rng.normal(size=(50, WIDTH))
    asked: Any = (np.zeros(50, np.int64), made, np.zeros(50), np.ones(50), "<")
    meant = rows_of(crossings.find(*asked))
    monkeypatch.setattr(module, "PAIRS_MIN", 12)
    monkeypatch.setattr(module, "PAIRS_MAX", 12)
    assert rows_of(crossings.find(*asked)) == meant
    assert len(meant) > 1000


def test_thresholds_that_a_model_just_touches_are_looked_at(seed: int) -> None:
    """What lies within rounding of the least value is solved, not told from outside."""
    rng = np.random.default_rng(seed)
    made = np.zeros((60, WIDTH))
    made[:, :3] = rng.normal(size=(60, 3))
    low, high = np.full(60, -3.0), np.full(60, 3.0)
    turns = -made[:, 1] / made[:, 2] / 2
    touched = made[:, 0] + turns * made[:, 1] / 2
    thresholds = np.concatenate([touched + k * np.spacing(touched) for k in (-2, -1, 0, 1, 2)])
    codes = np.tile(np.arange(60), 5)
    crossings = Crossings(codes, thresholds, np.arange(300))
    entries = dict(enumerate(zip(codes.tolist(), thresholds.tolist(), strict=True)))
    for word in COMPARATORS:
        found = rows_of(crossings.find(np.arange(60), made, low, high, word))  # type: ignore[arg-type]
        assert sorted(found) == alone(entries, np.arange(60), made, low, high, word)
