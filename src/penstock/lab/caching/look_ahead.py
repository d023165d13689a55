"""FlowExpect by how far it looks ahead, and its exactness on small examples."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from penstock.lab.caching.flow_expect import FlowExpect, expectimax, flow_expect, slices
from penstock.lab.caching.workload import FLOOR, optimum, results
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.timing import say
from penstock.operators.bounded.laws_independent import Offline
from penstock.operators.bounded.offline import opt_offline
from penstock.operators.bounded.policies import Candidates
from penstock.vocabulary.batches import Ints

BUDGET = 20
LENGTH = sized(150, 300, 500)
RUNS = sized(1, 3, 20)
AHEAD = sized((1, 5), (1, 3, 5, 10), (1, 2, 3, 5, 8, 10, 15, 20))
INSTANCES = sized(20, 60, 120)
WARM_UP = 80

EXAMPLE = np.array(
    [
        [0.0, 0.8, 0.8],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.5],
        [0.0, 0.0, 0.0],
        [0.0, 0.5, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
    ]
)
"""What rows bring in the next three ticks: R(1), R(-), S(2), then the rows to come."""
EXAMPLE_TICKS = (
    ((0.5, 2, 3), (0.5, 2, None)),
    ((0.8, 3, 1), (0.2, 3, None)),
    ((0.4, 2, 1), (0.4, None, 1), (0.1, 2, None), (0.1, None, None)),
)


def exhaustive(first: Ints, second: Ints, budget: int) -> int:
    """Give the most results by trying every choice at every tick."""
    rows = list(zip(first.tolist(), second.tolist(), strict=True))

    @cache
    def best(held: tuple[tuple[int, int], ...], tick: int) -> int:
        if tick == len(rows):
            return 0
        keys = rows[tick]
        made = sum(key == keys[1 - stream] for stream, key in held)
        choices = (*held, (0, keys[0]), (1, keys[1]))
        keeps = {tuple(sorted(keep)) for keep in combinations(choices, min(budget, len(choices)))}
        return int(made + max(best(keep, tick + 1) for keep in keeps))

    return int(best((), 0))


def flow_from_nothing(first: Ints, second: Ints, budget: int) -> float:
    """Give FlowExpect's value for known streams, from rows that join nothing on."""
    length = len(first)
    ahead = length - 1
    keys = np.stack([first, second])
    benefits = np.zeros((budget + 2 * length - 2 + 2, ahead))
    for tick in range(ahead):
        for stream in range(2):
            row = budget + 2 * tick + stream
            later = keys[1 - stream, tick + 1 :] == keys[stream, tick]
            benefits[row, tick:] = later
    return flow_expect(benefits[: budget + 2 + 2 * (ahead - 1)], budget)[1]


def exactness(size: Size) -> Findings:
    """Check the example, the graph's size, and both solvers against trying everything."""
    keeps, value = flow_expect(EXAMPLE, 1)
    adaptive = expectimax([(0, 1), (1, 2)], EXAMPLE_TICKS, 1)
    rng = generator(5)
    wrong = 0
    for _ in range(INSTANCES[size]):
        budget = int(rng.integers(1, 4))
        first, second = rng.integers(0, 4, (2, 7))
        best = exhaustive(first, second, budget)
        wrong += int(best != opt_offline(first, second, budget).values[budget])
        wrong += int(abs(best - flow_from_nothing(first, second, budget)) > 1e-9)
    yield at_most("example: error of the flow's value 1.6", abs(value - 1.6), 1e-12)
    yield at_most("example: the candidate kept is R(1), number", float(keeps[0]), 0)
    yield at_most("example: error of keeping S(2), 1.75", abs(adaptive[(1, 2),] - 1.75), 1e-12)
    yield at_most("graph for k = 1, l = 3: nodes beyond 19", abs(slices(1, 3).nodes - 19), 0)
    yield at_most("graph for k = 1, l = 3: arcs beyond 30", abs(slices(1, 3).arcs - 30), 0)
    yield at_most("random instances on which a solver is not optimal", wrong, 0)
    yield at_most("known streams: victims that bring more than those kept", _known_errors(), 0)


def _known_errors() -> int:
    """Count wrong victims of FlowExpect as a policy over a known pair of streams."""
    first, second = np.array([1, 5, 6, 7]), np.array([2, 1, 8, 1])
    policy = FlowExpect(laws=(Offline(keys=first), Offline(keys=second)), ahead=3)
    rows = Candidates(
        streams=np.array([0, 0, 1]), keys=np.array([9, 1, 2]), born=np.zeros(3, dtype=np.int64),
        numbers=np.arange(3),
    )  # fmt: skip
    return int(1 in policy.choose_victims(rows, 2, 0))


def run(size: Size) -> Findings:
    """Look ahead farther and farther; the gain is judged at `full`."""
    made: dict[int, list[int]] = {ahead: [] for ahead in AHEAD[size]}
    heeb, best = [], []
    for seed in range(RUNS[size]):
        say(f"look-ahead: run {seed + 1} of {RUNS[size]}")
        keys = FLOOR.draw(LENGTH[size], seed)
        heeb.append(results(FLOOR.heeb(BUDGET), keys, BUDGET, WARM_UP))
        best.append(int(optimum(keys, BUDGET, WARM_UP)[BUDGET]))
        for ahead, line in made.items():
            policy = FlowExpect(laws=FLOOR.laws, ahead=ahead)
            line.append(results(policy, keys, BUDGET, WARM_UP))
    means = {ahead: float(np.mean(line)) for ahead, line in made.items()}
    level = float(np.mean(heeb))
    yield from exactness(size)
    yield at_most("FlowExpect over OPT", max(means.values()) / float(np.mean(best)), 1.0)
    if size == "full":
        gain = means[20] - means[1]
        shares = {ahead: (means[ahead] - means[1]) / gain for ahead in (5, 10)}
        yield at_least("share of the gain from l = 1 to 20 at l = 5", shares[5], 0.6)
        yield at_least("share of it at l = 10", shares[10], 0.85)
    ticks = list(means)
    yield Table(
        f"FLOOR, {BUDGET} rows: mean results by ticks looked ahead",
        ("ahead_ticks", "FlowExpect", "HEEB", "OPT"),
        [(ahead, mean, level, float(np.mean(best))) for ahead, mean in means.items()],
    )
    yield chart(
        "FlowExpect by look-ahead",
        "ticks looked ahead",
        "results",
        {"FlowExpect": (ticks, list(means.values())), "HEEB": (ticks, [level] * len(ticks))},
    )
