"""Geometric programmes: the most of a product of shares under a bound on a sum of products.

Over the logarithms of the shares this is a concave problem, so a primal-dual interior point method
finds the one optimum (Boyd and Vandenberghe, Convex Optimization, section 11.7). The problems are
small: a share per input, a term per side of a join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.vocabulary.batches import Floats

GAP = 1e-9
"""How far, in logarithms, the answer may be from the optimum."""
SHARPER = 10.0
"""By how much a step aims to narrow the gap."""
STEPS_MAX = 80
"""More steps than a programme takes (about 20): a limit, not a target."""
NEAR = 0.98
"""How much of the way to a limit a step may go."""


def most_product(
    gains: Floats,
    coefficients: Floats,
    exponents: Floats,
    bound: float,
    floors: Floats,
) -> Floats:
    """Maximise gains . y subject to sum(c exp(E y)) <= bound and floors <= y <= 0.

    `gains` are not negative, `coefficients` are above zero, rows of `exponents` belong to them.
    Where even the floors exceed the bound, the floors are given: the caller knows them to fit.

    >>> y = most_product(np.ones(2), np.ones(2), np.eye(2), 1.0, np.full(2, -20.0))
    >>> np.round(np.exp(y), 6).tolist()
    [0.5, 0.5]
    """
    logs = np.log(coefficients / bound)
    y = np.zeros(len(gains))
    if len(logs) == 0 or _used(y, logs, exponents).excess <= 0.0:
        return y
    free = np.flatnonzero(floors < 0.0)
    if _used(floors, logs, exponents).excess >= -GAP or len(free) == 0:
        return floors.copy()
    programme = _Programme(
        gains=gains[free], logs=logs, exponents=exponents[:, free], floors=floors[free]
    )
    y[free] = _climbed(programme)
    return y


class _Used(NamedTuple):
    """The logarithm of what is used over the bound (at most 0 where it fits), and its slope."""

    excess: float
    slope: Floats
    parts: Floats


def _used(y: Floats, logs: Floats, exponents: Floats) -> _Used:
    terms = logs + exponents @ y
    top = float(terms.max())
    weights = np.exp(terms - top)
    total = float(weights.sum())
    parts = weights / total
    return _Used(top + float(np.log(total)), parts @ exponents, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Programme:
    """Gains, costs and floors of the shares that are free."""

    gains: Floats
    logs: Floats
    exponents: Floats
    floors: Floats

    def state(self, y: Floats, spare: float, prices: Floats | None = None) -> _State:
        """Give the point and its prices; without prices, those that suit its limits."""
        used = _used(y, self.logs, self.exponents)
        limits = np.concatenate(([spare], -y, y - self.floors))
        prices = 1.0 / limits if prices is None else prices
        count = len(y)
        away = prices[0] * used.slope - self.gains + prices[1 : count + 1] - prices[count + 1 :]
        return _State(y, used, limits, prices, away)


class _State(NamedTuple):
    """A point, what is left to its limits (bound, no box, floors), and their prices.

    What is left to the bound is a number of its own: only at the end it must be true. `away` is
    how far gains and prices are from balance.
    """

    y: Floats
    used: _Used
    limits: Floats
    prices: Floats
    away: Floats

    @property
    def untrue(self) -> float:
        """How far what is left to the bound is from the truth."""
        return self.used.excess + float(self.limits[0])

    @property
    def is_done(self) -> bool:
        """Say whether this is the optimum."""
        off = max(float(np.abs(self.away).max()), abs(self.untrue))
        return off < GAP and float(self.limits @ self.prices) < GAP

    def distance(self, aim: float) -> float:
        """Say how far this is from balance with every price times its limit at the aim."""
        slack = self.prices * self.limits - aim
        return float(np.sqrt(self.away @ self.away + slack @ slack + self.untrue**2))


def _climbed(programme: _Programme) -> Floats:
    """Go to the optimum."""
    state = programme.state(programme.floors / 2, 1.0)
    for _ in range(STEPS_MAX):
        if state.is_done:
            break
        gap = float(state.limits @ state.prices)
        following = _followed(programme, state, gap / (SHARPER * len(state.limits)))
        if following is None:
            break  # as far as numbers go
        state = following
    return state.y


def _followed(programme: _Programme, state: _State, aim: float) -> _State | None:
    """Take one step, as long as it comes closer."""
    try:
        move = _newton(programme, state, aim)
    except np.linalg.LinAlgError:
        return None
    along = np.concatenate(([state.used.slope @ move + state.untrue], move, -move))
    steps = (aim + state.prices * along) / state.limits - state.prices
    length = min(1.0, NEAR * _reach(state.prices, -steps), NEAR * _reach(state.limits, along))
    before = state.distance(aim)
    while length > 1e-12:
        found = programme.state(
            state.y + length * move,
            float(state.limits[0] - length * along[0]),
            state.prices + length * steps,
        )
        if found.distance(aim) <= (1.0 - 0.01 * length) * before:
            return found
        length /= 2
    return None


def _reach(room: Floats, speed: Floats) -> float:
    """Give how far one may go until some room is used up."""
    moving = speed > 0.0
    return float((room[moving] / speed[moving]).min(initial=np.inf))


def _newton(programme: _Programme, state: _State, aim: float) -> Floats:
    """Give the step towards balance with every price times its limit at the aim."""
    used, prices, limits = state.used, state.prices, state.limits
    count = len(state.y)
    outer = np.outer(used.slope, used.slope)
    bend = (programme.exponents.T * used.parts) @ programme.exponents - outer
    hessian = prices[0] * bend + prices[0] / limits[0] * outer
    rates = prices[1:] / limits[1:]
    hessian[np.diag_indices(count)] += rates[:count] + rates[count:]
    pull = aim / limits
    pull[0] += prices[0] * state.untrue / limits[0]
    slope = pull[0] * used.slope + pull[1 : count + 1] - pull[count + 1 :] - programme.gains
    scale = 1.0 / np.sqrt(np.diag(hessian))
    found: Floats = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * slope)
    return found
