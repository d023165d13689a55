"""Workloads of range minima: tuples, updates with spikes, and ranges that people ask about.

Tuples are uniform, each at an x of its own. An update redraws the value of a tuple; a spike drops
it below all others, and the next event restores it. Ranges have normal midpoints and normal
lengths, redrawn while they are not positive. Reals become codes at a resolution of a billionth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.kernels.range_messages import RangeMessages, RangeTuples, RangeUpdates
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Flags, Floats, Ints

DOMAIN = 10_000.0
UNIT = 1_000_000_000
SPIKES = 0.005
"""The share of events that begin a spike."""


def codes(values: Floats) -> Ints:
    """Give codes in the order of reals."""
    return np.round(values * UNIT).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UpdateTrace:
    """Tuples of one partition, and the updates of their values, each of one of them."""

    xs: Ints
    ys: Ints
    who: Ints
    """The tuple of every update."""
    old: Ints
    new: Ints

    def extremes(self) -> Extremes:
        """Give a server that holds the tuples as they are at first."""
        return Extremes(RangeTuples(np.zeros_like(self.xs), self.xs, self.ys))

    def updates(self, start: int = 0, end: int | None = None) -> RangeUpdates:
        """Give the updates from one on to before another."""
        who, old, new = (column[start:end] for column in (self.who, self.old, self.new))
        all_of, zeros, xs = np.ones(len(who), np.bool_), np.zeros(len(who), np.int64), self.xs[who]
        return RangeUpdates(all_of, zeros, xs, old, all_of, zeros, xs, new)

    @property
    def rises(self) -> Flags:
        """Say which updates raise the value."""
        return np.greater(self.new, self.old)


def chained(ys: Ints, who: Ints, new: Ints) -> Ints:
    """Give the value that every update finds: that of the update before it of the same tuple."""
    order = np.argsort(who, kind="stable")
    before = np.empty_like(new)
    before[order[1:]] = new[order[:-1]]
    first = np.ones(len(who), np.bool_)
    first[1:] = who[order[1:]] != who[order[:-1]]
    before[order[first]] = ys[who[order[first]]]
    return before


def uniform_trace(
    random: np.random.Generator, tuples: int, events: int, spikes: float = SPIKES
) -> UpdateTrace:
    """Draw tuples that are uniform, and updates that redraw them, with spikes among them.

    >>> from penstock.lab.draws import generator
    >>> trace = uniform_trace(generator(1), 50, 1000, spikes=0.1)
    >>> down = np.flatnonzero(trace.new < 0)
    >>> bool((trace.new[down + 1] == trace.old[down]).all()), len(down) > 50
    (True, True)
    """
    xs = np.unique(codes(random.uniform(0, DOMAIN, tuples)))
    while len(xs) < tuples:
        xs = np.unique(np.append(xs, codes(random.uniform(0, DOMAIN, tuples - len(xs)))))
    xs = random.permutation(xs)
    ys = codes(random.uniform(0, DOMAIN, tuples))
    who = random.integers(0, tuples, events)
    new = codes(random.uniform(0, DOMAIN, events))
    down = np.flatnonzero(random.random(events - 1) < spikes)
    # The event after a spike ends it, and begins none.
    ends = np.zeros(events + 1, np.bool_)
    for at in down.tolist():
        ends[at + 1] = not ends[at]
    down = down[ends[down + 1]]
    who[down + 1] = who[down]
    # As if spikes were not: what their tuple has before them, it has after them.
    plain = np.ones(events, np.bool_)
    plain[down] = plain[down + 1] = False
    old = np.empty(events, np.int64)
    base = new.copy()
    old[plain] = chained(ys, who[plain], new[plain])
    held = _held(ys, who, new, plain, down)
    base[down], base[down + 1] = codes(-random.uniform(0, 1, len(down))), held
    old[down], old[down + 1] = held, base[down]
    return UpdateTrace(xs, ys, who, old, base)


def grid_trace(
    random: np.random.Generator, places: int, tuples: int, events: int, ignorable: float
) -> UpdateTrace:
    """Draw tuples on a grid of x, several at each, and redraws of which a share is ignorable.

    Such an update is of a tuple that is neither before it nor after it least at its x.
    """
    xs = codes(np.linspace(0, DOMAIN, places, endpoint=False))
    where = np.arange(tuples) % places
    now = codes(random.uniform(0, DOMAIN, tuples))
    ys = now.copy()
    stacks = [np.flatnonzero(where == place) for place in range(places)]
    who, old, new = (np.empty(events, np.int64) for _ in range(3))
    for k, hidden in enumerate((random.random(events) < ignorable).tolist()):
        while True:
            each, value = int(random.integers(tuples)), int(random.uniform(0, DOMAIN) * UNIT)
            stack = stacks[where[each]]
            least = min(int(now[other]) for other in stack if other != each)
            if hidden == (least <= min(value, int(now[each]))):
                break
        who[k], old[k], new[k] = each, now[each], value
        now[each] = value
    return UpdateTrace(xs[where], ys, who, old, new)


def _held(ys: Ints, who: Ints, new: Ints, plain: Flags, asked: Ints) -> Ints:
    """Give the values that tuples have at some events, by the plain ones before those."""
    at = np.flatnonzero(plain)
    order = np.lexsort((at, who[at]))
    keys = who[at][order] * len(who) + at[order]
    place = np.searchsorted(keys, who[asked] * len(who) + asked) - 1
    last = at[order][np.maximum(place, 0)] if len(at) else np.zeros_like(asked)
    known = (place >= 0) & (who[last] == who[asked])
    return np.where(known, new[last], ys[who[asked]])


@dataclass(frozen=True, slots=True)
class AskedRanges:
    """Ranges that are asked about."""

    x1s: Ints
    x2s: Ints

    def points(self, count: int | None = None) -> SubscriptionPoints:
        """Give an index of the first so many."""
        points = SubscriptionPoints()
        x1s, x2s = self.x1s[:count], self.x2s[:count]
        points.add(np.arange(len(x1s)), np.zeros_like(x1s), x1s, x2s)
        return points


def drawn_ranges(
    random: np.random.Generator, count: int, *, midpoint: tuple[float, float] = (5000, 1500),
    length: tuple[float, float] = (1000, 1000),
) -> AskedRanges:  # fmt: skip
    """Draw ranges by means and deviations of midpoints and lengths."""
    middles, lengths = random.normal(*midpoint, count), random.normal(*length, count)
    while len(bad := np.flatnonzero(lengths <= 0)):
        lengths[bad] = random.normal(*length, len(bad))
    return AskedRanges(codes(middles - lengths / 2), codes(middles + lengths / 2))


def chunks(messages: RangeMessages, size: int) -> Iterator[RangeMessages]:
    """Divide messages between updates, so that what they concern fits into memory."""
    start, ordinals = 0, messages.ordinals
    while start < len(ordinals):
        end = min(start + size, len(ordinals))
        end = int(np.searchsorted(ordinals, ordinals[end - 1], side="right"))
        yield RangeMessages._make(column[start:end] for column in messages)
        start = end
