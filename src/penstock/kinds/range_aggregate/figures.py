"""Figures of range aggregates: what is kept, what changes did, and what they told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.kinds.run_figures import GroupFigures, told_of
from penstock.operators.range_aggregate.figures import (
    MESSAGES,
    NOTIFICATIONS,
    PARTITIONS,
    PLACES,
    TUPLES,
    UPDATES,
)
from penstock.vocabulary.codec import OMITTED
from penstock.vocabulary.counts import counted
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.shared_figures import NULL_VALUES


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFigures(GroupFigures):
    """What a group of range aggregates keeps, and what its changes told.

    `updates` are changes of rows by what they may do to minima, maxima and sets of ranges;
    `messages_per_update` is of those that are not ignorable.
    """

    updates: Mapping[str, int] = field(default_factory=dict, metadata=OMITTED)
    messages_per_update: float | None = field(default=None, metadata=OMITTED)


def range_figures(told: Tally) -> RangeFigures | None:
    """Say what a group did; None before it did anything.

    >>> told = Tally({TUPLES: 6, (UPDATES, "easy"): 1, (UPDATES, "difficult"): 1, MESSAGES: 4})
    >>> range_figures(told).to_json()["messages_per_update"]
    2.0
    """
    shown = (TUPLES, PLACES, PARTITIONS, MESSAGES, NOTIFICATIONS, NULL_VALUES, FAILED_CONDITIONS)
    found = RangeFigures(
        counted=told_of(told, *shown),
        updates=told.by(UPDATES),
        messages_per_update=per_update(told),
    )
    return found if found.to_json() else None


def per_update(told: Tally) -> float | None:
    """Give the messages of an update that some range may notice, if there was one."""
    updates = told.by(UPDATES)
    noticed = updates.get("easy", 0) + updates.get("difficult", 0)
    return round(told[MESSAGES] / noticed, 2) if noticed else None


def range_words(told: Tally) -> str:
    """Say in short what changes told.

    >>> range_words(Tally({(UPDATES, "easy"): 2, MESSAGES: 4, NOTIFICATIONS: 1500}))
    '2.0 messages per update, 1,500 notifications'
    """
    each = per_update(told)
    words = [] if each is None else [f"{each} messages per update"]
    if told[NOTIFICATIONS]:
        words.append(f"{counted(told[NOTIFICATIONS], 'notification')}")
    return ", ".join(words)


def range_sentence(told: Tally) -> str:
    """Say at the end of a run what changes told."""
    updates = told.by(UPDATES)
    classes = ", ".join(f"{count:,} {effect}" for effect, count in updates.items() if count)
    parts = [counted(told[TUPLES], "row"), *([f"updates: {classes}"] if classes else [])]
    return f"Range aggregates: {'; '.join([*parts, range_words(told)])}."
