"""Several bounded joins in one memory, beside a twin that takes row after row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.memories import Memory, StreamLaw
from penstock.operators.bounded_join import BOUNDED_JOIN, BoundedJoinOperator
from penstock.operators.bounded_join.figures import (
    JOIN_RECALL_ALL,
    JOIN_RECALL_MADE,
    RECALL_ALL,
)
from penstock.vocabulary.batches import Results
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS
from tests.support.bounded_joins import BUDGETS, TrendingSource, is_declarable, plain_parameters
from tests.support.multi_joins import LOCALS, Found, Source, tables_of
from tests.support.shared_memories import (
    KEYS,
    WINDOWS,
    Shape,
    SharedMemoryTwin,
    queries_of,
    shared_join,
)

COMPILED = [name for name in sorted(BUDGETS) if name.split()[0] in {"HEEB", "LRU", "LFU", "RAND"}]


def found_by(results: list[Results]) -> Found:
    """Give (query, the numbers of the joined rows), in the order of the memory's streams."""
    found: Found = Counter()
    for own in results:
        assert own.rows is not None
        names = [name for name in own.rows.column_names if name.endswith(".n")]
        rows = own.rows.select(names).to_pylist()
        for query, event in zip(own.query.tolist(), own.event.tolist(), strict=True):
            joined = [rows[event][name] for name in names]
            assert joined.count(None) == len(joined) - 2, "two inputs are joined, no more"
            found[(query, *(number for number in joined if number is not None))] += 1
    return found


def drawn_shapes(chance: np.random.Generator, streams: int) -> list[Shape]:
    """Draw joins of a memory; some ask for another equality beside the keys."""
    found = []
    for _ in range(int(chance.integers(1, 4))):
        pair = np.sort(chance.choice(streams, 2, replace=False)).tolist()
        local = sorted(LOCALS)[chance.integers(len(LOCALS))]
        further = (((0, "y"), (1, "y")),) if chance.random() < 0.3 else ()
        found.append(Shape((pair[0], pair[1]), local, further))
    return list(dict.fromkeys(found))


@given(
    seed=st.integers(0, 2**32 - 1), streams=st.integers(2, 4), key=st.sampled_from(sorted(KEYS)),
    windows=st.sampled_from(sorted(WINDOWS)), budget=st.sampled_from(COMPILED),
)  # fmt: skip
@settings(max_examples=60)
def test_joins_of_one_memory_answer_as_their_twin(seed, streams, key, windows, budget) -> None:
    if not is_declarable(key, budget):
        budget = "HEEB auto"
    chance = np.random.default_rng(seed)
    shapes = drawn_shapes(chance, streams)
    memory = BUDGETS[budget](int(chance.integers(1, 14)))
    laws = (memory.laws * 2)[:streams]
    memory = type(memory)(rows=memory.rows, policy=memory.policy, laws=laws, options=memory.options)
    logicals = [shared_join(key, own, WINDOWS[windows][:streams], memory) for own in shapes]
    steps = {repr(logical.step()) for logical in logicals}
    assert len(steps) == 1, "what queries ask is no part of their memory"
    step = logicals[0].step()
    assert BoundedJoinStep.from_json(step.to_json()) == step
    live, twin = BoundedJoinOperator(step), SharedMemoryTwin(key, shapes, logicals)
    source = (TrendingSource if chance.random() < 0.5 else Source)(chance)
    following = 0
    for turn in range(6):
        shape = int(chance.integers(len(shapes)))
        rows = plain_parameters(chance, int(chance.integers(0, 4)))
        drops = np.flatnonzero(chance.random(following) < 0.2).tolist()
        live.apply(queries_of(logicals[shape], rows, following, drops))
        twin.apply(shape, dict(enumerate(rows, start=following)), drops)
        following += len(rows)
        batch = source.batch(logicals[0], 30)
        assert found_by(live.process(tables_of(batch))) == twin.process(batch)
        assert sum(live.sizes()[ROWS, n] for n in range(streams)) <= memory.rows
        if turn == 3:
            live.delta()
            # A restart: queries come from the registry, in other parts than they came in.
            again = BoundedJoinOperator(step, live.snapshot())
            for number, asker in enumerate(twin.askers):
                for query, (row, _) in sorted(asker.queries.items()):
                    again.apply(queries_of(logicals[number], [row], query))
            assert again.snapshot() == live.snapshot()
            live = again


@pytest.mark.parametrize("windows", sorted(WINDOWS))
def test_a_memory_with_room_for_all_gives_all(windows: str) -> None:
    """Two joins of one stream, with room for every row: what each would find alone."""
    chance = np.random.default_rng(5)
    shapes = [Shape((0, 1), "plain"), Shape((0, 2), "ranges")]
    memory = BUDGETS["LRU"](1_000)
    memory = type(memory)(rows=1_000, policy="LRU", laws=memory.laws[:1] * 3)
    logicals = [shared_join("numbers", own, WINDOWS[windows][:3], memory) for own in shapes]
    together = BoundedJoinOperator(logicals[0].step())
    apart = [BoundedJoinOperator(logical.step()) for logical in logicals]
    rows = plain_parameters(chance, 6)
    for number, logical in enumerate(logicals):
        queries = queries_of(logical, rows[3 * number : 3 * number + 3], 3 * number)
        together.apply(queries)
        apart[number].apply(queries)
    source = Source(chance)
    found: list[Found] = [Counter(), Counter()]
    for _ in range(6):
        batch = tables_of(source.batch(logicals[0], 25))
        found[0].update(found_by(together.process(batch)))
        for operator in apart:
            found[1].update(found_by(operator.process(batch)))
    assert found[0] == found[1]
    assert len({query for query, *_ in found[0]}) > 3


@pytest.mark.parametrize("windows", sorted(WINDOWS))
def test_recall_is_told_of_every_join(windows: str) -> None:
    """What a small memory finds and what there is, by pair of streams, as a large one has it."""
    shapes = [Shape((0, 1), "plain"), Shape((1, 2), "plain")]
    found: dict[int, Counter[str]] = {}
    counts = Tally()
    for rows in (8, 1_000):
        chance = np.random.default_rng(6)
        memory = BUDGETS["LRU"](rows)
        memory = type(memory)(rows=rows, policy="LRU", laws=memory.laws[:1] * 3)
        logicals = [shared_join("numbers", own, WINDOWS[windows][:3], memory) for own in shapes]
        operator, counts = BoundedJoinOperator(logicals[0].step()), Tally()
        for number, logical in enumerate(logicals):
            operator.apply(queries_of(logical, plain_parameters(chance, 1), number))
        source, own = Source(chance), found.setdefault(rows, Counter())
        for _ in range(6):
            for (query, *_), often in found_by(
                operator.process(tables_of(source.batch(logicals[0], 25)))
            ).items():
                own["0,1" if query == 0 else "1,2"] += often
            counts.add(operator.counts())
        assert counts.by(JOIN_RECALL_MADE) == own
    assert counts.by(JOIN_RECALL_ALL) == found[1_000]
    assert counts[RECALL_ALL] == found[1_000].total() > found[8].total()


def test_a_memory_that_is_shared_has_a_forecast() -> None:
    """With laws declared, of the joins that stand; of none where nobody asks."""
    law = StreamLaw(
        family="linear trend",
        parameters={"slope": 1, "intercept": 0, "noise": "normal", "sigma": 3},
    )
    memory = Memory(rows=12, laws=(law,) * 3)
    logicals = [
        shared_join("numbers", Shape(pair, "plain"), (None,) * 3, memory)
        for pair in ((0, 1), (1, 2))
    ]
    step = logicals[0].step()
    assert not BOUNDED_JOIN.explain(step, {})["curve"]["points"]
    expected = []
    for asked in (logicals[:1], logicals):
        entries = {
            port: table
            for logical in asked
            for port, table in queries_of(logical, [{}], 0).adds.items()
        }
        curve = BOUNDED_JOIN.explain(step, entries)["curve"]
        shares = [point["recall"] for point in curve["points"]]
        assert shares == sorted(shares)
        assert len(shares) > 3
        expected.append(curve["expected"])
    # The more joins share it, the less it brings of what there is.
    assert expected[0] > expected[1] > 0.1
