"""Crossings: joins that compare an attribute of one side with one of the other, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.models import Fidelity, ModelComparison, ModelCondition
from penstock.kernels.coefficient_comparisons import CoefficientBoxes, boxes_join
from penstock.models.coefficient_bins import CoefficientBins
from penstock.planning.selectivity.filters import displacement
from penstock.planning.selectivity.terms import SWAPPED, conjuncts
from penstock.vocabulary.batches import Floats

WIDTH_MAX = 2
"""Pairs of lines have a closed form."""


@dataclass(frozen=True, slots=True)
class AttributeOrder:
    """`left < right`: an attribute of the left side and one of the right, by position there."""

    left: int
    right: int
    is_below: bool
    """Otherwise the left one is above."""


@dataclass(frozen=True, slots=True)
class CrossingPairs:
    """Pairs that pass."""

    pairs: float
    left: CoefficientBins
    right: CoefficientBins


def difference(condition: ModelCondition, left: int) -> AttributeOrder | None:
    """Give a condition as the order of two attributes, one of the first `left`; None: it is more.

    >>> from penstock.algebra.models import Monomial, Polynomial
    >>> apart = Polynomial(terms=(Monomial(factor=-2.0, powers=(0, 1)),
    ...                           Monomial(factor=2.0, powers=(1, 0))))
    >>> difference(ModelComparison(polynomial=apart, comparator="<"), 1)
    AttributeOrder(left=0, right=0, is_below=True)
    """
    terms = conjuncts(condition)
    term = terms[0] if len(terms) == 1 else None
    if not isinstance(term, ModelComparison):
        return None
    monomials = term.polynomial.terms
    if len(monomials) != 2 or any(sum(each.powers) != 1 for each in monomials):
        return None
    places = {each.powers.index(1): each.factor for each in monomials}
    (mine,), (theirs,) = (
        [k for k in places if k < left] or [-1],
        [k for k in places if k >= left] or [-1],
    )
    if min(mine, theirs) < 0 or places[mine] != -places[theirs]:
        return None
    comparator = term.comparator if places[mine] > 0 else SWAPPED[term.comparator]
    if comparator in ("=", "<>"):
        return None
    return AttributeOrder(mine, theirs - left, comparator in ("<", "<="))


def crossing(
    left: CoefficientBins, right: CoefficientBins, asked: AttributeOrder, seconds: float,
    fidelity: Fidelity = "repaired",
) -> CrossingPairs:  # fmt: skip
    """Estimate how many pairs pass of segments that begin and end together, in some seconds.

    Repaired, two segments meet while both hold. Literal, bins are cut where those of the other side
    begin and end, and pairs of bins meet while their middles pass.
    """
    if fidelity == "literal":
        left, right = cut_alike(left, right)
        left, right = _corrected(left), _corrected(right)
    sign = 1.0 if asked.is_below else -1.0
    sides = _boxes(left, sign), _boxes(right, sign)
    sums = np.zeros((len(left), 3)), np.zeros((len(right), 3))
    total = boxes_join(
        *sides, fidelity == "literal", np.empty((3, 10)), np.empty(2), *sums
    )  # fmt: skip
    return CrossingPairs(
        total / seconds, _derived(left, sums[0], seconds, fidelity),
        _derived(right, sums[1], seconds, fidelity),
    )  # fmt: skip


def cut_alike(
    left: CoefficientBins, right: CoefficientBins
) -> tuple[CoefficientBins, CoefficientBins]:
    """Cut the bins of two sides where those of either begin and end; both keep their totals."""
    cuts = [
        np.unique(np.concatenate([getattr(side, end)[:, k] for side in (left, right)
                                  for end in ("low", "high")]))
        for k in range(left.width)
    ]  # fmt: skip
    return _cut(left, cuts), _cut(right, cuts)


def _cut(bins: CoefficientBins, cuts: list[Floats]) -> CoefficientBins:
    for k, at in enumerate(cuts):
        first = np.searchsorted(at, bins.low[:, k], side="right") - 1
        parts = np.maximum(np.searchsorted(at, bins.high[:, k], side="left") - first, 1)
        index = np.repeat(np.arange(len(bins)), parts)
        place = first[index] + np.arange(len(index)) - np.repeat(np.cumsum(parts) - parts, parts)
        bins = bins.take(index)
        low, high = bins.low.copy(), bins.high.copy()
        extent = high[:, k] - low[:, k]
        flat = extent <= 0
        low[:, k] = np.where(flat, low[:, k], at[place])
        high[:, k] = np.where(flat, high[:, k], at[np.minimum(place + 1, len(at) - 1)])
        share = np.where(flat, 1.0, (high[:, k] - low[:, k]) / np.where(flat, 1.0, extent))
        bins = replace(bins, low=low, high=high, frequency=bins.frequency * share)
    return bins


def _boxes(bins: CoefficientBins, sign: float) -> CoefficientBoxes:
    low, high = (bins.low, bins.high) if sign > 0 else (-bins.high, -bins.low)
    return CoefficientBoxes(
        np.ascontiguousarray(low), np.ascontiguousarray(high), bins.frequency, bins.begins,
        bins.ends,
    )  # fmt: skip


def _corrected(bins: CoefficientBins) -> CoefficientBins:
    return replace(bins, frequency=bins.frequency * bins.correction)


def _derived(
    bins: CoefficientBins, sums: Floats, seconds: float, fidelity: Fidelity
) -> CoefficientBins:
    used = np.flatnonzero(sums[:, 0] > 0)
    weight = sums[used, 0]
    made = replace(
        bins.take(used), frequency=weight / seconds, begins=sums[used, 1] / weight,
        ends=sums[used, 2] / weight,
    )  # fmt: skip
    if fidelity == "repaired":
        return made
    old = np.where(np.isnan(bins.displacement), displacement(bins), bins.displacement)[used]
    new = displacement(made)
    factor = np.divide(new, old, out=np.ones(len(new)), where=old > 0)
    return replace(made, correction=factor, displacement=new)
