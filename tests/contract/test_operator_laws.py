"""The law book: what every kind of operator obeys, whatever it computes.

A kind joins by a line in GENERATORS, which draws a case from a seed; a kind without one fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.algebra.logical import StandingFilter, filter_step
from penstock.algebra.memories import LOOKUP_POLICIES
from penstock.algebra.physical import ClockStep, KeepStep
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual
from penstock.models.streams import streams_of
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    JOIN_RECALL_ALL,
    JOIN_RECALL_MADE,
    RECALL_ALL,
    RECALL_MADE,
    REFUSED,
)
from penstock.operators.catalogue import OPERATORS
from penstock.operators.filter import register
from penstock.operators.join import register as register_join
from penstock.operators.multi_join import register as register_multi_join
from penstock.operators.protocol import WHOLE, Operator, OperatorKind
from penstock.storage.files import table_to_bytes
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import (
    HITS,
    MADE,
    NULL_VALUES,
    PROBES,
    RESULTS,
    ROWS,
    ROWS_BUDGET,
)
from tests.support import bounded_joins as bounded
from tests.support import lookups, own_policies
from tests.support import model_queries as models
from tests.support import model_streams as streams
from tests.support import range_aggregates as ranges
from tests.support import shared_memories as shared
from tests.support.joins import (
    CHANGE,
    COLUMNS,
    LOCALS,
    changed_rows,
    data_table,
    forms,
    parameter_rows,
    parameter_table,
    standing_join,
    stream_rows,
)
from tests.support.multi_joins import (
    FORMS,
    Source,
    drawn_plan,
    multi_join,
    queries_of,
    replan,
    tables_of,
)
from tests.support.multi_joins import LOCALS as MULTI_LOCALS
from tests.support.tally import KIND, TALLIED, TALLY, TallyStep, tallies

Batch = dict[str, pa.Table]
Pairs = Counter[tuple[Any, ...]]
WORDS = pa.array(["a", "b", "", None])
ADDING = frozenset({NULL_VALUES, LATE_ROWS, UNKNOWN_DELETES, TALLIED})
"""Counts that do not depend on how a batch was cut. Others do: an index adapts to what it has seen,
and a row that comes and goes within one batch meets fewer others."""
KEEPING = frozenset({PROBES, HITS, MADE, REFUSED, EVICTED, EXPIRED, RECALL_MADE, RECALL_ALL,
                     JOIN_RECALL_MADE, JOIN_RECALL_ALL, RESULTS})  # fmt: skip
"""Counts of a budget, whose rows stand in one order: those neither."""


@dataclass(frozen=True)
class Case:
    """A group's life: at turn i the changes come (if any), then the batch."""

    step: Any
    changes: list[QueryChanges]
    batches: list[Batch]


# A line per kind: draws a case.


def filters(chance: np.random.Generator) -> Case:
    bounds = {name: Bound(parameter=name, closed=True) for name in ("xl", "xh", "yl", "yh")}
    x = Range(column="x", lows=(bounds["xl"],), highs=(bounds["xh"],))
    y = Range(column="y", lows=(bounds["yl"],), highs=(bounds["yh"],))
    k = Equality(column="k", parameters=("k",))
    residual = Residual(sql="c0 = r0", columns=("k",), parameters=("k",))
    shapes = (
        (Branch(ranges=(x,)),),
        (Branch(ranges=(x, y)),),
        (Branch(equalities=(k,), ranges=(x,)),),
        (Branch(equalities=(k,)), Branch(ranges=(y,))),
        (Branch(ranges=(x,), residual=residual),),
        (Branch(residual=residual),),
    )
    columns = {"k": pa.string(), "x": pa.float64(), "y": pa.int32()}
    parameters = {
        "k": pa.string(), "xl": pa.float64(), "xh": pa.float64(), "yl": pa.int32(),
        "yh": pa.int32(),
    }  # fmt: skip
    logical = StandingFilter(
        relation="t",
        branches=shapes[chance.integers(len(shapes))],
        outputs=(),
        parameters=parameters,
        column_types=columns,
    )
    step = filter_step(logical)
    changes, first = [], 0
    turns = int(chance.integers(1, 6))
    for _ in range(turns):
        size = int(chance.integers(0, 20))
        low, width = chance.integers(0, 9, size), chance.integers(0, 4, size)
        table = pa.table(
            {
                "k": pa.array(chance.choice(["a", "b", ""], size).tolist(), pa.string()),
                "xl": pa.array(low.astype(float)), "xh": pa.array((low + width).astype(float)),
                "yl": pa.array(low, pa.int32()), "yh": pa.array(low + width, pa.int32()),
            }
        )  # fmt: skip
        registration = register(logical, step, table, first)
        drops = np.flatnonzero(chance.random(first) < 0.3).astype(np.int64)
        changes.append(QueryChanges(adds=registration.adds, drops=drops))
        first += size + int(chance.integers(0, 3))
    batches = []
    for _ in range(turns):
        size = int(chance.integers(0, 30))
        x_values = [
            None if v > 9 else float("nan") if v > 8.5 else v for v in chance.random(size) * 10
        ]
        batches.append(
            {
                "t": pa.table(
                    {
                        "k": WORDS.take(pa.array(chance.integers(0, 4, size))),
                        "x": pa.array(x_values, pa.float64()),
                        "y": pa.array(chance.integers(0, 10, size), pa.int32()),
                    }
                ),
                "other": pa.table({"z": [1]}),
            }
        )
    return Case(step=step, changes=changes, batches=batches)


def tallying(chance: np.random.Generator) -> Case:
    turns = int(chance.integers(1, 6))
    changes, batches, first = [], [], 0
    for _ in range(turns):
        everies = chance.integers(1, 7, int(chance.integers(0, 4))).tolist()
        drops = np.flatnonzero(chance.random(first) < 0.3).astype(np.int64)
        changes.append(QueryChanges(adds=tallies(first, everies), drops=drops))
        first += len(everies)
        batches.append({"t": pa.table({"n": np.arange(chance.integers(0, 20))})})
    return Case(step=TallyStep(relation="t"), changes=changes, batches=batches)


def keeping(chance: np.random.Generator) -> Case:
    turns = int(chance.integers(1, 6))
    held: list[Any] = []
    batches = [
        {"left": data_table("left", changed_rows(chance, held, int(chance.integers(1, 12))))}
        for _ in range(turns)
    ]
    step = KeepStep(relation="left", columns=tuple(COLUMNS["left"].items()), change_column=CHANGE)
    return Case(step=step, changes=[QueryChanges()] * turns, batches=batches)


def clocks(chance: np.random.Generator) -> Case:
    turns, clock, batches = int(chance.integers(1, 6)), 0, []
    for _ in range(turns):
        rows, clock = stream_rows(chance, clock, int(chance.integers(0, 12)))
        batches.append({"left": data_table("left", rows)})
    step = ClockStep(relation="left", event_time="t", type=COLUMNS["left"]["t"])
    return Case(step=step, changes=[QueryChanges()] * turns, batches=batches)


def joins(kind: str) -> Callable[[np.random.Generator], Case]:
    """Draw joins of a kind; splitting is asked of "full" ones only: see `splits`."""

    def draw_case(chance: np.random.Generator) -> Case:
        local = sorted(LOCALS)[chance.integers(len(LOCALS))]
        mode = "full" if chance.random() < 0.7 else "identify"
        form = forms(kind)[chance.integers(len(forms(kind)))]
        strategies = STRATEGIES[kind]
        logical = standing_join(
            kind, form, local, mode, strategies[chance.integers(len(strategies))],
            selfish=chance.random() < 0.1 and kind != "window_join",
        )  # fmt: skip
        step = logical.step()
        changes, batches, first = [], [], 0
        held: dict[str, list[Any]] = {"left": [], "right": []}
        newest = {"left": 0, "right": 0}
        for _ in range(int(chance.integers(1, 6))):
            rows = parameter_rows(chance, int(chance.integers(0, 12)))
            adds = register_join(logical, step, parameter_table(rows), first).adds
            drops = np.flatnonzero(chance.random(first) < 0.3).astype(np.int64)
            changes.append(QueryChanges(adds=adds, drops=drops))
            first += len(rows) + int(chance.integers(0, 3))
            batch = {"other": pa.table({"z": [1]})}
            for name, own in held.items():
                size = int(chance.integers(0, 12))
                if kind == "window_join":
                    drawn, newest[name] = stream_rows(chance, newest[name], size)
                else:
                    drawn = changed_rows(chance, own, size)
                if drawn or chance.random() < 0.5:
                    batch[name] = data_table(name, drawn or [])
                if not drawn and name in batch and kind != "window_join":
                    batch[name] = batch[name].append_column(CHANGE, pa.array([], pa.string()))
            batches.append(batch)
        return Case(step=step, changes=changes, batches=batches)

    return draw_case


def multi_joins(chance: np.random.Generator) -> Case:
    """Draw multi-way joins; plans and drop boxes change on the way."""
    form = sorted(FORMS)[chance.integers(len(FORMS))]
    local = sorted(MULTI_LOCALS)[chance.integers(len(MULTI_LOCALS))]
    logical = multi_join(form, local)
    source = Source(chance, cuttable=True)
    changes, batches, first, plan = [], [], 0, 400_000
    for turn in range(int(chance.integers(1, 6))):
        rows = parameter_rows(chance, int(chance.integers(0, 5)))
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        change = queries_of(logical, register_multi_join, rows, first, drops)
        first += len(rows) + int(chance.integers(0, 3))
        if chance.random() < 0.5:
            old, plan = plan, 500_000 + turn
            put = replan(plan, drawn_plan(chance, logical, boxes=chance.random() < 0.5), old)
            gone = np.array(sorted([*change.drops.tolist(), old]), dtype=np.int64)
            change = QueryChanges(adds={**change.adds, **put.adds}, drops=gone)
        changes.append(change)
        batch = tables_of(source.batch(logical, 12), empty=chance.random() < 0.5)
        batches.append({**batch, "other": pa.table({"z": [1]})})
    return Case(step=logical.step(), changes=changes, batches=batches)


def bounded_joins(
    chance: np.random.Generator, budgets: Collection[str] = bounded.BUDGETS.keys()
) -> Case:
    """Draw joins within budgets of few rows, under every policy and family of laws."""
    form = sorted(bounded.FORMS)[chance.integers(len(bounded.FORMS))]
    names = [name for name in sorted(budgets) if bounded.is_declarable(form, name)]
    memory = bounded.BUDGETS[names[chance.integers(len(names))]](int(chance.integers(1, 12)))
    logical = bounded.bounded_join(
        form, sorted(MULTI_LOCALS)[chance.integers(len(MULTI_LOCALS))],
        sorted(bounded.WINDOWS)[chance.integers(len(bounded.WINDOWS))], memory,
    )  # fmt: skip
    source = (bounded.TrendingSource if chance.random() < 0.5 else Source)(chance, cuttable=True)
    changes, batches, first = [], [], 0
    for _ in range(int(chance.integers(1, 6))):
        rows = parameter_rows(chance, int(chance.integers(0, 5)))
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        changes.append(bounded.queries_of(logical, rows, first, drops))
        first += len(rows) + int(chance.integers(0, 3))
        batch = tables_of(source.batch(logical, 40), empty=chance.random() < 0.5)
        batches.append({**batch, "other": pa.table({"z": [1]})})
    return Case(step=logical.step(), changes=changes, batches=batches)


def shared_memories(chance: np.random.Generator) -> Case:
    """Draw joins of several shapes that share one memory of few rows."""
    key = sorted(shared.KEYS)[chance.integers(len(shared.KEYS))]
    names = [name for name in sorted(bounded.BUDGETS) if bounded.is_declarable(key, name)]
    memory = bounded.BUDGETS[names[chance.integers(len(names))]](int(chance.integers(1, 12)))
    memory = replace(memory, laws=(*memory.laws, memory.laws[0]))
    windows = shared.WINDOWS["rows" if memory.policy == "LIFE" else "mixed"][:3]
    logicals = [
        shared.shared_join(key, shared.Shape(pair, local), windows, memory)
        for pair in ((0, 1), (1, 2))
        for local in chance.choice(sorted(MULTI_LOCALS), 2, replace=False)
    ]
    source = (bounded.TrendingSource if chance.random() < 0.5 else Source)(chance, cuttable=True)
    changes, batches, first = [], [], 0
    for _ in range(int(chance.integers(1, 6))):
        rows = parameter_rows(chance, int(chance.integers(0, 5)))
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        logical = logicals[chance.integers(len(logicals))]
        changes.append(shared.queries_of(logical, rows, first, drops))
        first += len(rows) + int(chance.integers(0, 3))
        batch = tables_of(source.batch(logical, 30), empty=chance.random() < 0.5)
        batches.append({**batch, "other": pa.table({"z": [1]})})
    return Case(step=logicals[0].step(), changes=changes, batches=batches)


def lookup_joins(chance: np.random.Generator, policies: Sequence[str] = LOOKUP_POLICIES) -> Case:
    """Draw lookups through caches of few rows, in tables that stay as they are."""
    form = sorted(lookups.FORMS)[chance.integers(len(lookups.FORMS))]
    local = sorted(MULTI_LOCALS)[chance.integers(len(MULTI_LOCALS))]
    path = lookups.table_file(form, int(chance.integers(3)))
    policy = policies[int(chance.integers(len(policies)))]
    rows_max = int(chance.integers(1, 6))
    logical = lookups.lookup_join(form, local, path, rows=rows_max, policy=policy, batch=2)
    source = Source(chance)
    changes, batches, first = [], [], 0
    for _ in range(int(chance.integers(1, 6))):
        rows = parameter_rows(chance, int(chance.integers(0, 4)))
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        changes.append(lookups.queries_of(logical, rows, first, drops))
        first += len(rows) + int(chance.integers(0, 3))
        drawn = [source.row(int(chance.integers(0, 9))) for _ in range(chance.integers(0, 20))]
        batches.append({"a": lookups.stream_table(drawn), "other": pa.table({"z": [1]})})
    return Case(step=lookups.step_of(logical), changes=changes, batches=batches)


def range_aggregates(chance: np.random.Generator) -> Case:
    """Draw range aggregates."""
    form = ranges.drawn_form(chance)
    logical = form.bound()
    source, changes, batches, first = ranges.RangeSource(chance), [], [], 0
    for _ in range(int(chance.integers(1, 6))):
        rows = [ranges.drawn_range(chance, form) for _ in range(chance.integers(0, 8))]
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        changes.append(ranges.queries_of(logical, form, rows, first, drops))
        first += len(rows) + int(chance.integers(0, 3))
        drawn = source.changes(int(chance.integers(0, 15)))
        batch = ranges.batch_of(drawn)
        batches.append({"t": batch, "other": pa.table({"z": [1]})})
    return Case(step=logical.step(), changes=changes, batches=batches)


def range_messages(chance: np.random.Generator) -> Case:
    """Draw a group that tells messages."""
    measures = (ranges.MEASURES[chance.integers(7)],)
    form = replace(ranges.drawn_form(chance), measures=measures, further="")
    logical = form.bound(messages=True)
    source, changes, batches = ranges.RangeSource(chance), [], []
    adds = (
        OPERATORS["range_aggregate"]
        .register(logical, logical.step(), pa.table({"id": ["m"]}), 0)
        .adds
    )
    for turn in range(int(chance.integers(1, 6))):
        changes.append(QueryChanges(adds=adds if turn == 0 else {}))
        drawn = source.changes(int(chance.integers(0, 15)))
        batch = ranges.batch_of(drawn)
        batches.append({"t": batch, "other": pa.table({"z": [1]})})
    return Case(step=logical.step(), changes=changes, batches=batches)


def model_queries(
    chance: np.random.Generator, forms: Mapping[str, models.ModelForm] = models.FORMS
) -> Case:
    """Draw model queries; rows of streams with a lateness come in disorder."""
    form = forms[sorted(forms)[chance.integers(len(forms))]]
    logical = form.bind()
    source, changes, batches, first = models.ModelRows(chance), [], [], 0
    late = min(own.lateness_us for own in logical.shape.sources)
    for _ in range(int(chance.integers(1, 6))):
        rows = models.drawn_queries(chance, form, int(chance.integers(0, 8)))
        drops = np.flatnonzero(chance.random(first) < 0.3).tolist()
        changes.append(models.queries_of(logical, rows, first, drops))
        first += rows.num_rows + int(chance.integers(0, 3))
        batch = {
            name: source.batch(int(chance.integers(0, 25)), disorder=late // 2)
            for name in form.relations
        }
        batches.append({**batch, "other": pa.table({"z": [1]})})
    return Case(step=logical.step(), changes=changes, batches=batches)


def model_streams(chance: np.random.Generator) -> Case:
    """Draw a source that groups could share; it has no queries."""
    case = model_queries(chance, streams.SHAPES)
    stream = streams_of(case.step)[0]
    return Case(stream, [QueryChanges()] * len(case.batches), case.batches)


STRATEGIES = {
    "select_join": ("scan", "join", "selection", "ssi", "hot", "dynamic"),
    "band_join": ("queries", "data", "merge", "ssi", "hot", "dynamic"),
    "window_join": ("join", "selection", "ssi", "hot", "dynamic"),
}
GENERATORS: dict[str, Callable[[np.random.Generator], Case]] = {
    "filter": filters,
    "keep": keeping,
    "clock": clocks,
    KIND: tallying,
    "multi_join": multi_joins,
    "lookup_join": lookup_joins,
    "bounded_join": bounded_joins,
    "bounded_join by own policies": partial(bounded_joins, budgets=own_policies.NAMES),
    "bounded_join in a shared memory": shared_memories,
    "lookup_join by own policies": partial(lookup_joins, policies=own_policies.NAMES),
    "range_aggregate": range_aggregates,
    "range_aggregate as messages": range_messages,
    "model_query": model_queries,
    "model_query of several keys": partial(model_queries, forms=models.WIDE),
    "model_stream": model_streams,
    **{kind: joins(kind) for kind in STRATEGIES},
}
STORED = frozenset({"view"})
"""Kinds whose data is in a store: `tests/property/test_view_operator.py` has their laws."""
KINDS: dict[str, OperatorKind] = {
    **{name: OPERATORS[name] for name in OPERATORS if name not in STORED},
    KIND: TALLY,
    "bounded_join by own policies": OPERATORS["bounded_join"],
    "bounded_join in a shared memory": OPERATORS["bounded_join"],
    "lookup_join by own policies": OPERATORS["lookup_join"],
    "range_aggregate as messages": OPERATORS["range_aggregate"],
    "model_query of several keys": OPERATORS["model_query"],
}

MESSAGES = frozenset({"range_aggregate as messages", "model_query of several keys"})
"""What tells of a batch as it is: `tests/property/test_range_aggregate_operator.py` follows it, and
`test_model_query_operator.py` what is told of functions of time, whose pieces a cut may cut."""

kinds = pytest.mark.parametrize("kind", sorted(KINDS))
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=8)


def draw(kind: str, seed: int) -> Case:
    assert kind in GENERATORS, f"the kind {kind!r} has no generator: add one to GENERATORS"
    return GENERATORS[kind](np.random.default_rng(seed))


def pairs(results: list[Any], offset: int = 0) -> Pairs:
    """Give (query, event) pairs, events counted from the start of the whole batch.

    Rows that an operator made count by their content, with the sum of their signs.
    """
    found: Pairs = Counter()
    for result in results:
        if result.rows is None:
            own = [(q, offset + e) for q, e in zip(result.query, result.event, strict=True)]
            assert len(own) == len(set(own)), "a pair was given twice"
            found.update(own)
        else:
            rows = [tuple(map(repr, row.values())) for row in result.rows.to_pylist()]
            for query, event in zip(result.query.tolist(), result.event.tolist(), strict=True):
                found[query, *rows[event][:-1]] += int(rows[event][-1])
    return Counter({key: count for key, count in found.items() if count})


def splits(case: Case) -> bool:
    """Say whether a batch may be cut.

    In "identify", the cut decides which row affects a query; in a join of many, a batch's changes
    of tables come before all its rows of streams.
    """
    is_many = case.step.kind == "multi_join"
    has_tables = is_many and any(each.window is None for each in case.step.inputs)
    return getattr(case.step, "mode", "full") == "full" and not has_tables


def live(kind: str, case: Case) -> Iterator[tuple[int, Operator, Pairs]]:
    """Live through a case; gives the turn, the operator after it, and what it answered."""
    operator = KINDS[kind].build(case.step, None, WHOLE)
    for turn, batch in enumerate(case.batches):
        operator.apply(case.changes[turn])
        found = pairs(operator.process(batch))
        yield turn, operator, found


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - MESSAGES))
@given(seed=seeds)
@few
def test_splitting_a_batch_changes_nothing(kind: str, seed: int) -> None:
    """Where no row is late by rows of its own batch: cut there, it would be."""
    case, chance = draw(kind, seed), np.random.default_rng(seed + 1)
    assume(splits(case))
    other = KINDS[kind].build(case.step, None, WHOLE)
    for turn, operator, expected in live(kind, case):
        other.apply(case.changes[turn])
        size = max(table.num_rows for table in case.batches[turn].values())
        cuts = [0, *sorted(chance.integers(0, size + 1, 2).tolist()), size]
        found: Pairs = Counter()
        counts = Tally()
        for start, stop in pairwise(cuts):
            part = {n: t.slice(start, stop - start) for n, t in case.batches[turn].items()}
            found.update(pairs(other.process(part), start))
            for figure, _, value in other.counts():
                # A delete that waits for its row is taken back when the row comes.
                assert value >= 0 or figure == UNKNOWN_DELETES
            counts.add(other.counts())
        assert Counter({key: count for key, count in found.items() if count}) == expected
        for figure, labels, value in operator.counts():
            adds = figure in ADDING or (kind.startswith("bounded") and figure in KEEPING)
            assert not adds or counts[figure, *labels] == value, f"{figure.name} does not add up"
        assert operator.sizes() == other.sizes()


@pytest.mark.parametrize("kind", [kind for kind in sorted(KINDS) if kind.startswith("bounded")])
@given(seed=seeds)
@few
def test_a_budget_holds_whatever_comes(kind: str, seed: int) -> None:
    case = draw(kind, seed)
    for _, operator, _ in live(kind, case):
        sizes = operator.sizes()
        held = sum(sizes[ROWS, number] for number in range(len(case.step.inputs)))
        assert held <= sizes[ROWS_BUDGET] == case.step.memory.rows


@kinds
@given(seed=seeds)
@few
def test_a_replay_answers_the_same(kind: str, seed: int) -> None:
    case = draw(kind, seed)
    assert [found for _, _, found in live(kind, case)] == [f for _, _, f in live(kind, case)]


@kinds
@given(seed=seeds)
@few
def test_a_copy_restored_at_any_turn_answers_as_the_live_one(kind: str, seed: int) -> None:
    case = draw(kind, seed)
    copies: list[Operator] = []
    for turn, operator, expected in live(kind, case):
        for copy in copies:
            copy.apply(case.changes[turn])
            assert pairs(copy.process(case.batches[turn])) == expected
            assert copy.sizes() == operator.sizes()
        operator.delta()
        copy = KINDS[kind].build(case.step, operator.snapshot(), WHOLE)
        for changes in case.changes[: turn + 1]:
            copy.apply(changes)
        assert copy.snapshot() == operator.snapshot()
        copies.append(copy)


@kinds
@given(seed=seeds)
@few
def test_a_copy_follows_by_deltas(kind: str, seed: int) -> None:
    """It may stop following at any turn and go on by itself."""
    case = draw(kind, seed)
    followers = [KINDS[kind].build(case.step, None, WHOLE) for _ in case.batches]
    for turn, operator, expected in live(kind, case):
        delta = operator.delta()
        for alone, copy in enumerate(followers):
            copy.apply(case.changes[turn])
            if turn >= alone:
                assert pairs(copy.process(case.batches[turn])) == expected
                assert copy.delta() == delta
            elif delta is not None:
                copy.catch_up(delta)
            assert copy.snapshot() == operator.snapshot()
            assert copy.sizes() == operator.sizes()


@kinds
@given(seed=seeds)
@few
def test_inputs_stay_untouched(kind: str, seed: int) -> None:
    case = draw(kind, seed)

    def prints() -> list[bytes]:
        tables = [t for c in case.changes for t in c.adds.values()]
        tables += [t for batch in case.batches for t in batch.values()]
        return [table_to_bytes(t) for t in tables] + [c.drops.tobytes() for c in case.changes]

    before = prints()
    for _ in live(kind, case):
        pass
    assert prints() == before


@kinds
@given(seed=seeds)
@few
def test_drops_of_unknown_queries_change_nothing(kind: str, seed: int) -> None:
    case = draw(kind, seed)
    stranger = QueryChanges(drops=np.array([-7, 10**6, 2**62], dtype=np.int64))
    other = KINDS[kind].build(case.step, None, WHOLE)
    other.apply(stranger)
    for turn, operator, expected in live(kind, case):
        other.apply(case.changes[turn])
        other.apply(QueryChanges(drops=case.changes[turn].drops))
        other.apply(stranger)
        assert pairs(other.process(case.batches[turn])) == expected
        assert other.sizes() == operator.sizes()


@kinds
@given(seed=seeds)
@few
def test_nothing_in_nothing_out(kind: str, seed: int) -> None:
    case = draw(kind, seed)
    for _, operator, _ in live(kind, case):
        operator.delta()
        sizes = operator.sizes()
        for nothing in ({}, {"elsewhere": pa.table({"z": [1, 2]})}):
            assert operator.process(nothing) == []
            assert operator.delta() is None, "an empty batch changes no state"
            assert not operator.counts(), "an empty batch counts nothing"
        assert operator.sizes() == sizes


@kinds
@given(seed=seeds)
@few
def test_operators_tell_the_figures_that_their_kind_declares(kind: str, seed: int) -> None:
    declared = KINDS[kind].figures
    for _, operator, _ in live(kind, draw(kind, seed)):
        for told, of_kind in ((operator.counts(), "counter"), (operator.sizes(), "gauge")):
            for figure, _, _ in told:
                assert figure in declared, f"{figure.name} is not declared"
                assert figure.kind == of_kind, f"{figure.name} is a {figure.kind}"


@pytest.mark.parametrize("kind", sorted(set(OPERATORS) - STORED))
@given(seed=seeds)
@few
def test_a_step_survives_the_registrys_files(kind: str, seed: int) -> None:
    step = draw(kind, seed).step
    assert KINDS[kind].step_from_json(step.to_json()) == step
