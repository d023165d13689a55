"""Policies beside each other, on four pairs of streams and a budget of ten rows.

Every policy sees the same streams. FlowExpect takes long and has fewer runs; it is judged by the
ratio to HEEB on those. Results are counted after a warm-up of four times the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.lab.caching.flow_expect import FlowExpect
from penstock.lab.caching.windowed import windowed_checks, windowed_means, windowed_table
from penstock.lab.caching.workload import (
    CONFIGURATIONS,
    Configuration,
    alternating,
    optimum,
    results,
)
from penstock.lab.report import (
    Cell,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    near,
    sized,
)
from penstock.lab.spreads import Spread, ratio_of, spread_of
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policies import Policy
from penstock.vocabulary.batches import Ints

BUDGET = 10
WARM_UP = 4 * BUDGET
AHEAD = 5
LENGTH = sized(600, 2_000, 5_000)
RUNS = sized(2, 8, 50)
FLOW_RUNS = sized(1, 2, 10)
POLICIES = ("OPT", "HEEB", "RAND", "LIFE_p", "PROB_p")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCompared:
    """One configuration: results by policy and run, and the largest error of mean residences."""

    name: str
    results: dict[str, list[int]]
    residence_error: float

    def mean(self, policy: str) -> Spread:
        """Give a policy's mean results."""
        return spread_of(self.results[policy])

    def over(self, policy: str, other: str) -> float:
        """Give the ratio of two policies' results, over the runs that both have."""
        return self.spread_over(policy, other).mean

    def spread_over(self, policy: str, other: str) -> Spread:
        """Give the same with its standard error."""
        runs = min(len(self.results[policy]), len(self.results[other]))
        return ratio_of(self.results[policy][:runs], self.results[other][:runs])


def residence_error(policy: Policy, keys: Sequence[Ints]) -> float:
    """Say how far the mean residence over all arrivals is from half the budget, in shares of it.

    Two rows arrive per tick and the cache is full: rows stay k / 2 ticks, whatever the policy.
    """
    cache = JoinCache(BUDGET, policy)
    cache.feed(*alternating(*keys))
    stayed = cache.account.stayed + int((len(keys[0]) - cache.rows.born).sum())
    return abs(stayed / (2 * len(keys[0])) / (BUDGET / 2) - 1)


def compare(configuration: Configuration, size: Size) -> PolicyCompared:
    """Run all policies on all draws of a configuration."""
    found: dict[str, list[int]] = {}
    error = 0.0
    for seed in range(RUNS[size]):
        keys = configuration.draw(LENGTH[size], seed)
        best = int(optimum(keys, BUDGET, WARM_UP)[BUDGET])
        found.setdefault("OPT", []).append(best)
        policies = [configuration.heeb(BUDGET), *configuration.baselines(seed)]
        for policy in policies:
            found.setdefault(policy.name, []).append(results(policy, keys, BUDGET, WARM_UP))
            if seed == 0:
                error = max(error, residence_error(policy, keys))
        if seed < FLOW_RUNS[size]:
            flow = FlowExpect(laws=configuration.laws, ahead=AHEAD)
            found.setdefault(flow.name, []).append(results(flow, keys, BUDGET, WARM_UP))
    return PolicyCompared(name=configuration.name, results=found, residence_error=error)


def run(size: Size) -> Findings:
    """Compare on every configuration; what chance decides is judged at `full` only."""
    found = []
    for configuration in CONFIGURATIONS:
        say(f"join-cache-compare: {configuration.name}, {RUNS[size]} runs")
        found.append(compare(configuration, size))
    names = [*POLICIES, FlowExpect.name]
    windowed = windowed_means(size)
    yield Table(
        f"mean results with a budget of {BUDGET} rows, {RUNS[size]} series "
        f"({FLOW_RUNS[size]} of FlowExpect)",
        ("streams", *names, "HEEB / OPT", "FlowExpect / HEEB"),
        [_row(one, names) for one in found],
    )
    yield windowed_table(windowed)
    yield from _certain(found)
    yield from windowed_checks(windowed)
    yield from _judge(found, size)
    yield chart(
        f"results over OPT, budget of {BUDGET} rows",
        ", ".join(f"{i}: {one.name}" for i, one in enumerate(found)),
        "share of the optimum",
        curves_of(
            (name, i, one.over(name, "OPT"))
            for name in names
            for i, one in enumerate(found)
            if name in one.results
        ),
    )


def _row(one: PolicyCompared, names: Sequence[str]) -> tuple[Cell, ...]:
    means = (str(one.mean(name)) if name in one.results else None for name in names)
    ratios = (one.spread_over(*each) for each in (("HEEB", "OPT"), (FlowExpect.name, "HEEB")))
    return (one.name, *means, *map(str, ratios))


def _certain(found: Sequence[PolicyCompared]) -> Findings:
    above = sum(
        value > best
        for one in found
        for runs in one.results.values()
        for value, best in zip(runs, one.results["OPT"], strict=False)
    )
    yield at_most("runs in which a policy is above the optimum", above, 0)
    yield at_most("mean residence: error of k / 2", max(one.residence_error for one in found), 0.03)


def _judge(found: Sequence[PolicyCompared], size: Size) -> Findings:
    tower, roof, floor, walk = found
    yield at_least("TOWER: HEEB over OPT", tower.over("HEEB", "OPT"), 0.99)
    yield at_least("ROOF: HEEB over OPT", roof.over("HEEB", "OPT"), 0.75)
    yield at_least("ROOF: HEEB over RAND", roof.over("HEEB", "RAND"), 1.4)
    yield at_least("ROOF: HEEB over PROB_p", roof.over("HEEB", "PROB_p"), 1.9)
    for one in (tower, roof, walk):
        others = [name for name in one.results if name in POLICIES[2:]]
        least = min(one.over("HEEB", name) for name in others)
        yield at_least(f"{one.name}: HEEB over the best heuristic", least, 1.0)
    if size != "full":
        return
    flows = [one.over("HEEB", FlowExpect.name) for one in found]
    yield near("TOWER: RAND over HEEB", tower.over("RAND", "HEEB"), 0.71, 0.02)
    yield near("TOWER: PROB_p over HEEB", tower.over("PROB_p", "HEEB"), 0.39, 0.02)
    yield near("ROOF: HEEB over OPT", roof.over("HEEB", "OPT"), 0.78, 0.015)
    yield at_least("FLOOR: FlowExpect over HEEB", floor.over(FlowExpect.name, "HEEB"), 1.0)
    yield at_least("FLOOR: HEEB over RAND", floor.over("HEEB", "RAND"), 1.05)
    yield at_most("FLOOR: HEEB over RAND", floor.over("HEEB", "RAND"), 1.10)
    yield near("FLOOR: HEEB over OPT", floor.over("HEEB", "OPT"), 0.43, 0.015)
    yield at_least("WALK: HEEB over PROB_p", walk.over("HEEB", "PROB_p"), 1.7)
    yield at_least("WALK: HEEB over RAND", walk.over("HEEB", "RAND"), 3.0)
    yield near("WALK: HEEB over OPT", walk.over("HEEB", "OPT"), 0.37, 0.04)
    yield at_least(
        "streams on which HEEB is level with FlowExpect or above it (2 %)",
        sum(ratio >= 0.98 for ratio in flows),
        3,
    )
