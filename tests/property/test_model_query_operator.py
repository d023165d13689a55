"""The operator of model queries: against its slow twin, among siblings, however rows are cut."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.model_query import ModelQueryOperator
from penstock.operators.protocol import Share
from penstock.vocabulary.batches import QueryChanges, Results
from tests.oracle.model_queries import LineTwin, Piece, above
from tests.support import model_queries as models

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=20, deadline=None)
Told = dict[tuple[Any, ...], int]


def told(results: list[Results], into: Told | None = None) -> Told:
    """Add up what queries were told, by query and content."""
    found: Told = defaultdict(int) if into is None else into
    for each in results:
        assert each.rows is not None
        rows = [tuple(map(repr, row.values())) for row in each.rows.to_pylist()]
        for query, event in zip(each.query.tolist(), each.event.tolist(), strict=True):
            found[query, *rows[event][:-1]] += int(rows[event][-1])
    return found


def left(found: Told) -> Told:
    return {key: count for key, count in found.items() if count}


class Life:
    """Queries and rows of a form, turn by turn."""

    def __init__(self, seed: int, forms: dict[str, models.ModelForm]) -> None:
        chance = self.chance = np.random.default_rng(seed)
        self.form = forms[sorted(forms)[chance.integers(len(forms))]]
        self.logical = self.form.bind()
        source, first = models.ModelRows(chance), 0
        late = min(own.lateness_us for own in self.logical.shape.sources)
        self.turns: list[tuple[QueryChanges, dict[str, pa.Table]]] = []
        for _ in range(int(chance.integers(1, 5))):
            rows = models.drawn_queries(chance, self.form, int(chance.integers(0, 6)))
            drops = np.flatnonzero(chance.random(first) < 0.2).tolist()
            changes = models.queries_of(self.logical, rows, first, drops)
            first += rows.num_rows
            batch = {
                name: source.batch(int(chance.integers(25)), disorder=late // 2)
                for name in self.form.relations
            }
            self.turns.append((changes, batch))

    def build(self, share: Share | None = None) -> ModelQueryOperator:
        return ModelQueryOperator(self.logical.step(), None, share or Share())


def only(changes: QueryChanges, number: int) -> QueryChanges:
    """Let one query come, and no other."""
    adds = {
        port: table.filter(pa.array(table["query"].to_numpy() == number))
        for port, table in changes.adds.items()
    }
    return QueryChanges(adds=adds, drops=changes.drops)


@given(seed=seeds)
@some
def test_what_a_query_is_told_does_not_depend_on_others(seed: int) -> None:
    """Its group began when it did with them; which of them there are makes no difference."""
    life = Life(seed, {**models.FORMS, **models.WIDE})
    whole: Told = defaultdict(int)
    together = life.build()
    for changes, batch in life.turns:
        together.apply(changes)
        told(together.process(batch), whole)
    numbers = sorted({key[0] for key in whole})[:3]
    for number in numbers:
        alone = life.build()
        found: Told = defaultdict(int)
        for changes, batch in life.turns:
            alone.apply(only(changes, number))
            told(alone.process(batch), found)
        own = {key: count for key, count in whole.items() if key[0] == number}
        assert left(found) == left(own)


@given(seed=seeds)
@some
def test_shards_together_tell_what_one_tells(seed: int) -> None:
    life = Life(seed, models.FORMS)
    whole: Told = defaultdict(int)
    parts: Told = defaultdict(int)
    alone = life.build()
    shards = [life.build(Share(number, 3)) for number in range(3)]
    for changes, batch in life.turns:
        for operator in (alone, *shards):
            operator.apply(changes)
        told(alone.process(batch), whole)
        for operator in shards:
            told(operator.process(batch), parts)
    assert left(whole) == left(parts)


def values(results: list[Results], probes: np.ndarray, into: dict[Any, np.ndarray]) -> None:
    """Add up functions of time at instants: for each query and key, how often, and the values."""
    for each in results:
        assert each.rows is not None
        for query, event in zip(each.query.tolist(), each.event.tolist(), strict=True):
            row = each.rows.slice(event, 1).to_pylist()[0]
            sign = row.pop("_sign")
            row.pop("status", None)
            times = [row.pop(name) for name in ("starts", "ends", "at") if name in row]
            starts, ends = (int(times[n].timestamp() * 1e6 + 0.5) for n in (0, -1))
            inside = (probes >= starts) & ((probes < ends) | (starts == ends))
            inside &= (probes == starts) | (starts != ends)
            seconds = (probes - starts) / 1e6
            keys = tuple(own for own in row.values() if not isinstance(own, list | float))
            curves = [own for own in row.values() if isinstance(own, list | float)]
            table = into.setdefault((query, keys), np.zeros((1 + len(curves), len(probes))))
            table[0] += sign * inside
            for place, curve in enumerate(curves, start=1):
                own = np.polyval(curve[::-1], seconds) if isinstance(curve, list) else curve
                table[place] += sign * np.where(inside, own, 0.0)


@given(seed=seeds)
@some
def test_cutting_a_batch_changes_no_function(seed: int) -> None:
    """Rows of pairs and aggregates may be others; what they add up to is the same."""
    life = Life(seed, models.WIDE)
    chance = np.random.default_rng(seed + 1)
    probes = np.arange(0, 40 * models.SECOND, 250_000) + 77_777
    if life.logical.shape.sample_us is not None:
        probes = np.arange(0, 40 * models.SECOND, life.logical.shape.sample_us)
    one, other = life.build(), life.build()
    whole: dict[Any, np.ndarray] = {}
    parts: dict[Any, np.ndarray] = {}
    for changes, batch in life.turns:
        one.apply(changes)
        other.apply(changes)
        values(one.process(batch), probes, whole)
        size = max(table.num_rows for table in batch.values())
        cuts = [0, *sorted(chance.integers(0, size + 1, 2).tolist()), size]
        for start, stop in pairwise(cuts):
            part = {name: own.slice(start, stop - start) for name, own in batch.items()}
            values(other.process(part), probes, parts)
    for key in {*whole, *parts}:
        nothing = np.zeros_like(whole.get(key, parts.get(key)))
        np.testing.assert_allclose(
            parts.get(key, nothing), whole.get(key, nothing), atol=1e-6, rtol=1e-6
        )


@given(seed=seeds)
@some
def test_thresholds_on_lines_are_the_slow_twins(seed: int) -> None:
    chance = np.random.default_rng(seed)
    form = models.FORMS["thresholds"]
    logical = form.bind()
    operator = ModelQueryOperator(logical.step())
    twin = LineTwin(Fraction(1, 2), 8 * models.SECOND)
    rows = models.drawn_queries(chance, form, 4)
    numbers = rows["n0"].to_pylist()
    operator.apply(models.queries_of(logical, rows, 0, []))
    source = models.ModelRows(chance)
    found: Told = defaultdict(int)
    expected: dict[tuple[Any, ...], int] = defaultdict(int)
    for _ in range(3):
        batch = source.batch(20)
        for each in operator.process({"s": batch}):
            assert each.rows is not None
            listed = each.rows.to_pylist()
            for query, event in zip(each.query.tolist(), each.event.tolist(), strict=True):
                row = listed[event]
                found[_shown(query, row)] += row["_sign"]
        for row in batch.to_pylist():
            usable = None not in (row["k"], row["v"], row["at"]) and row["x"] == row["x"]
            if not usable:
                continue
            at = round(row["at"].timestamp() * 1_000_000)
            for piece in twin.take(row["k"], at, row["x"], row["v"]):
                for query, number in enumerate(numbers):
                    part = above(piece, number)
                    if part is not None:
                        expected[query, *_piece(part)] += part[0]
    assert left(found) == left(expected)


def _shown(query: int, row: dict[str, Any]) -> tuple[Any, ...]:
    starts, ends = (round(row[name].timestamp() * 1_000_000) for name in ("starts", "ends"))
    value, slope = (*row["x"], 0.0)[:2]
    return query, row["k"], starts, ends, round(value, 4), round(slope, 4)


def _piece(piece: Piece) -> tuple[Any, ...]:
    _, key, starts, ends, value, slope = piece
    return key, starts, ends, round(float(value), 4), round(float(slope), 4)


def test_a_hundred_thousand_thresholds_cost_what_they_find() -> None:
    """Of very many queries only those are solved that may be told something."""
    form = models.FORMS["thresholds"]
    logical = form.bind()
    operator = ModelQueryOperator(logical.step())
    count = 100_000
    rows = pa.table({"n0": np.linspace(0.0, 1_000.0, count)})
    operator.apply(models.queries_of(logical, rows, 0, []))
    at = pa.array([0, models.SECOND]).cast(models.COLUMNS["at"])
    batch = pa.table({"k": ["a", "b"], "g": [0, 0], "x": [1.0, 2.0], "v": [0.0, 0.1],
                      "u": ["u", "u"], "at": at})  # fmt: skip
    results = operator.process({"s": batch})
    found = sum(len(each.query) for each in results)
    assert 300 < found < 500
    solved = [value for figure, _, value in operator.counts() if figure.name == "model_solved"]
    assert solved == [found]


@pytest.mark.parametrize("form", ["predicted_late", "with_itself"])
def test_predictions_come_true_or_are_withdrawn(form: str) -> None:
    """In the end nothing is expected of a time that has come, and nothing else is confirmed."""
    chance = np.random.default_rng(5)
    own = {**models.FORMS, **models.WIDE}[form]
    logical = own.bind()
    operator = ModelQueryOperator(logical.step())
    operator.apply(models.queries_of(logical, models.drawn_queries(chance, own, 6), 0, []))
    source, found = models.ModelRows(chance), defaultdict[tuple[Any, ...], int](int)
    for _ in range(6):
        for each in operator.process({"s": source.batch(20)}):
            assert each.rows is not None
            rows = each.rows.to_pylist()
            for query, event in zip(each.query.tolist(), each.event.tolist(), strict=True):
                row = rows[event]
                content = (row["starts"].timestamp() * 1e6, row["status"], repr(row["x"]))
                found[query, row.get("k"), row.get("k1"), row.get("k2"), *content] += row["_sign"]
    now = source.clock - logical.shape.sources[0].lateness_us
    standing = {key: count for key, count in found.items() if count}
    assert standing
    for key in standing:
        assert (key[5] == "expected") == (key[4] > now), key
