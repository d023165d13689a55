"""Policies of one's own, each in one place: in Python or as a rule, beside those that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from penstock.kernels.bounded_victims import SCANNED
from penstock.kernels.scores import table_score
from penstock.lab.caching.workload import CONFIGURATIONS, TOWER, Configuration, alternating, results
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.laws_noise import Normal
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import (
    Candidates,
    CompiledPolicy,
    Rule,
    ScoredPolicy,
    SteppedPolicy,
)
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.errors import PenstockError


class FirstIn(SteppedPolicy):
    """The oldest rows go."""

    __slots__ = ()
    name = "first in, first out"

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> np.ndarray:
        return np.arange(count)


class Twice(SteppedPolicy):
    """Names one row as often as rows must go."""

    __slots__ = ()
    name = "twice the same"

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> np.ndarray:
        return np.zeros(count, dtype=np.int64)


class Scored(ScoredPolicy):
    """HEEB in Python: it looks every row up, and sees where the streams are."""

    __slots__ = ("_lasts", "_tables")
    name = "HEEB in Python"

    def __init__(self, streams: Configuration, budget: int) -> None:
        self._tables = streams.heeb(budget).rule().tables
        self._lasts = np.zeros(2, dtype=np.int64)

    def see(self, streams: np.ndarray, keys: np.ndarray, now: int) -> None:
        self._lasts[streams] = keys

    def scores(self, candidates: Candidates, now: int) -> np.ndarray:
        partners = 1 - candidates.streams
        return np.array(
            [
                table_score(self._tables[partner], int(key), now, int(self._lasts[partner]))
                for partner, key in zip(partners, candidates.keys, strict=True)
            ]
        )


@dataclass(frozen=True)
class Nearest(CompiledPolicy):
    """A rule of one's own: rows go that are farthest from the last key."""

    name: ClassVar[str] = "nearest"
    count: int

    def rule(self) -> Rule:
        walk = RandomWalk(drift=0, step=Normal(sigma=1.0))
        table = score_table(walk, Exponential(5.0), caching=self.count == 1)
        return Rule(mode=SCANNED, tables=(table,) * self.count)


def test_the_oldest_go_first() -> None:
    fed = alternating(*TOWER.draw(60, 1))
    cache = JoinCache(7, FirstIn())
    made = cache.feed(*fed, emit=True)
    assert cache.rows.numbers.tolist() == list(range(113, 120))
    # A row meets those of the last seven places that were held, and the other of its tick.
    expected = {
        (new, old)
        for new in range(120)
        for old in range(max(new - new % 2 - 7, 0), new)
        if fed[0][new] != fed[0][old] and fed[1][new] == fed[1][old]
    }
    assert set(map(tuple, made.pairs.tolist())) == expected


@pytest.mark.parametrize("search", ["auto", "scan"])
@pytest.mark.parametrize("streams", CONFIGURATIONS, ids=lambda each: each.name)
def test_python_and_machine_code_discard_the_same_rows(streams: Configuration, search: str) -> None:
    fed = alternating(*streams.draw(250, 6))
    slow, fast = JoinCache(9, Scored(streams, 9)), JoinCache(9, streams.heeb(9, search))
    pairs = [sorted(cache.feed(*fed, emit=True).pairs.tolist()) for cache in (slow, fast)]
    assert pairs[0] == pairs[1]
    assert slow.rows.numbers.tolist() == fast.rows.numbers.tolist()
    assert slow.account == fast.account


def test_a_rule_serves_joins_and_lookups() -> None:
    keys = TOWER.draw(400, 2)
    assert results(Nearest(2), keys, 10, 40) > results(FirstIn(), keys, 10, 40)
    cache = LookupCache(3, Nearest(1))
    cache.feed(np.array([10, 20, 30, 40, 50, 49, 48]))
    assert sorted(cache.keys.tolist()) == [48, 49, 50]


def test_a_policy_that_breaks_the_budget_is_found_out() -> None:
    with pytest.raises(PenstockError, match=r"ENG-045.*must name 2 of 5 rows"):
        JoinCache(3, Twice()).feed(*alternating(*TOWER.draw(20, 1)))


def test_candidates_are_not_to_be_changed() -> None:
    class Changing(ScoredPolicy):
        name = "changing"

        def scores(self, candidates: Candidates, now: int) -> np.ndarray:
            candidates.keys[:] = 0
            return candidates.used

    with pytest.raises(ValueError, match="read-only"):
        JoinCache(3, Changing()).feed(*alternating(*TOWER.draw(20, 1)))
