"""Advice from a trace: which policy, how many rows, which laws, and what that brings.

HEEB with AUTO is replayed with budgets that double until nothing is missed, unless budgets are
given; the other policies and the best that could have been done follow with the same budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.algebra.memories import AUTO, PolicyName, StreamLaw
from penstock.operators.bounded.advice_replays import Replay, Replayed
from penstock.operators.bounded.forecast_curves import SHARES, Curve, Point

TARGET = 0.95
"""The share of what there is that the advised budget brings."""
WHOLE = 0.999
"""A share that counts as all."""
LEAST, LADDER_MAX = 4, 8
"""The least budget that is tried, and how many are shown."""
BEGIN_PART = 1024
"""The first budget is such a part of all rows that may join, but no less."""
LOW = 0.3
"""Budgets below the first are halved down to such a share."""
AS_GOOD = 0.002
"""Declared laws may lose such a share against AUTO: they know no better afterwards."""
TRIES = 6
"""How often the advised budget is corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a trace says.

    Attributes
    ----------
    policy, rows, share
        Who should go, with how many rows, and what that brought.
    laws
        What to declare of each stream.
    facts
        Laws with their fits, and the weighting, of HEEB with this budget.
    curves
        What budgets brought, by policy; that of the bound last.
    most
        The share that memory without end brings.
    reached
        Whether the budget brings `TARGET` of that.
    needs
        The least budgets for shares of that.
    notes
        What else there is to know, in sentences.
    """

    policy: PolicyName
    rows: int
    share: float
    laws: tuple[StreamLaw, ...]
    facts: dict[str, Any]
    curves: dict[str, Curve]
    most: float
    reached: bool
    needs: dict[float, int | None]
    notes: tuple[str, ...]

    @property
    def curve(self) -> Curve:
        """What budgets bring under the advised policy."""
        return self.curves[self.policy]


def advise(
    replay: Replay, budgets: Sequence[int] = (), say: Callable[[str], None] = lambda _: None
) -> Advice | None:
    """Replay a trace under all policies; None if there is nothing that memory could bring.

    `say` is told what is being done.
    """
    if replay.most <= 0.0:
        return None
    tried = _given(replay, budgets, say) if budgets else _climbed(replay, say)
    points: dict[PolicyName, list[Point]] = {"HEEB": [each.point for each in tried]}
    for policy in replay.policies[1:]:
        say(policy)
        points[policy] = [
            replay.run(policy, each.point.budget).point
            for each in tried
            if replay.is_affordable(policy, each.point.budget)
        ]
    policy, best, refined = _advised(replay, points, say)
    rows = best.point.budget
    laws, facts = (AUTO,) * replay.streams, best.facts
    if policy == "HEEB":
        laws = _declared(replay, best)
    else:
        facts = replay.run("HEEB", rows).facts
    say(replay.bound)
    share = best.point.share
    return Advice(
        policy=policy, rows=rows, share=share, laws=laws, facts=facts, most=replay.most,
        reached=share >= TARGET * replay.most,
        needs={part: refined.rows_for(part * replay.most) for part in SHARES},
        **_curves(replay, points, rows),
    )  # fmt: skip


def _given(replay: Replay, budgets: Sequence[int], say: Callable[[str], None]) -> list[Replayed]:
    """Replay HEEB with budgets that are asked for."""
    say("HEEB")
    return [
        replay.run("HEEB", budget)
        for budget in sorted({min(budget, replay.rows_max) for budget in budgets})
    ]


def _climbed(replay: Replay, say: Callable[[str], None]) -> list[Replayed]:
    """Replay HEEB with budgets that double until nothing is missed; the last ones count.

    What small budgets bring is asked only if it is much: they are steered often.
    """
    tried: list[Replayed] = []
    part = 1 << (replay.rows_max // BEGIN_PART).bit_length()
    begin = budget = min(max(LEAST, part), replay.rows_max)
    while True:
        say(f"HEEB with {budget:,} rows")
        tried.append(replay.run("HEEB", budget))
        if budget == replay.rows_max or tried[-1].point.share >= WHOLE * replay.most:
            break
        budget = min(2 * budget, replay.rows_max)
    need = tried[-1].need
    if need is not None and len(tried) > 1 and tried[-2].point.budget < need < budget:
        tried.insert(-1, replay.run("HEEB", need))
    while begin // 2 >= LEAST and tried[0].point.share > LOW * replay.most:
        begin //= 2
        say(f"HEEB with {begin:,} rows")
        tried.insert(0, replay.run("HEEB", begin))
    return tried[-LADDER_MAX:]


def _advised(
    replay: Replay, points: dict[PolicyName, list[Point]], say: Callable[[str], None]
) -> tuple[PolicyName, Replayed, Curve]:
    """Give the policy that brings most with its budget, that budget, and what others bring.

    The policy that seems to need the least memory may be behind another once its budget is
    corrected: then that one is tried, with what it needs. All are replayed with the budget advised.
    """
    policy, rows = _chosen(points, replay.most)
    for _ in points:
        say(f"{policy} with {rows:,} rows")
        best, refined = _corrected(replay, policy, points[policy], rows)
        rows = best.point.budget
        at = {policy: best.point.share}
        for name, own in points.items():
            if name != policy and replay.is_affordable(name, rows):
                if all(point.budget != rows for point in own):
                    own.append(replay.run(name, rows).point)
                at[name] = next(point.share for point in own if point.budget == rows)
            elif name == policy and all(point.budget != rows for point in own):
                own.append(best.point)
        ahead = max(at, key=lambda name: (at[name], name == policy))
        if ahead == policy:
            return policy, best, refined
        policy = ahead
    # Each was ahead of another with some budget: the last one is, with the last.
    best = replay.run(policy, rows)
    return policy, best, Curve(points=_sorted(points[policy]))


def _chosen(points: dict[PolicyName, list[Point]], most: float) -> tuple[PolicyName, int]:
    """Give the policy that needs the least memory, and how much; of equal ones HEEB."""
    needs = {
        name: rows
        for name, own in points.items()
        if own and (rows := Curve(points=tuple(own)).rows_for(TARGET * most)) is not None
    }
    if needs:
        least = min(needs, key=lambda name: (needs[name], name != "HEEB"))
        return least, needs[least]
    last = {name: own[-1] for name, own in points.items() if own}
    best = max(last, key=lambda name: (last[name].share, name == "HEEB"))
    return best, last[best].budget


def _corrected(
    replay: Replay, policy: PolicyName, points: list[Point], rows: int
) -> tuple[Replayed, Curve]:
    """Replay a budget that was read off a curve, then less or more, as the better curve says.

    The least budget that brings what it should is given; if none does, the first.
    """
    target, curve = TARGET * replay.most, Curve(points=_sorted(points))
    tried: dict[int, Replayed] = {}
    for _ in range(TRIES):
        tried[rows] = replay.run(policy, rows)
        fresh = [each.point for each in tried.values()]
        curve = Curve(points=_sorted([*points, *fresh]))
        wanted = curve.rows_for(target)
        if wanted is None or wanted in tried:
            break
        rows = wanted
    enough = [budget for budget, each in tried.items() if each.point.share >= target]
    return tried[min(enough, default=next(iter(tried)))], curve


def _declared(replay: Replay, best: Replayed) -> tuple[StreamLaw, ...]:
    """Give the families that were found, where they do as well when they are declared.

    A stream that became another one while it ran may do so again.
    """
    streams = best.facts["streams"]
    laws = tuple(
        StreamLaw(family=told["family"])
        if told["family"] and not told.get("since_tick", 0)
        else AUTO
        for told in streams
    )
    auto = (AUTO,) * replay.streams
    if laws == auto or (replay.streams == 1 and best.facts["policy"] != "HEEB"):
        return auto
    declared = replay.run("HEEB", best.point.budget, laws).point.share
    return laws if declared >= best.point.share - AS_GOOD else auto


def _curves(replay: Replay, points: dict[PolicyName, list[Point]], asked: int) -> dict[str, Any]:
    """Give all curves by name, the bound's last, and notes on what they leave out."""
    budgets = sorted({point.budget for own in points.values() for point in own})
    found: dict[str, tuple[Point, ...]] = {name: _sorted(own) for name, own in points.items()}
    found[replay.bound] = replay.optimum(budgets)
    notes = []
    for name, own in found.items():
        if len(own) < len(budgets):
            until = f"up to {own[-1].budget:,} rows" if own else "for none of these budgets"
            why = replay.bound_limits if name == replay.bound else "more takes too long"
            notes.append(f"{name} is told {until}: {why}.")
    base = Curve(points=(), measure=replay.measure, asked=asked, ticks=replay.count)
    curves = {name: replace(base, points=own) for name, own in found.items() if own}
    return {"curves": curves, "notes": tuple(notes)}


def _sorted(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(sorted(points, key=lambda point: point.budget))
