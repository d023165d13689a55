"""Geometric programmes: the most of a product of shares under a bound on a sum of products.

Over the logarithms of the shares this is a concave problem, so a primal-dual interior point method
finds the one optimum (Boyd and Vandenberghe, Convex Optimization, section 11.7). The problems are
small: a share per input, a term per side of a join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

GAP = 1e-9
"""How far, in logarithms, the answer may be from the optimum."""
SHARPER = 20.0
"""By how much a step aims to narrow the gap."""
STEPS_MAX = 80
"""More steps than a programme takes (about 20): a limit, not a target."""
NEAR = 0.98
"""How much of the way to a limit a step may go."""


def most_product(
    gains: Floats, coefficients: Floats, exponents: Floats, bound: float, floors: Floats
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
    start = _inside(logs, exponents[:, free], floors[free]) if len(free) else None
    if start is None:
        return floors.copy()
    programme = _Programme(
        gains=gains[free], logs=logs, exponents=exponents[:, free], floors=floors[free]
    )
    y[free] = _climbed(programme, start)
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


def _inside(logs: Floats, exponents: Floats, floors: Floats) -> Floats | None:
    """Find a point that keeps every bound with something to spare, if there is one."""
    share = 0.5
    while share > 1e-9:
        y = floors * (1.0 - share)
        if _used(y, logs, exponents).excess < -1e-12:
            return y
        share /= 2
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Programme:
    """Gains, costs and floors of the shares that are free."""

    gains: Floats
    logs: Floats
    exponents: Floats
    floors: Floats

    def state(self, y: Floats, prices: Floats | None = None) -> _State:
        """Give the point and its prices; without prices, those that suit its limits."""
        used = _used(y, self.logs, self.exponents)
        limits = np.concatenate(([-used.excess], -y, y - self.floors))
        prices = 1.0 / limits if prices is None else prices
        count = len(y)
        away = prices[0] * used.slope - self.gains + prices[1 : count + 1] - prices[count + 1 :]
        return _State(y, used, limits, prices, away)


class _State(NamedTuple):
    """A point inside, what is left to its limits (bound, no box, floors), and their prices.

    `away` is how far gains and prices are from balance.
    """

    y: Floats
    used: _Used
    limits: Floats
    prices: Floats
    away: Floats

    def distance(self, aim: float) -> float:
        """Say how far this is from balance with every price times its limit at the aim."""
        slack = self.prices * self.limits - aim
        return float(np.sqrt(self.away @ self.away + slack @ slack))


def _climbed(programme: _Programme, y: Floats) -> Floats:
    """Go from a point inside to the optimum."""
    state = programme.state(y)
    for _ in range(STEPS_MAX):
        gap = float(state.limits @ state.prices)
        if gap < GAP and np.abs(state.away).max() < GAP:
            break
        following = _followed(programme, state, gap / (SHARPER * len(state.limits)))
        if following is None:
            break  # as far as numbers go
        state = following
    return state.y


def _followed(programme: _Programme, state: _State, aim: float) -> _State | None:
    """Take one step, as long as it stays inside and comes closer."""
    try:
        move = _newton(programme, state, aim)
    except np.linalg.LinAlgError:
        return None
    along = np.concatenate(([state.used.slope @ move], move, -move))
    steps = (aim + state.prices * along) / state.limits - state.prices
    length = min(1.0, NEAR * _reach(state.prices, -steps))
    length = min(length, NEAR * _reach(state.limits[1:], along[1:]))
    before = state.distance(aim)
    while length > 1e-12:
        found = programme.state(state.y + length * move, state.prices + length * steps)
        closer = (1.0 - 0.01 * length) * before
        if found.used.excess < 0.0 and found.distance(aim) <= closer:
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
    slope = pull[0] * used.slope + pull[1 : count + 1] - pull[count + 1 :] - programme.gains
    scale = 1.0 / np.sqrt(np.diag(hessian))
    found: Floats = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * slope)
    return found
