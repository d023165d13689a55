"""Births: from which arriving row on each query of a window join sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.vocabulary.batches import Ints


class Births:
    """Query numbers ascend as time goes on, so a few steps tell the birth of every query.

    >>> births = Births()
    >>> births.add(np.array([0, 1]), 0).tolist(), births.add(np.array([5]), 70).tolist()
    ([0, 0], [70])
    >>> births.add(np.array([0, 1, 5]), 99).tolist()
    [0, 0, 70]
    """

    def __init__(self, facts: dict[str, Any] | None = None) -> None:
        facts = facts or {"firsts": [], "births": [], "known": -1}
        self._firsts: list[int] = list(facts["firsts"])
        self._births: list[int] = list(facts["births"])
        self._known = int(facts["known"])

    def add(self, numbers: Ints, now: int) -> Ints:
        """Give the births of queries; those never seen before are born `now`."""
        new = numbers[numbers > self._known]
        if len(new):
            if not self._births or self._births[-1] != now:
                self._firsts.append(int(new[0]))
                self._births.append(now)
            self._known = int(new[-1])
        step = np.searchsorted(np.array(self._firsts, dtype=np.int64), numbers, side="right")
        return np.array([0, *self._births], dtype=np.int64)[step]

    def forget(self, oldest: int) -> None:
        """Forget births that no row is older than."""
        while self._births and self._births[0] <= oldest:
            del self._firsts[0], self._births[0]

    def facts(self) -> dict[str, Any]:
        """Describe the births for a snapshot."""
        return {"firsts": self._firsts, "births": self._births, "known": self._known}
