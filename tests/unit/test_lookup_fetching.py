"""Fetching: time-outs, retries that back off, and the breaker, on a clock of the test's own."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.operators.lookup.fetches import JITTER, PAUSE_S_MAX, Fetching, Settings
from penstock.vocabulary.errors import PenstockError

KEYS = pa.array([1, 2])
ROWS = pa.table({"id": [1]})


class Scripted:
    """A source that fails as often as it is told to."""

    def __init__(self, failing: int = 0, code: str = "LKP-003") -> None:
        self.failing = failing
        self.code = code
        self.asked: list[float] = []

    def columns(self, timeout_s: float) -> pa.Schema:
        return ROWS.schema

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        self.asked.append(timeout_s)
        if self.failing:
            self.failing -= 1
            raise PenstockError(self.code, "It is away.", "Wait.")
        return ROWS

    def close(self) -> None:
        pass


class World:
    """A clock that moves when someone sleeps."""

    def __init__(self, source: Scripted, seed: int = 0, **settings: float) -> None:
        self.now = 100.0
        self.pauses: list[float] = []
        given = Settings(**{"timeout_s": 2.0, "retries": 3, "cooldown_s": 5.0, **settings})  # type: ignore[arg-type]
        self.fetching = Fetching(source, given, seed=seed, clock=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def test_an_answer_is_given_at_once() -> None:
    source = Scripted()
    world = World(source)
    assert world.fetching.ask(KEYS) is ROWS
    assert (source.asked, world.pauses, world.fetching.breaker) == ([2.0], [], "closed")
    assert (world.fetching.fetches, world.fetching.failures) == (1, 0)


def test_failures_are_repeated_with_pauses_that_double() -> None:
    source = Scripted(failing=3)
    world = World(source, backoff_s=0.1)
    assert world.fetching.ask(KEYS) is ROWS
    assert world.fetching.failures == 3
    for pause, plain in zip(world.pauses, (0.1, 0.2, 0.4), strict=True):
        assert plain * (1 - JITTER) <= pause <= plain * (1 + JITTER)
    assert world.fetching.breaker == "closed"


def test_chance_begins_at_the_seed() -> None:
    def pauses(seed: int) -> list[float]:
        world = World(Scripted(failing=4), seed=seed)
        world.fetching.ask(KEYS)
        return world.pauses

    assert pauses(1) == pauses(1) != pauses(2)


def test_a_pause_has_a_limit() -> None:
    world = World(Scripted(failing=100), retries=20, backoff_s=1.0)
    assert world.fetching.ask(KEYS) is None
    assert max(world.pauses) <= PAUSE_S_MAX * (1 + JITTER)


def test_an_open_breaker_asks_nobody_then_once() -> None:
    source = Scripted(failing=5)
    world = World(source, backoff_s=0.0)
    fetching = world.fetching
    assert fetching.ask(KEYS) is None
    assert (len(source.asked), fetching.breaker, fetching.reason) == (4, "open", "It is away.")
    world.now += 4.9
    assert fetching.ask(KEYS) is None
    assert len(source.asked) == 4
    world.now += 0.2
    assert fetching.breaker == "trying"
    assert fetching.ask(KEYS) is None
    assert (len(source.asked), fetching.breaker) == (5, "open")
    world.now += 5.1
    assert fetching.ask(KEYS) is ROWS
    assert (len(source.asked), fetching.breaker) == (6, "closed")


def test_after_a_success_retries_are_all_there_again() -> None:
    source = Scripted(failing=4)
    world = World(source, backoff_s=0.0)
    assert world.fetching.ask(KEYS) is None
    world.now += 6
    assert world.fetching.ask(KEYS) is ROWS
    source.failing = 3
    assert world.fetching.ask(KEYS) is ROWS


def test_what_no_waiting_repairs_is_raised() -> None:
    with pytest.raises(PenstockError, match="LKP-002"):
        World(Scripted(failing=1, code="LKP-002")).fetching.ask(KEYS)


def test_that_some_keys_cannot_be_read_is_an_answer() -> None:
    world = World(Scripted(failing=4), backoff_s=0.0, cooldown_s=0.0)
    assert world.fetching.ask(KEYS) is None
    assert world.fetching.breaker == "trying"
    source = Scripted(failing=1, code="LKP-011")
    world = World(source)
    with pytest.raises(PenstockError, match="LKP-011"):
        world.fetching.ask(KEYS)
    assert (len(source.asked), world.fetching.breaker) == (1, "closed")
    assert (world.fetching.fetches, world.fetching.failures) == (1, 0)
