"""The strategies of band joins answer as their slow twin does, whatever happened before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.join.band import STRATEGIES, BandCore, plans
from penstock.operators.join.options import Options
from penstock.operators.protocol import Share
from tests.oracle.bandjoins import HIGHEST, affected

LOWEST = -HIGHEST - 1
SCATTERED = ("", "queries", "data", "merge")
INT_EDGES = [LOWEST, LOWEST + 2, -(2**62), 2**62, HIGHEST - 1, HIGHEST]
FLOAT_EDGES = [
    float("inf"), float("-inf"), -0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 1e16, -1e16, 1e16 + 2, 5e-324,
    1.7e308, -1.7e308, 1 / 3, 2 / 3,
]  # fmt: skip


def numbers(floats: bool) -> st.SearchStrategy[Any]:
    """Few values, so that they meet; and the edges."""
    if floats:
        return st.integers(-6, 6).map(lambda n: n / 10) | st.sampled_from(FLOAT_EDGES)
    small = st.integers(-8, 8)
    return st.integers(0, 9).flatmap(lambda n: st.sampled_from(INT_EDGES) if n == 0 else small)


@st.composite
def stories(draw: st.DrawFn) -> tuple[bool, list[Any]]:
    """Queries come and go, data changes, batches arrive."""
    floats = draw(st.booleans())
    number = numbers(floats)
    ends = (float("-inf"), float("inf")) if floats else (LOWEST, HIGHEST)
    low = st.integers(0, 7).flatmap(lambda n: st.just(ends[0]) if n == 0 else number)
    high = st.integers(0, 7).flatmap(lambda n: st.just(ends[1]) if n == 0 else number)
    ranges = st.lists(st.tuples(low, high), max_size=8)
    values = st.lists(number, max_size=10)
    step = st.tuples(ranges, st.integers(0, 2**16), values, values)
    return floats, draw(st.lists(step, min_size=1, max_size=4))


def arrays(floats: bool, values: list[Any]) -> np.ndarray:
    return np.array(values, dtype=np.float64 if floats else np.int64)


def pairs_of(core: BandCore, given_: np.ndarray, stored: np.ndarray) -> list[tuple[int, int]]:
    rows, slots = core.identify(given_, stored)
    found = list(zip(rows.tolist(), slots.tolist(), strict=True))
    assert len(found) == len(set(found)), "a pair came twice"
    return found


@settings(max_examples=200)
@given(stories(), st.booleans())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_strategies_answer_as_the_twin(story: tuple[bool, list[Any]], mirrored: bool) -> None:
    floats, steps = story
    cores = {name: BandCore(name, floats=floats, mirrored=mirrored) for name in STRATEGIES}
    known: dict[int, tuple[Any, Any]] = {}
    for ranges, mask, given_, stored in steps:
        gone = [slot for slot in known if mask >> slot & 1]
        free = [slot for slot in range(64) if slot not in known or slot in gone]
        for slot in gone:
            del known[slot]
        slots = free[: len(ranges)]
        known.update(zip(slots, ranges, strict=True))
        batch, run = arrays(floats, given_), np.sort(arrays(floats, stored))
        expected = affected(known, batch.tolist(), run.tolist(), mirrored)
        for name, core in cores.items():
            core.drop(np.array(gone, dtype=np.int32))
            lows = arrays(floats, [low for low, _ in ranges])
            core.add(slots, lows, arrays(floats, [high for _, high in ranges]))
            assert set(pairs_of(core, batch, run)) == expected, name


def instance(rng: np.random.Generator, floats: bool) -> tuple[np.ndarray, ...]:
    """Ranges, stored and arriving values in a small domain, with duplicates and exact hits."""
    count, size = int(rng.integers(1, 16)), int(rng.integers(0, 16))
    low = rng.integers(-12, 12, count)
    drawn: list[Any] = [
        low,
        low + rng.integers(0, 9, count),
        rng.integers(-9, 9, size),
        rng.integers(-9, 9, 5),
    ]
    if floats:
        # Tenths are not exact: differences are rounded, and meet bounds or just miss them.
        drawn = [column / 10 for column in drawn]
    low, high, stored, given_ = drawn
    return low, high, np.sort(stored), given_


def test_random_instances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(600):
        floats, mirrored = bool(number & 1), bool(number & 2)
        low, high, stored, given_ = instance(rng, floats)
        ranges = dict(enumerate(zip(low.tolist(), high.tolist(), strict=True)))
        expected = affected(ranges, given_.tolist(), stored.tolist(), mirrored)
        for name in STRATEGIES:
            options = Options(alpha=0.3, scattered=SCATTERED[number % 4])
            core = BandCore(name, options, floats=floats, mirrored=mirrored)
            core.add(np.arange(len(low), dtype=np.int32), low, high)
            found = pairs_of(core, given_, stored)
            assert set(found) == expected, (name, floats, mirrored)
            exact = name in {"queries", "data", "merge"}
            size = core.find(given_, stored)
            assert size == len(expected) if exact else size >= len(expected)


def test_shares_are_disjoint_and_complete(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(100):
        floats, mirrored = bool(number & 1), bool(number & 2)
        low, high, stored, given_ = instance(rng, floats)
        ranges = dict(enumerate(zip(low.tolist(), high.tolist(), strict=True)))
        expected = affected(ranges, given_.tolist(), stored.tolist(), mirrored)
        for name in STRATEGIES:
            found = []
            for part in range(3):
                core = BandCore(name, floats=floats, mirrored=mirrored, share=Share(part, 3))
                core.add(np.arange(len(low), dtype=np.int32), low, high)
                found += pairs_of(core, given_, stored)
                core.drop(np.arange(len(low), dtype=np.int32))
                assert len(core) == 0
            assert sorted(found) == sorted(expected), name


def test_large_batches_come_in_pieces_and_on_two_threads(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "CAPACITY", 64)
    monkeypatch.setattr(plans, "UNIT", 1)
    monkeypatch.setattr(plans, "PART_MIN", 4)
    rng = np.random.default_rng(seed)
    low = rng.integers(-500, 500, 300)
    high = low + rng.integers(0, 60, 300)
    for dense in (False, True):
        given_ = rng.integers(0, 50 if dense else 10**6, 400)
        stored = np.sort(given_[:200] + rng.integers(-600, 600, 200))
        answers = []
        for name in STRATEGIES:
            core = BandCore(name, threads=2)
            core.add(np.arange(300, dtype=np.int32), low, high)
            pieces = list(core.pieces(given_, stored))
            assert len(pieces) > 4
            answers.append(sorted(pairs_of(core, given_, stored)))
        assert all(answer == answers[0] for answer in answers)
        assert answers[0]


def test_ssi_looks_at_little_more_than_it_reports(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        low, high, stored, given_ = instance(rng, floats=False)
        core = BandCore("ssi", threads=1)
        core.add(np.arange(len(low), dtype=np.int32), low, high)
        for b in given_:
            before = core.counts()
            found = len(pairs_of(core, np.array([b]), stored))
            spent = {name: value - before[name] for name, value in core.counts().items()}
            groups = len(core.groups())
            # A search touches the two neighbours of a point, no other stored value.
            assert spent["searches"] <= groups
            assert spent["visited"] <= 2 * found
        assert core.find(given_, stored) == core.find_singly(given_, stored)
