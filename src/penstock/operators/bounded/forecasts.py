"""Forecasts: the recall that a budget will bring, from laws of the streams.

Streams are drawn from the laws and run through the same compiled caches that joins use, once per
budget and always the same draw, so that budgets differ by memory alone. How long is drawn: four
times what it takes to fill the largest budget or to cross the longest window, and at least 20,000
ticks. Where rows cease to join, by a window or because a trend has passed them, results count from
when the longest such time has passed and the asked budget is full; else from the first tick, as
they do in a join that has just begun.

Large budgets run in miniature. A slice of the keys, chosen by hash, with the same share of the
budget behaves as the whole does; streams that do not change their law can be run for a shorter time
with less memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.algebra.memories import Memory
from penstock.operators.bounded.caches import EVERY_OTHER
from penstock.operators.bounded.forecast_curves import Curve, Point, budgets_around
from penstock.operators.bounded.forecast_runs import (
    TICKS_MAX,
    TICKS_MIN,
    TURNS,
    WORK_MAX,
    extent_of,
    runs_of,
    shrink_of,
    work_of,
)
from penstock.operators.bounded.forecast_streams import (
    Windows,
    moved,
    rows_needed,
)
from penstock.operators.bounded.law_policies import FittedHeeb
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import (
    CompiledPolicy,
)
from penstock.operators.bounded.policies_named import policy_of
from penstock.operators.bounded.policy_demands import declared_alpha, expected_alpha, policy_for
from penstock.operators.bounded.spaced_laws import bare
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Flags

MakePolicy = Callable[[int], CompiledPolicy]
"""The policy for a budget."""

DRIFT = 0.02
"""Recall of both halves of a run may differ by so much, or by a quarter, before a note says so."""
UNKNOWN = (
    "There is no forecast yet: the law of the keys is neither given by MODEL with all its "
    "parameters nor fitted."
)


def forecast_join(
    laws: Sequence[Law], rates: Sequence[float], windows: Windows, make_policy: MakePolicy,
    budgets: Sequence[int], ticks: int | None = None, seed: int = 0, *,
    asked: int | None = None, work_max: float = WORK_MAX, told: int = 1,
    joins: Flags = EVERY_OTHER,
) -> Curve:  # fmt: skip
    """Forecast the recall of a join of two streams, or of several in one memory, by budget.

    Parameters
    ----------
    laws, rates, windows
        Of the streams: the law of their keys, arrivals per tick (as many as streams, at most), and
        how many ticks a row stays active, None: forever.
    make_policy
        The policy for a budget.
    budgets
        Rows; `asked` is the one that the join is to have.
    ticks, seed
        How long streams are drawn, and which draw.
    work_max
        What all runs may take before they are run in miniature.
    told
        How many ticks of the join one drawn tick stands for.
    joins
        `joins[a, b]`: whether rows of stream a join with rows of stream b.
    """
    budgets = sorted(set(budgets))
    asked = budgets[len(budgets) // 2] if asked is None else asked
    first = make_policy(budgets[0])
    extent = extent_of(laws, rates, windows, first, budgets, asked, ticks, work_max, joins)
    runs = runs_of(laws, rates, windows, extent, seed, joins)
    there = np.sum([run.all() for run in runs], axis=0)[1:]
    points, halves = [], {}
    for budget in budgets:
        policy = make_policy(budget)
        found = [run.made(budget, policy) for run in runs]
        made = np.sum([each[0] for each in found], axis=0)[1:]
        share = float(made.sum() / there.sum()) if there.sum() else 1.0
        per_tick = float(made.sum()) / (extent.draws * (extent.ticks - extent.warm_up))
        held = tuple(np.mean([each[1] for each in found], axis=0).tolist())
        point = Point(budget=budget, share=share, results=per_tick * (1 << extent.level), held=held)
        points.append(point)
        halves[budget] = (made / np.maximum(there, 1)).tolist()
    notes = []
    span = told * extent.ticks
    if extent.is_cut:
        half = f"{span // 2:,} ticks"
        notes.append(f"Rows join for longer than the {half} looked at: recall will be lower.")
    if not there.sum():
        notes.append(f"Streams drawn from these laws never join within {span:,} ticks.")
    near = min(budgets, key=lambda budget: abs(budget - asked))
    if not extent.is_ended and (_roam(laws) or _drifts(halves[near])):
        notes.append(
            f"Recall depends on how long the join runs, as rows without a window are wanted "
            f"forever: these figures are of {span:,} ticks."
        )
    return Curve(
        points=tuple(points), measure="recall", asked=asked, ticks=span,
        warm_up=told * extent.warm_up, notes=tuple(notes),
    )  # fmt: skip


def forecast_lookup(
    law: Law, make_policy: MakePolicy, budgets: Sequence[int], ticks: int | None = None,
    seed: int = 0, *, asked: int | None = None,
) -> Curve:  # fmt: skip
    """Forecast the hit rate of a cache of looked-up rows, budget by budget.

    Hits count after the first fifth of the lookups; no budget is above the keys drawn.
    """
    budgets = sorted(set(budgets))
    asked = budgets[len(budgets) // 2] if asked is None else asked
    if ticks is None:
        most = WORK_MAX / work_of(make_policy(budgets[0]), (law,), budgets)
        ticks = min(max(TICKS_MIN, TURNS * budgets[-1]), TICKS_MAX, math.ceil(most))
    keys = law.draw(ticks, np.random.default_rng([seed, 0]))
    distinct = len(np.unique(keys))
    budgets = sorted({min(budget, distinct) for budget in budgets})
    warm_up = ticks // 5
    points = []
    for budget in budgets:
        cache = LookupCache(budget, make_policy(budget))
        cache.feed(keys[:warm_up])
        share = float(cache.feed(keys[warm_up:]).mean())
        held = (len(cache) / budget,)
        points.append(Point(budget=budget, share=share, results=share, held=held))
    return Curve(
        points=tuple(points), measure="hit rate", asked=asked, ticks=ticks, warm_up=warm_up
    )


def curve_facts(
    memory: Memory, laws: Sequence[Law | None], rates: Sequence[float], windows: Windows, *,
    now: int = 0, joins: Flags = EVERY_OTHER,
) -> dict[str, Any]:  # fmt: skip
    """Forecast a join, or all that share a memory, for EXPLAIN, with budgets around its own.

    Parameters
    ----------
    memory
        The budget, its policy and options.
    laws
        Of all streams; None where nothing is known yet: then a note says so.
    rates, windows
        Arrivals per tick and windows in ticks, by stream.
    now
        The tick at which streams stand: trends go on from there.
    joins
        `joins[a, b]`: whether rows of stream a join with rows of stream b.
    """
    known = [moved(law, now) for law in laws if law is not None]
    if len(known) < len(laws):
        return Curve(points=(), asked=memory.rows, notes=(UNKNOWN,)).to_json()
    # Others hold rows that are dead: for them only windows say what suffices.
    need = rows_needed(known if memory.policy == "HEEB" else (), rates, windows, joins)
    budgets = budgets_around(memory.rows, need)
    shrink = shrink_of(known, rates, windows, budgets)
    short = [None if window is None else max(1.0, window / shrink) for window in windows]
    smaller = {max(1, round(budget / shrink)): budget for budget in budgets}

    def make(budget: int) -> CompiledPolicy:
        return policy_for(memory, known, rates, tuple(short), budget)

    curve = forecast_join(
        known, rates, short, make, list(smaller), seed=memory.seed,
        asked=max(1, round(memory.rows / shrink)), told=shrink, joins=joins,
    )  # fmt: skip
    points = [replace(point, budget=smaller[point.budget]) for point in curve.points]
    if need is not None and budgets[-1] < need and points[-1].share > 0.0:
        last = points[-1]
        points.append(replace(last, budget=need, share=1.0, results=last.results / last.share))
    return replace(curve, points=tuple(points), asked=memory.rows).to_json()


def lookup_facts(memory: Memory, law: Law | None) -> dict[str, Any]:
    """Forecast the hit rate of a lookup's cache for EXPLAIN."""
    if law is None:
        curve = Curve(points=(), measure="hit rate", asked=memory.rows, notes=(UNKNOWN,))
        return curve.to_json()

    def make(budget: int) -> CompiledPolicy:
        if memory.policy != "HEEB":
            policy = policy_of(memory, memory.policy, budget=budget, streams=1)
            assert isinstance(policy, CompiledPolicy), "policies in Python are given no laws"
            return policy
        weighting = Exponential(declared_alpha(memory) or expected_alpha((law,), budget))
        return FittedHeeb(
            laws=(law,), weighting=weighting, rates=(1.0,), windows=(None,), caching=True
        )

    curve = forecast_lookup(
        law, make, budgets_around(memory.rows), seed=memory.seed, asked=memory.rows
    )
    return curve.to_json()


def _roam(laws: Sequence[Law]) -> bool:
    """Say whether no stream has a trend: then every key may come again."""
    return not any(isinstance(bare(law), LinearTrend) for law in laws)


def _drifts(halves: Sequence[float]) -> bool:
    return abs(halves[0] - halves[1]) > min(DRIFT, max(halves) / 4)
