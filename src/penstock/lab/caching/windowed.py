"""Sliding windows over streams that do not move: HEEB lies between frequency and lifetime.

Both streams draw from a Zipf law over a hundred keys, popular ones of the one stream being any of
the other; a row may join for fifty ticks. PROB does not look at age, so that chance decides between
rows of one key; if the older one goes, PROB knows of windows after all, and is level with HEEB.
"""

from __future__ import annotations

import numpy as np

from penstock.lab.caching.policies import Heeb, Life, Prob
from penstock.lab.caching.workload import feed
from penstock.lab.draws import chance, generator
from penstock.lab.report import Findings, Size, Table, at_least, sized
from penstock.operators.bounded.laws_independent import Stationary
from penstock.operators.bounded.policies import Policy
from penstock.operators.bounded.weightings import Exponential, alpha_of

DOMAIN = 100
WINDOW = 50
BUDGET = 10
RESIDENCE = 5.0
LENGTH = sized(2_000, 5_000, 5_000)
RUNS = sized(8, 8, 40)


def zipf(seed: int) -> tuple[Stationary, Stationary]:
    """Give both streams' laws: the chance of a key falls as its rank, and ranks are shuffled."""
    chances = 1 / np.arange(1, DOMAIN + 1)
    chances /= chances.sum()
    shuffled = generator(seed, 2).permutation(DOMAIN)
    return (
        Stationary(keys=np.arange(DOMAIN), probabilities=chances),
        Stationary(keys=shuffled, probabilities=chances),
    )


def windowed_means(size: Size) -> dict[str, float]:
    """Give the mean results of each policy."""
    found: dict[str, list[int]] = {}
    for seed in range(RUNS[size]):
        laws = zipf(seed)
        keys = [law.draw(LENGTH[size], generator(seed, stream)) for stream, law in enumerate(laws)]
        weighting = Exponential(alpha_of(RESIDENCE))
        policies: dict[str, Policy] = {
            "HEEB": Heeb(laws=laws, weighting=weighting, window=WINDOW),
            "PROB, oldest first": Prob(laws=laws, window=WINDOW),
            "PROB": Prob(laws=laws, window=WINDOW, blind=True, seed=chance(seed)),
            "LIFE": Life(laws=laws, window=WINDOW),
        }
        for name, policy in policies.items():
            made = int(feed(policy, keys, BUDGET, WINDOW).made.sum())
            found.setdefault(name, []).append(made)
    return {name: float(np.mean(runs)) for name, runs in found.items()}


def windowed_table(means: dict[str, float]) -> Table:
    """Show the means."""
    return Table(
        f"mean results in windows of {WINDOW} ticks, Zipf keys, {BUDGET} rows",
        tuple(means),
        [tuple(means.values())],
    )


def windowed_checks(means: dict[str, float]) -> Findings:
    """Claim the order of the policies."""
    yield at_least("windows: HEEB over PROB", means["HEEB"] / means["PROB"], 1.0)
    yield at_least("windows: PROB over LIFE", means["PROB"] / means["LIFE"], 1.0)
