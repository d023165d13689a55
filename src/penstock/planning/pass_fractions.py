"""Thinning: the best pass fractions of one plan, whatever its windows.

A dropped row leaves a ROWS window full if survivors are counted (`faithful`): cost and output are
linear in the input's share. It leaves a hole in a RANGE window, and in any window if all arrivals
count (`subset`): there both go with the product of the shares. With windows of the first kind only,
the knapsack of `shedding` is exact. Otherwise every cost is, near a point, a product of powers of
the shares, and so is the output but for the inputs of the first kind: a geometric programme, solved
again from where it led until nothing is gained. Costs are those of the thinned model throughout, so
the answer fits even where windows that shrink become cheaper to probe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log, prod

import numpy as np

from penstock.algebra.trees import Boxes, JoinPlan, Tree
from penstock.planning.costs import CostLibrary
from penstock.planning.geometric import most_product
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import cost, thinned
from penstock.planning.shedding import SLACK, Shed, minimums_do_not_fit, shed
from penstock.planning.thinned_costs import ThinnedCosts
from penstock.vocabulary.batches import Floats
from penstock.vocabulary.errors import PenstockError

LEAST = 1e-12
"""The share that stands for none: a model's rates are above zero."""
NONE = 1e-6
"""The share that stands for none in a programme where windows stay full; 0 is tried after it."""
MARGIN = 0.1
SECANTS_MAX = 12
FEW = 6
"""Of more inputs, with windows of both kinds, fewer starts are climbed from, and less far."""
ROUNDS_MAX = 12
GAIN = 1e-6
"""A round that gains less, relatively, is the last."""
LOSS = 1e-6
"""A round that loses more, relatively, went too far."""
HALVINGS = 2
FULL = 1e-7
"""A share this close to 1 is 1: nothing is dropped."""


def shrinking(model: JoinModel, boxes: Boxes) -> tuple[int, ...]:
    """List the inputs whose windows hold fewer rows when some are dropped."""
    return tuple(
        k
        for k, each in enumerate(model.inputs)
        if not each.is_table and (boxes == "subset" or each.range_s is not None)
    )


def exact_share(passes: Sequence[float], full_output: float, output: float) -> float:
    """Give the share of what is left that the exact query would have given too.

    Windows that count survivors reach further back: their results are true, but of other windows.
    """
    return min(prod(passes) * full_output / output, 1.0) if output > 0.0 else 0.0


def approximate(
    model: JoinModel,
    tree: Tree | JoinPlan,
    library: CostLibrary,
    bound: float,
    boxes: Boxes = "faithful",
) -> Shed:
    """Choose the pass fractions that keep most results of a plan within the bound."""
    full = cost(model, tree, library)
    plan = full.plan
    minimums = [1.0 if each.is_table else each.minimum for each in model.inputs]
    a, v, weights = full.a.tolist(), full.v.tolist(), [each.weight for each in model.inputs]
    rest = bound - full.fixed_cpu
    if full.cpu <= bound * (1.0 + SLACK):
        found = shed(a, v, sum(a) * (1.0 + SLACK), minimums, weights)
    elif rest <= 0.0:
        raise PenstockError(
            "PLN-025",
            f"Batches, and rows that come, alone need {100 * full.fixed_cpu:.4g} % of a processor; "
            f"the bound is {100 * bound:.4g} %.",
            "Give more processors or less headroom, or take fewer, larger batches.",
        )
    elif not shrinking(model, boxes):
        found = shed(a, v, rest, minimums, weights)
    else:
        costs = ThinnedCosts.of(model, full, library, shrinking(model, boxes))
        found = _Thinning(model=model, costs=costs, bound=bound, minimums=minimums).best()
        behind = cost(thinned(model, found.passes, boxes), plan, library)
        return replace(found, output=behind.output_rate, used=behind.cpu)
    return replace(found, used=found.used + full.fixed_cpu)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """Shares, with what they cost and what they are worth."""

    passes: tuple[float, ...]
    cpu: float
    worth: float


def _worth(point: _Point) -> float:
    return point.worth


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thinning:
    """The search for the shares of one plan some of whose windows shrink."""

    model: JoinModel
    costs: ThinnedCosts
    bound: float
    minimums: list[float]

    def best(self) -> Shed:
        """Climb from several starts; equal dropping on all inputs is the first of them."""
        least = self.at(self.minimums)
        if least.cpu > self.bound * (1.0 + SLACK):
            raise minimums_do_not_fit(least.cpu, self.bound)
        starts = sorted(self.starts(), key=lambda each: -self.polished(each).worth)
        best = max((self.climb(start) for start in starts[: 3 if self.is_small else 1]), key=_worth)
        best = max((best, *starts), key=_worth)
        return Shed(
            passes=best.passes,
            output=self.costs.output(best.passes),
            worth=best.worth,
            used=best.cpu,
        )

    def at(self, passes: Sequence[float]) -> _Point:
        """Cost the plan behind these boxes."""
        return _Point(
            passes=tuple(passes), cpu=self.costs.cpu(passes), worth=self.costs.worth(passes)
        )

    @property
    def is_small(self) -> bool:
        """Say whether there is time to look everywhere."""
        return len(self.minimums) <= FEW or not self.linear

    @property
    def linear(self) -> list[int]:
        """The streams whose windows stay full."""
        return [
            k
            for k, each in enumerate(self.model.inputs)
            if not each.is_table and k not in self.costs.shrink
        ]

    def starts(self) -> list[_Point]:
        """Give equal dropping, and every stream whose window stays full alone without a box."""
        linear = self.linear
        patterns = [
            [
                self.minimums[k] if k in linear and k != open_one else 1.0
                for k in range(len(self.minimums))
            ]
            for open_one in (linear if len(linear) > 1 else [])
        ]
        equal = self.fitted(lambda share: [max(share, low) for low in self.minimums])
        return [equal, *(self.lowered(pattern) for pattern in patterns)]

    def fitted(self, path: Callable[[float], list[float]]) -> _Point:
        """Go along a path of shares, from 0 (fits) towards 1, as far as the bound allows."""
        if self.costs.cpu(path(1.0)) <= self.bound:
            return self.at(path(1.0))
        low, high = LEAST, 1.0
        # Costs go with powers of the share: halving its logarithm soon comes close.
        while log(high / low) > 1e-3:
            middle = (low * high) ** 0.5
            low, high = (
                (middle, high) if self.costs.cpu(path(middle)) <= self.bound else (low, middle)
            )
        f_low, f_high = (self.costs.cpu(path(end)) / self.bound - 1.0 for end in (low, high))
        for _ in range(SECANTS_MAX):
            if f_low > -1e-13 or f_high <= f_low:
                break
            middle = low + (high - low) * f_low / (f_low - f_high)
            f_middle = self.costs.cpu(path(middle)) / self.bound - 1.0
            if f_middle <= 0.0:
                low, f_low, f_high = middle, f_middle, f_high / 2
            else:
                high, f_high, f_low = middle, f_middle, f_low / 2
        return self.at(path(low))

    def lowered(self, passes: Sequence[float]) -> _Point:
        """Lower shares towards their minimums until they fit; 1 stays 1 if that is enough."""
        pairs = list(zip(passes, self.minimums, strict=True))
        shut = [x if x == 1.0 else low for x, low in pairs]
        full = 1.0 if self.costs.cpu(shut) <= self.bound else None
        return self.fitted(
            lambda share: [x if x == full else low + share * (x - low) for x, low in pairs]
        )

    def climb(self, point: _Point) -> _Point:
        """Solve the programme that holds near a point, and go there, while something is gained."""
        terms = self.costs.terms(point.passes)
        for _ in range(ROUNDS_MAX if self.is_small else ROUNDS_MAX // 2):
            target = self.solved(point, terms)
            better = self.polished(self.lowered(target))
            tries = 0
            # Where the powers change on the way, half of it may be better than all of it.
            while better.worth < point.worth * (1.0 - LOSS) and tries < HALVINGS:
                target = [(x * y) ** 0.5 for x, y in zip(target, point.passes, strict=True)]
                better, tries = self.polished(self.lowered(target)), tries + 1
            if better.worth <= point.worth * (1.0 + GAIN):
                return better if better.worth > point.worth else point
            point, before = better, terms
            terms = self.costs.terms(point.passes)
            if not self.linear and np.allclose(before[1], terms[1], rtol=0.0, atol=1e-6):
                return point  # the programme was the same all the way: this is its optimum
        return point

    def solved(self, point: _Point, terms: tuple[Floats, Floats]) -> list[float]:
        """Solve the geometric programme that holds near a point."""
        gains = self.costs.gains(point.passes)
        here = float(gains @ np.log(np.maximum(point.passes, LEAST)))
        floors = np.zeros(len(gains))
        for k, each in enumerate(self.model.inputs):
            if each.is_table:
                gains[k] = 0.0
                continue
            least = max(self.minimums[k], LEAST if k in self.costs.shrink else NONE)
            # No share exceeds 1, so that one below this makes all worth less than it is here.
            worst = here / gains[k] - MARGIN if gains[k] > 0.0 else -np.inf
            floors[k] = max(log(least), worst)
        y = most_product(gains, *terms, self.bound - self.costs.fixed, floors)
        return [1.0 if x > 1.0 - FULL else float(x) for x in np.exp(y)]

    def polished(self, point: _Point) -> _Point:
        """Choose the shares of the streams whose windows stay full anew: a knapsack, exactly."""
        linear = self.linear
        if not linear:
            return point
        shut = [0.0 if k in linear else x for k, x in enumerate(point.passes)]
        spent, given = self.costs.cpu(shut), self.costs.output(shut)
        prices, values = [], []
        for k in linear:
            opened = [1.0 if j == k else x for j, x in enumerate(shut)]
            prices.append(max(self.costs.cpu(opened) - spent, 0.0))
            values.append(max(self.costs.output(opened) - given, 0.0))
        least = [self.minimums[k] for k in linear]
        room = self.bound - spent
        if room <= sum(price * low for price, low in zip(prices, least, strict=True)):
            return point
        weights = [self.model.inputs[k].weight for k in linear]
        found = shed(prices, values, room, least, weights)
        passes = list(point.passes)
        for k, share in zip(linear, found.passes, strict=True):
            passes[k] = share
        better = self.at(passes)
        fits = better.cpu <= self.bound * (1.0 + SLACK)
        return better if fits and better.worth > point.worth else point
