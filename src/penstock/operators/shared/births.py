"""Births: how far the streams had come when each query was registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Ints, Rows


class Births:
    """The newest event time of every input when a query came: it sees the rows behind it.

    All of those came since, and all rows between two of them too. So a query finds the same whether
    its group is new or has stood for long, in windows of so many rows as well. Query numbers ascend
    as time goes on, so a few steps tell the births of all queries.

    >>> births = Births(2)
    >>> births.add(np.array([0, 1]), np.array([3, 4])).tolist()
    [[3, 4], [3, 4]]
    >>> births.add(np.array([1, 5]), np.array([7, 9])).tolist()
    [[3, 4], [7, 9]]
    """

    def __init__(self, inputs: int, facts: dict[str, Any] | None = None) -> None:
        facts = facts or {"firsts": [], "births": [], "known": -1}
        self._inputs = inputs
        self._firsts: list[int] = list(facts["firsts"])
        self._births: list[list[int]] = [list(own) for own in facts["births"]]
        self._known = int(facts["known"])
        self.of: npt.NDArray[np.int64] = self._long_ago(0)
        """The births of the queries that stand, by slot."""

    def __len__(self) -> int:
        return len(self._births)

    def note(self, slots: Rows, numbers: Ints, now: Ints) -> None:
        """Note the births of queries in their slots; `numbers` are those of all slots."""
        if len(numbers) > len(self.of):
            longer = self._long_ago(len(numbers))
            longer[: len(self.of)] = self.of
            self.of = longer
        self.of[slots] = self.add(numbers[slots], now)

    def add(self, numbers: Ints, now: Ints) -> npt.NDArray[np.int64]:
        """Give the births of queries, a row each; those never seen before are born `now`."""
        new = numbers[numbers > self._known]
        if len(new):
            if not self._births or self._births[-1] != now.tolist():
                self._firsts.append(int(new.min()))
                self._births.append(now.tolist())
            self._known = int(new.max())
        step = np.searchsorted(np.array(self._firsts, dtype=np.int64), numbers, side="right")
        return np.vstack([self._long_ago(1), *self._births])[step]

    def forget(self, lows: Ints) -> None:
        """Forget births that all rows are behind: no input has, or gets, one below its `lows`."""
        while self._births and bool((np.array(self._births[0]) < lows).all()):
            del self._firsts[0], self._births[0]
        self.of[(self.of < lows).all(axis=1)] = LOWEST_TIME

    def _long_ago(self, rows: int) -> npt.NDArray[np.int64]:
        return np.full((rows, self._inputs), LOWEST_TIME, dtype=np.int64)

    def facts(self) -> dict[str, Any]:
        """Describe the births for a snapshot."""
        return {"firsts": self._firsts, "births": self._births, "known": self._known}
