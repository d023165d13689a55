"""Feeding: groups that work for others, and the order in which all of them see a batch.

A step may read what another group makes of the same batch: it names that group in `reads`, and
its operator is attached to the other's. Who feeds has no queries of its own, and comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.algebra.physical import Step, reads_of


class Feeding:
    """Which groups of a shard read which others.

    >>> feeding = Feeding()
    >>> feeding.put("b", ("a",))
    >>> feeding.put("c", ("b",))
    >>> feeding.ordered(["c", "b", "a"]), sorted(feeding.idle({"c"})), sorted(feeding.behind("c"))
    (['a', 'b', 'c'], ['a', 'b'], ['a', 'b'])
    """

    def __init__(self) -> None:
        self._reads: dict[str, tuple[str, ...]] = {}
        self._readers: dict[str, dict[str, None]] = {}
        self._depths: dict[str, int] = {}

    def take(self, group: str, step: Step) -> None:
        """Note what the step of a group reads."""
        self.put(group, reads_of(step))

    def put(self, group: str, reads: tuple[str, ...]) -> None:
        """Note what a group reads."""
        if reads:
            self._reads[group] = reads
            for each in reads:
                self._readers.setdefault(each, {})[group] = None
            self._depths = {}

    def forget(self, group: str) -> None:
        """Forget a group."""
        for each in self._reads.pop(group, ()):
            self._readers[each].pop(group, None)
        self._depths = {}

    def of(self, group: str) -> tuple[str, ...]:
        """Give the groups that a group reads."""
        return self._reads.get(group, ())

    def readers(self, group: str) -> list[str]:
        """Give the groups that read a group."""
        return list(self._readers.get(group, ()))

    def behind(self, group: str) -> set[str]:
        """Give all groups that a group needs, near and far."""
        found: set[str] = set()
        for each in self.of(group):
            found |= {each, *self.behind(each)}
        return found

    def idle(self, resting: Collection[str]) -> set[str]:
        """Give the groups that feed nobody but groups that rest."""
        if not resting:
            return set()
        asleep, found = set(resting), set[str]()
        while True:
            more = {
                feeder
                for feeder, readers in self._readers.items()
                if readers and feeder not in asleep and asleep >= readers.keys()
            }
            if not more:
                return found
            found |= more
            asleep |= more

    def ordered(self, groups: Iterable[str]) -> list[str]:
        """Give groups so that none comes before one that it reads; else as they stand."""
        listed = list(groups)
        return sorted(listed, key=self._depth) if self._reads else listed

    def _depth(self, group: str) -> int:
        known = self._depths.get(group)
        if known is None:
            known = 1 + max((self._depth(each) for each in self.of(group)), default=-1)
            self._depths[group] = known
        return known
