"""The slow twin of the toy's operator: one row at a time, one query at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class DistinctTwin:
    """Tells each query the values that it has not met, up to a limit.

    >>> twin = DistinctTwin(limit=2)
    >>> twin.add(7)
    >>> twin.process(["a", "a", None, "b"]), twin.untold
    ([(7, 'a'), (7, None)], 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.told: dict[int, list[Any]] = {}
        self.untold = 0

    def add(self, query: int) -> None:
        """Let a query stand."""
        self.told.setdefault(query, [])

    def drop(self, query: int) -> None:
        """Let a query go."""
        self.told.pop(query, None)

    def process(self, values: Sequence[Any]) -> list[tuple[int, Any]]:
        """Give what each query is told; a value that has no room counts once in a batch."""
        found = []
        for query, told in self.told.items():
            left_out: list[Any] = []
            for value in values:
                if value in told or value in left_out:
                    continue
                if len(told) < self.limit:
                    told.append(value)
                    found.append((query, value))
                else:
                    left_out.append(value)
            self.untold += len(left_out)
        return found
