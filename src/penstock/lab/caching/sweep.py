"""Policies as the budget grows from 1 to 50 rows; results are counted after 200 ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.lab.caching.workload import CONFIGURATIONS, Configuration, optimum, results
from penstock.lab.report import Check, Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.timing import say

BUDGETS = sized((1, 10, 30, 50), (1, 5, 10, 20, 30, 50), (1, 2, 5, 10, 15, 20, 25, 30, 40, 50))
LENGTH = sized(800, 2_000, 5_000)
RUNS = sized(1, 3, 10)
WARM_UP = 200
ENOUGH = 0.99
REACHED: dict[tuple[str, str], int] = {
    ("TOWER", "HEEB"): 10,
    ("TOWER", "LIFE_p"): 20,
    ("TOWER", "RAND"): 30,
    ("TOWER", "PROB_p"): 30,
    ("ROOF", "HEEB"): 25,
    ("ROOF", "RAND"): 30,
    ("ROOF", "PROB_p"): 30,
    ("FLOOR", "HEEB"): 30,
    ("FLOOR", "LIFE_p"): 30,
    ("FLOOR", "RAND"): 30,
    ("FLOOR", "PROB_p"): 30,
}
"""The least budget of the full sweep at which a policy has 99 % of the optimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """One configuration: mean results by policy, one per budget."""

    name: str
    budgets: tuple[int, ...]
    means: dict[str, list[float]]

    def reached(self, policy: str) -> int:
        """Give the least budget with nearly all results of the optimum, 0 if there is none."""
        for budget, mean, best in zip(
            self.budgets, self.means[policy], self.means["OPT"], strict=True
        ):
            if mean >= ENOUGH * best:
                return budget
        return 0


def sweep(configuration: Configuration, size: Size) -> Swept:
    """Run every policy with every budget."""
    budgets = BUDGETS[size]
    found: dict[str, list[list[int]]] = {}
    for seed in range(RUNS[size]):
        keys = configuration.draw(LENGTH[size], seed)
        best = optimum(keys, budgets[-1], WARM_UP)
        lines: dict[str, list[int]] = {"OPT": [int(best[budget]) for budget in budgets]}
        for budget in budgets:
            for policy in (configuration.heeb(budget), *configuration.baselines(seed)):
                made = results(policy, keys, budget, WARM_UP)
                lines.setdefault(policy.name, []).append(made)
        for name, line in lines.items():
            found.setdefault(name, []).append(line)
    means = {name: np.mean(lines, axis=0).tolist() for name, lines in found.items()}
    return Swept(name=configuration.name, budgets=budgets, means=means)


def run(size: Size) -> Findings:
    """Sweep every configuration; the budgets that suffice are judged at `full`."""
    found = []
    for configuration in CONFIGURATIONS:
        say(f"join-cache-sweep: {configuration.name}, {RUNS[size]} runs")
        found.append(sweep(configuration, size))
    yield from (
        Table(
            f"{one.name}: mean results by budget",
            ("budget_rows", *one.means),
            [
                (budget, *(line[i] for line in one.means.values()))
                for i, budget in enumerate(one.budgets)
            ],
        )
        for one in found
    )
    yield from _certain(found)
    yield from _judge(found) if size == "full" else ()
    yield from (
        chart(
            f"{one.name}: results by budget",
            "budget (rows)",
            "results",
            {name: (one.budgets, line) for name, line in one.means.items()},
        )
        for one in found
    )


def _certain(found: Sequence[Swept]) -> Findings:
    trending = found[:-1]
    last = [min(line[-1] for line in one.means.values()) / one.means["OPT"][-1] for one in trending]
    at_ten = [
        one.means["HEEB"][one.budgets.index(10)] / max(one.means["RAND"][one.budgets.index(10)], 1)
        for one in trending
    ]
    rises = sum(
        after < before
        for one in found
        for before, after in zip(one.means["OPT"], one.means["OPT"][1:], strict=False)
    )
    yield at_least("trends: the worst policy over OPT at 50 rows", min(last), ENOUGH)
    yield at_least("trends: HEEB over RAND at 10 rows, at worst", min(at_ten), 1.0)
    yield at_most("budgets at which the optimum falls", rises, 0)


def _judge(found: Sequence[Swept]) -> Findings:
    for one in found:
        for (name, policy), budget in REACHED.items():
            if name == one.name:
                reached = one.reached(policy)
                yield Check(
                    name=f"{name}: rows with which {policy} has 99 % of OPT",
                    value=reached,
                    bound=f"= {budget}",
                    passed=reached == budget,
                )
    walk = found[-1]
    share = walk.means["HEEB"][-1] / walk.means["OPT"][-1]
    yield at_most("WALK: HEEB over OPT at 50 rows", share, 0.5)
