"""Points of subscriptions, and the answers that messages change, against plain lists."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.range_messages import RangeMessages
from penstock.kernels.range_points import RangeRectangles
from penstock.lab.dissemination.answers import RangeAnswers
from penstock.lab.dissemination.unicasts import unicasts
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.operators.shared.subscription_points import SubscriptionPoints, rectangles
from tests.oracle import range_aggregates as oracle
from tests.oracle.range_aggregates import Tuple
from tests.property.test_range_extremes import columns


@pytest.mark.parametrize("spread", [4, 1000])
def test_rectangles_hold_what_a_scan_finds(spread: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = SubscriptionPoints()
    live: dict[int, tuple[int, int, int]] = {}
    free = list(range(4000))
    for _ in range(25):
        count = int(random.integers(1, 300))
        slots, free = np.array(free[:count]), free[count:]
        drawn = random.integers(0, [[3], [spread], [spread]], (3, count))
        points.add(slots, *np.ascontiguousarray(drawn))
        live |= {
            int(slot): (int(p), int(a), int(b)) for slot, p, a, b in zip(slots, *drawn, strict=True)
        }
        gone = random.choice(sorted(live), int(random.integers(len(live))), replace=False)
        points.drop(gone)
        free += [int(slot) for slot in gone]
        for slot in gone:
            del live[int(slot)]
        ends = np.sort(random.integers(-1, spread + 1, (2, 2, 20)), axis=1)
        asked = RangeRectangles(random.integers(0, 4, 20), *ends[0], *ends[1])
        where, slots = points.find(asked)
        expected = sorted(
            (k, slot)
            for k, (p, a, b, c, d) in enumerate(zip(*asked, strict=True))
            for slot, (q, x1, x2) in live.items()
            if p == q and a <= x1 <= b and c <= x2 <= d
        )
        assert sorted(zip(where.tolist(), slots.tolist(), strict=True)) == expected
        assert points.meet(asked).tolist() == [k in {k for k, _ in expected} for k in range(20)]
        assert len(points) == len(live)


def test_answers_change_as_a_recomputation_says(seed: int) -> None:
    """Expanded, all messages or those that meet a subscription, and recomputation agree."""
    random = np.random.default_rng(seed)
    answers, extremes = RangeAnswers(), Extremes()
    every = oracle.subscriptions(range(2), range(-1, 11))
    asked = [every[k] for k in random.permutation(len(every))[:25]]
    table: list[Tuple] = []
    p, x1, x2 = np.ascontiguousarray(np.array(asked).T)
    answers.add(np.arange(len(asked)), p, x1, x2, *extremes.answers(p, x1, x2))
    hushed = 0
    for turn in range(80):
        random.shuffle(table)
        goes = table[: random.integers(len(table) + 1)]
        comes = [(int(q), int(x), int(y)) for q, x, y in random.integers(0, [2, 10, 6], (9, 3))]
        before, table = table, oracle.after(table, goes, comes)
        messages = extremes.net(columns(goes), columns(comes))
        if turn % 2:
            meets = answers.points.meet(rectangles(messages))
            messages = RangeMessages._make(column[meets] for column in messages)
            hushed += int((~meets).sum())
        assert_gathered(messages, answers, len(asked))
        changes = answers.tell(messages)
        was, now = ([oracle.least(side, each) for each in asked] for side in (before, table))
        expected = [
            (k, a or 0, b or 0, b is None)
            for k, (a, b) in enumerate(zip(was, now, strict=True))
            if a != b
        ]
        assert list(zip(*(column.tolist() for column in changes), strict=True)) == expected
        assert answers.values.tolist()[: len(asked)] == [value or 0 for value in now]
    assert hushed > 0


def assert_gathered(messages: RangeMessages, answers: RangeAnswers, slots: int) -> None:
    """One message for all at a node says what a message for each says."""
    nodes = np.arange(slots, dtype=np.int32) % 3
    where, found = answers.points.find(rectangles(messages))
    sent = unicasts(messages, where, found, nodes[found])
    assert len(set(zip(sent.ordinals.tolist(), sent.nodes.tolist(), strict=True))) == len(
        sent.nodes
    )
    told = [
        (int(sent.ordinals[m]), int(sent.nodes[m]), int(slot), int(sent.values[v]))
        for m in range(len(sent.nodes))
        for v in range(sent.value_starts[m], sent.value_starts[m + 1])
        for slot in sent.slots[sent.slot_starts[v] : sent.slot_starts[v + 1]]
    ]
    assert told == sorted(told, key=lambda each: each[:2])
    assert sorted(told) == sorted(
        (int(messages.ordinals[m]), int(nodes[slot]), int(slot), int(messages.values[m]))
        for m, slot in zip(where, found, strict=True)
    )
