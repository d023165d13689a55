"""Calibrating: profile designed joins on the operator, fit the planner's constants, store them.

The planner's costs are linear in its constants, so a constant's term is what the cost model says
when that constant alone is 1: the fit and the planner cannot disagree about the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import Index, Join, JoinPlan, Leaf, Tree
from penstock.lab.joins.least_squares import CostFit, fit
from penstock.lab.planner.plan_runs import run_plan
from penstock.lab.planner.queries import NAMES as LETTERS
from penstock.lab.planner.queries import chain_query, random_query
from penstock.lab.planner.workload import DrawnStreams, Key, PlannerQuery, Relating, StreamSource
from penstock.lab.report import Cell, Check, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.planning.constants import BUILT_IN, NAMES, PlanConstants, save_constants
from penstock.planning.costs import NANOSECOND, Measured
from penstock.planning.plan_costs import cost, thinned
from penstock.planning.search import best_plans
from penstock.vocabulary.batches import Floats

FITTED = tuple(
    "arrive emit read arrive_byte emit_byte batch hash_probe hash_probe_log hash_match "
    "hash_insert composite_probe composite_match several_probe several_match loop_probe "
    "loop_row loop_composite loop_insert terms residual".split()
)
"""What is fitted. A row is invalidated as often as inserted, so the inserts carry both."""
FIRST_DRAWN, PLANS_DRAWN = 1_000, 4
"""The first seed of the queries drawn here, and how many plans of each are looked at."""
SHUT = 1e-9
"""A pass fraction that no row is lucky enough for."""
LEAST = {"hash_probe": 1.0, "loop_row": 0.1}
"""The planner needs these above zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A join that is profiled, with the plan it runs."""

    name: str
    query: PlannerQuery
    plan: JoinPlan


@dataclass(frozen=True, slots=True)
class ProfileEffort:
    """Windows to try, rows per second and what joins of several streams multiply them with.

    Queries drawn; every join is measured for some seconds after as many to warm up, in so many
    rounds.
    """

    windows: tuple[int, ...]
    rate: float
    factors: tuple[float, ...]
    drawn: int
    seconds: int
    rounds: int


EFFORTS = sized(
    ProfileEffort((20, 200), rate=2_000, factors=(1,), drawn=0, seconds=1, rounds=1),
    ProfileEffort((20, 200, 2_000), rate=20_000, factors=(1, 5), drawn=4, seconds=2, rounds=2),
    ProfileEffort(
        (10, 50, 200, 1_000, 5_000, 20_000), 20_000, factors=(1, 6), drawn=16, seconds=2, rounds=3
    ),
)


def designs(effort: ProfileEffort) -> list[Design]:
    """List joins in which the terms of the cost differ widely, and some drawn at random.

    Batches of few and of many rows: many leave the cache before they are read again.
    """
    found = [*_pairs(effort), *_loops(effort)]
    for factor in effort.factors:
        each = replace(effort, rate=factor * effort.rate)
        own = [*_longer(each), *_five(each), *_asking(each), *_selections(each), *_boxed(each)]
        found += [replace(one, name=f"{one.name}, rates times {factor:g}") for one in own]
    return [*found, *_drawn(effort)]


def _pair(
    name: str,
    rates: tuple[float, float],
    rows: tuple[int, int],
    distinct: int,
    indexes: tuple[Index, Index] = ("hash", "hash"),
) -> Design:
    query = chain_query(name, rates, rows, (distinct,))
    return Design(name=name, query=query, plan=JoinPlan(tree=Join(Leaf(0), Leaf(1), *indexes)))


def _pairs(effort: ProfileEffort) -> list[Design]:
    """Two streams, hashed: windows of all sizes, matches from few to many, quiet and busy."""
    rate, found = effort.rate, []
    for rows in effort.windows:
        for matches in (0.1, 1.0, 6.0):
            distinct = max(round(rows / matches), 1)
            name = f"pair, {rows} rows, {matches:g} matches"
            found.append(_pair(name, (rate, rate), (rows, rows), distinct))
    for matches in (0.1, 6.0):
        wide = _pair(
            f"pair, wide rows, {matches:g} matches", (rate, rate), (200, 200), round(200 / matches)
        )
        sources = tuple(replace(each, width=8) for each in wide.query.sources)
        found.append(replace(wide, query=replace(wide.query, sources=sources)))
    # Many results fill no cache: they cost more apiece than few.
    for matches, width in ((12.0, 0), (6.0, 4)):
        busy = _pair(
            f"pair, busy, {matches:g} matches",
            (2 * rate, 2 * rate),
            (300, 300),
            round(300 / matches),
        )
        sources = tuple(replace(each, width=width) for each in busy.query.sources)
        found.append(replace(busy, query=replace(busy.query, sources=sources)))
    quiet = _pair("pair, hardly any rows", (50.0, 50.0), (20, 20), 20)
    skew = _pair("pair, one stream much faster", (3 * rate, rate / 30), (200, 20), 200)
    return [*found, quiet, skew]


def _loops(effort: ProfileEffort) -> list[Design]:
    """Two streams that loop over one or both windows."""
    rate, found = effort.rate, []
    for rows in (5, 40, 160):
        name = f"pair, loops over {rows} rows"
        found.append(_pair(name, (rate / 2, rate / 2), (rows, rows), rows, ("loop", "loop")))
    for indexes in (("hash", "loop"), ("loop", "hash")):
        name = f"pair, {indexes[0]} and {indexes[1]}"
        found.append(_pair(name, (2 * rate, rate / 10), (60, 60), 60, indexes))
    return found


def _longer(effort: ProfileEffort) -> list[Design]:
    """Three and four streams, left-deep and bushy: intermediate rows, few to many results."""
    rate, found = effort.rate / 4, []
    for number, (rows, first, second) in enumerate(
        ((50, 10, 50), (50, 50, 10), (200, 20, 400), (800, 100, 2_000), (20, 4, 200))
    ):
        tree: Tree = Join(Join(Leaf(0), Leaf(1)), Leaf(2))
        name = f"three, {rows} rows, keys of {first} and {second}"
        query = chain_query(name, (rate,) * 3, (rows,) * 3, (first, second))
        found.append(Design(name=name, query=query, plan=JoinPlan(tree=tree)))
        if number % 2:
            bushy = Join(Join(Leaf(0), Leaf(1)), Join(Leaf(2), Leaf(3)))
            name = f"four, {rows} rows, keys of {first}, {second} and {first}"
            query = chain_query(name, (rate,) * 4, (rows,) * 4, (first, 4 * second, first))
            found.append(Design(name=name, query=query, plan=JoinPlan(tree=bushy)))
    tree = Join(Join(Leaf(0), Leaf(1)), Leaf(2))
    query = chain_query("three, busy", (6 * rate,) * 3, (100,) * 3, (50, 25))
    found.append(Design(name=query.name, query=query, plan=JoinPlan(tree=tree)))
    for rows, keys in ((10, (5, 10)), (25, (20, 25)), (60, (40, 60))):
        looped = Join(Join(Leaf(0), Leaf(1)), Leaf(2), "loop", "hash")
        query = chain_query(f"three, loops over composites of {rows} rows", (rate,) * 3,
                            (rows,) * 3, keys)  # fmt: skip
        found.append(Design(name=query.name, query=query, plan=JoinPlan(tree=looped)))
    product = Join(Join(Leaf(0), Leaf(2), "loop", "loop"), Leaf(1))
    query = chain_query("three, a product first", (rate / 4,) * 3, (12,) * 3, (12, 12))
    found.append(Design(name=query.name, query=query, plan=JoinPlan(tree=product)))
    return found


def _five(effort: ProfileEffort) -> list[Design]:
    """Five streams: one key for all, and a key for every pair."""
    rate = effort.rate / 4
    a, b, c, d, e = (Leaf(number) for number in range(5))
    deep: Tree = Join(Join(Join(Join(a, b), c), d), e)
    bushy: Tree = Join(Join(Join(a, b), Join(c, d)), e)
    chain = chain_query("five", (rate,) * 5, (60,) * 5, (30, 60, 50, 90))
    star = replace(
        chain_query("", (rate,) * 5, (30, 40, 50, 60, 40), (10, 10, 10, 10)),
        keys=(Key(inputs=tuple(range(5)), distinct=45),),
    )
    return [
        Design(name=f"five, {words}, {shape}", query=replace(query, name=words),
               plan=JoinPlan(tree=tree))
        for words, query in (("a key for each pair", chain), ("one key", star))
        for shape, tree in (("deep", deep), ("bushy", bushy))
    ]  # fmt: skip


def _asking(effort: ProfileEffort) -> list[Design]:
    """Joins that ask more than one key: cycles, and comparisons beside keys."""
    rate = effort.rate / 4
    a, b, c, d = (Leaf(number) for number in range(4))
    deep: Tree = Join(Join(Join(a, b), c), d)
    bushy: Tree = Join(Join(a, b), Join(c, d))
    found = []
    for rows, distinct in ((25, (20, 10, 20, 10)), (60, (12, 20, 12, 6)), (200, (40, 25, 40, 25))):
        chain = chain_query("", (rate,) * 4, (rows,) * 4, distinct[:3])
        ring = replace(chain, keys=(*chain.keys, Key(inputs=(0, 3), distinct=distinct[3])))
        for tree, word in ((deep, "deep"), (bushy, "bushy")):
            name = f"ring of four, {rows} rows, {word}"
            query = replace(ring, name=name)
            found.append(Design(name=name, query=query, plan=JoinPlan(tree=tree)))
    for share, op in ((0.5, "<"), (0.1, "near")):
        relating = Relating(left=0, right=1, share=share, op=op)  # type: ignore[arg-type]
        name = f"pair, {share:.0%} pass {op}"
        query = chain_query(name, (2 * rate,) * 2, (200,) * 2, (20,))
        query = replace(query, relatings=(relating,))
        found.append(Design(name=name, query=query, plan=JoinPlan(tree=Join(a, b))))
        name = f"three, {share:.0%} pass {op} at the top"
        query = chain_query(name, (rate,) * 3, (60,) * 3, (12, 10))
        query = replace(query, relatings=(replace(relating, right=2),))
        found.append(Design(name=name, query=query, plan=JoinPlan(tree=Join(Join(a, b), c))))
    return found


def _selections(effort: ProfileEffort) -> list[Design]:
    """Two streams whose rows are selected before they meet."""
    found = []
    for part, accepted in (("terms", 0.02), ("terms", 0.3), ("residual", 0.02), ("residual", 0.3)):
        name = f"pair, {accepted:.0%} pass {part}"
        query = PlannerQuery(
            name=name,
            sources=tuple(
                StreamSource(
                    name=LETTERS[k],
                    rate=effort.rate,
                    window=WindowLength("rows", 100),
                    accepted=accepted,
                    part=part,  # type: ignore[arg-type]
                )
                for k in range(2)
            ),
            keys=(Key(inputs=(0, 1), distinct=50),),
        )
        plan = JoinPlan(tree=Join(Leaf(0), Leaf(1)))
        found.append(Design(name=name, query=query, plan=plan))
    return found


def _boxed(effort: ProfileEffort) -> list[Design]:
    """Two and three streams whose drop boxes are shut, so that rows come and nothing else is done.

    A box that lets next to nothing pass is followed by windows without rows.
    """
    tree: Tree = Join(Leaf(0), Leaf(1))
    found = []
    for keys in ((50,), (50, 20)):
        count = len(keys) + 1
        name = f"{'pair' if count == 2 else 'three'}, boxes shut"
        query = chain_query(name, (effort.rate,) * count, (100,) * count, keys)
        whole = tree if count == 2 else Join(tree, Leaf(2))
        plan = JoinPlan(tree=whole, passes=(SHUT,) * count)
        found.append(Design(name=name, query=query, plan=plan))
    return found


def _drawn(effort: ProfileEffort) -> list[Design]:
    """Queries drawn as those that predictions are judged on, from other seeds; two plans each."""
    library, found = Measured(BUILT_IN), []
    for seed in range(FIRST_DRAWN, FIRST_DRAWN + effort.drawn):
        query = random_query(seed)
        plans = best_plans(query.model(BUILT_IN), library, count=PLANS_DRAWN)
        for each in (plans[0], plans[-1]):
            name = f"drawn {seed - FIRST_DRAWN}, {query.name}"
            found.append(Design(name=name, query=query, plan=each.plan))
    return found


def terms_of(design: Design) -> Floats:
    """Give how often a second does what each fitted constant is the price of."""
    nothing = {name: 0.0 for name in NAMES}
    found = []
    for name in FITTED:
        alone = PlanConstants(**{**nothing, name: 1.0}, source=name)
        model, plan = design.query.model(alone), design.plan
        # Behind boxes that are shut windows are empty, also those that count survivors.
        behind = thinned(model, plan.passes, "subset") if plan.passes else model
        priced = cost(behind, plan, Measured(alone))
        found.append(priced.cpu / NANOSECOND)
    return np.array(found)


def profile(effort: ProfileEffort) -> tuple[list[Design], Floats, Floats]:
    """Measure every design: its terms, and nanoseconds of the processor per second.

    A batch's time is its best of all rounds: others can only slow it down.
    """
    found = designs(effort)
    say(f"planner: profiling {len(found)} joins on the operator")
    streams = [
        DrawnStreams(each.query, 2 * effort.seconds, seed=i).batches()
        for i, each in enumerate(found)
    ]
    best = np.full((len(found), effort.seconds), np.inf)
    for _ in range(effort.rounds):
        for i, design in enumerate(found):
            run = run_plan(design.query, streams[i], design.plan, warm_up=effort.seconds)
            best[i] = np.minimum(best[i], run.services)
    terms = np.stack([terms_of(each) for each in found])
    return found, terms, best.mean(axis=1) / NANOSECOND


def run(size: Size) -> Findings:
    """Profile, fit, judge; store the constants unless the size is tiny."""
    effort = EFFORTS[size]
    found, terms, measured = profile(effort)
    fitted = fit(terms, measured)
    constants = constants_of(fitted, f"penstock lab calibrate --size {size}")
    yield _constants_table(fitted)
    yield _designs_table(found, terms @ fitted.coefficients, measured)
    yield from _checks(fitted, terms, measured, size)
    if size != "tiny":
        yield {"planner's constants stored in": str(save_constants(constants))}


def constants_of(fitted: CostFit, source: str) -> PlanConstants:
    """Give the constants fitted; those that no executor has stay as built in."""
    values = {name: 0.0 for name in NAMES}
    values |= {"ordered_step": BUILT_IN.ordered_step, "ordered_match": BUILT_IN.ordered_match}
    values |= dict(zip(FITTED, (float(each) for each in fitted.coefficients), strict=True))
    values |= {name: max(values[name], least) for name, least in LEAST.items()}
    return PlanConstants(**values, source=source)


def _constants_table(fitted: CostFit) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for number, name in enumerate(FITTED):
        value, margin = float(fitted.coefficients[number]), float(fitted.margins[number])
        rows.append((name, value, max(value - margin, 0.0), value + margin))
    rows.append(("R2", fitted.explained, None, None))
    return Table("the planner's constants (ns)", ("constant", "fit", "low_95", "high_95"), rows)


def _designs_table(found: list[Design], predicted: Floats, measured: Floats) -> Table:
    return Table(
        "profiled joins: processor, measured and fitted (%)",
        ("join", "measured", "fitted", "ratio"),
        [
            (each.name, 1e-7 * float(y), 1e-7 * float(guess), float(guess / y))
            for each, guess, y in zip(found, predicted, measured, strict=True)
        ],
    )


def _checks(fitted: CostFit, terms: Floats, measured: Floats, size: Size) -> Findings:
    named = dict(zip(FITTED, fitted.coefficients, strict=True))
    per_row = float(named["arrive"] + named["hash_probe"] + named["hash_insert"])
    yield Check(
        name="planner: what a row costs to arrive, probe and insert (ns)",
        value=per_row,
        bound="> 0",
        passed=per_row > 0,
        timed=True,
    )
    if size != "tiny":
        errors = np.abs(terms @ fitted.coefficients / measured - 1)
        yield at_least("planner: R2 of the fit", fitted.explained, 0.95, timed=True)
        error = float(np.median(errors))
        yield at_most("planner: median error of the fit", error, 0.15, timed=True)
