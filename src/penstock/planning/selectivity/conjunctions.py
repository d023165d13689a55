"""Conjunctions: conditions on several attributes, each on one, that must hold at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.models import Fidelity
from penstock.models.coefficient_bins import CoefficientBins
from penstock.planning.selectivity.bounds import frechet, greedy
from penstock.planning.selectivity.filters import Passed, derived, passed, solutions
from penstock.planning.selectivity.statistics import BoundsMethod, Selectivity, scaled
from penstock.planning.selectivity.terms import ValueBand
from penstock.vocabulary.batches import Floats, Ints

SLOTS = 32
"""Into how many parts time is cut to say when models of different attributes pass together."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What passes all terms."""

    selectivity: Selectivity
    attributes: Mapping[int, CoefficientBins]
    """The bins of what passes, by attribute; all have the same total."""


def conjunction(
    bins: Mapping[int, CoefficientBins],
    terms: Sequence[ValueBand],
    *,
    fidelity: Fidelity = "repaired",
    bounds: BoundsMethod = "greedy",
) -> Conjunction:
    """Estimate what passes terms on different attributes, which are independent of each other.

    Repaired, a segment passes if there is a time at which all of its attributes do; literal, if
    each passes at some time, bins left out that meet no time of the others at all.
    """
    selectivity = passing(bins, terms, fidelity=fidelity, bounds=bounds)
    made = _made(bins, terms, fidelity)
    total = max((bins[each.attribute].total for each in terms), default=0.0)
    return Conjunction(
        selectivity,
        {k: scaled(each, selectivity.estimate * total) for k, each in made.items()},
    )


def passing(
    bins: Mapping[int, CoefficientBins],
    terms: Sequence[ValueBand],
    *,
    fidelity: Fidelity = "repaired",
    bounds: BoundsMethod = "greedy",
) -> Selectivity:
    """Estimate how many segments pass terms on different attributes."""
    own = {term.attribute: bins[term.attribute] for term in terms}
    if not terms:
        return Selectivity.exactly(1.0)
    if min(each.total for each in own.values()) <= 0.0:
        return Selectivity.exactly(0.0)
    found = {term.attribute: passed(own[term.attribute], term, fidelity) for term in terms}
    if len(terms) == 1:
        ((place, each),) = own.items()
        held = each.frequency * each.correction * found[place].pieces
        return Selectivity.exactly(float(held.sum()) / each.total)
    if fidelity == "literal":
        made = _made(bins, terms, fidelity)
        estimate = float(np.prod([made[k].total / own[k].total for k in own]))
    else:
        estimate = _together(own, terms, found)
    return Selectivity.within(estimate, *_bounds(own, found, bounds))


def _made(
    bins: Mapping[int, CoefficientBins], terms: Sequence[ValueBand], fidelity: Fidelity
) -> dict[int, CoefficientBins]:
    """Give the bins of what passes each term, at the times at which the others pass as well."""
    made = {each.attribute: derived(bins[each.attribute], each, fidelity) for each in terms}
    if len(terms) < 2:
        return made
    return _pruned(made) if fidelity == "literal" else _met(made)


def _bounds(
    own: Mapping[int, CoefficientBins], found: Mapping[int, Passed], method: BoundsMethod
) -> tuple[float, float]:
    pairs = {k: (own[k].frequency, own[k].frequency * found[k].pieces) for k in own}
    if method == "greedy":
        return greedy(list(pairs.values()))
    return frechet(
        [float(passing.sum() / held.sum()) for held, passing in pairs.values()],
        [float((own[k].frequency * found[k].whole).sum() / own[k].total) for k in own],
    )


def _slots(begins: Floats, ends: Floats, latest: float) -> tuple[Ints, Ints]:
    """Give the slots at whose borders time ranges begin and end, one apart at least."""
    scale = SLOTS / latest if latest > 0 else 0.0
    first = np.clip(np.rint(begins * scale), 0, SLOTS - 1).astype(np.int64)
    last = np.clip(np.rint(ends * scale), 0, SLOTS).astype(np.int64)
    return first, np.maximum(last, first + 1)


def _together(
    own: Mapping[int, CoefficientBins], terms: Sequence[ValueBand], found: Mapping[int, Passed]
) -> float:
    """Give the share of segments whose terms have a time in common.

    Two independent ranges both reach from slot i to slot j with the product of the chances that
    each does; so what their meet does follows without a look at pairs.
    """
    latest = max(float(each.ends.max(initial=0.0)) for each in own.values())
    reach = np.ones((SLOTS + 1, SLOTS + 1))
    for term in terms:
        bins = own[term.attribute]
        ranges = solutions(bins, term, found[term.attribute])
        weights = np.zeros((SLOTS + 1, SLOTS + 1))
        np.add.at(weights, _slots(ranges.begins, ranges.ends, latest), ranges.weight / bins.total)
        reach *= weights.cumsum(0)[:, ::-1].cumsum(1)[:, ::-1]
    exact = np.diff(np.pad(reach, ((1, 0), (0, 1))), axis=0)
    exact = exact[:, :-1] - exact[:, 1:]
    return float(np.triu(exact, 1).sum())


def _pruned(made: Mapping[int, CoefficientBins]) -> dict[int, CoefficientBins]:
    """Leave out bins that no bin of the others meets in time; give the others the mean meet."""
    met = _met(made)
    return {k: each.take(each.ends > each.begins) for k, each in met.items()}


def _met(made: Mapping[int, CoefficientBins]) -> dict[int, CoefficientBins]:
    """Give every bin the mean of its time ranges' meets with those of the other attributes."""
    latest = max(float(each.ends.max(initial=0.0)) for each in made.values())
    cut = {}
    for k, each in made.items():
        first, last = _slots(each.begins, each.ends, latest)
        held = each.ends > each.begins
        weights = np.zeros((SLOTS + 1, SLOTS + 1))
        np.add.at(weights, (first[held], last[held]), each.frequency[held])
        cut[k] = first, last, weights
    out = {}
    for k, each in made.items():
        begins, ends = each.begins.copy(), each.ends.copy()
        correction = each.correction
        for other, (_, _, weights) in cut.items():
            if other != k:
                begins, ends = _met_means(begins, ends, weights, latest)
                mean = made[other]
                total = mean.total
                if total > 0:
                    correction = correction * float(
                        (mean.correction * mean.frequency).sum() / total
                    )
        out[k] = replace(each, begins=begins, ends=ends, correction=correction)
    return out


def _met_means(
    begins: Floats, ends: Floats, weights: Floats, latest: float
) -> tuple[Floats, Floats]:
    """Give the mean begin and end of the meets of ranges with others of some weights."""
    firsts, lasts = np.nonzero(weights)
    weight = weights[firsts, lasts]
    scale = latest / SLOTS if latest > 0 else 0.0
    mine = np.stack(_slots(begins, ends, latest), axis=1)
    groups, inverse = np.unique(mine, axis=0, return_inverse=True)
    start = np.maximum(groups[:, :1], firsts)
    stop = np.minimum(groups[:, 1:], lasts)
    meets = (stop > start) * weight
    total = meets.sum(1)
    safe = np.maximum(total, 1e-300)
    mean_start = (meets * start).sum(1) / safe * scale
    mean_stop = (meets * stop).sum(1) / safe * scale
    some = (total > 0)[inverse] & (ends > begins)
    # Slots are coarse: a meet is no longer than the range itself.
    first = np.maximum(begins, mean_start[inverse])
    last = np.minimum(ends, mean_stop[inverse])
    return np.where(some, np.minimum(first, last), begins), np.where(some, last, begins)
