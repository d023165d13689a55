"""Overload: whether a join really needs more than it may have, by what it took.

What the planner predicts is no reason to drop a row. What counts is the processor time that a group
took for a second of events, and whether the host was at work at all: a few rows whose event times
lie close together are no load on a machine that mostly waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LOOK_EVERY_BATCHES = 4
LOOKS = 3
"""So many looks in a row must agree before drop boxes are closed, moved or opened."""
EASED = 0.9
"""While rows are dropped, this share of the bound is used: a backlog must be worked off, and what
just fits would soon not fit again. Where all rows need no more, nothing is dropped any more."""
SLACK = 0.6
"""A join behind drop boxes that takes less than this share of the bound drops too much."""
BUSY = 0.5
"""A host that works less than this share of the time is not behind."""


@dataclass(slots=True)
class Load:
    """What a group took since the last look; all in seconds.

    >>> load = Load()
    >>> load.add(spent_s=0.1, span_s=1.0, busy_s=0.2, now_s=0.0)
    >>> load.add(spent_s=3.0, span_s=1.0, busy_s=3.1, now_s=4.0)
    >>> load.needed, load.is_busy
    (3.0, True)
    """

    spent_s: float = 0.0
    span_s: float = 0.0
    busy_s: float = 0.0
    wall_s: float = 0.0
    last_s: float | None = None

    def add(self, *, spent_s: float, span_s: float, busy_s: float, now_s: float) -> None:
        """Take a batch: what the group took, the event time that passed, what the host took."""
        if self.last_s is not None:  # the first batch also loads what others find in memory
            self.spent_s += spent_s
            self.span_s += span_s
            self.busy_s += busy_s
            self.wall_s += now_s - self.last_s
        self.last_s = now_s

    @property
    def needed(self) -> float | None:
        """The processors that it needs to keep up: processor time by event time."""
        return self.spent_s / self.span_s if self.span_s else None

    @property
    def is_busy(self) -> bool:
        """Say whether the host was at work for much of the time."""
        return self.busy_s >= BUSY * self.wall_s

    def forget(self) -> None:
        """Begin anew after a look."""
        self.spent_s = self.span_s = self.busy_s = self.wall_s = 0.0


Move = Literal["stay", "shed", "open"]


@dataclass(slots=True)
class Pressure:
    """How often in a row looks saw too much, too little, or that all would fit again."""

    over: int = 0
    slack: int = 0
    eased: int = 0
    told: bool = False
    """Whether somebody knows of an overload that nothing is done about."""

    def judge(self, needed: float, full: float, bound: float, busy: bool, sheds: bool) -> Move:
        """Say what to do: `needed` is taken now, `full` would be without drop boxes.

        `shed` asks for drop boxes, or for others than there are; what lies between too much and too
        little stays as it is.

        >>> pressure = Pressure()
        >>> [pressure.judge(2.0, 2.0, 0.8, busy=True, sheds=False) for _ in range(3)]
        ['stay', 'stay', 'shed']
        >>> [pressure.judge(0.7, 2.0, 0.8, busy=True, sheds=True) for _ in range(3)]
        ['stay', 'stay', 'stay']
        >>> [pressure.judge(0.1, 0.5, 0.8, busy=False, sheds=True) for _ in range(3)]
        ['stay', 'stay', 'open']
        """
        self.over = self.over + 1 if busy and needed > bound else 0
        self.slack = self.slack + 1 if sheds and needed < SLACK * bound else 0
        self.eased = self.eased + 1 if sheds and full <= EASED * bound else 0
        self.told &= self.over > 0
        if self.eased >= LOOKS:
            return "open"
        return "shed" if max(self.over, self.slack) >= LOOKS else "stay"
