"""Multi-way window joins as anybody would write them: every combination of the active rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Any
Window = tuple[str, int] | None
"""("rows", n), ("range", microseconds), or None for a table."""


@dataclass(frozen=True)
class Condition:
    """A predicate on the rows of some inputs: `holds` takes them in the order of `inputs`."""

    inputs: tuple[int, ...]
    holds: Callable[..., bool]


@dataclass
class Kept:
    """A row that is stored, with its id, its time and how many rows had counted when it came."""

    id: int
    row: Row
    time: int = 0
    sequence: int = 0


@dataclass
class MultiJoinTwin:
    """One row after another, in their order; every answer by trying all combinations."""

    windows: Sequence[Window]
    conditions: Sequence[Condition] = ()
    kept: list[list[Kept]] = field(init=False)
    counters: list[int] = field(init=False)
    following: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.kept = [[] for _ in self.windows]
        self.counters = [0 for _ in self.windows]
        self.following = [0 for _ in self.windows]

    def arrive(
        self, number: int, time: int, row: Row = None, counts: bool = True, stored: bool = True
    ) -> list[tuple[int, ...]]:
        """Process a stream's row; give the ids of the combinations that it completes."""
        if counts:
            self.counters[number] += 1
        for other, window in enumerate(self.windows):
            if window is not None:
                self.kept[other] = [k for k in self.kept[other] if self.is_active(other, k, time)]
        if not stored:
            return []
        new = Kept(self.following[number], row, time, self.counters[number])
        self.following[number] += 1
        self.kept[number].append(new)
        everything = range(len(self.windows))
        return [
            tuple(each.id for each in rows) for rows in self.combinations(everything, {number: new})
        ]

    def is_active(self, number: int, kept: Kept, now: int) -> bool:
        """Say whether a stream's row is in its window."""
        window = self.windows[number]
        assert window is not None
        kind, size = window
        if kind == "rows":
            return self.counters[number] - kept.sequence < size
        return now - kept.time < size

    def insert(self, number: int, row: Row) -> int:
        """Add a row to a table."""
        self.kept[number].append(Kept(self.following[number], row))
        self.following[number] += 1
        return self.following[number] - 1

    def delete(self, number: int, id_: int) -> None:
        """Remove a row from a table."""
        self.kept[number] = [kept for kept in self.kept[number] if kept.id != id_]

    def active(self, inputs: Iterable[int]) -> int:
        """Count the combinations of active rows of some inputs that satisfy what they can."""
        return len(self.combinations(sorted(inputs), {}))

    def combinations(self, inputs: Iterable[int], given: dict[int, Kept]) -> list[tuple[Kept, ...]]:
        """Give the combinations of active rows; for some inputs the row is given.

        Given rows come first: what does not go with them need not be tried.
        """
        wanted = list(inputs)
        order = sorted(wanted, key=lambda number: number not in given)
        found: list[dict[int, Kept]] = [{}]
        for place, number in enumerate(order):
            choices = [given[number]] if number in given else self.kept[number]
            asked = self.complete(number, set(order[: place + 1]))
            found = [
                longer
                for shorter in found
                for choice in choices
                if holds(asked, longer := {**shorter, number: choice})
            ]
        return [tuple(one[number] for number in wanted) for one in found]

    def complete(self, newest: int, known: set[int]) -> list[Condition]:
        """Give the conditions that are complete with the newest of the inputs."""
        return [
            condition
            for condition in self.conditions
            if newest in condition.inputs and known.issuperset(condition.inputs)
        ]


def holds(conditions: Sequence[Condition], rows: dict[int, Kept]) -> bool:
    """Say whether rows satisfy all of some conditions."""
    for condition in conditions:
        if not condition.holds(*[rows[number].row for number in condition.inputs]):
            return False
    return True


@dataclass(frozen=True)
class Arrival:
    """A stream's row that is not late: `place` is its place in the stream, late rows included."""

    time: int
    number: int
    arrival: int
    place: int


Streams = dict[int, tuple[Sequence[Sequence[int | None]], int]]
"""By input: the times of its rows as they came, batch by batch, and its lateness."""


def arrivals(number: int, batches: Sequence[Sequence[int | None]], lateness: int) -> list[Arrival]:
    """Leave out the rows of an input that are late or have no time; number the others.

    A row is late by the newest row of the batches before its own.
    """
    newest: int | None = None
    found: list[Arrival] = []
    place = 0
    for batch in batches:
        before = newest
        for time in batch:
            if time is not None:
                if before is None or time >= before - lateness:
                    found.append(Arrival(time, number, len(found), place))
                newest = time if newest is None else max(newest, time)
            place += 1
    return found


@dataclass
class WaitingTwin:
    """Rows that wait for their turn, looked at one by one; no more than `most` of them.

    `lateness` is that of every stream input. So many go `together`; those left over wait on.
    """

    lateness: dict[int, int]
    most: int
    together: int = 1
    again: frozenset[int] = frozenset()
    """Inputs of a relation that another input has too: their late rows are told there."""
    floor: tuple[int, int] | None = None
    """The time and the input of the newest row that went ahead of its turn."""
    clocks: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    """The clocks when the batch began: rows of a batch are not late by each other."""
    arrived: dict[int, int] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    waiting: list[Arrival] = field(default_factory=list)
    late: int = 0
    hurried: int = 0

    def begin(self, number: int, clock: int | None) -> None:
        """Take over how far an input has come."""
        if clock is not None:
            self.clocks[number] = self.before[number] = clock

    def arrive(self, number: int, time: int | None) -> Arrival | None:
        """Number a row of an input, unless it is late or has no time; it does not wait yet."""
        place = self.places[number] = self.places.get(number, -1) + 1
        if time is None:
            return None
        self.clocks[number] = max(self.clocks.get(number, time), time)
        behind = self.floor is not None and (time, number) < self.floor
        if time < self.before.get(number, time) - self.lateness[number] or behind:
            self.late += number not in self.again
            return None
        arrival = self.arrived[number] = self.arrived.get(number, -1) + 1
        return Arrival(time, number, arrival, place)

    def release(self) -> list[Arrival]:
        """End a batch: give the rows whose turn it is, in order."""
        self.before = dict(self.clocks)
        order = sorted(self.waiting, key=lambda each: (each.time, each.number, each.arrival))
        before = sum(self.is_free(row) for row in order)
        while True:
            free = [row for row in order if self.is_free(row)]
            gone = free[: len(free) - len(free) % self.together]
            self.waiting = order[len(gone) :]
            if len(self.waiting) <= self.most:
                self.hurried += len(free) - before
                return gone
            oldest = order[len(free)]
            self.floor = oldest.time, oldest.number

    def is_free(self, row: Arrival) -> bool:
        """Say whether nothing can come before a row any more without being late."""
        for number, lateness in self.lateness.items():
            earliest = []
            if number in self.clocks:
                earliest.append(self.clocks[number] - lateness)
            if self.floor is not None:
                time, last = self.floor
                earliest.append(time if number >= last else time + 1)
            if not earliest or (max(earliest), number) < (row.time, row.number):
                return False
        return True


def in_order(streams: Streams) -> list[Arrival]:
    """Put the rows of inputs into their one order."""
    rows = [each for number, (t, late) in streams.items() for each in arrivals(number, t, late)]
    return sorted(rows, key=lambda each: (each.time, each.number, each.arrival))


def released(streams: Streams) -> list[Arrival]:
    """Give the part of the order that nothing can come before any more."""
    clocks = {
        number: max((t for times in batches for t in times if t is not None), default=None)
        for number, (batches, _) in streams.items()
    }

    def is_free(row: Arrival) -> bool:
        for number, (_, lateness) in streams.items():
            clock = clocks[number]
            if clock is None:
                return False
            safe = clock - lateness
            if number == row.number:
                if row.time > safe:
                    return False
            elif not (safe > row.time or (safe == row.time and number > row.number)):
                return False
        return True

    return [row for row in in_order(streams) if is_free(row)]
