"""Fetching: asking a source that may be slow, away or dead, within bounds.

An attempt has a time-out. One that fails is repeated after a pause that doubles, a little longer
or shorter by chance, so that many who failed together do not come back together. When all attempts
have failed the breaker opens: nobody asks until it has cooled down, then one attempt is made, and
its success closes the breaker. All clocks are here: what the operator keeps does not depend on them
but through what was answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.operators.lookup.sources import UNREADABLE, LookupSource
from penstock.vocabulary.errors import PenstockError

PAUSE_S_MAX = 30.0
JITTER = 0.5
"""A pause is longer or shorter by at most this share."""
LASTING = frozenset({"LKP-001", "LKP-002"})
"""Errors that no waiting repairs."""

Breaker = Literal["closed", "open", "trying"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a source is asked; `waiting` is how many rows may wait for it."""

    timeout_s: float = 2.0
    retries: int = 3
    backoff_s: float = 0.1
    cooldown_s: float = 5.0
    batch: int = 1000
    waiting: int = 100_000
    max_age_us: int | None = None

    def __post_init__(self) -> None:
        assert self.timeout_s > 0
        assert min(self.retries, self.backoff_s, self.cooldown_s) >= 0
        assert min(self.batch, self.waiting) >= 1
        assert self.max_age_us is None or self.max_age_us >= 0


def settings_of(lookup: Lookup) -> Settings:
    """Read the settings from a lookup's options: durations are seconds there.

    >>> from penstock.algebra.memories import Memory
    >>> memory = Memory(rows=5)
    >>> lookup = Lookup(source="", table="t", key="k", memory=memory, options={"max_age": 2.5})
    >>> settings_of(lookup).max_age_us
    2500000
    """
    given = lookup.options
    names = {"timeout": "timeout_s", "backoff": "backoff_s", "cooldown": "cooldown_s"}
    plain = ("retries", "batch", "waiting")
    found = {own: float(given[name]) for name, own in names.items() if name in given}
    whole = {name: int(given[name]) for name in plain if name in given}
    age = given.get("max_age")
    max_age_us = None if age is None else round(float(age) * 1_000_000)
    return Settings(**found, **whole, max_age_us=max_age_us)  # type: ignore[arg-type]


class Fetching:
    """A source behind time-out, retries and breaker."""

    def __init__(
        self,
        source: LookupSource,
        settings: Settings,
        *,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._source = source
        self._settings = settings
        self._chance = np.random.default_rng(seed)
        self._clock = clock
        self._sleep = sleep
        self._opened: float | None = None
        self.fetches = 0
        self.failures = 0
        self.reason: str | None = None
        """Why the last attempt that failed did."""

    @property
    def breaker(self) -> Breaker:
        """Whether the source is asked: always, not now, or once to see."""
        if self._opened is None:
            return "closed"
        cooled = self._clock() - self._opened >= self._settings.cooldown_s
        return "trying" if cooled else "open"

    def ask(self, keys: pa.Array) -> pa.Table | None:
        """Give the rows of some keys; None if the source does not answer now.

        That it cannot be read for some keys is an answer, and is raised.
        """
        breaker = self.breaker
        if breaker == "open":
            return None
        for attempt in range(1 + (0 if breaker == "trying" else self._settings.retries)):
            if attempt:
                self._sleep(self._pause(attempt))
            try:
                found = self._source.fetch(keys, self._settings.timeout_s)
            except PenstockError as error:
                if error.code in LASTING:
                    raise
                if error.code == UNREADABLE:
                    self._answered()
                    raise
                self.failures += 1
                self.reason = error.fact
                continue
            self._answered()
            return found
        self._opened = self._clock()
        return None

    def _answered(self) -> None:
        self.fetches += 1
        self._opened = None

    def _pause(self, attempt: int) -> float:
        pause = min(self._settings.backoff_s * 2.0 ** (attempt - 1), PAUSE_S_MAX)
        return pause * float(self._chance.uniform(1 - JITTER, 1 + JITTER))

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()
