"""The cascade emits what its slow twin does: in every tree, however it is fed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import Index, Join, Leaf, Tree, inputs_of, joins_of
from penstock.operators.multi_join.cascade import Cascade, LayoutTerm
from penstock.operators.shared.fields import Link
from penstock.operators.shared.fields import Test as Compared
from penstock.vocabulary.shared_figures import ASKED, MADE, PASSED, of_inputs
from tests.oracle.multijoins import Condition, MultiJoinTwin, Window

LOWEST, HIGHEST = -(2**63), 2**63 - 1
FIELDS = 2
OPS = ("<", "<=", "<>", "diff")
small = st.integers(0, 2)
extreme = st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, HIGHEST - 1, HIGHEST])
windows = st.tuples(st.just("rows"), st.integers(1, 4)) | st.tuples(
    st.just("range"), st.integers(1, 6)
)


@st.composite
def trees(draw: st.DrawFn, inputs: tuple[int, ...]) -> Tree:
    """Any tree over some inputs, any index on any side."""
    if len(inputs) == 1:
        return Leaf(inputs[0])
    cut = draw(st.integers(1, len(inputs) - 1))
    index: st.SearchStrategy[Index] = st.sampled_from(("hash", "loop"))
    return Join(
        draw(trees(inputs[:cut])), draw(trees(inputs[cut:])), draw(index), draw(index)
    )  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What a join asks; `values` are those of its fields."""

    windows: tuple[Window, ...]
    links: tuple[Link, ...]
    tests: tuple[Compared, ...]
    values: Any

    def conditions(self) -> list[Condition]:
        found = []
        for link in self.links:
            for (a, f), (b, g) in combinations(link.members, 2):
                found.append(Condition((a, b), lambda x, y, f=f, g=g: x[f] == y[g]))
        return [*found, *(Condition((t.left[0], t.right[0]), holding(t)) for t in self.tests)]

    def cascade(self) -> Cascade:
        lengths = [WindowLength(*window) if window else None for window in self.windows]  # type: ignore[arg-type]
        return Cascade(lengths, [FIELDS] * len(lengths), self.links, self.tests)


def holding(test: Compared) -> Any:
    f, g = test.left[1], test.right[1]
    low = -(1 << 70) if test.low == -(1 << 63) else test.low
    high = 1 << 70 if test.high == (1 << 63) - 1 else test.high
    return {
        "<": lambda x, y: x[f] < y[g],
        "<=": lambda x, y: x[f] <= y[g],
        "<>": lambda x, y: x[f] != y[g],
        "diff": lambda x, y: test.low <= test.high and low <= y[g] - x[f] <= high,
    }[test.op]


@st.composite
def questions(draw: st.DrawFn, tables: bool = True) -> Asked:
    count = draw(st.integers(2, 5))
    choice = st.none() | windows if tables else windows
    found: list[Window] = [draw(windows), *(draw(choice) for _ in range(count - 1))]
    values = draw(st.sampled_from([small, small, extreme]))
    spot = st.tuples(st.integers(0, count - 1), st.integers(0, FIELDS - 1))
    pairs = st.lists(spot, min_size=2, max_size=3, unique_by=lambda spot: spot[0])
    links = draw(st.lists(pairs.map(lambda spots: Link(tuple(spots))), max_size=4))
    tests = []
    for _ in range(draw(st.integers(0, 3))):
        left, right = draw(st.lists(spot, min_size=2, max_size=2, unique_by=lambda s: s[0]))
        bounds = extreme if values is extreme else st.integers(-2, 2)
        low, high = sorted((draw(bounds), draw(bounds)))
        tests.append(Compared(left, draw(st.sampled_from(OPS)), right, low, high))
    return Asked(tuple(draw(st.permutations(found))), tuple(links), tuple(tests), values)


@st.composite
def stories(draw: st.DrawFn, asked: Asked) -> list[Any]:
    """Rows arrive, tables change, trees change, the cascade starts again."""
    everything = tuple(range(len(asked.windows)))
    any_tree = st.permutations(everything).map(tuple).flatmap(trees)
    streams = [number for number in everything if asked.windows[number]]
    tables = [number for number in everything if not asked.windows[number]]
    row = st.tuples(asked.values, asked.values)
    often = st.integers(0, 4).map(bool)
    event = st.tuples(st.sampled_from(streams), st.sampled_from([0, 0, 1, 3]), often, often, row)
    story: list[Any] = [("arrange", draw(any_tree))]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["feed", "feed", "insert", "delete", "arrange", "restore"]))
        if kind == "feed":
            story.append((kind, draw(st.lists(event, max_size=14))))
        elif kind == "insert" and tables:
            story.append((kind, draw(st.sampled_from(tables)), draw(st.lists(row, max_size=4))))
        elif kind == "delete" and tables:
            story.append((kind, draw(st.sampled_from(tables)), draw(st.integers(0, 63))))
        elif kind == "arrange":
            story.append((kind, draw(any_tree)))
        else:
            story.append(("restore",))
    return [*story, ("feed", draw(st.lists(event, max_size=14)))]


def feed(cascade: Cascade, events: list[Any], clock: int) -> np.ndarray:
    """Feed events (input, time passed, counts, stored, fields) after an instant."""
    number = np.array([event[0] for event in events], dtype=np.int8)
    times = clock + np.cumsum([event[1] for event in events], dtype=np.int64)
    counts = np.array([event[2] for event in events], dtype=bool)
    stored = np.array([event[3] for event in events], dtype=bool)
    fields = [
        np.array([e[4] for e in events if e[0] == k and e[3]], dtype=np.int64).reshape(-1, FIELDS)
        for k in range(len(cascade.heads))
    ]
    return cascade.feed(number, times, counts, stored, fields)


def same(found: np.ndarray, expected: list[tuple[int, ...]]) -> None:
    assert Counter(map(tuple, found.tolist())) == Counter(expected)


class Told:
    """A story told to a cascade and to the twin."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.cascade = asked.cascade()
        self.twin = MultiJoinTwin(asked.windows, asked.conditions())
        self.tree: Tree = Leaf(0)
        self.clock = 0

    def tell(self, kind: str, *rest: Any) -> None:
        getattr(self, kind)(*rest)
        assert self.cascade.nexts.tolist() == self.twin.following
        for join in joins_of(self.tree):
            if join is not self.tree:
                assert self.cascade.active(join.mask) == self.twin.active(inputs_of(join.mask))
        for number, kept in enumerate(self.twin.kept):
            assert self.cascade.rows(number).ids.tolist() == [each.id for each in kept]
            assert self.cascade.active(1 << number) == len(kept)

    def arrange(self, tree: Tree) -> None:
        self.tree = tree
        self.cascade.arrange(tree)

    def feed(self, events: list[Any]) -> None:
        self.cascade.counts()
        found = feed(self.cascade, events, self.clock)
        expected = []
        for number, passed, counts, stored, row in events:
            self.clock += passed
            expected += self.twin.arrive(number, self.clock, row, counts, stored)
        same(found, expected)
        assert self.cascade.counts()[MADE, of_inputs(self.tree.mask)] == len(expected)

    def insert(self, number: int, rows: list[Any]) -> None:
        ids = self.cascade.insert(number, np.array(rows, dtype=np.int64).reshape(-1, FIELDS))
        assert ids.tolist() == [self.twin.insert(number, row) for row in rows]

    def delete(self, number: int, mask: int) -> None:
        gone = [kept.id for i, kept in enumerate(self.twin.kept[number]) if mask >> i & 1]
        self.cascade.delete(number, np.array(gone, dtype=np.int64))
        for id_ in gone:
            self.twin.delete(number, id_)

    def restore(self) -> None:
        old, self.cascade = self.cascade, self.asked.cascade()
        for number in range(len(self.asked.windows)):
            self.cascade.restore(number, old.rows(number))
        self.cascade.arrange(self.tree)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_story_ends_as_the_twin_tells_it(data: st.DataObject) -> None:
    asked = data.draw(questions())
    told = Told(asked)
    for step in data.draw(stories(asked)):
        told.tell(*step)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_pulled_terms_say_what_pushed_ones_do(data: st.DataObject) -> None:
    asked = data.draw(questions(tables=False))
    everything = tuple(range(len(asked.windows)))
    any_tree = st.permutations(everything).map(tuple).flatmap(trees)
    bounds = st.tuples(
        st.sampled_from(everything), st.integers(0, FIELDS - 1), asked.values, asked.values
    )
    ranges = [
        (k, f, min(a, b), max(a, b)) for k, f, a, b in data.draw(st.lists(bounds, max_size=4))
    ]
    row = st.tuples(asked.values, asked.values)
    event = st.tuples(
        st.sampled_from(everything), st.sampled_from([0, 1, 2]), st.just(True), st.booleans(), row
    )
    events = data.draw(st.lists(event, max_size=40))
    fits = [all(a <= e[4][f] <= b for k, f, a, b in ranges if k == e[0]) for e in events]
    pushed = asked.cascade()
    kept = [(*e[:3], e[3] and fit, e[4]) for e, fit in zip(events, fits, strict=True)]
    expected = feed(pushed, kept, 0).tolist()
    pulled = asked.cascade()
    found, clock, last = [], 0, 0
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=2))
    for cut in [*sorted(cuts), len(events)]:
        tree = data.draw(any_tree)
        masks = {k: [j.mask for j in joins_of(tree) if j.mask >> k & 1] for k in everything}
        places = {k: data.draw(st.sampled_from(masks[k])) for k in everything}
        pulled.arrange(tree, [LayoutTerm(k, f, a, b, places[k]) for k, f, a, b in ranges])
        found += feed(pulled, events[last:cut], clock).tolist()
        clock += sum(event[1] for event in events[last:cut])
        last = cut
    rows = [[i for i, e in enumerate(events) if e[0] == k and e[3]] for k in everything]
    same(
        np.array([[rows[k][i] for k, i in enumerate(one)] for one in found]),
        [tuple([i for i in rows[k] if fits[i]][n] for k, n in enumerate(o)) for o in expected],
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_terms_at_the_root_are_counted(data: st.DataObject) -> None:
    asked = data.draw(questions(tables=False))
    everything = tuple(range(len(asked.windows)))
    tree = data.draw(st.permutations(everything).map(tuple).flatmap(trees))
    terms = [LayoutTerm(k, f, 0, 1, tree.mask) for k in everything[-2:] for f in range(FIELDS)]
    row = st.tuples(asked.values, asked.values)
    event = st.tuples(st.sampled_from(everything), st.just(1), st.just(True), st.just(True), row)
    events = data.draw(st.lists(event, max_size=30))
    plain, cascade = asked.cascade(), asked.cascade()
    cascade.arrange(tree, terms)
    made = feed(plain, events, 0)
    found = feed(cascade, events, 0)
    counts = cascade.counts()
    first, second = everything[-2:]
    assert counts[MADE, of_inputs(tree.mask)] == counts[ASKED, first, "terms"] == len(made)
    assert counts[PASSED, first, "terms"] == counts[ASKED, second, "terms"]
    assert counts[PASSED, second, "terms"] == len(found)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_feed_may_be_split_anywhere(data: st.DataObject) -> None:
    asked = data.draw(questions(tables=False))
    everything = tuple(range(len(asked.windows)))
    row = st.tuples(asked.values, asked.values)
    event = st.tuples(
        st.sampled_from(everything), st.sampled_from([0, 1]), st.booleans(), st.booleans(), row
    )
    events = data.draw(st.lists(event, max_size=40))
    tree = data.draw(st.permutations(everything).map(tuple).flatmap(trees))
    whole, split = asked.cascade(), asked.cascade()
    whole.arrange(tree)
    split.arrange(tree)
    expected = feed(whole, events, 0)
    found, clock, last = [], 0, 0
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=5))
    for cut in [*sorted(cuts), len(events)]:
        found.append(feed(split, events[last:cut], clock))
        clock += sum(event[1] for event in events[last:cut])
        last = cut
    assert np.concatenate(found).tolist() == expected.tolist()
    assert split.counts() == whole.counts()


@settings(max_examples=10, deadline=None)
@given(st.data(), st.integers(0, 2**32), st.integers(2, 5))
def test_large_windows_grow_and_are_swept(data: st.DataObject, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    everything = tuple(range(count))
    kinds = ["rows" if rng.random() < 0.5 else "range" for _ in everything]
    links = tuple(Link(((k, 0), (k + 1, k % 2))) for k in range(count - 1))
    asked = Asked(
        tuple((kind, int(rng.integers(20, 100))) for kind in kinds),
        links,
        (Compared((0, 1), "<=", (count - 1, 1)),),
        small,
    )
    told = Told(asked)
    for _ in range(3):
        told.tell("arrange", data.draw(trees(everything)))
        events = [
            (k, int(rng.integers(2)), True, bool(rng.random() < 0.9), tuple(row))
            for k, row in zip(
                rng.integers(count, size=200).tolist(),
                rng.integers(0, 30, (200, FIELDS)).tolist(),
                strict=True,
            )
        ]
        told.tell("feed", events)
