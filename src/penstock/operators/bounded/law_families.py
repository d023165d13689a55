"""The parameters of each family, from the keys of a stream since it began to be what it is.

What is declared is taken as it is, only the rest is fitted. Keys are counted in units from a base;
what is declared is in keys as they are and is converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.memories import Family, StreamLaw
from penstock.kernels.law_fits import AR1, BURN, COUNTS, HISTOGRAM, LEVEL, TREND, WALK
from penstock.operators.bounded.fitted_laws import NOISES, OFFLINE, FittedLaw
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.errors import PenstockError

Declared = Mapping[str, Any]

SIGMA_MIN = 0.2
"""The least deviation of noise that a table is made for, in units."""
SHAPED = 512
"""Residuals that the form of the noise is judged by."""
DRIFT_ERRORS = 3.0
"""A drift of fewer standard errors is none."""
PULL_MIN = 0.004
"""An autoregression that returns to its mean more slowly is a walk."""
FAR = 6.0
"""So many deviations from the others a key is a stranger, and not fitted to."""
STRANGE = 3.0
"""So many deviations from a line a key is not of it."""
BENT = 3.5
"""A line is left when the mean of the last keys is so many of its deviations away."""
BENT_SHARE, BENT_LEAST = 8, 48
"""The last keys are one in so many of all; half of these keys at least make a line."""
BUCKETS = (8, 64)
"""The fewest and the most buckets of a histogram."""
ALLOWED: dict[Family, tuple[int, ...]] = {
    "auto": (COUNTS, LEVEL, TREND, WALK, AR1, HISTOGRAM),
    "stationary": (COUNTS, LEVEL, HISTOGRAM),
    "linear trend": (TREND,),
    "random walk": (WALK,),
    "ar1": (AR1,),
    "histogram": (HISTOGRAM,),
    "offline": (),
}
"""The kinds of laws that are compared, by what is declared."""


def fit_law(
    kind: int, ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared
) -> FittedLaw:
    """Fit a family to keys in units; `rate` is how many come per tick.

    A line that the last keys have left is none for all of them: it is fitted to the later half, as
    often as that is so. Trends bend, and what counts is where a stream is going.
    """
    fitted = _FITS[kind](ticks, keys, rate, unit, base, declared)
    while (
        kind == TREND
        and not declared
        and len(keys) >= 2 * BENT_LEAST
        and _bends(fitted, ticks, keys)
    ):
        half = len(keys) // 2
        ticks, keys = ticks[half:], keys[half:]
        fitted = _FITS[kind](ticks, keys, rate, unit, base, declared)
    return fitted


def _bends(fitted: FittedLaw, ticks: Ints, keys: Ints) -> bool:
    """Say whether the last of some keys lie beside the line that was fitted to all."""
    last = slice(-max(len(keys) // BENT_SHARE, BENT_LEAST // 2), None)
    apart = keys[last] - fitted.numbers["slope"] * ticks[last] - fitted.numbers["intercept"]
    return abs(float(apart.mean())) * math.sqrt(len(apart)) > BENT * fitted.spread


def _trend(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared  # noqa: ARG001
) -> FittedLaw:  # fmt: skip
    known = _units(declared, unit, base)
    times, origin = ticks.astype(np.float64), float(keys[-1])
    values = (keys - keys[-1]).astype(np.float64)
    kept = _on_line(times, values)
    times, values = times[kept], values[kept]
    centre = float(times.mean())
    away = times - centre
    square = float(away @ away)
    fitted = 0
    if "slope" in known:
        slope = known["slope"]
    elif "intercept" in known:
        wanted = values + (origin - known["intercept"])
        slope, fitted = float(times @ wanted) / max(float(times @ times), 1.0), 1
    else:
        slope, fitted = (float(away @ values) / square if square > 0.0 else 0.0), 1
        slope = _whole(slope, values - slope * away, square)
    tilted = values - slope * away
    if "intercept" in known:
        intercept = known["intercept"]
        rest = tilted + (origin - slope * centre - intercept)
    else:
        middle, fitted = float(tilted.mean()), fitted + 1
        intercept = middle + origin - slope * centre
        rest = tilted - middle
    return _noised(TREND, {"slope": slope, "intercept": intercept}, rest, fitted, unit, base, known)


def _near(values: Floats) -> Flags:
    """Say which values are no strangers among the others."""
    spread = float(values.std()) if len(values) else 0.0
    if spread == 0.0 or float(np.abs(values - values.mean()).max()) < FAR * spread:
        return np.ones(len(values), dtype=np.bool_)
    away = np.abs(values - np.median(values))
    # The median distance of a normal law is two thirds of its deviation.
    found: Flags = away <= FAR * 1.5 * float(np.median(away)) + 1.0
    return found


def _on_line(times: Floats, values: Floats) -> Flags:
    """Say which values are no strangers beside the line through the others."""
    away = times - times.mean()
    square = float(away @ away)
    slope = float(away @ values) / square if square > 0.0 else 0.0
    kept = _near(values - slope * away)
    if kept.all():
        return kept
    third = max(len(values) // 3, 1)
    run = float(np.median(times[-third:]) - np.median(times[:third]))
    rise = float(np.median(values[-third:]) - np.median(values[:third]))
    return _near(values - (rise / run if run > 0.0 else 0.0) * away)


def _whole(slope: float, values: Floats, square: float) -> float:
    """Take a whole slope for one that cannot be told from it: most trends are, and quicker."""
    nearest = round(slope)
    if nearest == 0 or square <= 0.0:
        return slope
    error = math.sqrt(max(float(values.var()), 0.05) / square)
    return float(nearest) if error < 0.1 and abs(slope - nearest) < 2.0 * error else slope


def _level(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared  # noqa: ARG001
) -> FittedLaw:  # fmt: skip
    origin = float(keys[-1])
    values = (keys - keys[-1]).astype(np.float64)
    values = values[_near(values)]
    mean = float(values.mean())
    return _noised(LEVEL, {"intercept": mean + origin}, values - mean, 1, unit, base, {})


def _noised(
    kind: int, numbers: dict[str, float], rest: Floats, fitted: int, unit: int, base: int,
    known: Mapping[str, Any],
) -> FittedLaw:  # fmt: skip
    """Find the noise of residuals: its form by penalised likelihood, its spread and its bound."""
    count = len(rest)
    variance = float(rest @ rest) / max(count - fitted, 1)
    # Rounding to whole keys adds a twelfth.
    sigma = math.sqrt(max(variance - 1.0 / 12.0, SIGMA_MIN**2))
    sigma = known.get("sigma", sigma)
    bound = known.get("bound", float(max(math.ceil(np.abs(rest).max(initial=0.0) - 0.5), 0)))
    forms = [known["noise"]] if "noise" in known else list(NOISES)
    if "bound" in known and "noise" not in known:
        forms = [form for form in forms if form != "normal"]
    if "sigma" in known and "noise" not in known:
        forms = [form for form in forms if form != "uniform"]
    shown = rest[-SHAPED:]
    best, chosen = -math.inf, (forms[0], sigma)
    for form in forms:
        spreads = [sigma]
        if form == "bounded normal" and "sigma" not in known and bound < 2.5 * sigma:
            spreads = [sigma * factor for factor in (1.0, 1.15, 1.35, 1.6, 2.0)]
        for spread in spreads:
            likelihood = _likelihood(form, spread, bound, shown)
            if likelihood > best:
                best, chosen = likelihood, (form, spread)
    form, sigma = chosen
    return FittedLaw(
        kind=kind, numbers={**numbers, "sigma": sigma, "bound": bound}, noise=form, unit=unit,
        base=base,
    )  # fmt: skip


def _likelihood(form: str, sigma: float, bound: float, rest: Floats) -> float:
    """Give the log likelihood of residuals, less what the form's parameters cost."""
    price = math.log(len(rest) + 1.0)
    if form == "uniform":
        return -len(rest) * math.log(2.0 * bound + 1.0) - price
    if form == "normal":
        masses = Normal(sigma=sigma).masses(rest)
        price *= 0.5
    else:
        masses = BoundedNormal(sigma=sigma, half_width=math.ceil(bound)).masses(rest)
        price *= 1.5
    return float(np.log(np.maximum(masses, 1e-12)).sum()) - price


def _walk(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared  # noqa: ARG001
) -> FittedLaw:  # fmt: skip
    known = _units(declared, unit, base)
    steps = np.diff(keys).astype(np.float64)
    steps = steps[_near(steps)]
    drift = float(steps.mean()) if len(steps) else 0.0
    spread = float(steps.std()) if len(steps) else 1.0
    if abs(drift) < DRIFT_ERRORS * spread / math.sqrt(max(len(steps), 1)):
        drift = 0.0
    drift, spread = drift * rate, max(spread * math.sqrt(rate), SIGMA_MIN)
    numbers = {"drift": known.get("drift", drift), "sigma": known.get("sigma", spread)}
    return FittedLaw(kind=WALK, numbers=numbers, unit=unit, base=base)


def _autoregression(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared
) -> FittedLaw:  # fmt: skip
    known = _units(declared, unit, base)
    origin = float(keys[-1])
    values = (keys - keys[-1]).astype(np.float64)
    kept = _near(np.diff(values))
    lasts, values = values[:-1][kept], values[1:][kept]
    away = lasts - lasts.mean()
    square = float(away @ away)
    pull = float(away @ values) / square if square > 0.0 else 0.5
    given = "phi1" in known
    if not given and pull > 1.0 - PULL_MIN:
        if "phi0" in known or "sigma" in known:
            pull = 1.0 - PULL_MIN
        else:
            return _walk(ticks, keys, rate, unit, base, {})
    pull = known["phi1"] if given else max(pull, -1.0 + PULL_MIN)
    if abs(pull) < 0.02:
        pull = 0.02
    middle = float((values - pull * lasts).mean())
    mean = middle / (1.0 - pull) + origin
    rest = values - pull * lasts - middle
    variance = max(float(rest @ rest) / max(len(rest) - 2, 1), SIGMA_MIN**2)
    if rate != 1.0 and pull > 0.0 and not given:
        # From arrival to arrival into from tick to tick: mean and deviation stay.
        slower = pull**rate
        variance *= (1.0 - slower**2) / (1.0 - pull**2)
        pull = min(max(slower, 0.02), 1.0 - PULL_MIN)
    numbers = {
        "phi0": known.get("phi0", mean * (1.0 - pull)),
        "phi1": pull,
        "sigma": known.get("sigma", math.sqrt(variance)),
    }
    return FittedLaw(kind=AR1, numbers=numbers, unit=unit, base=base)


def _counts(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared  # noqa: ARG001
) -> FittedLaw:  # fmt: skip
    distinct, counts = np.unique(keys, return_counts=True)
    masses = counts / (len(keys) + 1.0)
    return FittedLaw(kind=COUNTS, unit=unit, base=base, keys=distinct, masses=masses)


def _histogram(
    ticks: Ints, keys: Ints, rate: float, unit: int, base: int, declared: Declared  # noqa: ARG001
) -> FittedLaw:  # fmt: skip
    low, high = int(keys.min()), int(keys.max())
    wanted = declared.get("buckets")
    if wanted is None:
        wanted = min(max(int(math.sqrt(len(keys))), BUCKETS[0]), BUCKETS[1])
    width = max(-(-(high - low + 1) // int(wanted)), 1)
    heights = np.bincount((keys - low) // width, minlength=1).astype(np.float64) + 0.5
    return FittedLaw(
        kind=HISTOGRAM, unit=unit, base=base, keys=np.array([low, width], dtype=np.int64),
        masses=heights,
    )  # fmt: skip


def _units(declared: Declared, unit: int, base: int) -> dict[str, Any]:
    """Give what is declared in units from the base."""
    found = dict(declared)
    for name in ("slope", "sigma", "bound", "drift"):
        if name in found:
            found[name] = float(found[name]) / unit
    if "intercept" in found:
        found["intercept"] = (float(found["intercept"]) - base) / unit
    if "phi0" in found:
        # Without phi1 the base cannot be moved; it is less than a unit.
        moved = (1.0 - float(found.get("phi1", 1.0))) * base
        found["phi0"] = (float(found["phi0"]) - moved) / unit
    return found


_FITS: dict[int, Callable[[Ints, Ints, float, int, int, Declared], FittedLaw]] = {
    LEVEL: _level,
    TREND: _trend,
    WALK: _walk,
    AR1: _autoregression,
    COUNTS: _counts,
    HISTOGRAM: _histogram,
}


def strangers(ticks: Ints, keys: Ints, kind: int) -> int:
    """Say how many of the first keys, which no family foretold, are not of a line or a level.

    >>> strangers(np.arange(9), np.array([90, 80, 2, 3, 4, 5, 6, 7, 8]), TREND)
    2
    """
    times, values = ticks.astype(np.float64), (keys - keys[-1]).astype(np.float64)
    slope, middle = 0.0, float(values[BURN:].mean())
    away = times - times[BURN:].mean()
    if kind == TREND:
        square = float(away[BURN:] @ away[BURN:])
        slope = float(away[BURN:] @ (values[BURN:] - middle)) / square if square > 0.0 else 0.0
    rest = np.abs(values - middle - slope * away)
    bound = STRANGE * (math.sqrt(float((rest[BURN:] ** 2).mean())) + 0.5)
    strange = np.flatnonzero(rest[:BURN] > bound)
    return int(strange[-1]) + 1 if len(strange) else 0


def offline_keys(file: str, column: str | None) -> Ints:
    """Read the keys of a stream that is known beforehand, in the order of its ticks."""
    try:
        table = pq.read_table(Path(file), columns=None if column is None else [column])
        keys = table.column(0).cast(pa.int64())
        if keys.null_count:
            raise ValueError("a key is NULL")
        return np.asarray(keys.to_numpy(), dtype=np.int64)
    except (OSError, pa.ArrowException, IndexError, TypeError, ValueError) as error:
        raise PenstockError(
            "ENG-043",
            f"The keys of an OFFLINE law cannot be read from {file!r}: "
            f"{str(error).splitlines()[0].rstrip('.')}.",
            "Name a Parquet file with a column of whole numbers, one key per tick; `column` names "
            "the column, if it is not the first.",
        ) from error


def declared_law(law: StreamLaw) -> FittedLaw | None:
    """Give the law of a law that has all its parameters; None if some must be fitted.

    >>> declared_law(StreamLaw(family="random walk", parameters={"drift": 0})) is None
    True
    """
    known = law.parameters
    if law.family == "offline":
        return FittedLaw(kind=OFFLINE, keys=offline_keys(known["file"], known.get("column")))
    if law.family == "random walk" and {"drift", "sigma"} <= known.keys():
        kind = WALK
    elif law.family == "ar1" and {"phi0", "phi1", "sigma"} <= known.keys():
        kind = AR1
    elif law.family == "linear trend" and {"slope", "intercept", "noise"} <= known.keys():
        needed = {"uniform": {"bound"}, "normal": {"sigma"}, "bounded normal": {"sigma", "bound"}}
        if not needed[known["noise"]] <= known.keys():
            return None
        kind = TREND
    else:
        return None
    numbers = {name: float(each) for name, each in known.items() if name != "noise"}
    return FittedLaw(
        kind=kind, numbers={"sigma": 1.0, **numbers}, noise=known.get("noise", "normal")
    )
