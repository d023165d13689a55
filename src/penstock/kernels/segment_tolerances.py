"""Tolerances of segments: what bounds allow rows to be off, from the segment's own models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.condition_slacks import slacks_find
from penstock.kernels.condition_solutions import Program, Room, conditions_solve
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import polynomial_degree, polynomial_derive, polynomial_evaluate

AMOUNT_MAX = np.finfo(np.float64).max
"""What stands for no bound: no row that is a number is off by more."""


class Allowances(NamedTuple):
    """What the bounds of a query allow the attributes of a source."""

    amounts: Floats
    """(pools, attributes): of an equal split; infinity: the pool does not know the attribute."""
    relative: Flags
    """(pools): whether amounts are shares of the smallest absolute value."""
    floor: float
    gradient: bool
    min_share: float


class TurnRoom(NamedTuple):
    """What the search for turning points writes into."""

    slope: Floats
    turns: Floats
    signs: Signs
    chain: Floats
    room: Floats
    values: Floats
    """(4, attributes): what `model_measure` writes."""


class SlackSearch(NamedTuple):
    """A source's own condition, and what the search for its slack writes into."""

    asked: bool
    literal: bool
    parts: Floats
    """(attributes): what a slack of 1 allows each of them; infinity: not in the condition."""
    program: Program
    room: Room
    models: Floats
    """(1, attributes, coefficients)."""
    numbers: Floats
    ends: Floats
    """(2, 1): low and high."""
    holds: Flags
    places: Ints
    found: Floats
    """(2, solutions)."""
    state: Ints
    slack: Floats


@inlined
def turns_find(model: Floats, degree: int, low: float, high: float, room: TurnRoom) -> int:
    """Write the instants in (low, high) where the slope is 0; count them."""
    if degree < 2:
        return 0
    polynomial_derive(model, degree, room.slope)
    count = roots_find(
        room.slope, degree - 1, low, high, room.turns, room.signs, room.chain, room.room
    )
    return int(count)


@tight
def model_measure(
    model: Floats, width: int, low: float, high: float, room: TurnRoom, attribute: int
) -> None:
    """Write the smallest absolute value in [low, high], the mean absolute slope, both extremes."""
    degree = polynomial_degree(model, width - 1)
    count = turns_find(model, degree, low, high, room)
    last = polynomial_evaluate(model, degree, low)
    least, way = abs(last), 0.0
    lowest, highest = last, last
    for k in range(count + 1):
        at = room.turns[k] if k < count else high
        value = polynomial_evaluate(model, degree, at)
        crosses = (value > 0.0) != (last > 0.0)
        least = 0.0 if crosses else min(least, abs(value))
        way += abs(value - last)
        lowest, highest = min(lowest, value), max(highest, value)
        last = value
    room.values[0, attribute] = least
    room.values[1, attribute] = way / (high - low) if high > low else 0.0
    room.values[2, attribute], room.values[3, attribute] = lowest, highest


@inlined
def pool_slopes(allowances: Allowances, pool: int, room: TurnRoom, count: int) -> float:
    """Give the sum of the mean slopes of the attributes that a pool knows."""
    total = 0.0
    for a in range(count):
        if allowances.amounts[pool, a] < np.inf:
            total += room.values[1, a]
    return total


@tight
def tolerances_fill(
    allowances: Allowances, models: Floats, low: float, high: float, room: TurnRoom
) -> None:
    """Write the tolerances of a segment behind the coefficients of its models.

    The attributes of a pool share its whole: equally, or by their mean slopes, of which the share
    `min_share` is divided equally; equally too if nothing moves.
    """
    attributes, width = models.shape[0], models.shape[1] - 1
    measured = allowances.gradient
    for pool in range(len(allowances.relative)):
        measured = measured or allowances.relative[pool]
    for a in range(attributes):
        models[a, width] = AMOUNT_MAX
        if measured:
            model_measure(models[a], width, low, high, room, a)
    for pool in range(len(allowances.relative)):
        members = 0
        for a in range(attributes):
            members += int(allowances.amounts[pool, a] < np.inf)
        total = pool_slopes(allowances, pool, room, attributes) if allowances.gradient else 0.0
        for a in range(attributes):
            amount = allowances.amounts[pool, a]
            if amount == np.inf:
                continue
            if total > 0.0 and total < np.inf:
                share = room.values[1, a] / total
                amount *= (1.0 - allowances.min_share) * share * members + allowances.min_share
            if allowances.relative[pool]:
                amount = max(allowances.floor, amount * room.values[0, a])
            models[a, width] = min(models[a, width], amount)


@tight
def slack_apply(search: SlackSearch, models: Floats, low: float, high: float) -> bool:
    """Let rows be off by the slack of the source's condition, if that allows all more.

    While the condition has no solution, attributes that are not in it may be what they like; so
    the slack counts only if it allows every attribute of the condition what bounds do.
    """
    if not search.asked:
        return False
    attributes, width = models.shape[0], models.shape[1] - 1
    for a in range(attributes):
        for k in range(width):
            search.models[0, a, k] = models[a, k]
    search.ends[0, 0], search.ends[1, 0] = low, high
    solutions = conditions_solve(
        search.program, search.room, search.models, search.numbers, search.ends[0],
        search.ends[1], 0, search.places, search.found[0], search.found[1], search.state,
    )  # fmt: skip
    if solutions > 0:
        return False
    slacks_find(
        search.program, search.room, search.models, search.numbers, search.ends[0],
        search.ends[1], search.holds, search.literal, search.slack,
    )  # fmt: skip
    slack = search.slack[0]
    if not slack > 0.0:
        return False
    for a in range(attributes):
        if search.parts[a] < np.inf and slack * search.parts[a] < models[a, width]:
            return False
    for a in range(attributes):
        models[a, width] = min(slack * search.parts[a], AMOUNT_MAX)
    return True


@tight
def models_measure(
    models: Floats, low: float, high: float, room: TurnRoom, out: Floats
) -> None:  # fmt: skip
    """Write (4, n) of models (n, coefficients + 1): the same of each as `model_measure` does."""
    for i in range(len(models)):
        model_measure(models[i], models.shape[1] - 1, low, high, room, 0)
        for k in range(4):
            out[k, i] = room.values[k, 0]
