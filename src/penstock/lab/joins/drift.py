"""A drifting hot centre: what the hotspot tracker moves, and whether its credits pay for it.

Every insertion gives 2 alpha credits to each hot group; every deletion from a hot group gives that
group 2. A range that is promoted or demoted is a move. The publication's argument: a group that is
demoted owns at least alpha of all ranges in credits, so that moves stay below 5 per insertion and 2
per deletion. Updates come one by one, and the account is kept from outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.operators.join.partition import HotspotTracker
from penstock.vocabulary.batches import Rows

ALPHAS = (0.05, 0.1, 0.25)
FIRST = 200
"""Ranges before the updates that are judged."""
UPDATES = sized(2_500, 2_500, 25_000)
DOMAIN = 100_000
NEAR, LENGTH = 1_500, 2_000
HOT = 0.6
"""The share of ranges that lie about the centre."""
EPSILON = 1.0
WELL_BELOW = 0.5
"""Moves per update: a simulation had 0.04 to 0.22."""


@dataclass(slots=True, kw_only=True)
class CreditAccount:
    """What was seen of one tracker."""

    alpha: float
    inserted: int = 0
    deleted: int = 0
    moves: int = 0
    demoted: int = 0
    least_paid: float = float("inf")
    """Credits of a demoted group over alpha of all ranges, at the least."""
    most_over: float = -float("inf")
    """Moves beyond 5 per insertion and 2 per deletion, at the most, at any time."""
    most_hot: float = 0.0
    """Hot groups over 2 / alpha, at the most."""
    missed: int = 0
    """Updates after which a group of alpha of all ranges was scattered, or one below half hot."""


def followed(alpha: float, updates: int) -> CreditAccount:
    """Let ranges come and go about a centre that drifts over the whole domain; keep the account."""
    rng = generator(7, round(1_000 * alpha))
    tracker = HotspotTracker(alpha, EPSILON)
    account, credits = CreditAccount(alpha=alpha), dict[int, float]()
    here: list[int] = []
    for number in range(FIRST + updates):
        adds = len(here) < FIRST or rng.random() < 0.5
        before = dict(zip(tracker.live().tolist(), _sizes(tracker).tolist(), strict=True))
        if adds:
            centre = DOMAIN * number / (FIRST + updates)
            about = rng.normal(centre, NEAR) if rng.random() < HOT else rng.uniform(0, DOMAIN)
            low = np.array([int(about) - LENGTH // 2])
            tracker.insert(np.array([number], dtype=np.int32), low, low + LENGTH)
            here.append(number)
            for group in before:
                credits[group] = credits.get(group, 0.0) + 2 * alpha
        else:
            # The oldest go: the centre leaves its groups behind.
            slot = here.pop(int(rng.integers(0, max(len(here) // 4, 1))))
            group = int(tracker.group_of[slot])
            if group >= 0:
                credits[group] = credits.get(group, 0.0) + 2
            tracker.delete(np.array([slot], dtype=np.int32))
        account.inserted += adds
        account.deleted += not adds
        after = set(tracker.live().tolist())
        for group in before.keys() - after:
            account.demoted += 1
            paid = credits.pop(group, 0.0) / (alpha * len(tracker))
            account.least_paid = min(account.least_paid, paid)
        account.moves = tracker.moves
        over = tracker.moves - 5 * account.inserted - 2 * account.deleted
        account.most_over = max(account.most_over, over)
        account.most_hot = max(account.most_hot, len(after) * alpha / 2)
        account.missed += _misses(tracker, alpha)
    return account


def _sizes(tracker: HotspotTracker) -> Rows:
    return tracker.sizes[tracker.live()]


def _misses(tracker: HotspotTracker, alpha: float) -> bool:
    """Say whether a scattered group is large enough to be hot, or a hot one too small."""
    scattered = tracker.scattered.group_of[tracker.scattered.group_of >= 0]
    largest = int(np.bincount(scattered).max()) if len(scattered) else 0
    sizes = _sizes(tracker)
    smallest = int(sizes.min()) if len(sizes) else len(tracker)
    return largest >= alpha * len(tracker) or smallest < alpha / 2 * len(tracker)


def drift(size: Size) -> Findings:
    """Follow trackers of several alphas; no clock decides any of this."""
    found = [followed(alpha, UPDATES[size]) for alpha in ALPHAS]
    updates = FIRST + UPDATES[size]
    yield Table.of(
        f"hotspot tracker beside a drifting centre, {updates:,} updates one by one",
        [
            {
                "alpha": o.alpha,
                "inserted": o.inserted,
                "deleted": o.deleted,
                "moves": o.moves,
                "moves per update": o.moves / updates,
                "groups demoted": o.demoted,
                "credits over alpha of all, least": o.least_paid if o.demoted else None,
                "hot groups over 2/alpha, most": o.most_hot,
            }
            for o in found
        ],
    )
    yield at_least(
        "drifting: credits of a demoted group over alpha of all ranges, at least",
        min(o.least_paid for o in found),
        1.0,
    )
    yield at_most(
        "drifting: moves beyond 5 per insertion and 2 per deletion, at any time",
        max(o.most_over for o in found),
        0,
    )
    yield at_most(
        "drifting: moves per update, at the end", max(o.moves for o in found) / updates, WELL_BELOW
    )
    yield at_most(
        "drifting: hot groups over 2 / alpha, at most", max(o.most_hot for o in found), 1.0
    )
    yield at_most(
        "drifting: updates after which a group was hot or scattered wrongly",
        sum(o.missed for o in found),
        0,
    )
