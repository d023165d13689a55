"""Lookups on several shards: each sees where the stream is, and looks up its own keys alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import InputShape
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import Lookup, Memory
from penstock.algebra.physical import BranchShape
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import Normal
from penstock.operators.lookup import LookupJoinOperator
from penstock.operators.lookup.figures import REFERENCES, ROWS_CACHED
from penstock.operators.protocol import Share
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.ownership import shard_of
from penstock.vocabulary.batches import Ints, QueryChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import HITS, LAW, ROWS_BUDGET, ROWS_WAITING

COLUMNS = (("k", pa.int64()), ("n", pa.int64()))
STREAM, TABLE = "s", "t"
BATCH = 500
TRACES: dict[str, tuple[Law, int, float]] = {
    "ar1": (Ar1(phi0=5.59, phi1=0.72, sigma=42.2), 90, 0.97),
    "slow ar1": (Ar1(phi0=1.0, phi1=0.99, sigma=10.0), 45, 0.97),
    "walk": (RandomWalk(drift=0, step=Normal(sigma=30.0)), 90, 0.97),
    "trend": (LinearTrend(slope=1, intercept=0, noise=Normal(sigma=30.0)), 45, 0.95),
}
"""Laws, budgets, and the share of one shard's hits that several shards have at the least."""


class Answering:
    """A source that has a row for every key, and knows which were asked for."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.dead = False

    def columns(self, timeout_s: float) -> pa.Schema:
        return pa.schema(list(COLUMNS))

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        if self.dead:
            raise PenstockError("LKP-003", "It is away.", "Wait.")
        self.asked.update(keys.to_pylist())
        return pa.table([keys, keys], names=["k", "n"])

    def close(self) -> None:
        """Hold nothing."""


def step_of(rows: int, policy: str = "HEEB") -> LookupJoinStep:
    shape = InputShape(relation=STREAM, columns=COLUMNS, window=None, branch=BranchShape())
    memory = Memory(rows=rows, policy=policy)
    options = {"retries": 0, "backoff": 0.0, "cooldown": 0.0}
    lookup = Lookup(source="duckdb:none", table=TABLE, key="k", memory=memory, options=options)
    return LookupJoinStep(
        inputs=(shape, replace(shape, relation=TABLE)),
        crossing=Crossing(equalities=(((0, "k"), (1, "k")),)),
        lookup=lookup,
        looked_up=1,
    )


class Shards:
    """Operators that share a lookup, fed as the cluster host feeds them."""

    def __init__(self, step: LookupJoinStep, count: int) -> None:
        self.step, self.count = step, count
        self.sources = [Answering() for _ in range(count)]
        self.operators = [self.made(number) for number in range(count)]
        self.found: Counter[tuple[int, int]] = Counter()
        self.hits = self.references = 0

    def made(self, number: int, snapshot: bytes | None = None) -> LookupJoinOperator:
        share, source = Share(number, self.count), self.sources[number]
        operator = LookupJoinOperator(self.step, snapshot, share, source)
        operator.apply(QueryChanges(adds={PORT: pa.table({"query": [0]})}))
        return operator

    def feed(self, table: pa.Table) -> None:
        ((_, columns),) = self.step.division or ()
        owners = self.owners(table)
        for number, operator in enumerate(self.operators):
            own = table.filter(pa.array(owners == number)) if columns else table
            for each in operator.process({STREAM: own}):
                assert each.rows is not None
                names = each.rows["i0.n"].to_pylist()
                values = each.rows["i1.n"].to_pylist()
                self.found.update((names[at], values[at]) for at in each.event.tolist())
            counts, sizes = operator.counts(), operator.sizes()
            self.hits += counts[HITS]
            self.references += counts[REFERENCES]
            assert sizes[ROWS_CACHED] <= sizes[ROWS_BUDGET]

    def owners(self, table: pa.Table) -> Ints:
        return np.asarray(shard_of([table.column("k")], [pa.int64()], self.count))


def tables(law: Law, length: int, seed: int) -> list[pa.Table]:
    keys = law.draw(length, np.random.default_rng(seed))
    table = pa.table([keys, np.arange(length)], names=["k", "n"])
    return [table.slice(at, BATCH) for at in range(0, length, BATCH)]


def run(step: LookupJoinStep, count: int, batches: list[pa.Table]) -> Shards:
    shards = Shards(step, count)
    for table in batches:
        shards.feed(table)
    return shards


@pytest.mark.parametrize("name", sorted(TRACES))
def test_shards_hit_as_one_cache_of_their_budgets_does(name: str, seed: int) -> None:
    law, budget, least = TRACES[name]
    batches = tables(law, 6000, seed)
    step = step_of(budget)
    assert step.division == ((STREAM, ()),)
    alone = run(step, 1, batches)
    keys = pa.concat_tables(batches)
    assert alone.found == Counter(zip(keys["n"].to_pylist(), keys["k"].to_pylist(), strict=True))
    for count in (2, 3):
        shards = run(step, count, batches)
        assert shards.found == alone.found
        assert shards.references == alone.references == keys.num_rows
        assert shards.hits >= least * alone.hits
        assert sum(each.sizes()[ROWS_BUDGET] for each in shards.operators) == budget
        assert len({each.sizes()[LAW, 0] for each in shards.operators}) == 1
        for number, source in enumerate(shards.sources):
            asked = pa.table({"k": pa.array(sorted(source.asked), pa.int64())})
            assert (shards.owners(asked) == number).all()


@pytest.mark.parametrize("policy", ["LRU", "LFU", "RAND"])
def test_without_a_law_shards_see_their_keys_only(policy: str, seed: int) -> None:
    law, budget, _ = TRACES["ar1"]
    step = step_of(budget, policy)
    assert step.division == ((STREAM, ("k",)),)
    batches = tables(law, 2000, seed)
    alone, shards = (run(step, count, batches) for count in (1, 3))
    assert shards.found == alone.found
    assert shards.hits == pytest.approx(alone.hits, rel=0.1)


def test_copies_of_shards_follow_and_go_on(seed: int) -> None:
    law, budget, _ = TRACES["walk"]
    shards = Shards(step_of(budget), 2)
    copies = [shards.made(number) for number in range(2)]
    for turn, table in enumerate(tables(law, 3000, seed)):
        for source in shards.sources:
            source.dead = turn in (2, 3)
        shards.feed(table)
        for number, operator in enumerate(shards.operators):
            delta = operator.delta()
            assert delta is not None
            copies[number].catch_up(delta)
            kept = operator.snapshot()
            assert copies[number].snapshot() == kept
            if turn == 3:
                copies[number] = shards.made(number, kept)
                assert copies[number].sizes() == operator.sizes()
        waiting = sum(each.sizes()[ROWS_WAITING] for each in shards.operators)
        if turn in (2, 3):
            assert 0 < waiting <= (turn - 1) * BATCH
        else:
            assert waiting == 0
    assert len(shards.found) == 3000
