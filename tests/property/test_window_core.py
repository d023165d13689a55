"""The strategies of window joins answer as their slow twin does, in any order of time."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.join.window import STRATEGIES, TimedRows, WindowCore
from tests.oracle.windowjoins import Asked, Stored, affected, meets

LOWEST, HIGHEST = -(2**63), 2**63 - 1
small = st.integers(0, 9)
codes = st.integers(-1, 2)
widths = st.integers(-1, 12) | st.just(HIGHEST)
low = st.integers(0, 5).flatmap(lambda n: st.just(LOWEST) if n == 0 else small)
high = st.integers(0, 5).flatmap(lambda n: st.just(HIGHEST) if n == 0 else small)
queries = st.lists(st.tuples(low, high, low, high, widths, st.booleans()), max_size=8)


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    """Queries come and go, rows come (in or out of order), go and expire, tuples arrive."""
    clock = 0
    found = []
    for _ in range(draw(st.integers(1, 5))):
        clock += draw(st.integers(0, 8))
        moment = st.integers(clock, clock + 6) | st.integers(max(clock - 12, 0), clock + 6)
        row = st.tuples(st.integers(0, 2), small, moment)
        arriving = st.tuples(small, codes, moment)
        found.append(
            (
                draw(queries), draw(st.integers(0, 2**12)), draw(st.lists(row, max_size=10)),
                draw(st.integers(0, 2**16) | st.just(0)), draw(st.none() | st.just(clock - 10)),
                draw(st.lists(arriving, max_size=8)),
            )
        )  # fmt: skip
    return found


class Story:
    """One course of events, told to all cores and to the twin."""

    def __init__(self) -> None:
        self.rows = TimedRows()
        self.cores = {name: WindowCore(name) for name in STRATEGIES}
        self.asked: dict[int, Asked] = {}
        self.stored: dict[int, Stored] = {}

    def ask(self, new: list[Any], mask: int) -> None:
        gone = [slot for slot in self.asked if mask >> slot & 1]
        free = [slot for slot in range(128) if slot not in self.asked or slot in gone]
        for slot in gone:
            del self.asked[slot]
        mine = free[: len(new)]
        since = [self.rows.arrivals if late else LOWEST for *_, late in new]
        asked = [Asked(*(*query[:5], number)) for query, number in zip(new, since, strict=True)]
        self.asked.update(zip(mine, asked, strict=True))
        for core in self.cores.values():
            core.drop(np.array(gone, dtype=np.int32))
            if mine:
                al, ah, cl, ch, w, _ = zip(*new, strict=True)
                core.add(mine, al, ah, cl, ch, w, since)

    def store(self, new: list[Any], mask: int, threshold: int | None) -> None:
        gone = [slot for slot in self.stored if mask >> slot & 1]
        free = [slot for slot in range(256) if slot not in self.stored][: len(new)]
        first = self.rows.arrivals
        old = [(self.stored[slot], slot, False) for slot in gone]
        fresh = [
            (Stored(*(*row, first + i)), slot, True)
            for i, (row, slot) in enumerate(zip(new, free, strict=True))
        ]
        changes = old + fresh
        self.rows.change(
            [row.code for row, _, _ in changes], [row.value for row, _, _ in changes],
            [row.time for row, _, _ in changes], [slot for _, slot, _ in changes],
            [added for _, _, added in changes],
        )  # fmt: skip
        for slot in gone:
            del self.stored[slot]
        self.stored.update({slot: row for row, slot, _ in fresh})
        if threshold is not None:
            expired = self.rows.expire(threshold).tolist()
            assert sorted(expired) == sorted(
                slot for slot, row in self.stored.items() if row.time <= threshold
            )
            for slot in expired:
                del self.stored[slot]
        assert len(self.rows) == len(self.stored)

    def arrive(self, tuples: list[Any]) -> None:
        expected = affected(self.asked, tuples, self.stored)
        a, code, t = (list(column) for column in zip(*tuples, strict=True)) if tuples else ([],) * 3
        for name, core in self.cores.items():
            places, slots = core.identify(a, code, t, self.rows)
            found = list(zip(places.tolist(), slots.tolist(), strict=True))
            assert len(found) == len(set(found)), f"{name}: a pair came twice"
            assert set(found) == expected, name
        self.expand(tuples, sorted(expected))

    def expand(self, tuples: list[Any], pairs: list[tuple[int, int]]) -> None:
        asked = [self.asked[slot] for _, slot in pairs]
        offsets, slots = self.rows.expand(
            [tuples[place][1] for place, _ in pairs], [one.cl for one in asked],
            [one.ch for one in asked], [tuples[place][2] for place, _ in pairs],
            [one.w for one in asked], [one.since for one in asked],
        )  # fmt: skip
        for i, ((place, _), one) in enumerate(zip(pairs, asked, strict=True)):
            _, code, time = tuples[place]
            found = slots[offsets[i] : offsets[i + 1]].tolist()
            assert sorted(found) == sorted(
                slot for slot, row in self.stored.items() if meets(one, code, time, row)
            )


@settings(max_examples=400)
@given(steps())
def test_all_strategies_answer_as_the_twin(story: list[Any]) -> None:
    told = Story()
    for new_queries, query_mask, new_rows, row_mask, threshold, tuples in story:
        told.ask(new_queries, query_mask)
        told.store(new_rows, row_mask, threshold)
        told.arrive(tuples)
