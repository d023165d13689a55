"""Joins: how many pairs of segments meet, and which of them pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import ModelCondition, ModelJoin
from penstock.kernels.polynomials import polynomials_shift
from penstock.planning.selectivity.conditions import Filtered, solved
from penstock.planning.selectivity.crossings import (
    WIDTH_MAX,
    AttributeOrder,
    CrossingPairs,
    crossing,
    difference,
)
from penstock.planning.selectivity.draws import Draws, drawn
from penstock.planning.selectivity.statistics import (
    GUESS,
    Estimation,
    SegmentStatistics,
    Selectivity,
)


def joined(
    stage: ModelJoin, condition: ModelCondition, left: SegmentStatistics,
    right: SegmentStatistics, how: Estimation,
) -> Filtered:  # fmt: skip
    """Estimate a join; its selectivity is pairs per segment of either side."""
    attributes = (*left.attributes, *right.attributes)
    pairs = meeting(left, right, how.aligned) * key_share(stage, left.keys, right.keys)
    given = SegmentStatistics(
        attributes=attributes, count=left.count + right.count, seconds=left.seconds,
        keys=max(left.keys * right.keys // (max(left.keys, right.keys) if stage.equal else 1), 1),
    )  # fmt: skip
    each = pairs / max(given.count, 1e-9)
    if any(part is None or not len(part) for part in attributes):
        guess = Selectivity(
            estimate=GUESS.estimate * each, low=0.0, high=max(each, GUESS.estimate * each),
            known=False,
        )  # fmt: skip
        return guess, given.passed(guess, {})
    asked = difference(condition, len(left.attributes))
    if asked is not None and (how.aligned or how.fidelity == "literal"):
        found = _crossed(stage, asked, left, right, how)
        if found is not None:
            selectivity = Selectivity.exactly(found.pairs / max(given.count, 1e-9))
            place = len(left.attributes) + asked.right
            return selectivity, given.passed(
                selectivity, {asked.left: found.left, place: found.right}
            )
    return solved(condition, _pairs(left, right, how), given, each)


def _crossed(
    stage: ModelJoin, asked: AttributeOrder, left: SegmentStatistics, right: SegmentStatistics,
    how: Estimation,
) -> CrossingPairs | None:  # fmt: skip
    """Give the closed form of a join of streams that begin together; None: there is none."""
    mine, theirs = left.attributes[asked.left], right.attributes[asked.right]
    if mine is None or theirs is None or not mine.width == theirs.width <= WIDTH_MAX:
        return None
    found = crossing(mine, theirs, asked, left.seconds, how.fidelity)
    return replace(found, pairs=found.pairs * key_share(stage, left.keys, right.keys))


def meeting(left: SegmentStatistics, right: SegmentStatistics, aligned: bool) -> float:
    """Give how many pairs of segments hold at a common time.

    Segments that begin together meet for as long as both hold; those of unaligned streams meet
    whoever stands when they come, and whoever comes while they stand.
    """
    lengths = left.length_s, right.length_s
    together = min(lengths) if aligned else sum(lengths)
    return left.count * right.count * together / left.seconds


def key_share(stage: ModelJoin, left: int, right: int) -> float:
    """Give the share of pairs whose keys are as the join asks, all being equally frequent."""
    if stage.equal:
        return 1.0 / max(left, right, 1)
    return 1.0 - 1.0 / max(left, right, 1) if stage.unequal else 1.0


def _pairs(left: SegmentStatistics, right: SegmentStatistics, how: Estimation) -> Draws:
    """Draw pairs: one that comes, and another that has stood for some time."""
    one, other = drawn(left.attributes, how.draws, 1), drawn(right.attributes, how.draws, 2)
    if not how.aligned:
        chance = np.random.default_rng(3)
        lengths = left.length_s, right.length_s
        first = chance.random(how.draws) * sum(lengths) < lengths[0]
        one = _aged(one, np.where(first, chance.random(how.draws) * lengths[0], 0.0))
        other = _aged(other, np.where(first, 0.0, chance.random(how.draws) * lengths[1]))
    begins, ends = np.maximum(one.begins, other.begins), np.minimum(one.ends, other.ends)
    return Draws(
        np.concatenate((one.models, other.models), axis=1), begins, np.maximum(begins, ends),
        (*one.bins, *other.bins),
    )  # fmt: skip


def _aged(draws: Draws, age: np.ndarray) -> Draws:
    """Give segments as they are seen some time after they came."""
    models = np.empty_like(draws.models)
    polynomials_shift(draws.models, age, models)
    begins = np.maximum(draws.begins - age, 0.0)
    return replace(draws, models=models, begins=begins, ends=np.maximum(draws.ends - age, begins))
