"""Fitting: how well families of laws foretell a stream, one key ahead, from where it may begin.

Every key is given the probability that a family, fitted to the keys since a beginning, gave it
before it came; the sum of their logarithms is the family's score. Nothing is held out and nothing
is seen twice: more parameters cost what they cost in foresight. Normal laws of unknown spread
foretell by Student's law, which is honest while keys are few.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import kernel, tight
from penstock.kernels.hash_tables import word_hash

LEVEL = 0
"""Normal around one mean."""
TREND = 1
"""Normal around a line."""
WALK = 2
"""The last key and a normal step."""
AR1 = 3
"""A line through the last key and a normal step."""
COUNTS = 4
"""How often each key came."""
HISTOGRAM = 5
"""How often each bucket of keys came."""
FAMILY_COUNT = 6

BURN = 4
"""Keys after a beginning that no family foretells yet."""
BUCKETS = 16
NOVELTY = 0.5
"""What every key that came leaves to keys that never did."""
FLOOR = 1.0 / (2.0 * math.pi)
"""The least variance: with it the normal density of a key is 1."""

TRUSTED = 8
"""Keys from which a spread is trusted, and strangers are told."""
STRANGE = 36.0
"""A key whose squared distance is so many variances is a stranger: nothing is learnt from it."""
STRANGER = -12.0
"""The score of a stranger, whatever it is, in nats."""

LENGTHS_MAX = 4096
STUDENT: Floats = np.array(
    [0.0]
    + [
        math.lgamma(0.5 * (n + 1)) - math.lgamma(0.5 * n) - 0.5 * math.log(n * math.pi)
        for n in range(1, LENGTHS_MAX + 1)
    ]
)
"""The logarithm of Student's density at 0, by degrees of freedom."""


@kernel
def student_log(residual: float, variance: float, freedom: int, student: Floats) -> float:
    """Give the logarithm of Student's density, never above 0: keys are whole."""
    freedom = min(freedom, len(student) - 1)
    found = student[freedom] - 0.5 * math.log(variance)
    found -= 0.5 * (freedom + 1) * math.log1p(residual * residual / (freedom * variance))
    return float(min(found, 0.0))


@kernel
def mean_scores(values: Floats, begin: int, skip: int, student: Floats, sums: Floats) -> None:
    """Fill the running scores of values around one mean, from the place `begin + skip` on.

    `sums[i]` is the score of all values from `begin + BURN` to i.
    """
    mean, spread, count, total = 0.0, 0.0, 0, 0.0
    for i in range(begin, len(values)):
        strange = False
        if i >= begin + BURN:
            variance = max(spread / (count - 1), FLOOR) * (1.0 + 1.0 / count)
            residual = values[i] - mean
            strange = count >= TRUSTED and residual * residual > STRANGE * variance
            score = student_log(residual, variance, count - 1, student)
            total += max(score, STRANGER) if strange else score
        sums[i] = total
        if i >= begin + skip and not strange:
            count += 1
            step = values[i] - mean
            mean += step / count
            spread += step * (values[i] - mean)


@kernel
def line_scores(
    places: Floats, values: Floats, begin: int, skip: int, student: Floats, sums: Floats
) -> None:
    """Fill the running scores of values around a line through places; see `mean_scores`."""
    count, total = 0, 0.0
    place_mean, value_mean = 0.0, 0.0
    places_square, values_square, product = 0.0, 0.0, 0.0
    for i in range(begin, len(values)):
        strange = False
        if i >= begin + BURN:
            slope = product / places_square if places_square > 0.0 else 0.0
            rest = max(values_square - slope * product, 0.0)
            away = places[i] - place_mean
            reach = away * away / places_square if places_square > 0.0 else 1.0
            variance = max(rest / max(count - 2, 1), FLOOR) * (1.0 + 1.0 / count + reach)
            residual = values[i] - value_mean - slope * away
            strange = count >= TRUSTED and residual * residual > STRANGE * variance
            score = student_log(residual, variance, max(count - 2, 1), student)
            total += max(score, STRANGER) if strange else score
        sums[i] = total
        if i >= begin + skip and not strange:
            count += 1
            place_step, value_step = places[i] - place_mean, values[i] - value_mean
            place_mean += place_step / count
            value_mean += value_step / count
            places_square += place_step * (places[i] - place_mean)
            values_square += value_step * (values[i] - value_mean)
            product += place_step * (values[i] - value_mean)


@kernel
def counts_scores(
    keys: Ints, begin: int, span: float, cells: Ints, counts: Ints, sums: Floats
) -> None:
    """Fill the running scores of keys by how often they came; one that never came is any.

    The chance of new keys is that of Pitman and Yor: many keys that came once foretell more.
    `cells` and `counts` are a scratch table of a power of two, larger than the keys.
    """
    counts[:] = 0
    mask = np.uint64(len(cells) - 1)
    distinct, total = 0, 0.0
    rare = math.log(span)
    for i in range(begin, len(keys)):
        cell = int(np.int64(word_hash(np.uint64(keys[i])) & mask))
        while counts[cell] > 0 and cells[cell] != keys[i]:
            cell = int(np.int64(np.uint64(cell + 1) & mask))
        came = i - begin
        if came >= BURN:
            if counts[cell] > 0:
                total += math.log((counts[cell] - NOVELTY) / (came + 1.0))
            else:
                total += math.log((1.0 + NOVELTY * distinct) / (came + 1.0)) - rare
        sums[i] = total
        if counts[cell] == 0:
            cells[cell] = keys[i]
            distinct += 1
        counts[cell] += 1


@kernel
def buckets_scores(places: Ints, begin: int, width: float, counts: Ints, sums: Floats) -> None:
    """Fill the running scores of keys by how often their bucket came."""
    counts[:] = 0
    total, wide = 0.0, math.log(width)
    for i in range(begin, len(places)):
        came = i - begin
        if came >= BURN:
            chance = (counts[places[i]] + 0.5) / (came + 0.5 * len(counts))
            total += min(math.log(chance) - wide, 0.0)
        sums[i] = total
        counts[places[i]] += 1


@kernel
def families_score(ticks: Floats, keys: Ints, lengths: Ints, numeric: bool, student: Floats) -> Any:
    """Score every family on the last keys, for beginnings `lengths` keys before the end.

    The first length is all keys and the longest.

    Returns
    -------
    scores
        `scores[i, f]`: family f, begun there, on the keys that it foretells: all but the first of
        the last `lengths[i]`.
    wholes
        `wholes[i, f]`: family f, begun with all keys, on the same keys.
    """
    count = len(keys)
    scores = np.full((len(lengths), FAMILY_COUNT), -np.inf)
    wholes = np.full((len(lengths), FAMILY_COUNT), -np.inf)
    sums = np.zeros((FAMILY_COUNT, count))
    size = 16
    while size < 2 * count:
        size *= 2
    cells, cell_counts = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    bucket_counts = np.zeros(BUCKETS, dtype=np.int64)
    values, tilted = np.empty(count), np.empty(count)
    lasts, steps = np.empty(count), np.empty(count)
    places = np.zeros(count, dtype=np.int64)
    low, high = keys[0], keys[0]
    for i in range(count):
        low, high = min(low, keys[i]), max(high, keys[i])
    span = float(high) - float(low) + 1.0
    width = max(span / BUCKETS, 1.0)
    if not numeric:
        span = 2.0 * count
    else:
        tilt = 0.0
        if ticks[count - 1] > ticks[0]:
            tilt = np.float64(keys[count - 1] - keys[0]) / (ticks[count - 1] - ticks[0])
        for i in range(count):
            values[i] = np.float64(keys[i] - keys[count - 1])
            tilted[i] = values[i] - tilt * (ticks[i] - ticks[count - 1])
            lasts[i] = values[max(i - 1, 0)]
            steps[i] = values[i] - lasts[i]
            places[i] = min(int(np.float64(keys[i] - low) / width), BUCKETS - 1)
    for which in range(len(lengths)):
        begin = count - lengths[which]
        counts_scores(keys, begin, span, cells, cell_counts, sums[COUNTS])
        if numeric:
            mean_scores(values, begin, 0, student, sums[LEVEL])
            line_scores(ticks, tilted, begin, 0, student, sums[TREND])
            mean_scores(steps, begin, 1, student, sums[WALK])
            line_scores(lasts, steps, begin, 1, student, sums[AR1])
            buckets_scores(places, begin, width, bucket_counts, sums[HISTOGRAM])
        for family in range(FAMILY_COUNT):
            if family == COUNTS or numeric:
                scores[which, family] = sums[family, count - 1]
        if which == 0:
            for other in range(len(lengths)):
                last = min(count - lengths[other] + BURN - 1, count - 1)
                for family in range(FAMILY_COUNT):
                    if family == COUNTS or numeric:
                        wholes[other, family] = sums[family, count - 1] - sums[family, last]
    return scores, wholes


# Words of a chart: keys seen, the last rest, then of each measure its mean and variance of long,
# and of each short memory the mean less that of long, and the variance of that mean.
SEEN = 0
LAST = 1
MEASURED = 2
MEASURES = 3
SHORTS: Floats = np.array([1 / 6, 1 / 24, 1 / 96])
"""What one key counts in the short memories."""
MEASURE_WORDS = 2 + 2 * len(SHORTS)
CHART_WORDS = MEASURED + MEASURES * MEASURE_WORDS
WARM = 24
"""Keys before which a chart says nothing."""
LONG = 512.0
"""Keys that the long memory is of."""
CLIPPED = 4.0
"""Deviations beyond which a key counts no more."""
SPREAD_MIN = 0.01
"""The least variance of a measure."""
RINGING = 7.0
"""How unlikely a short mean must be beside the long one, in nats."""
RINGING_KEYS = 2048.0
"""After more keys it must be as much less likely: chance has tried more often."""


@kernel
def measure_add(
    chart: Floats, at: int, value: float, seen: int, ringing: float, shorts: Floats
) -> bool:
    """Add the value of a measure to its means; say whether a short one left the long one."""
    if seen == 1:
        chart[at] = value
    spread = max(chart[at + 1], SPREAD_MIN)
    away = value - chart[at]
    rings = False
    if seen > WARM:
        reach = CLIPPED * math.sqrt(spread)
        away = min(max(away, -reach), reach)
    share = 1.0 / min(np.float64(seen), LONG)
    for short in range(len(shorts)):
        mean, variance = at + 2 + 2 * short, at + 3 + 2 * short
        one = shorts[short]
        chart[mean] += one * (away - chart[mean])
        square = chart[mean] * chart[mean]
        usual = max(chart[variance], spread * one / (2.0 - one))
        rings |= seen > WARM and square > 2.0 * ringing * usual
        chart[variance] += share * (min(square, CLIPPED * CLIPPED * usual) - chart[variance])
    chart[at] += share * away
    chart[at + 1] += share * (away * away * (1.0 - share) - chart[at + 1])
    return rings


# Words of a stream's law, by which its keys are measured.
BY_LAST = 0
"""1 where a key is expected beside the last one, 0 beside a line, -1 where no law is asked."""
BASE = 1
UNIT = 2
FACTOR = 3
"""Of the last key or of the tick."""
CONSTANT = 4
SPREAD = 5
LAST_STEP = 6
"""The last key, in units from the base."""
MEASURING_WORDS = 7


@tight
def keys_measure(
    laws: Floats, streams: Ints, keys: Ints, ticks: Ints, far: float, rests: Floats, marks: Floats
) -> None:
    """Fill how far keys are from where their streams' laws expect them, and how odd that is.

    It is counted in the law's spread, and up to `far` of it.
    """
    for i in range(len(keys)):
        law = laws[streams[i]]
        if law[BY_LAST] < 0.0:
            continue
        step = np.float64(keys[i] - np.int64(law[BASE])) / law[UNIT]
        beside = law[LAST_STEP] if law[BY_LAST] > 0.0 else np.float64(ticks[i])
        rest = (step - law[FACTOR] * beside - law[CONSTANT]) / law[SPREAD]
        law[LAST_STEP] = step
        rests[i] = min(max(rest, -far), far)
        marks[i] = abs(rests[i])


@kernel
def charts_watch(
    charts: Floats, streams: Ints, ticks: Ints, rests: Floats, marks: Floats, shorts: Floats
) -> int:
    """Add arrivals to their streams' charts, to the end of the first tick in which one rings.

    `rests` are the arrivals' distances from where their laws expected them, `marks` how odd they
    are by them. Gives that tick, or -1.
    """
    rung = -1
    for i in range(len(ticks)):
        if 0 <= rung < ticks[i]:
            break
        chart = charts[streams[i]]
        chart[SEEN] += 1.0
        seen = int(chart[SEEN])
        ringing = RINGING + math.log(max(chart[SEEN] / RINGING_KEYS, 1.0))
        rings = measure_add(chart, MEASURED, rests[i], seen, ringing, shorts)
        rings |= measure_add(chart, MEASURED + MEASURE_WORDS, marks[i], seen, ringing, shorts)
        # The root has no long tails.
        product = rests[i] * chart[LAST]
        following = math.copysign(math.sqrt(abs(product)), product)
        rings |= measure_add(chart, MEASURED + 2 * MEASURE_WORDS, following, seen, ringing, shorts)
        chart[LAST] = rests[i]
        if rings:
            rung = ticks[i]
    return int(rung)


@kernel
def keys_unit(keys: Ints) -> int:
    """Give the largest number that divides all differences of keys; 0 if all are equal."""
    unit = np.uint64(0)
    first = keys[0]
    for i in range(1, len(keys)):
        # Differences of far ends wrap around to their true size.
        if keys[i] >= first:
            other = np.uint64(keys[i]) - np.uint64(first)
        else:
            other = np.uint64(first) - np.uint64(keys[i])
        while other != np.uint64(0):
            unit, other = other, unit % other
        if unit == np.uint64(1):
            break
    return int(np.int64(min(unit, np.uint64(1 << 62))))
