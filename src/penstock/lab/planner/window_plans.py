"""Window plans: the plans of the published examples, what they take, and what the planner chooses.

Figure 4: two selections of one stream, in either order. Example 1: three streams in windows of ten
rows, joined in three ways. All figures are computed, and exact.
"""

from __future__ import annotations

from penstock.lab.planner.examples import EXAMPLE_1, EXAMPLE_1_PLANS, FIGURE_4
from penstock.lab.report import Chart, Findings, Size, Table, at_most, chart
from penstock.planning.approximation import is_same_tree
from penstock.planning.costs import Constant
from penstock.planning.optimiser import Choices, Planned, Resources, optimise
from penstock.planning.plan_costs import cost
from penstock.planning.selections import chain
from penstock.planning.shedding import shed_filters

CAPACITIES = {"a": 250.0, "b": 280.0, "c": 900.0}
MEMORIES = {"a": 80.0, "b": 50.0, "c": 130.0}
UTILISATIONS = {"a": 12.5, "b": 14.0, "c": 45.0}
"""In percent, at half a millisecond per row and join."""
OUTPUT = 1000.0
VERDICTS = {0.5: "ABUNDANT", 2.0: "TIGHT", 4.0: "TIGHT", 5.0: "INSUFFICIENT"}
"""By the milliseconds that a row takes at a join; at 4 plan a just fits."""
FILTERS = {"cheap first": 0.75, "dear first": 1.25}
EXACTLY = 1e-9
ALL = Resources(headroom=0.0)


def plan_name(planned: Planned) -> str:
    """Give the letter of the plan that was chosen."""
    return next(
        name for name, tree in EXAMPLE_1_PLANS.items() if is_same_tree(tree, planned.plan.tree)
    )


def run(_size: Size) -> Findings:
    """Compute all figures; they are exact, so every size judges them."""
    yield from _plans()
    yield from _filters()
    yield from _verdicts()
    yield _figure()


def _off(found: dict[str, float], expected: dict[str, float]) -> float:
    return max(abs(found[name] / expected[name] - 1.0) for name in expected)


def _plans() -> Findings:
    costings = {
        name: cost(EXAMPLE_1, tree, Constant(0.0005)) for name, tree in EXAMPLE_1_PLANS.items()
    }
    capacities = {name: each.cpu / 0.0005 for name, each in costings.items()}
    memories = {name: each.memory_rows for name, each in costings.items()}
    busy = {name: 100 * each.cpu for name, each in costings.items()}
    outputs = {name: each.output_rate for name, each in costings.items()}
    yield Table("Example 1: three plans", (
            "plan", "capacity (rows/s)", "memory (rows)", "output (rows/s)", "busy at 0.5 ms (%)",
            "middle rate (rows/s)", "middle window (rows)",
        ), [
            (
                name, capacities[name], memories[name], outputs[name], busy[name],
                each.joins[0].rate, each.joins[0].window,
            )
            for name, each in costings.items()
        ])  # fmt: skip
    yield at_most("Example 1: capacities off 250, 280, 900", _off(capacities, CAPACITIES), EXACTLY)
    yield at_most("Example 1: memories off 80, 50, 130", _off(memories, MEMORIES), EXACTLY)
    yield at_most("Example 1: utilisation off 12.5, 14, 45 %", _off(busy, UTILISATIONS), EXACTLY)
    yield at_most(
        "Example 1: output off 1000/s", _off(outputs, dict.fromkeys("abc", OUTPUT)), EXACTLY
    )


def _filters() -> Findings:
    cheap, dear = FIGURE_4.selections
    orders = {"cheap first": (cheap, dear), "dear first": (dear, cheap)}
    rate = FIGURE_4.inputs[0].rate
    demands = {name: chain(rate, order) for name, order in orders.items()}
    output = rate * cheap.selectivity * dear.selectivity
    sheds = {name: shed_filters(each, output, 1.0) for name, each in demands.items()}
    planned = optimise(FIGURE_4, Constant(0.0), ALL)
    shares = [share for _, share in planned.shares]
    yield Table(
        "Figure 4: two selections in either order",
        ("order", "first", "second", "busy", "pass", "output (rows/s)"),
        [
            (name, *each, sum(each), sheds[name].passes[0], sheds[name].output)
            for name, each in demands.items()
        ],
    )
    dear_first = sheds["dear first"]
    yield at_most(
        "Figure 4: costs off 0.75, 1.25",
        _off({name: sum(each) for name, each in demands.items()}, FILTERS),
        EXACTLY,
    )
    yield at_most("Figure 4: shares off 2 : 1", abs(shares[0] / shares[1] / 2 - 1.0), EXACTLY)
    yield at_most(
        "Figure 4: dear first off pass 0.8 and 100/s",
        abs(dear_first.passes[0] - 0.8) + abs(dear_first.output - 100),
        EXACTLY,
    )
    yield at_most("Figure 4: the planner's cost off 0.75", abs(planned.cpu - 0.75), EXACTLY)


def _verdicts() -> Findings:
    found = {ms: optimise(EXAMPLE_1, Constant(ms / 1000), ALL) for ms in VERDICTS}
    memory = optimise(EXAMPLE_1, Constant(0.0005), ALL, Choices(objective="memory"))
    strict = optimise(EXAMPLE_1, Constant(0.004), Resources(headroom=0.0, strict=True))
    rows = [
        (f"{ms:g} ms", each.verdict, each.is_critical, plan_name(each), each.sentence)
        for ms, each in found.items()
    ]
    rows.append(("0.5 ms, least memory", memory.verdict, memory.is_critical, plan_name(memory), ""))
    rows.append(("4 ms, strict", strict.verdict, strict.is_critical, plan_name(strict), ""))
    wrong = sum(each.verdict != VERDICTS[ms] for ms, each in found.items())
    wrong += sum(each.is_critical != (ms == 4.0) for ms, each in found.items())
    yield Table(
        "Example 1: what the planner says",
        ("cost", "verdict", "critical", "plan", "sentence"),
        rows,
    )
    yield at_most("verdicts at 0.5, 2, 4 and 5 ms that differ", wrong, 0)
    yield at_most("least processing: not plan a", int(plan_name(found[0.5]) != "a"), 0)
    yield at_most("least memory: not plan b", int(plan_name(memory) != "b"), 0)
    yield at_most("strict at 4 ms: not INSUFFICIENT", int(strict.verdict != "INSUFFICIENT"), 0)


def _figure() -> Chart:
    costs_ms = [0.25 * step for step in range(21)]
    curves = {
        f"plan {name} ({capacity:g} rows/s)": (costs_ms, [ms / 10 * capacity for ms in costs_ms])
        for name, capacity in CAPACITIES.items()
    }
    curves["one processor"] = [0.0, 5.0], [100.0, 100.0]
    title = "Example 1: the order of joins decides whether one processor is enough"
    return chart(title, "cost of a row at a join (ms)", "busy (%)", curves)
