"""Draws: all chance of an experiment comes from the one seed that it was given.

An experiment names what it draws by numbers of its own (a run, a stream); those and the seed decide
what comes. With the default seed the numbers alone decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

DEFAULT_SEED = 0
_SPREAD = 1_000_003
"""Seeds of two experiments lie so far apart: no policy of the one takes chances of the other."""
_given = [DEFAULT_SEED]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from this seed inside; an experiment runs in here.

    >>> with seeded(3):
    ...     current_seed()
    3
    """
    _given.append(seed)
    try:
        yield
    finally:
        _given.pop()


def current_seed() -> int:
    """Give the seed that the experiment was given."""
    return _given[-1]


def generator(*labels: int) -> np.random.Generator:
    """Give a generator for what the labels name.

    >>> with seeded(1):
    ...     int(generator(5).integers(10**9)) == int(generator(5).integers(10**9))
    True
    >>> with seeded(1):
    ...     other = int(generator(5).integers(10**9))
    >>> other == int(generator(5).integers(10**9))
    False
    """
    seed = current_seed()
    key = () if seed == DEFAULT_SEED else (seed,)
    return np.random.default_rng(np.random.SeedSequence(labels, spawn_key=key))


def chance(label: int) -> int:
    """Give the seed of a policy or a meter that takes its own chances.

    >>> chance(4)
    4
    >>> with seeded(2):
    ...     chance(4)
    2000010
    """
    return label + _SPREAD * (current_seed() - DEFAULT_SEED)
