"""Laws that were found in a stream: plain numbers, from which a law is made at any time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.algebra.memories import Family
from penstock.kernels.law_fits import (
    AR1,
    BURN,
    COUNTS,
    FAMILY_COUNT,
    HISTOGRAM,
    LEVEL,
    NOVELTY,
    STRANGER,
    TREND,
    WALK,
)
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import (
    HistogramLaw,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import (
    BoundedNormal,
    Gaussian,
    Noise,
    Normal,
    Uniform,
)
from penstock.operators.bounded.spaced_laws import spaced
from penstock.vocabulary.batches import Floats, Ints

OFFLINE = 6
"""A stream that is known beforehand; no kernel looks for it."""

FAMILY_OF: dict[int, Family] = {
    LEVEL: "stationary",
    TREND: "linear trend",
    WALK: "random walk",
    AR1: "ar1",
    COUNTS: "stationary",
    HISTOGRAM: "histogram",
    OFFLINE: "offline",
}
NOISES = ("normal", "bounded normal", "uniform")
NUMBERS = ("slope", "intercept", "sigma", "bound", "drift", "phi0", "phi1")
"""What may be fitted, counted in units of the keys."""

Arrays = dict[str, npt.NDArray[Any]]


def _no_keys() -> Ints:
    return np.empty(0, dtype=np.int64)


def _no_masses() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedLaw:
    """A law by its numbers. Keys are base + unit * j, and the numbers are of j.

    Attributes
    ----------
    kind
        The family, as the kernels number them.
    noise
        Of a level or a trend: one of `NOISES`.
    numbers
        By name, those that the family has; 0 for others.
    keys, masses
        COUNTS: keys and their probabilities. HISTOGRAM: first key and width, and the buckets.
    """

    kind: int
    numbers: dict[str, float] = field(default_factory=dict)
    noise: str = "normal"
    unit: int = 1
    base: int = 0
    keys: Ints = field(default_factory=_no_keys)
    masses: Floats = field(default_factory=_no_masses)

    @property
    def family(self) -> Family:
        """The family by its name."""
        return FAMILY_OF[self.kind]

    @property
    def spread(self) -> float:
        """The deviation from where the law expects a key, rounding included."""
        sigma, end = self.numbers["sigma"], math.ceil(self.numbers.get("bound", 0.0)) + 0.5
        variance = sigma**2
        if self.kind in (LEVEL, TREND) and self.noise == "uniform":
            variance = (end - 0.5) * (end + 0.5) / 3.0
        elif self.kind in (LEVEL, TREND) and self.noise == "bounded normal":
            far = end / sigma
            density = math.exp(-0.5 * far**2) / math.sqrt(2.0 * math.pi)
            variance *= 1.0 - 2.0 * far * density / math.erf(far / math.sqrt(2.0))
        return math.sqrt(variance + 1.0 / 12.0)

    def noise_law(self) -> Noise:
        """Make the noise of a level or a trend."""
        sigma, bound = self.numbers["sigma"], math.ceil(self.numbers.get("bound", 0.0))
        if self.noise == "uniform":
            return Uniform(half_width=bound)
        if self.noise == "bounded normal":
            return BoundedNormal(sigma=sigma, half_width=bound)
        return Normal(sigma=sigma)

    def law(self) -> Law:
        """Make the law of the stream's keys."""
        numbers = self.numbers
        inner: Law
        if self.kind in (LEVEL, TREND):
            inner = LinearTrend(
                slope=numbers.get("slope", 0.0),
                intercept=numbers["intercept"],
                noise=self.noise_law(),
            )
        elif self.kind == WALK:
            inner = RandomWalk(drift=numbers["drift"], step=Gaussian(sigma=numbers["sigma"]))
        elif self.kind == AR1:
            inner = Ar1(phi0=numbers["phi0"], phi1=numbers["phi1"], sigma=numbers["sigma"])
        elif self.kind == HISTOGRAM:
            inner = HistogramLaw(
                first=int(self.keys[0]), width=int(self.keys[1]), buckets=self.masses
            )
        elif self.kind == OFFLINE:
            inner = Offline(keys=self.keys)
        else:
            inner = Stationary(keys=self.keys, probabilities=self.masses)
        return spaced(inner, self.unit, self.base)

    def facts(self) -> dict[str, Any]:
        """Tell the parameters in the keys as they are."""
        unit, numbers = self.unit, self.numbers
        found: dict[str, Any] = {}
        if self.kind in (LEVEL, TREND):
            found = {"noise": self.noise}
            if self.kind == TREND:
                found["slope"] = numbers["slope"] * unit
            place = "intercept" if self.kind == TREND else "mean"
            found[place] = numbers["intercept"] * unit + self.base
            if self.noise != "uniform":
                found["sigma"] = numbers["sigma"] * unit
            if self.noise != "normal":
                found["bound"] = math.ceil(numbers["bound"]) * unit
        elif self.kind == WALK:
            found = {"drift": numbers["drift"] * unit, "sigma": numbers["sigma"] * unit}
        elif self.kind == AR1:
            phi0 = numbers["phi0"] * unit + (1.0 - numbers["phi1"]) * self.base
            found = {"phi0": phi0, "phi1": numbers["phi1"], "sigma": numbers["sigma"] * unit}
        elif self.kind == HISTOGRAM:
            found = {"first": int(self.keys[0]) * unit + self.base, "buckets": len(self.masses)}
            found["width"] = int(self.keys[1]) * unit
        else:
            found = {"keys": len(self.keys)}
        if unit != 1:
            found["unit"] = unit
        return {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in found.items()
        }

    def arrays(self) -> Arrays:
        """Give the law as arrays, for `law_of`."""
        return {
            "law_codes": np.array(
                [self.kind, NOISES.index(self.noise), self.unit, self.base], dtype=np.int64
            ),
            "law_numbers": np.array([self.numbers.get(name, 0.0) for name in NUMBERS]),
            "law_keys": self.keys,
            "law_masses": self.masses,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawFit:
    """A law in force."""

    family: Family
    """Its family."""
    fitted: FittedLaw
    law: Law
    """The law of the stream's keys, per tick."""
    rate: float
    """Rows of this stream per tick."""
    facts: dict[str, Any]
    """The family, its parameters, its score in bits per key beside the next best, and the tick
    since which the stream is what it is."""


def law_of(arrays: Arrays) -> FittedLaw:
    """Give back the law that `FoundLaw.arrays` described."""
    kind, noise, unit, base = arrays["law_codes"].tolist()
    return FittedLaw(
        kind=kind,
        numbers=dict(zip(NUMBERS, arrays["law_numbers"].tolist(), strict=True)),
        noise=NOISES[noise],
        unit=unit,
        base=base,
        keys=np.asarray(arrays["law_keys"], dtype=np.int64),
        masses=np.asarray(arrays["law_masses"], dtype=np.float64),
    )


def law_facts(
    fitted: FittedLaw, rate: float, kinds: Sequence[int], scores: Floats, since: int | None
) -> dict[str, Any]:
    """Tell a law, how well it foretells and what does next best, of those that were compared.

    `scores` are in nats per key; `since` when the stream is what it is, None if that was declared.
    """
    found: dict[str, Any] = {"family": fitted.family, "parameters": fitted.facts()}
    found["rows_per_tick"] = round(rate, 4)
    if fitted.kind < FAMILY_COUNT and since is not None:
        found["since_tick"] = since
        found["bits_per_key"] = _bits(scores[fitted.kind])
        others = [kind for kind in kinds if FAMILY_OF[kind] != fitted.family]
        others = [kind for kind in others if math.isfinite(scores[kind])]
        if others:
            other = max(others, key=lambda kind: float(scores[kind]))
            found["runner_up"] = {
                "family": FAMILY_OF[other], "bits_per_key": _bits(scores[other]),
            }  # fmt: skip
    return found


def _bits(nats: float) -> float:
    return round(-float(nats) / math.log(2.0), 4)


def law_logs(fitted: FittedLaw, ticks: Ints, keys: Ints, numeric: bool) -> Floats:
    """Score a law as it is on keys, but for the first that no family foretells, in nats each."""
    numbers = fitted.numbers
    if fitted.kind == COUNTS:
        return _counts_logs(fitted, keys, numeric)[BURN:]
    if fitted.kind in (HISTOGRAM, OFFLINE):
        masses = fitted.law().masses(keys, 1, History(now=0))
        return np.log(np.maximum(masses, math.exp(STRANGER)))[BURN:]
    steps, sigma = (keys - fitted.base) / fitted.unit, fitted.spread
    if fitted.kind == WALK:
        rest = np.diff(steps) - numbers["drift"]
    elif fitted.kind == AR1:
        rest = steps[1:] - numbers["phi0"] - numbers["phi1"] * steps[:-1]
    else:
        rest = steps - numbers.get("slope", 0.0) * ticks - numbers["intercept"]
    logs = -0.5 * (rest / sigma) ** 2 - math.log(sigma * math.sqrt(2.0 * math.pi))
    return np.maximum(logs, STRANGER)[-(len(keys) - BURN) :]


def _counts_logs(fitted: FittedLaw, keys: Ints, numeric: bool) -> Floats:
    """Score keys as the kernels do: every key that came leaves something to those that never did.

    What a law of n keys lacks to 1 is one (n + 1)-th: that of the next key.
    """
    once = 1.0 - float(fitted.masses.sum())
    steps, rest = np.divmod(keys - fitted.base, fitted.unit)
    places = np.minimum(np.searchsorted(fitted.keys, steps), len(fitted.keys) - 1)
    known = (fitted.keys[places] == steps) & (rest == 0)
    span = (
        (float(keys.max()) - float(keys.min())) / fitted.unit + 1.0 if numeric else 2.0 * len(keys)
    )
    novel = once * (1.0 + NOVELTY * len(fitted.keys)) / span
    return np.log(np.where(known, fitted.masses[places] - NOVELTY * once, novel))


def is_material(old: FittedLaw, new: FittedLaw, now: int, ahead: float) -> bool:
    """Say whether tables of one law are too far from another, at a tick and some ticks ahead."""
    if (old.kind, old.unit, old.base) != (new.kind, new.unit, new.base):
        return True
    one, other = old.numbers, new.numbers
    if new.kind in (COUNTS, HISTOGRAM, OFFLINE):
        return True
    if new.kind in (LEVEL, TREND):
        if old.noise != new.noise or _apart(one["sigma"], other["sigma"], 0.06):
            return True
        if new.noise != "normal" and _apart(one["bound"] + 0.5, other["bound"] + 0.5, 0.06):
            return True
        slopes = [numbers.get("slope", 0.0) for numbers in (one, other)]
        moves = [
            (slopes[0] - slopes[1]) * tick + one["intercept"] - other["intercept"]
            for tick in (now, now + ahead)
        ]
        return max(map(abs, moves)) > 0.1 * (other["sigma"] + 0.3)
    if _apart(one["sigma"], other["sigma"], 0.1):
        return True
    if new.kind == WALK:
        return abs(one["drift"] - other["drift"]) > 0.05 * other["sigma"]
    deviation = other["sigma"] / math.sqrt(1.0 - other["phi1"] ** 2)
    means = [numbers["phi0"] / (1.0 - numbers["phi1"]) for numbers in (one, other)]
    pulls = [1.0 - numbers["phi1"] for numbers in (one, other)]
    return abs(means[0] - means[1]) > 0.15 * deviation or _apart(pulls[0], pulls[1], 0.15)


def _apart(one: float, other: float, share: float) -> bool:
    return abs(one - other) > share * min(one, other)
