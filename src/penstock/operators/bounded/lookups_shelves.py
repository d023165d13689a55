"""Shelves: lookup caches that remember more keys than they hold; their policy may change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kernels.looking_up import (
    CHANCED,
    COUNT,
    COUNTED,
    ENDS,
    FADING,
    HELD,
    KEY,
    ORDERED,
    RANKED,
    RECENT,
    SCORED,
    shelf_feed,
    shelf_make,
    shelf_order,
)
from penstock.kernels.scoring import KEYED, ScoreTable
from penstock.operators.bounded import policies
from penstock.operators.bounded.models import Ints
from penstock.operators.bounded.policies import Rule
from penstock.operators.bounded.scores_building import table_of
from penstock.vocabulary.batches import Flags

__all__ = ["CHANCED", "COUNTED", "FADING", "RECENT", "ShelfCache"]

_SEARCHES = {policies.SCANNED: SCORED, policies.EXTREMES: ENDS, policies.RANKED: RANKED}


class ShelfCache:
    """A cache of rows by key, one per key, never more than `budget`.

    Parameters
    ----------
    budget
        Rows.
    remembered
        Keys whose references are counted, held or not; then counts are halved, and keys that are
        left with none are forgotten.
    half_life
        References after which a reference counts half, where the policy lets them fade.
    mode
        How rows are ordered to begin with.
    seed
        Where chance begins.
    """

    __slots__ = ("_shelf", "_table", "budget", "half_life", "mode")

    def __init__(
        self, budget: int, *, remembered: int, half_life: float, mode: int, seed: int = 0
    ) -> None:
        assert budget >= 1
        self.budget = budget
        self.half_life = half_life
        self.mode = mode
        self._table: ScoreTable = table_of(KEYED, np.zeros(1))
        self._shelf = shelf_make(budget, remembered, seed)

    def feed(self, keys: Ints, taken: Flags, first: int) -> tuple[int, Flags, Ints]:
        """Look keys up that are numbered from `first` on and taken; of others only note the last.

        Gives how many were held, which, and which row went at each: the number of the reference
        that it came at, or -1.
        """
        hits, left = np.empty(len(keys), dtype=np.bool_), np.empty(len(keys), dtype=np.int64)
        found = shelf_feed(
            self._shelf, self._table, self.mode, self.budget, self.half_life, keys, taken, first,
            hits, left,
        )  # fmt: skip
        assert len(self) <= self.budget
        return found, hits, left

    def use(self, mode: int, now: int) -> None:
        """Go on under a policy without a table; no row is lost."""
        if mode != self.mode:
            self.mode = mode
            shelf_order(self._shelf, self._table, mode, now)

    def use_rule(self, rule: Rule, now: int) -> None:
        """Go on under a rule with a table; no row is lost."""
        self.set_rule(rule)
        shelf_order(self._shelf, self._table, self.mode, now)

    def set_rule(self, rule: Rule) -> None:
        """Name the rule of a shelf that is going to be restored."""
        (self._table,) = rule.tables
        self.mode = _SEARCHES[rule.mode]

    @property
    def keys(self) -> Ints:
        """The keys held, in no order."""
        held: Ints = self._shelf.slots[: len(self), KEY].copy()
        return held

    def __len__(self) -> int:
        return int(self._shelf.meta[HELD])

    def arrays(self) -> dict[str, Ints]:
        """Give all that is held and remembered; the mode is not told."""
        shelf = self._shelf
        places = np.flatnonzero(shelf.cells[:, COUNT])
        return {
            "places": places,
            "cells": shelf.cells[places],
            "slots": shelf.slots[: len(self)].copy(),
            "heaps": shelf.heaps[: 1 + (self.mode == ENDS), : shelf.meta[ORDERED]].copy(),
            "meta": shelf.meta.copy(),
        }

    def restore(self, arrays: Mapping[str, Ints]) -> None:
        """Become the shelf that `arrays` was asked of, in the same mode."""
        shelf = self._shelf
        shelf.cells[:] = 0
        shelf.cells[arrays["places"]] = arrays["cells"]
        shelf.slots[: len(arrays["slots"])] = arrays["slots"]
        count, size, _ = arrays["heaps"].shape
        shelf.heaps[:count, :size] = arrays["heaps"]
        shelf.meta[:] = arrays["meta"]
