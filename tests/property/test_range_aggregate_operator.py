"""Range aggregates against their slow twin: batches, adds, drops, copies; and their messages."""

from __future__ import annotations

import math
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import Share
from penstock.operators.range_aggregate import RangeAggregateOperator
from penstock.operators.shared.keys import ordered_keys
from penstock.operators.shared.summands import Summands, sums_of
from penstock.vocabulary.batches import QueryChanges, Results
from tests.oracle.range_queries import RangeTwin, known, told
from tests.support.range_aggregates import (
    MEASURES,
    RangeForm,
    RangeSource,
    batch_of,
    drawn_form,
    drawn_range,
    queries_of,
)

SEEDS = st.integers(0, 2**32 - 1)
KIND = OPERATORS["range_aggregate"]


def row_counts(results: list[Results]) -> Counter[tuple[Any, ...]]:
    """Give what queries were told, with signs added up."""
    found: Counter[tuple[Any, ...]] = Counter()
    for own in results:
        assert own.rows is not None
        rows = [tuple(row.values()) for row in own.rows.to_pylist()]
        for query, event in zip(own.query.tolist(), own.event.tolist(), strict=True):
            *values, sign = rows[event]
            found[query, tuple(map(same, values))] += sign
    return Counter({key: count for key, count in found.items() if count})


def same(value: Any) -> Any:
    """Give a value as it is compared: numbers by twelve digits, whatever their types."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, list):
        return tuple(map(same, value))
    if isinstance(value, int | float | Decimal | Fraction):
        return f"{float(value):.12g}"
    return value


def expected(changes: list[tuple[int, Any, Any]]) -> Counter[tuple[Any, ...]]:
    own = [(query, tuple(map(same, old)), tuple(map(same, new))) for query, old, new in changes]
    return Counter({key: count for key, count in told(own).items() if count})


def takes(form: RangeForm, row: dict[str, Any]) -> bool:
    """Say whether a row passes the condition that all queries share."""
    return not form.condition or (row["g"] is not None and row["g"] != 2)


class Life:
    """A group and its twin, side by side."""

    def __init__(self, seed: int, shares: int = 1) -> None:
        self.chance = chance = np.random.default_rng(seed)
        self.form = form = drawn_form(chance)
        self.logical = form.bound()
        self.step = self.logical.step()
        self.shards = [
            RangeAggregateOperator(self.step, None, Share(n, shares)) for n in range(shares)
        ]
        self.twin = RangeTwin(form.attribute, form.partition, form.measures, further=form.further)
        self.source = RangeSource(chance)
        self.first = 0
        self.history: list[QueryChanges] = []

    def register(self) -> None:
        rows = [drawn_range(self.chance, self.form) for _ in range(self.chance.integers(0, 6))]
        drops = np.flatnonzero(self.chance.random(self.first) < 0.2).tolist()
        changes = queries_of(self.logical, self.form, rows, self.first, drops)
        self.history.append(changes)
        for shard in self.shards:
            shard.apply(changes)
        for query in drops:
            self.twin.drop(query)
        for number, row in enumerate(rows):
            partition = tuple(row[name] for name in self.form.partition)
            nothing = any(value is None for value in row.values())
            range_ = None if nothing else (row["low"], row["high"])
            across = (row["low1"], row["high1"]) if self.form.further else None
            self.twin.add(self.first + number, range_, partition, across)
        self.first += len(rows)

    def turn(self) -> None:
        self.register()
        changes = self.source.changes(int(self.chance.integers(0, 12)))
        taken = [(row, sign) for row, sign in changes if takes(self.form, row)]
        order = self.chance.permutation(len(changes)).tolist()
        shuffled = [changes[at] for at in order]
        batch = {"t": batch_of(shuffled)}
        found = [own for shard in self.shards for own in shard.process(batch)]
        assert row_counts(found) == expected(self.twin.process(taken))


@settings(max_examples=60)
@given(seed=SEEDS)
def test_every_query_is_told_its_old_and_its_new_value(seed: int) -> None:
    life = Life(seed)
    for _ in range(6):
        life.turn()


@settings(max_examples=15)
@given(seed=SEEDS)
def test_shards_divide_the_queries(seed: int) -> None:
    life = Life(seed, shares=3)
    for _ in range(4):
        life.turn()
    sizes = [shard.sizes() for shard in life.shards]
    assert sizes[0] == sizes[1] == sizes[2]


@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_new_query_is_told_what_it_finds_if_it_asks(seed: int) -> None:
    life = Life(seed)
    for _ in range(3):
        life.turn()
    told_first = life.form.bound(snapshot=True)
    assert told_first.step() == life.step
    across = {"low1": -1e9, "high1": 1.0} if life.form.further else {}
    rows = [{"low": low, "high": low, **across, **{name: "a" if name == "k" else 1 for name in
             life.form.partition}} for low in life_values(life)]  # fmt: skip
    changes = queries_of(told_first, life.form, rows, life.first, [])
    (operator,) = life.shards
    operator.apply(changes)
    found = row_counts(operator.first_answers([changes]))
    for number, row in enumerate(rows):
        query = life.first + number
        partition = tuple(row[name] for name in life.form.partition)
        life.twin.add(query, (row["low"], row["high"]), partition, (-1e9, 1.0) if across else None)
        assert found.pop((query, tuple(map(same, life.twin.answer(query))))) == 1
    assert not found
    quiet = queries_of(life.logical, life.form, rows, life.first + 50, [])
    operator.apply(quiet)
    assert operator.first_answers([quiet]) == []


def life_values(life: Life) -> list[Any]:
    """Give some values of the attribute that there are."""
    values = {row[life.form.attribute] for row in life.source.held}
    return sorted(filter(known, values))[:5]


def holds(row: dict[str, Any], low: Any, high: Any) -> bool:
    """Say whether a range lies in the rectangle of a message."""
    outer_l, outer_r = row["outer_l"], row["outer_r"]
    left = (outer_l is None or outer_l < low) and low <= row["inner_l"]
    return bool(left and row["inner_r"] <= high and (outer_r is None or high < outer_r))


def follow(form: RangeForm, held: dict[Any, Any], rows: list[dict[str, Any]]) -> dict[Any, Any]:
    """Let ranges follow messages, as an edge does; each is in one rectangle at most."""
    found = dict(held)
    for probe, before in held.items():
        low, high, *partition = probe
        own = [row for row in rows if [row[f"p{n}"] for n in range(len(partition))] == partition]
        if form.measures[0][0] == "count_distinct":
            inside = [row for row in own if holds(row, low, high)]
            gained = {row["value"] for row in inside if row["op"] == "gain"}
            lost = {row["value"] for row in inside if row["op"] == "lose"}
            assert len(inside) == len(gained) + len(lost)
            assert lost <= before and not gained & before
            found[probe] = (before - lost) | gained
        elif form.measures[0][0] in {"min", "max"}:
            value = form.measures[0][0]
            hits = [row[value] for row in own if holds(row, low, high)]
            assert len(hits) <= 1, "two rectangles of a batch hold one range"
            found[probe] = hits[0] if hits else before
        else:
            count, total = before
            for row in own:
                for side, sign in (("old", -1), ("new", 1)):
                    x, y = row[f"x_{side}"], row[f"y_{side}"]
                    if x is not None and low <= x <= high:
                        count, total = count + sign, total + sign * Fraction(y or 0)
            found[probe] = count, total
    return found


@settings(max_examples=25)
@given(seed=SEEDS, late=st.booleans())
def test_who_follows_messages_knows_every_range(seed: int, late: bool) -> None:
    chance = np.random.default_rng(seed)
    measures = (MEASURES[chance.integers(len(MEASURES))],)
    form = RangeForm(measures, "xnd"[chance.integers(3)], ((), ("k",))[chance.integers(2)])
    logical = form.bound(messages=True, snapshot=late)
    operator = RangeAggregateOperator(logical.step())
    adds = KIND.register(logical, logical.step(), pa.table({"id": ["m"]}), 0).adds
    source, rows = RangeSource(chance), list[Any]()
    nothing: dict[str, Any] = {"min": None, "max": None, "count_distinct": frozenset()}
    ends = [drawn_range(chance, form) for _ in range(12)]
    probes = {tuple(own.values()) for own in ends if None not in own.values()}
    held = dict.fromkeys(probes, nothing.get(measures[0][0], (0, Fraction(0))))
    for turn in range(6):
        changes = QueryChanges(adds=adds if turn == (2 if late else 0) else {})
        operator.apply(changes)
        if changes.adds and late:
            assert operator.first_answers([changes]) == []
        drawn = source.changes(int(chance.integers(0, 10)))
        for row, sign in drawn:
            rows.append(row) if sign > 0 else rows.remove(row)
        found = operator.process({"t": batch_of(drawn)})
        told_rows = [row for own in found for row in own.rows.to_pylist()]  # type: ignore[union-attr]
        if late and turn < 2:
            assert not told_rows
            continue
        held = follow(form, held, told_rows)
        twin = RangeTwin(form.attribute, form.partition, measures, rows)
        for (low, high, *partition), value in held.items():
            twin.add(0, (low, high), tuple(partition))
            (answer,) = twin.answer(0)
            assert same(learnt(measures[0][0], value)) == same(answer)


def learnt(function: str, value: Any) -> Any:
    """Give the value that somebody who follows messages has."""
    if function in {"min", "max"}:
        return value
    if function == "count_distinct":
        return len(value)
    count, total = value
    if function == "count":
        return count
    return None if not count else total if function == "sum" else total / count


FLOATS = st.floats(allow_nan=False) | st.sampled_from([1e300, -1e300, 5e-324, 0.1, -0.0])


@example(values=[1.0, sys.float_info.max], seed=0)
@settings(max_examples=60)
@given(values=st.lists(FLOATS, max_size=30), seed=SEEDS)
def test_sums_of_floats_do_not_depend_on_their_way(values: list[float], seed: int) -> None:
    summands = Summands(pa.float64())
    keys, _ = ordered_keys(pa.array(values, pa.float64()), pa.float64())

    def total(order: list[int]) -> float:
        digits: dict[int, Any] = {}
        for at in order:
            for place, own in summands.digits(keys[at : at + 1]).items():
                digits[place] = digits.get(place, 0) + own
        return float(summands.floats(digits, 1)[0])

    forth = total(list(range(len(values))))
    shuffled = np.random.default_rng(seed).permutation(len(values)).tolist()
    assert repr(total(shuffled)) == repr(forth)
    infinite = {value for value in values if np.isinf(value)}
    if infinite:
        assert np.isnan(forth) if len(infinite) == 2 else forth == infinite.pop()
        return
    exact = sum(map(Fraction, values), Fraction(0))
    largest = Fraction(sys.float_info.max)
    near = max(-largest, min(exact, largest))
    allowed = 2 * Fraction(math.ulp(float(near)))
    if np.isinf(forth):
        assert abs(exact) > largest - allowed
    else:
        assert abs(Fraction(forth) - near) <= allowed and abs(exact) < largest + allowed


WHOLE_NUMBERS = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=100)
@given(values=st.lists(WHOLE_NUMBERS, min_size=1, max_size=20))
def test_sums_of_whole_numbers_are_exact(values: list[int]) -> None:
    summands = Summands(pa.int64())
    digits = {place: own.sum(keepdims=True) for place, own in
              summands.digits(np.array(values, dtype=np.int64)).items()}  # fmt: skip
    low, high = summands.whole(digits, 1)
    assert (int(high[0]) << 64) + int(low.view(np.uint64)[0]) == sum(values)
    words, absent = summands.array(digits, np.zeros(1, dtype=np.bool_), pa.int64())
    fits = -(2**63) <= sum(values) < 2**63
    assert bool(absent[0]) != fits
    assert sums_of(words, absent, pa.int64()).to_pylist() == [sum(values) if fits else None]
