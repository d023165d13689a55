"""Range minima: messages against recomputation, and the theorems that they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.kernels.range_messages import RangeMessages, RangeTuples, RangeUpdates
from penstock.kernels.range_searches import HIGHEST, LOWEST, tree_find_left, tree_find_right
from penstock.kernels.range_trees import (
    FANOUT,
    FILL_MIN,
    HEIGHT,
    NONE,
    ROOT,
    SPARE,
    USED,
    VISITED,
    RangeTree,
)
from penstock.operators.range_aggregate.extremes import Extremes
from tests.oracle import range_aggregates as oracle
from tests.oracle.range_aggregates import Subscription, Tuple

XS = st.integers(0, 6)
YS = st.integers(0, 4)
TUPLES = st.tuples(st.integers(0, 1), XS, YS)
TABLES = st.lists(TUPLES, max_size=12)
ASKED = oracle.subscriptions(range(2), range(-1, 8))
Message = tuple[int, int | None, int, int, int, int]


def columns(rows: Iterable[Tuple]) -> RangeTuples:
    """Give tuples as arrays."""
    table = np.array(list(rows), np.int64).reshape(-1, 3)
    return RangeTuples(*(np.ascontiguousarray(column) for column in table.T))


def one(old: Tuple | None, new: Tuple | None) -> RangeUpdates:
    """Give one update as arrays."""
    sides = [(np.array([side is not None]), *columns([side or (0, 0, 0)])) for side in (old, new)]
    return RangeUpdates(*sides[0], *sides[1])


def rows(messages: RangeMessages) -> list[Message]:
    """Give messages as (partition, value, inner left, inner right, outer left, outer right)."""
    return [
        (p, None if empty else value, inner_l, inner_r, outer_l, outer_r)
        for _, p, value, empty, inner_l, inner_r, outer_l, outer_r in zip(
            *(column.tolist() for column in messages), strict=True
        )
    ]


def told(messages: Iterable[Message], subscription: Subscription) -> list[int | None]:
    """Give what messages tell a subscription."""
    partition, x1, x2 = subscription
    return [
        value
        for p, value, inner_l, inner_r, outer_l, outer_r in messages
        if p == partition and outer_l <= x1 <= inner_l and inner_r <= x2 <= outer_r
    ]


def assert_exactly_once(
    messages: Sequence[Message], before: Sequence[Tuple], table: Sequence[Tuple]
) -> None:
    for asked in ASKED:
        was, now = oracle.least(before, asked), oracle.least(table, asked)
        assert told(messages, asked) == ([] if was == now else [now]), asked


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Tuple], list[tuple[Tuple | None, Tuple | None]]]:
    """Draw a table, and updates of all kinds."""
    table = draw(TABLES)
    rest, updates = list(table), []
    for _ in range(draw(st.integers(1, 6))):
        old = draw(st.none() | st.sampled_from(rest)) if rest else None
        news = TUPLES if old is None else st.none() | TUPLES
        if old is not None:
            moved, changed = (old[0], draw(XS), old[2]), (*old[:2], draw(YS))
            news |= st.sampled_from([moved, changed])
        new = draw(news)
        rest = oracle.after(rest, [old] if old else [], [new] if new else [])
        updates.append((old, new))
    return table, updates


@given(histories())
@example(([(0, 5, 4), (0, 3, 1)], [((0, 3, 1), (0, 4, 2))]))
def test_an_update_tells_whom_it_changes_once(
    history: tuple[list[Tuple], list[tuple[Tuple | None, Tuple | None]]],
) -> None:
    table, updates = history
    extremes = Extremes(columns(table))
    for old, new in updates:
        before = table
        table = oracle.after(table, [old] if old else [], [new] if new else [])
        messages = rows(extremes.process(one(old, new)))
        assert_exactly_once(messages, before, table)
        values = [message[1] for message in messages]
        ys = [y for _, _, y in table]
        if len(set(ys)) == len(ys) and (not old or not new or old[0] == new[0]):
            assert len(set(values)) == len(values), "messages are as few as they can be"
    assert sorted(table) == list(zip(*map(np.ndarray.tolist, extremes.tuples()), strict=True))
    assert not extremes.missing and len(extremes) == len(table)


def side_by_side(goes: Sequence[Tuple], comes: Sequence[Tuple]) -> RangeUpdates:
    """Give a batch whose first rows change, by partition and x, and whose others come or go."""
    pairs = list(zip_longest(sorted(goes), sorted(comes)))
    sides = [one(old, new) for old, new in pairs] or [one(None, None)]
    return RangeUpdates._make(np.concatenate(column) for column in zip(*sides, strict=True))


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Tuple], list[tuple[list[Tuple], list[Tuple]]]]:
    """Draw a table, and batches of deletions and insertions."""
    table = draw(TABLES)
    rest, made = list(table), []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(st.permutations(rest))
        goes = order[: draw(st.integers(0, len(order)))]
        comes = draw(st.lists(TUPLES, max_size=6))
        rest = oracle.after(rest, goes, comes)
        made.append((goes, comes))
    return table, made


@given(batches(), st.booleans(), st.booleans())
def test_a_batch_tells_whom_it_changes_once(
    history: tuple[list[Tuple], list[tuple[list[Tuple], list[Tuple]]]], largest: bool, paired: bool
) -> None:
    table, made = history
    extremes = Extremes(columns(table), largest)
    answer = oracle.greatest if largest else oracle.least
    asked = np.array(ASKED)
    for goes, comes in made:
        before, table = table, oracle.after(table, goes, comes)
        if paired:
            messages = rows(extremes.net_updates(side_by_side(goes, comes)))
        else:
            messages = rows(extremes.net(columns(goes), columns(comes)))
        for each in ASKED:
            was, now = answer(before, each), answer(table, each)
            assert told(messages, each) == ([] if was == now else [now]), each
        values, empty = extremes.answers(*np.ascontiguousarray(asked.T))
        found = [None if e else int(v) for v, e in zip(values, empty, strict=True)]
        assert found == [answer(table, each) for each in ASKED]


def test_the_worked_example() -> None:
    points = [(0, x, y) for x, y in [(20, 3), (30, 8), (40, 12), (50, 5), (70, 6), (100, 2)]]
    easy = rows(Extremes(columns(points)).process(one((0, 40, 12), (0, 40, 4))))
    assert easy == [(0, 4, 40, 40, 21, 99)]
    difficult = rows(Extremes(columns(points)).process(one((0, 50, 5), (0, 50, 9))))
    assert difficult == [(0, 9, 50, 50, 31, 69), (0, 8, 30, 50, 21, 69), (0, 6, 50, 70, 21, 99)]
    for asked, values in {(25, 60): (4, 8), (35, 80): (4, 6)}.items():
        assert [told(each, (0, *asked)) for each in (easy, difficult)] == [[v] for v in values]
    for asked in ((10, 45), (60, 90)):
        assert told([*easy, *difficult], (0, *asked)) == []


@given(st.lists(st.tuples(XS, YS), max_size=10), XS, YS | st.none(), YS | st.none())
def test_classes_of_updates_and_their_theorems(
    others: list[tuple[int, int]], x: int, old: int | None, new: int | None
) -> None:
    """Theorems 16 and 17, Corollary 6, tiling, and what messages an update of each class has."""
    if old == new:
        return
    table = [(0, at, value) for at, value in others]
    olds, news = [(0, x, old)] if old is not None else [], [(0, x, new)] if new is not None else []
    before, now = [*table, *olds], [*table, *news]
    update = one(olds[0] if olds else None, news[0] if news else None)
    messages = rows(Extremes(columns(before)).process(update))
    kind = oracle.classify(others, x, old, new)
    low = min(value for value in (old, new) if value is not None)
    outer = oracle.mar(others, x, low)
    for _, x1, x2 in [each for each in ASKED if each[0] == 0]:
        affected = oracle.least(before, (0, x1, x2)) != oracle.least(now, (0, x1, x2))
        assert affected == (x1 <= x <= x2 and outer is not None and oracle.holds(outer, x1, x2))
    if kind == "ignorable":
        assert not messages
    elif kind == "easy":
        assert outer is not None
        left, right = outer
        ends = (LOWEST if left is None else left + 1, HIGHEST if right is None else right - 1)
        assert [message[1:] for message in messages] == [(new, x, x, *ends)]
    else:
        assert old is not None
        points = [(at, value) for _, at, value in now]
        expected = set()
        for at, value in oracle.hull(points, x, old):
            rest = [point for point in points if point != (at, value)]
            left, right = oracle.exposed(rest, x, at, value)
            ends = (LOWEST if left is None else left + 1, HIGHEST if right is None else right - 1)
            expected.add((0, value, min(at, x), max(at, x), *ends))
        assert set(messages) == expected and len(messages) == len(expected)
        assert_tiles(messages, x, oracle.mar(points, x, old))
    if old is None or (new is not None and new < old):
        assert len(messages) <= 1


def assert_tiles(messages: Sequence[Message], x: int, outer: oracle.Open | None) -> None:
    """Rectangles are disjoint, and together all ranges around x inside the affected one."""
    assert outer is not None
    tiles = Counter(
        (x1, x2)
        for _, _, inner_l, inner_r, outer_l, outer_r in messages
        for x1 in range(max(outer_l, -3), inner_l + 1)
        for x2 in range(inner_r, min(outer_r, 10) + 1)
    )
    assert set(tiles.values()) == {1}
    every = {(a, b) for a in range(-3, x + 1) for b in range(x, 11) if oracle.holds(outer, a, b)}
    assert set(tiles) == every


def test_a_range_becomes_empty_and_is_filled_again() -> None:
    extremes = Extremes(columns([(0, 5, 7)]))
    assert [each[1] for each in rows(extremes.process(one((0, 5, 7), None)))] == [None]
    assert [each[1] for each in rows(extremes.process(one(None, (0, 5, 7))))] == [7]


def test_the_ends_of_integers_are_values_like_others() -> None:
    ends = [LOWEST, LOWEST + 1, 0, HIGHEST - 1, HIGHEST]
    asked = oracle.subscriptions((0,), ends)
    random = np.random.default_rng(5)
    table: list[Tuple] = []
    for largest in (False, True):
        answer = oracle.greatest if largest else oracle.least
        extremes = Extremes(columns(table), largest)
        for _ in range(200):
            goes = [table[k] for k in range(len(table)) if random.random() < 0.4]
            comes = [
                (0, ends[random.integers(5)], ends[random.integers(5)])
                for _ in range(random.integers(3))
            ]
            before, table = table, oracle.after(table, goes, comes)
            messages = rows(extremes.net(columns(goes), columns(comes)))
            for each in asked:
                was, now = answer(before, each), answer(table, each)
                assert told(messages, each) == ([] if was == now else [now])


def test_deleting_first_tells_some_twice_and_inserting_first_never(seed: int) -> None:
    random = np.random.default_rng(seed)
    twice = notified = 0
    for _ in range(300):
        table = [(0, int(x), int(y)) for x, y in random.integers(0, 8, (10, 2))]
        old, new = table[0], (0, int(random.integers(8)), int(random.integers(8)))
        extremes = Extremes(columns(table))
        messages = rows(extremes.process(one(old, None))) + rows(extremes.process(one(None, new)))
        first = rows(Extremes(columns(table)).process(one(old, new)))
        for asked in oracle.subscriptions((0,), range(8)):
            times = len(told(messages, asked))
            twice, notified = twice + (times == 2), notified + (times > 0)
            assert len(told(first, asked)) <= 1
    assert 0 < twice / notified < 0.3


def test_deletions_of_what_is_not_there_change_nothing() -> None:
    table = [(0, 1, 1), (0, 1, 2), (1, 1, 0)]
    extremes = Extremes(columns(table))
    gone = [(0, 1, 0), (0, 1, 3), (0, 2, 1), (1, 1, 1), (2, 1, 1)]
    assert not rows(extremes.net(columns(gone), columns([])))
    assert extremes.missing == len(gone) and len(extremes) == len(table)


def assert_sound(tree: RangeTree) -> None:
    """Keys ascend, entries stand for their children, nodes are filled, and none is lost."""
    seen = 0

    def walk(node: int, depth: int) -> list[tuple[tuple[int, int, int], int]]:
        nonlocal seen
        seen += 1
        places = range(node * FANOUT, node * FANOUT + int(tree.sizes[node]))
        assert depth == 0 or len(places) >= FILL_MIN
        entries = [
            ((int(tree.partitions[at]), int(tree.xs[at]), int(tree.ys[at])), int(tree.lows[at]))
            for at in places
        ]
        if depth == tree.state[HEIGHT] - 1:
            assert all(tree.links[at] > 0 for at in places)
            return entries
        below = []
        for at, (key, low) in zip(places, entries, strict=True):
            child = walk(int(tree.links[at]), depth + 1)
            assert key == child[-1][0] and low == min(each[1] for each in child)
            below += child
        return below

    keys = [key for key, _ in walk(int(tree.state[ROOT]), 0)]
    assert keys == sorted(set(keys))
    assert seen == len(tree.sizes) - tree.state[SPARE] <= tree.state[USED]


@pytest.mark.parametrize("spread", [3, 60, 100_000])
def test_trees_stay_sound_and_searches_touch_few_nodes(spread: int, seed: int) -> None:
    """A table that grows and shrinks: splits, joins and shares of nodes on all levels."""
    random = np.random.default_rng(seed)
    table: list[Tuple] = []
    extremes = Extremes()
    for share, count in ((0, 1500), (0.2, 1500), (0.3, 1500), (0.95, 20), (0.1, 1500), (1, 20)):
        drawn = random.integers(0, [3, spread, 1000], (count, 3))
        comes = [(int(p), int(x), int(y)) for p, x, y in drawn]
        random.shuffle(table)
        goes = sorted(table)[: int(share * len(table))] if spread == 60 else (
            table[: int(share * len(table))])  # fmt: skip
        extremes.net(columns(goes), columns(comes))
        table = sorted((Counter(table) - Counter(goes) + Counter(comes)).elements())
        assert not extremes.missing
        for tree in (extremes._upper, extremes._lower):
            assert_sound(tree)
        assert_found(extremes._upper, table, random, spread)
    again = Extremes(extremes.tuples())
    found, same = (list(zip(*e.tuples(), strict=True)) for e in (extremes, again))
    assert found == same == table
    assert_sound(again._upper)


def assert_found(
    tree: RangeTree, table: Sequence[Tuple], random: np.random.Generator, spread: int
) -> None:
    for _ in range(60):
        p, x, bound = (int(random.integers(end)) for end in (4, spread + 2, 1000))
        points = [(at, value) for q, at, value in table if q == p]
        for right, find, y in ((True, tree_find_right, 0), (False, tree_find_left, 1)):
            tree.state[VISITED] = 0
            at = find(tree, p, x, y, bound)
            assert tree.state[VISITED] <= 2 * tree.state[HEIGHT]
            found = None if at == NONE else (int(tree.xs[at]), int(tree.lows[at]))
            assert found == oracle.nearest(points, x, bound, right)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_what_is_told_depends_on_tuples_alone(seed: int) -> None:
    """Trees of another shape, or of another history, tell the same."""
    random = np.random.default_rng(seed)
    table: list[Tuple] = [(p, x, y) for p, x, y in random.integers(0, [2, 200, 50], (400, 3))]
    grown, built = Extremes(), Extremes(columns(table))
    grown.net(columns([]), columns(table[:250]))
    grown.net(columns([]), columns(table[250:]))
    old, new = table[7], (*table[8][:2], table[9][2])
    assert rows(grown.process(one(old, new))) == rows(built.process(one(old, new)))
