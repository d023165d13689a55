"""Streams of the caching experiments, and runs of policies over them.

Two streams of slope 1, the first a tick behind: TOWER and ROOF have bounded normal noise, FLOOR has
uniform noise; WALK has two walks from 0 with steps N(0, 1), rounded to whole numbers. Lookups: the
temperatures of a town as an autoregression, and with seasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.lab.caching.policies import Heeb
from penstock.lab.draws import chance, generator
from penstock.operators.bounded.caches import Fed, JoinCache
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal, Uniform
from penstock.operators.bounded.offline import opt_offline
from penstock.operators.bounded.policies import Policy
from penstock.operators.bounded.policies_baselines import LifePast, Passing, ProbPast, Rand
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Ints

WIDTHS = (10, 15)
"""Half-widths of the noise of both streams."""

GRID = 0.1
TEMPERATURES = Ar1(phi0=5.59, phi1=0.72, sigma=4.22, grid=GRID)
"""The autoregression that fits the daily maxima, in tenths of a degree."""
DAYS = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Two streams by name, with the residence that HEEB expects; None: alpha is the budget."""

    name: str
    laws: tuple[Law, Law]
    residence: float | None

    @property
    def passing(self) -> Passing:
        """When streams pass keys: nothing is known of walks."""
        trends = tuple(law for law in self.laws if isinstance(law, LinearTrend))
        return trends if len(trends) == len(self.laws) else ()

    def draw(self, length: int, seed: int) -> tuple[Ints, Ints]:
        """Draw both streams."""
        first, second = (
            law.draw(length, generator(seed, stream)) for stream, law in enumerate(self.laws)
        )
        return first, second

    def heeb(self, budget: int, search: str = "auto") -> Heeb:
        """Give HEEB with the streams' own laws."""
        alpha = float(budget) if self.residence is None else alpha_of(self.residence)
        return Heeb(
            laws=self.laws,
            weighting=Exponential(alpha),
            search="scan" if search == "scan" else "auto",
        )

    def baselines(self, seed: int) -> list[Policy]:
        """Give the policies without a law; lifetimes need streams that pass keys."""
        passing = self.passing
        found: list[Policy] = [Rand(seed=chance(seed), passing=passing)]
        if passing:
            found.append(LifePast(seed=chance(seed), passing=passing, keys_max=1 << 16))
        return [*found, ProbPast(seed=chance(seed), passing=passing, keys_max=1 << 16)]


def trends(
    sigmas: tuple[float, float] | None, lag: int = 1, widths: tuple[int, int] = WIDTHS
) -> tuple[LinearTrend, LinearTrend]:
    """Give two streams of slope 1, the first `lag` ticks behind; no sigmas: uniform noise."""

    def noise(stream: int) -> BoundedNormal | Uniform:
        if sigmas is None:
            return Uniform(half_width=widths[stream])
        return BoundedNormal(sigma=sigmas[stream], half_width=widths[stream])

    return (
        LinearTrend(slope=1, intercept=-lag, noise=noise(0)),
        LinearTrend(slope=1, intercept=0, noise=noise(1)),
    )


TOWER = Configuration(name="TOWER", laws=trends((1.0, 2.0)), residence=3.0)
ROOF = Configuration(name="ROOF", laws=trends((3.3, 5.0)), residence=8.3)
FLOOR = Configuration(name="FLOOR", laws=trends(None), residence=12.5)
WALK = Configuration(
    name="WALK",
    laws=(
        RandomWalk(drift=0, step=Normal(sigma=1.0)),
        RandomWalk(drift=0, step=Normal(sigma=1.0)),
    ),
    residence=None,
)
CONFIGURATIONS = (TOWER, ROOF, FLOOR, WALK)


def alternating(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """Give streams, keys and ticks of two streams with one row each per tick."""
    count = len(first)
    keys = np.stack([first, second], axis=1).reshape(-1)
    return np.tile(np.arange(2), count), keys, np.repeat(np.arange(count), 2)


def feed(policy: Policy, keys: Sequence[Ints], budget: int, window: int | None = None) -> Fed:
    """Run a policy over two whole streams."""
    return JoinCache(budget, policy, window=window).feed(*alternating(*keys))


def results(policy: Policy, keys: Sequence[Ints], budget: int, warm_up: int) -> int:
    """Give a policy's results from the tick `warm_up` on."""
    return int(feed(policy, keys, budget).made[warm_up:].sum())


def optimum(keys: Sequence[Ints], budget: int, warm_up: int) -> Ints:
    """Give the most results for every budget up to one."""
    return opt_offline(keys[0], keys[1], budget, warm_up).values


def temperatures(length: int, seed: int) -> Ints:
    """Draw the autoregression from its mean on, in tenths of a degree."""
    rng = generator(seed, 7)
    law = TEMPERATURES
    value = law.phi0 / (1 - law.phi1)
    found = np.empty(length)
    for day, shock in enumerate(rng.normal(0, law.sigma, length)):
        value = law.phi0 + law.phi1 * value + shock
        found[day] = value
    return np.rint(found / GRID).astype(np.int64)


def seasons(length: int, seed: int) -> Ints:
    """Draw a yearly wave with skewed weather upon it, in tenths of a degree."""
    rng = generator(seed, 8)
    days = np.arange(length)
    wave = 19.96 + 5.7 * np.cos(2 * np.pi * (days - 20) / 365)
    weather_variance = 37 - 5.7**2 / 2
    shocks = (rng.gamma(4, size=length) - 4) / 2 * np.sqrt(weather_variance * (1 - 0.5**2))
    weather, now = np.empty(length), 0.0
    for day in range(length):
        now = 0.5 * now + shocks[day]
        weather[day] = now
    return np.rint((wave + weather) / GRID).astype(np.int64)


def fitted(keys: Ints) -> Ar1:
    """Fit an autoregression to keys by least squares."""
    values = keys * GRID
    design = np.stack([np.ones(len(values) - 1), values[:-1]], axis=1)
    (phi0, phi1), *_ = np.linalg.lstsq(design, values[1:], rcond=None)
    rest = values[1:] - design @ np.array([phi0, phi1])
    return Ar1(phi0=float(phi0), phi1=float(phi1), sigma=float(rest.std()), grid=GRID)
