"""Bands of many queries: each finds what it finds alone, and few come in question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.models import ModelComparison, ModelQueryStep, Threshold
from penstock.models.segments import WIDTH, Segments
from penstock.operators.model_query.asked_index import AskedIndex, SolvedPieces
from tests.support.model_queries import linear, source

NEAR = 1e-6
"""So near an end of a band, rounding decides."""
Found = set[tuple[int, int, float, float]]


def step_of(low: str, high: str, turned: bool) -> ModelQueryStep:
    comparisons = [
        ModelComparison(polynomial=linear(1.0), comparator=each, parameter=f"n{place}")  # type: ignore[arg-type]
        for place, each in enumerate((high, low) if turned else (low, high))
    ]
    asked = Threshold(key=(0,), comparisons=tuple(comparisons))
    plan = source(key=("g",))
    return ModelQueryStep(plan=plan, key=plan.key, attributes=("x",), asked=asked)


def segments_of(chance: np.random.Generator, count: int, keys: int) -> Segments:
    models = np.zeros((count, 1, WIDTH))
    models[:, 0, :4] = chance.integers(-8, 9, (count, 4)) / np.array([1, 2, 4, 8])
    low = chance.integers(0, 4, count) / 2
    return Segments(
        chance.integers(0, keys, (count, 1)), np.zeros(count, np.int64), low,
        low + chance.integers(0, 9, count) / 2, models, np.ones(count, np.int8), np.arange(count),
    )  # fmt: skip


def found_in(pieces: SolvedPieces) -> Found:
    rows = zip(pieces.slot, pieces.index, pieces.low, pieces.high, strict=True)
    return {(int(s), int(i), float(a), float(b)) for s, i, a, b in rows}


@given(st.integers(0, 2**32), st.sampled_from([">", ">="]), st.sampled_from(["<", "<="]),
       st.booleans(), st.integers(0, 12))  # fmt: skip
def test_a_band_is_told_when_the_model_is_in_it(
    seed: int, low: str, high: str, turned: bool, queries: int
) -> None:
    chance, step = np.random.default_rng(seed), step_of(low, high, turned)
    segments = segments_of(chance, 9, 3)
    keys = chance.integers(0, 4, (queries, 1))
    ends = chance.integers(-12, 13, (queries, 1)) / 2
    widths = chance.integers(-1, 9, (queries, 1)) / 2 * chance.choice([1, 1, 1e6], (queries, 1))
    numbers = np.concatenate([ends, ends + widths], axis=1)
    numbers[chance.random(queries) < 0.1, 0] = -np.inf
    numbers[chance.random(queries) < 0.1, 1] = np.inf
    numbers[chance.random(queries) < 0.05, int(chance.integers(2))] = np.nan
    numbers = numbers[:, ::-1] if turned else numbers
    index = AskedIndex(step)
    index.put(np.arange(queries, dtype=np.int32), keys, numbers)
    found = found_in(index.pieces(segments))
    for slot in range(queries):
        low_end, high_end = (
            float(own) for own in (numbers[slot, ::-1] if turned else numbers[slot])
        )
        one = AskedIndex(step)
        one.put(np.array([slot], np.int32), keys[[slot]], numbers[[slot]])
        assert found_in(one.pieces(segments)) == {each for each in found if each[0] == slot}
        for place in np.flatnonzero(segments.key[:, 0] == keys[slot, 0]).tolist():
            own = [(a, b) for s, i, a, b in found if (s, i) == (slot, place)]
            length = segments.high[place] - segments.low[place]
            for at in segments.low[place] + length * np.arange(40) / 40:
                value = np.polynomial.polynomial.polyval(at, segments.coefficients[place, 0])
                told = any(a <= at < b or a == at == b for a, b in own)
                if low_end + NEAR < value < high_end - NEAR:
                    assert told, (slot, place, at)
                elif not low_end - NEAR <= value <= high_end + NEAR:
                    assert not told, (slot, place, at)


WIDE: tuple[list[tuple[float, float]], ...] = (
    [], [(0.0, 1e6)], [(-1e300, 1e300), (-np.inf, 9_999.0), (0.0, np.inf), (np.nan, 1.0)],
)  # fmt: skip
"""Bands that are wide, of which all but the last that is no number are met."""


@pytest.mark.parametrize("wide", WIDE)
def test_only_bands_nearby_come_in_question(wide: list[tuple[float, float]]) -> None:
    """Of a hundred thousand narrow bands a segment meets those that it passes, and few others."""
    step, count = step_of(">=", "<=", turned=False), 100_000
    index = AskedIndex(step)
    low = np.arange(count) / 10
    bands = np.stack([low, low + 0.5], axis=1)
    bands = np.concatenate([bands, np.array(wide).reshape(-1, 2)])
    slots = np.arange(len(bands), dtype=np.int32)
    index.put(slots, np.zeros((len(bands), 1), np.int64), bands)
    one = segments_of(np.random.default_rng(1), 1, 1)
    one.coefficients[0, 0, :4] = 5_000.0, 1.0, 0.0, 0.0
    one.low[0], one.high[0] = 0.0, 2.0
    found = index.pieces(one)
    met = [count + place for place, own in enumerate(wide) if not np.isnan(own[0])]
    assert sorted(found.slot.tolist()) == [*range(49_995, 50_020), *met]
    assert index.solved == pytest.approx(len(found.slot), abs=25)
