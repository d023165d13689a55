"""Births: from which rows on each query sees the streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Ints, Rows


class Births:
    """The number of the first row of every input that a query sees.

    Query numbers ascend as time goes on, so a few steps tell the births of all queries.

    >>> births = Births(2)
    >>> births.add(np.array([0, 1]), np.array([0, 0])).tolist()
    [[0, 0], [0, 0]]
    >>> births.add(np.array([1, 5]), np.array([7, 9])).tolist()
    [[0, 0], [7, 9]]
    """

    def __init__(self, inputs: int, facts: dict[str, Any] | None = None) -> None:
        facts = facts or {"firsts": [], "births": [], "known": -1}
        self._inputs = inputs
        self._firsts: list[int] = list(facts["firsts"])
        self._births: list[list[int]] = [list(own) for own in facts["births"]]
        self._known = int(facts["known"])
        self.of: npt.NDArray[np.int64] = np.zeros((0, inputs), dtype=np.int64)
        """The births of the queries that stand, by slot."""

    def note(self, slots: Rows, numbers: Ints, now: Ints) -> None:
        """Note the births of queries in their slots; `numbers` are those of all slots."""
        births = self.add(numbers[slots], now)
        if len(numbers) > len(self.of):
            longer = np.zeros((len(numbers), self._inputs), dtype=np.int64)
            longer[: len(self.of)] = self.of
            self.of = longer
        self.of[slots] = births

    def add(self, numbers: Ints, now: Ints) -> npt.NDArray[np.int64]:
        """Give the births of queries, a row each; those never seen before are born `now`."""
        new = numbers[numbers > self._known]
        if len(new):
            if not self._births or self._births[-1] != now.tolist():
                self._firsts.append(int(new[0]))
                self._births.append(now.tolist())
            self._known = int(new[-1])
        step = np.searchsorted(np.array(self._firsts, dtype=np.int64), numbers, side="right")
        return np.array([[0] * self._inputs, *self._births], dtype=np.int64)[step]

    def forget(self, heads: Ints) -> None:
        """Forget births that no row is older than."""
        while self._births and bool((np.array(self._births[0]) <= heads).all()):
            del self._firsts[0], self._births[0]

    def facts(self) -> dict[str, Any]:
        """Describe the births for a snapshot."""
        return {"firsts": self._firsts, "births": self._births, "known": self._known}
