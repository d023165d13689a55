"""Caches of looked-up rows under one policy at a time, which may be replaced at any time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kernels.bounded_victims import COUNTED, EXTREMES, RANDOM, RANKED, RECENT, SCANNED
from penstock.kernels.lookup_caches import (
    COUNT,
    FADING,
    HELD,
    KEY,
    ORDERED,
    shelf_feed,
    shelf_make,
    shelf_order,
)
from penstock.kernels.scores import KEYED, ScoreTable
from penstock.operators.bounded.policies import CompiledPolicy, Rule
from penstock.operators.bounded.scores_blank import table_of
from penstock.vocabulary.batches import Flags, Ints

MODES = frozenset({RECENT, COUNTED, FADING, RANDOM, SCANNED, EXTREMES, RANKED})
REMEMBERED_PER_ROW, COUNTED_PER_ROW = 4, 16
"""Keys that are remembered per row of the budget; the second, where they are counted for it."""


class FadingLfu(CompiledPolicy):
    """LFU that forgets: a reference counts half after so many others."""

    __slots__ = ()
    name = "fading LFU"

    def rule(self) -> Rule:
        """Say how victims are found."""
        return Rule(mode=FADING)


class LookupCache:
    """A cache of a stored relation's rows, one per key, never more than `budget`.

    Parameters
    ----------
    budget
        Rows.
    policy
        Who goes.
    remembered
        Keys whose references are counted, held or not; then counts are halved, and keys that are
        left with none are forgotten. Some per row, if neither this nor the policy says.
    half_life
        References after which a reference counts half; 0: none ever fades.
    """

    def __init__(
        self, budget: int, policy: CompiledPolicy, *, remembered: int | None = None,
        half_life: float = 0.0,
    ) -> None:  # fmt: skip
        assert budget >= 1
        self.budget = budget
        self._half_life = half_life
        self._table: ScoreTable = table_of(KEYED, np.zeros(1))
        self._follow(policy.rule())
        often = COUNTED_PER_ROW if self._rule.mode in {COUNTED, FADING} else REMEMBERED_PER_ROW
        most = remembered or self._rule.keys_max or often * budget
        self._shelf = shelf_make(budget, max(most, budget + 2), self._rule.seed)

    def _follow(self, rule: Rule) -> None:
        assert rule.mode in MODES
        assert rule.mode != FADING or self._half_life > 0.0
        self._rule = rule
        if rule.tables:
            (self._table,) = rule.tables

    def feed(self, keys: Ints) -> Flags:
        """Look keys up one after another; say which were held."""
        return self.trace(keys)[0]

    def trace(self, keys: Ints, owned: Flags | None = None) -> tuple[Flags, Ints]:
        """As `feed`; also say which row went at each reference: the number of the one it came at.

        References are numbered from 0 over all calls. The number of the reference itself says that
        its row was not admitted; -1, that none went. Keys that are not `owned` are another cache's:
        they are never held here, and only tell where the stream is.
        """
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        owned = np.ones(len(keys), dtype=np.bool_) if owned is None else owned
        hits, left = np.empty(len(keys), dtype=np.bool_), np.empty(len(keys), dtype=np.int64)
        shelf_feed(
            self._shelf, self._table, self._rule.mode, self.budget, self._half_life, keys, owned,
            hits, left,
        )  # fmt: skip
        assert len(self) <= self.budget
        return hits, left

    def replace(self, policy: CompiledPolicy) -> None:
        """Go on under another policy; no row is lost, and what is known of keys stays."""
        self._follow(policy.rule())
        shelf_order(self._shelf, self._table, self._rule.mode)

    @property
    def keys(self) -> Ints:
        """The keys held, in no order."""
        held: Ints = self._shelf.slots[: len(self), KEY].copy()
        return held

    @property
    def remembered(self) -> int:
        """How many keys are remembered, held or not."""
        return int(np.count_nonzero(self._shelf.cells[:, COUNT]))

    def __len__(self) -> int:
        return int(self._shelf.meta[HELD])

    def arrays(self) -> dict[str, Ints]:
        """Give all that is held and remembered; the policy is not told."""
        shelf = self._shelf
        places = np.flatnonzero(shelf.cells[:, COUNT])
        heaps = 1 + (self._rule.mode == EXTREMES)
        return {
            "places": places,
            "cells": shelf.cells[places],
            "slots": shelf.slots[: len(self)].copy(),
            "heaps": shelf.heaps[:heaps, : shelf.meta[ORDERED]].copy(),
            "meta": shelf.meta.copy(),
        }

    def restore(self, arrays: Mapping[str, Ints]) -> None:
        """Become the cache that `arrays` was asked of, which had the same policy."""
        shelf = self._shelf
        shelf.cells[:] = 0
        shelf.cells[arrays["places"]] = arrays["cells"]
        shelf.slots[: len(arrays["slots"])] = arrays["slots"]
        count, size, _ = arrays["heaps"].shape
        shelf.heaps[:count, :size] = arrays["heaps"]
        shelf.meta[:] = arrays["meta"]
