"""Contests: policies that run beside a cache in miniature, and the one that does best of late.

Every candidate runs a miniature of the cache on a slice of the keys, always the same keys, with the
budget scaled down alike; a small budget needs no slice. The policy whose miniature had clearly more
hits of late takes over. All is a function of what came, however it is batched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from penstock.kernels.lookup_caches import keys_slice
from penstock.operators.bounded.contests_choice import Choice
from penstock.vocabulary.batches import Flags, Ints

Arrays = dict[str, npt.NDArray[Any]]


class Miniature(Protocol):
    """What a contest asks of the caches that run in it."""

    def arrays(self) -> Arrays:
        """Give all that is kept."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave."""
        ...


M = TypeVar("M", bound=Miniature)


class Contest(Generic[M]):
    """Miniatures of a cache by the names of their policies, and which policy is in force.

    Parameters
    ----------
    names
        The candidates.
    make
        `(name, bits)`: gives a miniature with one in 2^bits of the budget.
    budget, rows_max
        Rows of the cache, and the most that a miniature may hold.
    memory
        Of how many references, or arrivals, hits count; the latest count most.
    first
        Who is in force until something is known; else the first of `names`.
    """

    __slots__ = ("_choice", "_found", "bits", "miniatures", "settled_at", "since", "switches")

    def __init__(
        self, names: tuple[str, ...], make: Callable[[str, int], M], *, budget: int, rows_max: int,
        memory: float, first: str | None = None,
    ) -> None:  # fmt: skip
        self.bits = 0
        while budget >> self.bits > rows_max:
            self.bits += 1
        self._choice = Choice(names, memory=memory / 2**self.bits)
        self._choice.chosen = 0 if first is None else names.index(first)
        self._found = [0] * (len(names) + 1)
        self.miniatures = {name: make(name, self.bits) for name in names}
        self.since, self.switches, self.settled_at = 0, 0, 0

    def sliced(self, keys: Ints, owned: Flags) -> Flags:
        """Say which arrivals the miniatures may hold."""
        if not self.bits:
            return owned
        taken = np.empty(len(keys), dtype=np.bool_)
        keys_slice(keys, self.bits, taken)
        taken &= owned
        return taken

    def count(self, name: str, hits: int) -> None:
        """Count what a candidate's miniature found."""
        self._found[self._choice.names.index(name)] += hits

    def count_all(self, arrivals: int) -> None:
        """Count what all miniatures were shown."""
        self._found[-1] += arrivals

    def record(self, now: int) -> None:
        """Let what was counted so far count for the choice."""
        self._choice.record(self._found[:-1], self._found[-1])
        self._found = [0] * len(self._found)
        self.settled_at = now

    def settle(
        self, now: int, *, unable: tuple[str, ...] = (), favoured: str | None = None
    ) -> bool:
        """Put the best policy of late in force; say whether it is another."""
        names = self._choice.names
        able = [name not in unable for name in names]
        if not self._choice.settle(able, None if favoured is None else names.index(favoured)):
            return False
        self._switched(now)
        return True

    def yield_to_first(self, now: int) -> bool:
        """Let the first candidate take over at once where the one in force has begun to fail."""
        if not self._choice.yield_to(0):
            return False
        self._switched(now)
        return True

    def _switched(self, now: int) -> None:
        self.since = now
        self.switches += 1

    @property
    def leads_by_far(self) -> bool:
        """Whether no other is anywhere near the policy in force."""
        return self._choice.leads_by_far

    @property
    def in_force(self) -> str:
        """The policy that was chosen."""
        return self._choice.names[self._choice.chosen]

    def facts(self) -> dict[str, Any]:
        """Tell since when the policy is in force, how its rivals did of late, and why it is."""
        rates = self._choice.rates
        return {
            "since": self.since,
            "switches": self.switches,
            "slice": 1 / 2**self.bits,
            "hit_rates": {name: round(rate, 4) for name, rate in rates.items()},
            "why": why(self.in_force, rates, self.bits),
        }

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        found: Arrays = {
            "numbers": np.array([self.since, self.switches, self.settled_at], dtype=np.int64),
            "found": np.array(self._found, dtype=np.int64),
        }
        found |= {f"choice.{part}": each for part, each in self._choice.arrays().items()}
        for name, miniature in self._numbered():
            found |= {f"{name}.{part}": each for part, each in miniature.arrays().items()}
        return found

    def restore_choice(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave, but for the miniatures: their policies come first."""
        self.since, self.switches, self.settled_at = arrays["numbers"].tolist()
        self._found = arrays["found"].tolist()
        self._choice.restore(part_of(arrays, "choice."))

    def restore_miniatures(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Let the miniatures go on, each under the policy that it had."""
        for name, miniature in self._numbered():
            miniature.restore(part_of(arrays, f"{name}."))

    def _numbered(self) -> Iterator[tuple[str, M]]:
        for number, miniature in enumerate(self.miniatures.values()):
            yield f"miniature{number}", miniature


def why(chosen: str, rates: Mapping[str, float], bits: int) -> str:
    """Say why a policy is in force, by the hits that each had of late.

    >>> why("LRU", {"HEEB": 0.40, "LRU": 0.42}, 0)
    'LRU found 5.0 % more than HEEB of late'
    >>> why("HEEB", {"HEEB": 0.42, "LRU": 0.42}, 2)
    'no other found clearly more of late, on one in 4 keys'
    """
    others = {name: rate for name, rate in rates.items() if name != chosen}
    next_best = max(others, key=lambda name: others[name])
    where = "" if bits == 0 else f", on one in {2**bits} keys"
    if not any(rates.values()):
        return "nothing was found yet by any"
    if rates[chosen] <= others[next_best]:
        return f"no other found clearly more of late{where}"
    if others[next_best] == 0.0:
        return f"no other found anything of late{where}"
    more = rates[chosen] / others[next_best] - 1.0
    return f"{chosen} found {100 * more:.1f} % more than {next_best} of late{where}"


def part_of(arrays: Mapping[str, npt.NDArray[Any]], begin: str) -> Arrays:
    """Give the arrays whose names begin so, without that."""
    return {key.removeprefix(begin): each for key, each in arrays.items() if key.startswith(begin)}
