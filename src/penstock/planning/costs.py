"""Cost libraries: what it takes to probe a window, to insert into it and to invalidate.

A library is a table of coefficients, one line per index; another machine or another executor is
another table. All costs are in seconds. A join spends, on the window X of one side,
rate_other * probe(X) + rate_X * (insert(X) + invalidate(X)); each window's index is chosen on its
own, to make that least. [S-fix] Ayad and Naughton 2004, E8; the indexes' formulas are [X].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from penstock.algebra.trees import Index
from penstock.planning.constants import PlanConstants

NANOSECOND = 1e-9


def is_composite(mask: int) -> bool:
    """Say whether the rows of a set are such that joins made."""
    return bool(mask & (mask - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCosts:
    """One way to keep a window of W rows, of which a share f has the key that is looked for."""

    name: str
    probe_s: float = 0.0
    probe_log_s: float = 0.0
    """For every doubling of the window."""
    probe_row_s: float = 0.0
    """For every row of the window."""
    probe_composite_s: float = 0.0
    """For every row of a window of rows that joins made, more."""
    probe_match_s: float = 0.0
    """For every row with the key."""
    insert_s: float = 0.0
    insert_log_s: float = 0.0
    invalidate_s: float = 0.0
    invalidate_log_s: float = 0.0
    needs_equality: bool = False
    is_offered: bool = True
    """Whether the executor has it."""

    def probe(self, window: float, f: float, composite: bool = False) -> float:
        """Give the time of looking up one row's partners."""
        each = self.probe_row_s + self.probe_match_s * f
        each += self.probe_composite_s if composite else 0.0
        return self.probe_s + self.probe_log_s * log2(1.0 + window) + each * window

    def insert(self, window: float) -> float:
        """Give the time of adding one row."""
        return self.insert_s + self.insert_log_s * log2(1.0 + window)

    def invalidate(self, window: float) -> float:
        """Give the time of taking out one row."""
        return self.invalidate_s + self.invalidate_log_s * log2(1.0 + window)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLibrary:
    """The indexes' costs, and those of rows that arrive (`arrive_s`) and leave (`emit_s`).

    `read_s` is spent on every row that comes, also on one that a drop box turns away; `batch_s` is
    spent in every second, whatever the plan. Among equally cheap indexes the first is taken.
    """

    table: tuple[IndexCosts, ...]
    arrive_s: float = 0.0
    emit_s: float = 0.0
    read_s: float = 0.0
    arrive_byte_s: float = 0.0
    """For every byte of a row that arrives."""
    emit_byte_s: float = 0.0
    """For every byte of the rows that a result is made of."""
    batch_s: float = 0.0
    composite_s: float = 0.0
    """What a probe takes more where the window is of rows that joins made."""
    composite_match_s: float = 0.0
    """What a row whose key is equal takes more there."""
    several_s: float = 0.0
    """What a probe takes more where more than one predicate is asked."""
    several_match_s: float = 0.0
    """What a row whose key is equal takes more where more than one predicate is asked."""
    source: str = ""

    def indexes(self, meets: bool) -> tuple[Index, ...]:
        """List how a window may be kept: by its keys only where an equality crosses."""
        return tuple(
            each.name  # type: ignore[misc]
            for each in self.table
            if each.is_offered and (meets or not each.needs_equality)
        )

    def costs(self, index: str) -> IndexCosts:
        """Give the line of an index."""
        return next(each for each in self.table if each.name == index)

    def beside(self, window: int, predicates: int, matches: float) -> float:
        """Give what a probe takes more, whatever the index: of the window of a set.

        So many `predicates` are asked, of so many rows whose key is equal.
        """
        more = 0.0
        if is_composite(window):
            more += self.composite_s + self.composite_match_s * matches
        if predicates > 1:
            more += self.several_s + self.several_match_s * matches
        return more

    def probe(self, index: str, window: float, f: float, composite: bool = False) -> float:
        """Give C_P: the time to look up one row's partners in a window."""
        return self.costs(index).probe(window, f, composite)

    def insert(self, index: str, window: float) -> float:
        """Give C_I: the time to add one row to its window."""
        return self.costs(index).insert(window)

    def invalidate(self, index: str, window: float) -> float:
        """Give C_V: the time to take one row out of its window."""
        return self.costs(index).invalidate(window)

    def side(
        self, index: str, window: float, f: float, rate: float, other: float, composite: bool
    ) -> float:
        """Give what one window takes per second: rows come at `rate`, probes at `other`."""
        costs = self.costs(index)
        return other * costs.probe(window, f, composite) + rate * (
            costs.insert(window) + costs.invalidate(window)
        )

    def best_index(
        self,
        meets: bool,
        window: float,
        f: float,
        rate: float,
        other: float,
        composite: bool = False,
    ) -> Index:
        """Choose the cheapest index of one window.

        >>> from penstock.planning.constants import BUILT_IN
        >>> library = Measured(BUILT_IN)
        >>> library.best_index(True, 5000, 0.1, 10, 10), library.best_index(False, 3, 0.1, 10, 10)
        ('hash', 'loop')
        """
        return min(
            self.indexes(meets),
            key=lambda index: self.side(index, window, f, rate, other, composite),
        )


class Constant(CostLibrary):
    """One constant time per row and join, as in all of the paper's numbers; the rest is free.

    >>> Constant(0.0005).probe("hash", 1e6, 1.0)
    0.0005
    """

    __slots__ = ()

    def __init__(self, kappa_s: float) -> None:
        super().__init__(
            table=(
                IndexCosts(name="hash", probe_s=kappa_s, needs_equality=True),
                IndexCosts(name="loop", probe_s=kappa_s),
            ),
            source=f"{kappa_s:g} seconds per row and join",
        )


class Measured(CostLibrary):
    """Times of this engine's kernels: a hash with chains, a loop, and a modelled ordered index."""

    __slots__ = ()

    def __init__(self, constants: PlanConstants) -> None:
        ns = NANOSECOND
        hashed = IndexCosts(
            name="hash",
            probe_s=constants.hash_probe * ns,
            probe_log_s=constants.hash_probe_log * ns,
            probe_match_s=constants.hash_match * ns,
            insert_s=constants.hash_insert * ns,
            insert_log_s=constants.hash_insert_log * ns,
            invalidate_s=constants.hash_invalidate * ns,
            invalidate_log_s=constants.hash_invalidate_log * ns,
            needs_equality=True,
        )
        looped = IndexCosts(
            name="loop",
            probe_s=constants.loop_probe * ns,
            probe_row_s=constants.loop_row * ns,
            probe_composite_s=constants.loop_composite * ns,
            insert_s=constants.loop_insert * ns,
            invalidate_s=constants.loop_invalidate * ns,
        )
        ordered = IndexCosts(
            name="ordered",
            probe_log_s=constants.ordered_step * ns,
            probe_match_s=constants.ordered_match * ns,
            insert_log_s=constants.ordered_step * ns,
            invalidate_log_s=constants.ordered_step * ns,
            is_offered=False,
        )
        super().__init__(
            table=(hashed, looped, ordered),
            arrive_s=constants.arrive * ns,
            emit_s=constants.emit * ns,
            read_s=constants.read * ns,
            arrive_byte_s=constants.arrive_byte * ns,
            emit_byte_s=constants.emit_byte * ns,
            batch_s=constants.batch * ns,
            composite_s=constants.composite_probe * ns,
            composite_match_s=constants.composite_match * ns,
            several_s=constants.several_probe * ns,
            several_match_s=constants.several_match * ns,
            source=constants.source,
        )
