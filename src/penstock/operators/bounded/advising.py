"""Advice from a trace: which policy, how many rows, which models, and what that brings.

HEEB with AUTO is replayed with budgets that double until nothing is missed, unless budgets are
given; the other policies and the best that could have been done follow with the same budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.algebra.memories import AUTO, PolicyName, StreamModel
from penstock.operators.bounded.advising_replays import Replay, Replayed
from penstock.operators.bounded.forecast_curves import SHARES, Curve, Point

TARGET = 0.95
"""The share of what there is that the advised budget brings."""
WHOLE = 0.9999
"""A share that counts as all."""
FIRST, LADDER_MAX = 4, 8
"""The least budget that is tried, and how many are shown."""
PREFERRED = 1.05
"""HEEB, which follows changes, may take so many times as many rows as another policy."""
AS_GOOD = 0.002
"""Declared models may lose such a share against AUTO: they know no better afterwards."""
TRIES = 5
"""How often the advised budget is corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a trace says.

    Attributes
    ----------
    policy, rows, share
        Who should go, with how many rows, and what that brought.
    models
        What to declare of each stream.
    facts
        Models with their fits, and the weighting, of HEEB with this budget.
    curves
        What budgets brought, by policy; that of the bound last.
    most
        The share that memory without end brings.
    reached
        Whether the budget brings `TARGET` of that.
    notes
        What else there is to know, in sentences.
    """

    policy: PolicyName
    rows: int
    share: float
    models: tuple[StreamModel, ...]
    facts: dict[str, Any]
    curves: dict[str, Curve]
    most: float
    reached: bool
    notes: tuple[str, ...]

    @property
    def curve(self) -> Curve:
        """What budgets bring under the advised policy."""
        return self.curves[self.policy]

    @property
    def needs(self) -> dict[float, int | None]:
        """The least budgets for shares of what memory without end brings."""
        return {share: self.curve.rows_for(share * self.most) for share in SHARES}


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
    policy, rows = _chosen(points, replay.most)
    say(f"{policy} with {rows:,} rows")
    best = _corrected(replay, policy, points[policy], rows)
    rows = best.point.budget
    for name, own in points.items():
        if replay.is_affordable(name, rows) and all(point.budget != rows for point in own):
            own.append(best.point if name == policy else replay.run(name, rows).point)
    models, facts = (AUTO,) * replay.streams, best.facts
    if policy == "HEEB":
        models = _declared(replay, best)
    else:
        facts = replay.run("HEEB", rows).facts
    say(replay.bound)
    share = best.point.share
    return Advice(
        policy=policy, rows=rows, share=share, models=models, facts=facts, most=replay.most,
        reached=share >= TARGET * replay.most - 1e-9,
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
    """Replay HEEB with budgets that double until nothing is missed; the last ones count."""
    tried: list[Replayed] = []
    budget = min(FIRST, replay.rows_max)
    while True:
        say(f"HEEB with {budget:,} rows")
        tried.append(replay.run("HEEB", budget))
        if budget == replay.rows_max or tried[-1].point.share >= WHOLE * replay.most:
            break
        budget = min(2 * budget, replay.rows_max)
    need = tried[-1].need
    if need is not None and len(tried) > 1 and tried[-2].point.budget < need < budget:
        tried.insert(-1, replay.run("HEEB", need))
    return tried[-LADDER_MAX:]


def _chosen(points: dict[PolicyName, list[Point]], most: float) -> tuple[PolicyName, int]:
    """Give the policy that needs the least memory, and how much; HEEB if it needs little more."""
    needs = {
        name: rows
        for name, own in points.items()
        if own and (rows := Curve(points=tuple(own)).rows_for(TARGET * most)) is not None
    }
    if needs:
        least = min(needs, key=needs.__getitem__)
        if needs.get("HEEB", math.inf) <= PREFERRED * needs[least]:
            least = "HEEB"
        return least, needs[least]
    last = {name: own[-1] for name, own in points.items() if own}
    best = max(last, key=lambda name: last[name].share)
    if last["HEEB"].share >= last[best].share - AS_GOOD:
        best = "HEEB"
    return best, last[best].budget


def _corrected(replay: Replay, policy: PolicyName, points: list[Point], rows: int) -> Replayed:
    """Replay a budget that was read off a curve; take more, if it brings less than it should."""
    target, known = TARGET * replay.most, list(points)
    for _ in range(TRIES):
        best = replay.run(policy, rows)
        known.append(best.point)
        more = Curve(points=_sorted(known)).rows_for(target)
        if best.point.share >= target or more is None or more <= rows:
            return best
        rows = more
    return replay.run(policy, min(p.budget for p in known if p.share >= target))


def _declared(replay: Replay, best: Replayed) -> tuple[StreamModel, ...]:
    """Give the families that were found, where they do as well when they are declared.

    A stream that became another one while it ran may do so again.
    """
    streams = best.facts["streams"]
    models = tuple(
        StreamModel(family=told["family"])
        if told["family"] and not told.get("since_tick", 0)
        else AUTO
        for told in streams
    )
    auto = (AUTO,) * replay.streams
    if models == auto or (replay.streams == 1 and best.facts["policy"] != "HEEB"):
        return auto
    declared = replay.run("HEEB", best.point.budget, models).point.share
    return models if declared >= best.point.share - AS_GOOD else auto


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
