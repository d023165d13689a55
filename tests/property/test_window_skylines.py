"""Skylines: what they hold, when they are made, what probing costs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from penstock.operators.join.options import Options
from penstock.operators.join.window import STRATEGIES, TimedRows, WindowCore
from penstock.operators.join.window.ssi import Stabbing
from penstock.operators.shared import threads
from tests.oracle.windowjoins import Asked, Stored, affected

DOMAIN, CODES = 30, 3
ASIDE = ("", "join", "selection")


def ranges(rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    al, cl = rng.integers(0, DOMAIN, count), rng.integers(0, DOMAIN, count)
    widths = rng.integers(1, 40, count)
    return al, al + rng.integers(0, 12, count), cl, cl + rng.integers(0, 8, count), widths


def numbers(columns: Any, i: int) -> Any:
    return tuple(int(column[i]) for column in columns)


def skyline(
    rows: list[tuple[int, int]], points: list[int], floor: int, horizon: int
) -> set[tuple[int, int]]:
    """Give the rows (value, time) that none dominates in their cell, around some point."""
    rows = [row for row in rows if floor <= row[1] <= horizon]
    found = set()
    cuts = [-(10**9), *points, 10**9]
    for k, (left, right) in enumerate(pairwise(cuts)):
        cell = [row for row in rows if left <= row[0] < right]
        for point, there in ((left, k > 0), (right, k < len(points))):
            if there:
                found |= {row for row in cell if not dominated(row, cell, point)}
    return found


def dominated(row: tuple[int, int], cell: list[tuple[int, int]], point: int) -> bool:
    return any(
        abs(c - point) <= abs(row[0] - point)
        and t >= row[1]
        and (abs(c - point), t) != (abs(row[0] - point), row[1])
        for c, t in cell
    )


def told(core: WindowCore) -> Stabbing:
    strategy = core.strategies["ssi"]
    assert isinstance(strategy, Stabbing)
    return strategy


def run_rows(rows: TimedRows, code: int) -> list[tuple[int, int]]:
    start, size = int(rows.runs.start[code]), int(rows.runs.length[code])
    slots = rows.runs.slot[start : start + size]
    return [(int(rows.value_of[s]), int(rows.time_of[s])) for s in slots]


def test_skylines_are_those_of_brute_force_under_every_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        core, rows, clock = WindowCore("ssi"), TimedRows(), 100
        slots = np.arange(12, dtype=np.int32)
        core.add(slots, *ranges(rng, 12))
        for step in range(8):
            count = int(rng.integers(0, 25))
            times = clock + rng.integers(-8, 8, count)  # In any order.
            new = np.arange(step * 32, step * 32 + count, dtype=np.int32)
            rows.change(
                rng.integers(0, CODES, count), rng.integers(0, DOMAIN, count), times, new,
                np.ones(count, dtype=bool),
            )  # fmt: skip
            if step % 3 == 2:  # Windows grow and shrink.
                gone = rng.choice(slots, 4, replace=False)
                core.drop(gone)
                core.add(gone, *ranges(rng, 4))
            if step % 3 == 1:
                rows.expire(clock - 45)
            clock += int(rng.integers(0, 12))
            for code in range(CODES):
                if code >= len(rows.runs.length) or rows.runs.length[code] == 0:
                    continue
                core.identify([3], [code], [clock], rows)
                lines = told(core).skylines
                horizon, floor = lines.bounds(code)
                stored = run_rows(rows, code)
                found = [stored[place] for place in lines.skyline(code)]
                assert len(found) == len(set(found))
                grouping = told(core)._grouping
                points = sorted(set(grouping.points[grouping.live()].tolist()))
                assert set(found) == skyline(stored, points, floor, horizon)
        assert told(core).skylines.size <= 2 * len(rows)


def test_two_thousand_random_instances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ("join", "selection", "ssi", "hot", "dynamic")
    for instance in range(2_000):
        rows, count = TimedRows(), int(rng.integers(1, 14))
        asked = ranges(rng, count)
        size = int(rng.integers(0, 40))
        cells: list[Any] = [rng.integers(0, top, size) for top in (2, DOMAIN, 60)]
        if instance % 2 == 0:
            cells[2] = np.sort(cells[2])
        rows.change(cells[0], cells[1], cells[2], np.arange(size), np.ones(size, dtype=bool))
        batch: list[Any] = [rng.integers(0, top, 4) for top in (DOMAIN + 10, 2, 80)]
        if instance % 2 == 0:
            batch[2] = batch[2] // 8 + 60
        queries = {slot: Asked(*(*numbers(asked, slot), -1)) for slot in range(count)}
        stored = {slot: Stored(*(*numbers(cells, slot), slot)) for slot in range(size)}
        expected = affected(queries, [numbers(batch, i) for i in range(4)], stored)
        for name in names:
            core = WindowCore(name, Options(alpha=0.3, scattered=ASIDE[instance % 3]), threads=1)
            core.add(np.arange(count, dtype=np.int32), *asked)
            places, slots = core.identify(batch[0], batch[1], batch[2], rows)
            assert len(places) == len(expected), name
            assert set(zip(places.tolist(), slots.tolist(), strict=True)) == expected, name


def stream(rng: np.random.Generator, count: int) -> TimedRows:
    rows = TimedRows()
    rows.change(
        np.zeros(count, dtype=np.int32), rng.integers(0, 10_000, count), np.arange(count),
        np.arange(count, dtype=np.int32), np.ones(count, dtype=bool),
    )  # fmt: skip
    return rows


def test_probes_are_the_skyline_and_grow_slower_than_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratios = []
    cl = rng.integers(0, 10_000, 300)
    for count in (100, 1_000, 10_000):
        rows = stream(rng, count)
        probes = {}
        for name in ("join", "ssi"):
            core = WindowCore(name, threads=1)
            core.add(np.arange(300), [0] * 300, [9] * 300, cl, cl + 500, [10**9] * 300)
            core.identify([5, 5], [0, 0], [count, count], rows)
            probes[name] = core.counts()["probes"]
            if name == "ssi":
                assert probes[name] == 2 * told(core).skylines.size
        assert probes["join"] == 2 * count
        ratios.append(probes["ssi"] / probes["join"])
    assert ratios[0] > 2 * ratios[1] > 4 * ratios[2]


def test_nothing_is_made_until_a_key_is_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, core = TimedRows(), WindowCore("ssi", threads=1)
    size = 500
    rows.change(
        rng.integers(0, 2, size), rng.integers(0, 10_000, size), np.arange(size),
        np.arange(size, dtype=np.int32), np.ones(size, dtype=bool),
    )  # fmt: skip
    length = rows.runs.length.tolist()

    def ask(code: int, tuples: int = 3) -> tuple[int, int]:
        before = core.counts()
        core.identify([5] * tuples, [code] * tuples, [size] * tuples, rows)
        after = core.counts()
        return after["passes"] - before["passes"], after["rows_read"] - before["rows_read"]

    core.add([0, 1], [0, 0], [9, 9], [100, 5_000], [200, 6_000], [10**6, 10**6])
    assert core.counts()["passes"] == 0
    assert ask(0) == (1, length[0])
    assert ask(0) == (0, 0)
    core.add([2, 3, 4], [0] * 3, [9] * 3, [300, 400, 8_000], [310, 410, 9_000], [10**6] * 3)
    core.add([5], [0], [9], [305], [306], [10**6])
    assert core.counts()["passes"] == 1  # All is stale; nothing was made.
    assert ask(1) == (1, length[1])  # One pass for all points of the key.
    assert ask(0) == (1, length[0])
    core.add([6], [0], [9], [100], [200], [10**5])  # No point moves, no window grows.
    assert ask(0) == ask(1) == (0, 0)
    core.add([7], [0], [9], [100], [200], [10**9])
    assert ask(0) == (1, length[0])  # A wider window may reach rows that were cut.
    core.drop([7])
    assert ask(0) == (0, 0)


def pairs_of(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def test_many_keys_many_batches_and_two_threads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PART_MIN", 4)
    rng = np.random.default_rng(seed)
    cores = {name: WindowCore(name, Options(alpha=0.05), threads=2) for name in STRATEGIES}
    rows, clock, keys, first = TimedRows(), 1_000, 40, 0
    slots = np.arange(400, dtype=np.int32)
    total = 0
    for step in range(12):
        changed = slots if step == 0 else rng.choice(slots, 30, replace=False)
        al, cl = rng.integers(0, 300, len(changed)), rng.integers(0, 300, len(changed))
        asked = (al, al + 60, cl, cl + rng.integers(0, 40, len(changed)))
        widths = rng.integers(1, 400 if step % 4 else 4_000, len(changed))
        since = np.where(rng.random(len(changed)) < 0.3, rows.arrivals, 0)
        for core in cores.values():
            if step:
                core.drop(changed)
            core.add(changed, *asked, widths, since)
        late = rng.integers(0, 300) if step % 3 == 0 else 0
        times = clock + rng.integers(0, 50, 200) - late
        rows.change(
            rng.integers(0, keys, 200), rng.integers(0, 300, 200), times,
            np.arange(first, first + 200), np.ones(200, dtype=bool),
        )  # fmt: skip
        first += 200
        if step % 4 == 3:
            rows.expire(clock - 300)
        batch = rng.integers(0, 360, 64), rng.integers(-1, keys + 1, 64)
        moments = clock + rng.integers(0, 50, 64) - np.where(rng.random(64) < 0.1, 200, 0)
        answers = {
            name: sorted(pairs_of(core.identify(*batch, moments, rows)))
            for name, core in cores.items()
        }
        total += len(answers["selection"])
        assert all(answer == answers["selection"] for answer in answers.values())
        clock += 40
    assert total > 1_000
    assert told(cores["ssi"]).skylines.size <= 2 * len(rows)
