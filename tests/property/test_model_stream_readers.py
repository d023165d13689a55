"""Groups that share sources: nobody is told anything else than if he shared with nobody."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.model_query.figures import MIGRATIONS
from penstock.operators.protocol import Share
from penstock.operators.shard import Shard
from tests.support.model_streams import GATED, SharedLife, Told, moved, run, told

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=15, deadline=None)


@given(seed=seeds)
@some
def test_sharing_changes_no_answer(seed: int) -> None:
    """Each shape is told, batch by batch, what it is told by a stream of its own."""
    life = SharedLife(seed)
    together = Shard(life.feed())
    alone = {name: Shard(life.alone(name)) for name in life.logicals}
    for version, batch in enumerate(life.batches, start=1):
        found = run(together, version, batch)
        apart: Told = {}
        for shard in alone.values():
            apart |= run(shard, version, batch)
        assert found == apart


@given(seed=seeds)
@some
def test_copies_and_restored_shards_go_on_alike(seed: int) -> None:
    """A copy follows by deltas, another begins from a snapshot: all tell the same."""
    life, chance = SharedLife(seed), np.random.default_rng(seed + 1)
    feed = life.feed()
    first, copy = Shard(feed), Shard(feed)
    for version, batch in enumerate(life.batches, start=1):
        expected = run(first, version, batch)
        deltas = first.deltas()
        other = moved(copy, feed, "restored")
        assert run(other, version, batch) == expected
        copy.catch_up(version, deltas)
        if chance.random() < 0.5:
            first, copy = moved(copy, feed, "restored"), first


@given(seed=seeds)
@some
def test_shards_together_tell_what_one_tells(seed: int) -> None:
    life = SharedLife(seed)
    groups = {life.groups[name] for name, own in life.logicals.items() if own.shape.shard_key} | {
        each for own in life.logicals.values() if own.shape.shard_key for each in own.shape.reads
    }
    feed = life.feed(groups)
    whole, parts = Shard(feed), [Shard(feed, share=Share(n, 3)) for n in range(3)]
    for version, batch in enumerate(life.batches, start=1):
        found: Told = defaultdict(int)
        for shard in parts:
            shard.advance(version)
            told(shard.process(batch), found)
        assert run(whole, version, batch) == {key: n for key, n in found.items() if n}


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_suspended_readers_take_their_stream_along(seed: int) -> None:
    """A stream rests while all that read it do; who goes on is told as if nothing had been."""
    life, chance = SharedLife(seed), np.random.default_rng(seed + 2)
    feed = life.feed()
    shard, copy = Shard(feed), Shard(feed)
    for version, batch in enumerate(life.batches, start=1):
        resting = {own for own in life.groups.values() if chance.random() < 0.4}
        shard.advance(version)
        shard.rest(resting)
        found: Told = defaultdict(int)
        told(shard.process(batch), found)
        assert not {key[0] for key in found} & resting
        copy.catch_up(version, shard.deltas())
        assert copy.snapshots() == shard.snapshots()


def migrated(life: SharedLife, restarts: float) -> int:
    """Run a life with forced plans beside one without any; give how many plans came into force."""
    chance, feed, migrations = np.random.default_rng(len(life.batches)), life.feed(planned=True), 0
    plain, gated, copy = Shard(life.feed()), Shard(feed), Shard(feed)
    for version, batch in enumerate(life.batches, start=1):
        assert run(gated, version, batch) == run(plain, version, batch)
        copy.catch_up(version, gated.deltas())
        plain.deltas()
        migrations += len(life.plans[version])
        if chance.random() < restarts:
            gated, copy = moved(copy, feed, "restored"), gated
    return migrations


@given(seed=seeds)
@some
def test_forced_migrations_change_no_answer(seed: int) -> None:
    """Whoever shares a gate with whomever, from batch to batch, through copies and restarts."""
    migrated(SharedLife(seed, turns=10, among=GATED), restarts=0.3)


@given(seed=seeds)
@some
def test_shapes_that_come_and_go_within_a_batch_change_no_answer(seed: int) -> None:
    """Several versions begin with one batch: groups go and come again, plans follow each other."""
    life, chance = SharedLife(seed, turns=14, shapes=6, among=GATED), np.random.default_rng(seed)
    feed = life.feed(planned=True)
    plain, gated, copy = Shard(life.feed()), Shard(feed), Shard(feed)
    for version, batch in enumerate(life.batches, start=1):
        if chance.random() < 0.6:
            continue
        assert run(gated, version, batch) == run(plain, version, batch)
        copy.catch_up(version, gated.deltas())
        plain.deltas()
        assert copy.snapshots() == gated.snapshots()
        if chance.random() < 0.4:
            gated, copy = moved(copy, feed, "restored"), gated


def test_a_thousand_migrations_lose_and_double_nothing() -> None:
    assert migrated(SharedLife(7, turns=500, among=GATED, rows_max=8), restarts=0.05) >= 1_000


def test_a_plan_is_counted_once_however_many_shards_follow_it() -> None:
    life = SharedLife(11, turns=8, among=GATED)
    feed = life.feed(planned=True)
    shards = [Shard(feed, share=Share(number, 3)) for number in range(3)]
    counted = 0
    for version, batch in enumerate(life.batches, start=1):
        for shard in shards:
            run(shard, version, batch)
            counted += shard.figures().total(MIGRATIONS)
    assert counted == sum(map(len, life.plans.values())) > 5
