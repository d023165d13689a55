"""Offenders: which query it is that a batch cannot be run with, if it is one.

A group is evaluated as a whole, and so is its allowance. When it does not suffice, parts of its
queries are tried over the same batch, each from the state before it, until one is found that takes
too much by itself. Nothing that is tried is seen by anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.vocabulary.batches import Ints

Fails = Callable[[Ints], bool]
"""Says whether a batch cannot be run with these queries of a group, and no others of it."""


@dataclass(frozen=True, slots=True)
class Offence:
    """The query that is to be suspended, or None: the whole group is, and why."""

    query: int | None
    words: str = ""


def find_offender(queries: Ints, fails: Fails) -> Offence:
    """Find the query that fails by itself, among those that fail together.

    It takes some four trials more than the queries can be halved.

    >>> find_offender(np.arange(100), lambda own: 70 in own).query
    70
    >>> find_offender(np.arange(100), lambda own: len(own) > 50).words
    'No query takes that much by itself: its 100 queries do together.'
    >>> find_offender(np.arange(100), lambda own: True).words
    'Each of its 100 queries takes as much by itself: it is their shape that costs.'
    """
    count = len(queries)
    if count < 2:  # one is found without looking
        return Offence(None)
    some = np.unique([0, count // 2, count - 1])
    if all(fails(queries[at : at + 1]) for at in some.tolist()):
        words = f"Each of its {count:,} queries takes as much by itself: it is their shape that"
        return Offence(None, f"{words} costs.")
    runs, fails_with = 0, count
    while fails_with - runs > 1:
        middle = (runs + fails_with) // 2
        if fails(queries[:middle]):
            fails_with = middle
        else:
            runs = middle
    if fails(queries[runs:fails_with]):
        return Offence(int(queries[runs]))
    words = f"No query takes that much by itself: its {count:,} queries do together."
    return Offence(None, words)
