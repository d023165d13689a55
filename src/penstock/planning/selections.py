"""Selections that stand at one place: their cheapest order, and what each takes there."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod
from typing import Literal

from penstock.planning.model import SelectionModel

Part = Literal["terms", "residual"]


def ranked(selections: Iterable[SelectionModel]) -> list[SelectionModel]:
    """Put selections of one place into their cheapest order: ascending cost / (1 - selectivity).

    >>> dear = SelectionModel(input=0, selectivity=0.5, cost_s=0.001)
    >>> cheap = SelectionModel(input=0, selectivity=0.25, cost_s=0.0005)
    >>> ranked([dear, cheap]) == [cheap, dear]
    True
    """
    return sorted(selections, key=_rank)


def _rank(selection: SelectionModel) -> float:
    away = 1.0 - selection.selectivity
    return selection.cost_s / away if away > 0 else inf


def chain(rate: float, selections: Iterable[SelectionModel]) -> list[float]:
    """Give what each selection takes when rows pass them in this order (E21).

    >>> dear = SelectionModel(input=0, selectivity=0.5, cost_s=0.001)
    >>> cheap = SelectionModel(input=0, selectivity=0.25, cost_s=0.0005)
    >>> chain(1000, [cheap, dear]), chain(1000, [dear, cheap])
    ([0.5, 0.25], [1.0, 0.25])
    """
    found = []
    for selection in selections:
        found.append(rate * selection.cost_s)
        rate *= selection.selectivity
    return found


def merged(selections: Iterable[SelectionModel]) -> list[SelectionModel]:
    """Take the selections of one input and part as one: they are asked together, best first."""
    groups: dict[tuple[int, Part], list[SelectionModel]] = {}
    for each in selections:
        groups.setdefault((each.input, each.part), []).append(each)
    found = []
    for (number, part), group in sorted(groups.items()):
        order = ranked(group)
        through = prod(each.selectivity for each in order)
        spent = sum(chain(1.0, order))
        found.append(SelectionModel(input=number, part=part, selectivity=through, cost_s=spent))
    return found
