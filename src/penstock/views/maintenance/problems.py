"""Problems: arrivals, curves and a bound, for which a schedule is sought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.kernels.cost_curves import minimal_sets
from penstock.views.maintenance.curves import CLOSE, CostCurve, Curves
from penstock.vocabulary.batches import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Freshness:
    """Curves of all tables and the bound that a refresh must keep.

    >>> curves = [CostCurve.linear(each=2, fixed=1), CostCurve.linear(each=1, fixed=12)]
    >>> fresh = Freshness.of(curves, 24)
    >>> fresh.is_full(np.array([3, 3])), fresh.is_full(np.array([4, 4]))
    (False, True)
    >>> fresh.minimal_sets(np.array([4, 4]))
    [(0,), (1,)]
    """

    curves: Curves
    bound: float
    """In the unit of the curves."""

    @classmethod
    def of(cls, curves: list[CostCurve], bound: float) -> Freshness:
        """Give the freshness of a view with these curves."""
        return cls(curves=Curves(tuple(curves)), bound=bound)

    @cached_property
    def limit(self) -> float:
        """The bound, with room for rounding."""
        return self.bound + CLOSE * max(self.bound, 1.0)

    def cost(self, pending: Ints) -> float:
        """Give what a refresh would cost now."""
        return self.curves.cost(pending)

    def is_full(self, pending: Ints) -> bool:
        """Say whether a refresh would take longer than the bound: then something is flushed."""
        return self.cost(pending) > self.limit

    def minimal_sets(self, pending: Ints) -> list[tuple[int, ...]]:
        """Give every least set of tables whose flush brings the rest within the bound."""
        kept = self.curves.parts(pending)
        return sorted(map(members_of, minimal_sets(kept, self.limit).tolist()), key=_order)

    def cheapest_set(self, pending: Ints, given: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Give the cheapest set that, flushed with the given tables, brings the rest within it."""
        rest = pending.copy()
        rest[list(given)] = 0
        if not self.is_full(rest):
            return tuple(sorted(given))
        parts = self.curves.parts(rest)
        best = min(self.minimal_sets(rest), key=lambda each: (float(parts[list(each)].sum()), each))
        return tuple(sorted({*given, *best}))


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Changes that come at moments 1 … T, of which at T everything must be flushed."""

    freshness: Freshness
    arrivals: Ints
    """By moment, from 0 (at which nothing comes), and table."""

    def __post_init__(self) -> None:
        assert self.arrivals.shape[1] == len(self.freshness.curves), "a column for every table"
        assert (self.arrivals >= 0).all() and not self.arrivals[0].any(), "nothing comes at 0"

    @classmethod
    def of(cls, curves: list[CostCurve], bound: float, come: Sequence[Sequence[int]]) -> Problem:
        """Give the problem where, at moments 1, 2, …, so many changes of each table come."""
        arrivals = np.array([[0] * len(curves), *come], np.int64)
        return cls(freshness=Freshness.of(curves, bound), arrivals=arrivals)

    @classmethod
    def uniform(cls, freshness: Freshness, last: int, each: int = 1) -> Problem:
        """Give the problem where every table has as many changes at each moment."""
        arrivals = np.full((last + 1, len(freshness.curves)), each, np.int64)
        arrivals[0] = 0
        return cls(freshness=freshness, arrivals=arrivals)

    @property
    def last(self) -> int:
        """The moment of the refresh."""
        return len(self.arrivals) - 1

    @cached_property
    def come(self) -> Ints:
        """How many changes of each table have come until each moment."""
        return np.cumsum(self.arrivals, axis=0)

    def until(self, last: int) -> Problem:
        """Give the same problem with an earlier refresh."""
        return Problem(freshness=self.freshness, arrivals=self.arrivals[: last + 1])


def members_of(bits: int) -> tuple[int, ...]:
    """Give the tables of a set.

    >>> members_of(5)
    (0, 2)
    """
    return tuple(table for table in range(bits.bit_length()) if bits >> table & 1)


def _order(members: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(members), members
