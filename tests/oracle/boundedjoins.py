"""Bounded joins as anybody would write them: rows in a list, looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Pair = tuple[int, int]


@dataclass(frozen=True)
class Candidate:
    """A row that may stay: its stream, key, tick, number, and its stream's measure at arrival."""

    stream: int
    key: int
    born: int
    number: int
    stamp: int


@dataclass
class CacheTwin:
    """Two streams that join each other; `sizes` are their windows in their own measures."""

    budget: int
    sizes: Sequence[int | None]
    held: list[Candidate] = field(default_factory=list)
    lasts: list[int] = field(default_factory=lambda: [0, 0])
    nows: Sequence[int] = (0, 0)
    now: int = 0
    following: int = 0
    expired: int = 0
    discarded: int = 0
    origin: tuple[int, Sequence[int]] | None = None
    events: list[tuple[str, Candidate]] = field(default_factory=list)
    """Who came and who went, in order, until somebody clears it."""

    def is_active(self, row: Candidate, nows: Sequence[int]) -> bool:
        size = self.sizes[row.stream]
        return size is None or nows[row.stream] - row.stamp < size

    def arrive(
        self, now: int, streams: Sequence[int], keys: Sequence[int], stamps: Sequence[int],
        nows: Sequence[Sequence[int]], owned: Sequence[bool],
    ) -> tuple[list[int], list[Pair]]:  # fmt: skip
        """Take the rows of a tick; all that are active are held then, above the budget or not.

        Gives how many results each has, and the pairs of numbers, the later one first.
        """
        self.now = now
        if self.origin is None:
            self.origin = now, nows[0]
        found: list[int] = []
        pairs: list[Pair] = []
        fresh: list[Candidate] = []
        for stream, key, stamp, at, mine in zip(streams, keys, stamps, nows, owned, strict=True):
            self.nows = at
            number, self.following = self.following, self.following + 1
            self._expire()
            partners = [
                row.number
                for row in [*self.held, *fresh]
                if row.stream != stream and row.key == key and self.is_active(row, at)
            ]
            found.append(len(partners) if mine else 0)
            if mine:
                pairs += [(number, partner) for partner in partners]
                fresh.append(Candidate(stream, key, now, number, stamp))
            self.lasts[stream] = key
        self.held += fresh
        self.events += [("came", row) for row in fresh]
        self._expire()
        return found, pairs

    def _expire(self) -> None:
        for stream in range(2):
            for row in [row for row in self.held if row.stream == stream]:
                if not self.is_active(row, self.nows):
                    self.let_go(row)
                    self.expired += 1

    def let_go(self, row: Candidate) -> None:
        self.held.remove(row)
        self.events.append(("went", row))

    def keep(self, numbers: Iterable[int]) -> None:
        """Let all rows go but these, which must be as many as the budget allows."""
        kept = [row for row in self.held if row.number in set(numbers)]
        assert len(kept) == len(set(numbers)), "a row stays that was not there"
        assert len(kept) == min(self.budget, len(self.held)), "rows go without need"
        self.discarded += len(self.held) - len(kept)
        self.held = kept

    def keep_best(self, worth: Callable[[Candidate], tuple[float, ...]]) -> None:
        """Let rows go until the budget holds, the least worth first."""
        order = sorted(self.held, key=worth)
        self.keep({row.number for row in order[max(0, len(order) - self.budget) :]})

    def ticks_remaining(self, row: Candidate) -> float | None:
        """Give what is left of a row's window in ticks, by the ticks that a unit took so far."""
        size = self.sizes[row.stream]
        if size is None:
            return None
        left = size - 1 - (self.nows[row.stream] - row.stamp)
        return max(0.0, left * self.rate(row.stream))

    def rate(self, stream: int) -> float:
        """Give the ticks per unit of a stream's measure so far; very many before any is known."""
        passed, ticks = self.since_origin(stream)
        return ticks / passed if passed > 0 and ticks > 0 else float(1 << 40)

    def since_origin(self, stream: int) -> tuple[int, int]:
        """Give what passed since measures began, in a stream's measure and in ticks."""
        assert self.origin is not None
        return self.nows[stream] - self.origin[1][stream], self.now - self.origin[0]
