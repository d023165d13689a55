"""Shedding: what the drop boxes of one plan let pass so that it fits, and most results remain.

Where windows count survivors, cost and output are linear in the pass fractions: a continuous
knapsack. Rows whose results cost least go first. Costs are in processors: 1 is one, fully busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from penstock.vocabulary.errors import PenstockError

TIE = 1e-9
"""Ratios that differ by less, relatively, are one group: its inputs are thinned alike."""
SLACK = 1e-9
"""A demand above the bound by no more, relatively, still fits: numbers are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shed:
    """Pass fractions, what they cost and what they give.

    `output` is the true rate of results, without weights; `worth` is with them. `ratios` say what
    an input's rows are worth by their cost, where that is one number: the highest pass first.
    """

    passes: tuple[float, ...]
    output: float
    worth: float
    used: float
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A corner of the capacity curve: with a bound of `used`, `output` results a second remain."""

    used: float
    output: float


def shed(
    a: Sequence[float],
    v: Sequence[float],
    bound: float,
    minimums: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
) -> Shed:
    """Choose pass fractions x that maximise sum(w v x) subject to sum(a x) <= bound, l <= x <= 1.

    >>> at_250_per_second = shed([60, 120, 70], [100, 200, 700], 200)
    >>> [round(x, 4) for x in at_250_per_second.passes], round(at_250_per_second.output, 2)
    ([0.7222, 0.7222, 1.0], 916.67)
    """
    least = list(minimums) if minimums is not None else [0.0] * len(a)
    worths = list(weights) if weights is not None else [1.0] * len(a)
    passes = list(least)
    left = bound - sum(cost * low for cost, low in zip(a, least, strict=True))
    if left < -SLACK * max(bound, 1e-300):
        raise minimums_do_not_fit(bound - left, bound)
    left = max(left, 0.0)
    ratios = _ratios(a, v, worths)
    for group in _groups(ratios):
        need = sum(a[k] * (1.0 - least[k]) for k in group)
        # What exceeds the rest by rounding alone fits.
        share = 1.0 if need <= left + SLACK * 1e-3 * bound else left / need
        for k in group:
            passes[k] = 1.0 if share == 1.0 else least[k] + share * (1.0 - least[k])
        left -= share * need
        if share < 1.0:
            break
    return Shed(
        passes=tuple(passes),
        output=sum(value * x for value, x in zip(v, passes, strict=True)),
        worth=sum(w * value * x for w, value, x in zip(worths, v, passes, strict=True)),
        used=sum(cost * x for cost, x in zip(a, passes, strict=True)),
        ratios=tuple(ratios),
    )


def breakpoints(
    a: Sequence[float],
    v: Sequence[float],
    minimums: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
) -> tuple[Breakpoint, ...]:
    """Give the corners of the best output by the bound: from the minimums to nothing dropped.

    Between two corners the output is linear; without weights the slopes fall.

    >>> [(p.used, p.output) for p in breakpoints([60, 120, 70], [100, 200, 700])]
    [(0.0, 0.0), (70.0, 700.0), (250.0, 1000.0)]
    """
    least = list(minimums) if minimums is not None else [0.0] * len(a)
    worths = list(weights) if weights is not None else [1.0] * len(a)
    used = float(sum(cost * low for cost, low in zip(a, least, strict=True)))
    output = float(sum(value * low for value, low in zip(v, least, strict=True)))
    corners = [Breakpoint(used, output)]
    for group in _groups(_ratios(a, v, worths)):
        more = sum(a[k] * (1.0 - least[k]) for k in group)
        used += more
        output += sum(v[k] * (1.0 - least[k]) for k in group)
        if more == 0.0:
            corners[-1] = Breakpoint(used, output)
        else:
            corners.append(Breakpoint(used, output))
    return tuple(corners)


def _ratios(a: Sequence[float], v: Sequence[float], weights: Sequence[float]) -> list[float]:
    """What a row of each input is worth by its cost; one that costs nothing goes first."""
    return [
        inf if cost == 0.0 else weight * value / cost
        for cost, value, weight in zip(a, v, weights, strict=True)
    ]


def _groups(ratios: Sequence[float]) -> list[list[int]]:
    """Bring inputs of one ratio together, the highest ratio first."""
    groups: list[list[int]] = []
    for k in sorted(range(len(ratios)), key=lambda number: (-ratios[number], number)):
        first = ratios[groups[-1][0]] if groups else None
        if first is not None and (ratios[k] == first or ratios[k] >= first * (1.0 - TIE)):
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def minimums_do_not_fit(needed: float, bound: float) -> PenstockError:
    """Make the error of least shares that no plan can serve."""
    return PenstockError(
        "PLN-020",
        f"The least shares to keep need {100 * needed:.4g} % of a processor; "
        f"the bound is {100 * bound:.4g} %.",
        "Lower the minimums, or give more processors or less headroom.",
    )


def shed_filters(
    demands: Sequence[float], output: float, bound: float, minimum: float = 0.0
) -> Shed:
    """Choose the pass fraction of a chain of filters: one box, at the source, is best.

    >>> shed_filters([1.0, 0.25], 125.0, 1.0).passes
    (0.8,)
    """
    total = sum(demands)
    if total * minimum > bound * (1.0 + SLACK):
        raise minimums_do_not_fit(total * minimum, bound)
    share = 1.0 if total <= bound else max(bound / total, minimum)
    return Shed(
        passes=(share,),
        output=share * output,
        worth=share * output,
        used=share * total,
        ratios=(inf if total == 0.0 else output / total,),
    )
