"""The words of a plan: its tree drawn with lines, its verdict as a sentence, its account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.planning.figures import figure, percent, size
from penstock.planning.plan_facts import (
    InputFacts,
    JoinFacts,
    Node,
    PlanFacts,
    SelectionFacts,
    inputs_in,
)
from penstock.vocabulary.counts import counted

LABEL_WIDTH = 10


def lines_of(plan: PlanFacts) -> Iterator[str]:
    """Write a plan for people, line by line."""
    if plan.sql:
        yield " ".join(plan.sql.split())
    yield plan.judgement
    yield ""
    yield from tree_lines(plan.tree)
    yield ""
    yield from _aligned(_facts(plan), "  ")
    if plan.run is not None:
        yield "  in this run"
        yield from _aligned(plan.run.lines(), "    ")
    yield from _aligned((("note", note) for note in plan.notes), "  ")


def _aligned(facts: Iterable[tuple[str, str]], indent: str) -> Iterator[str]:
    """Write labels and values in two columns."""
    kept = list(facts)
    width = max([LABEL_WIDTH, *(len(label) for label, _ in kept)])
    for label, value in kept:
        yield f"{indent}{label:<{width}} {value}".rstrip()


def tree_lines(root: Node) -> list[str]:
    """Draw a tree, a line for every join and input, its figures in columns."""
    drawn = list(_branches(root, "", ""))
    width = max(len(head) for head, _ in drawn)
    widths: dict[type, list[int]] = {InputFacts: [], JoinFacts: []}
    cells = [(head, type(node), _cells(node)) for head, node in drawn]
    for _, kind, row in cells:
        known = widths[kind]
        known += [0] * (len(row) - len(known))
        for number, cell in enumerate(row):
            known[number] = max(known[number], len(cell))
    return [
        f"{head:<{width}}  "
        + "  ".join(
            f"{cell:<{wide}}" for cell, wide in zip(row, widths[kind], strict=False)
        ).rstrip()
        for head, kind, row in cells
    ]


def _branches(node: Node, first: str, rest: str) -> Iterator[tuple[str, Node]]:
    yield first + node.label, node
    if isinstance(node, JoinFacts):
        yield from _branches(node.left, rest + "├ ", rest + "│ ")
        yield from _branches(node.right, rest + "└ ", rest + "  ")


def _cells(node: Node) -> list[str]:
    return _join_cells(node) if isinstance(node, JoinFacts) else _input_cells(node)


def _join_cells(join: JoinFacts) -> list[str]:
    kept = f"state {figure(join.rows[0])} + {figure(join.rows[1])} rows"
    if join.memory_bytes:
        kept += f" ({size(join.memory_bytes)})"
    index = " + ".join(join.indexes)
    cells = [
        f"in {figure(join.rates[0])} + {figure(join.rates[1])}/s",
        f"out {figure(join.output_rate)}/s",
        kept,
        f"busy {percent(join.utilisation)}",
        f"{index}, product" if join.is_product else index,
    ]
    return cells + [f"then {_selection(each)}" for each in join.asked]


def _input_cells(leaf: InputFacts) -> list[str]:
    rate = "table" if leaf.is_table else f"{figure(leaf.rate)}/s{_said(leaf.origin('rate'))}"
    kept = leaf.window
    if leaf.is_table:
        kept = f"{figure(leaf.rows)} rows{_said(leaf.origin('rows'))}"
    elif not leaf.window.startswith("ROWS"):
        kept = f"{leaf.window}, {figure(leaf.rows)} rows"
    kept += _said(leaf.origin("window"))
    cells = [rate, kept, "" if leaf.is_table else f"pass {percent(leaf.pass_fraction)}"]
    return cells + [_selection(each) for each in leaf.selections]


def _selection(each: SelectionFacts) -> str:
    asked = each.text or f"{each.part} of {each.input}"
    return f"{asked}: {percent(each.selectivity)}{_said(each.origin)}"


def _said(origin: str) -> str:
    return f" [{origin}]" if origin else ""


def _facts(plan: PlanFacts) -> Iterator[tuple[str, str]]:
    if plan.group:
        count = counted(plan.queries, "standing query", "standing queries")
        others = "a new group" if plan.is_new else f"with {count}"
        yield "group", f"{plan.group} ({others})"
    for assumed in plan.what_if:
        yield "what if", assumed
    yield "resources", _resources(plan)
    yield "demand", _demand(plan)
    for each in plan.predicates:
        asked = each.text or ", ".join(each.inputs)
        met = f"{percent(each.selectivity)} of pairs"
        if each.ways:
            (one, forth), (other, back) = each.ways.items()
            met = f"a row of {one} meets {percent(forth)} of {other}"
            met += f", one of {other} {percent(back)} of {one}"
        yield "matches", f"{asked}: {met}{_said(each.origin)}"
    yield from _shedding(plan)
    for rival in plan.rivals:
        cost = f"busy {percent(rival.utilisation)}, {figure(rival.memory_rows)} rows"
        kept = "" if rival.is_feasible else ", does not keep up"
        if rival.output is not None:
            kept = f", would emit {figure(rival.output)}/s"
        yield "runner-up", f"{rival.name}: {cost}{kept}"
    if plan.shares:
        yield "time for", ", ".join(f"{name} {percent(share)}" for name, share in plan.shares)
    if plan.costs:
        yield "costs", plan.costs


def _resources(plan: PlanFacts) -> str:
    count = "1 processor" if plan.processors == 1 else f"{figure(plan.processors)} processors"
    said = f"{count}, headroom {percent(plan.headroom)}: up to {percent(plan.bound)} may be busy"
    limits = []
    if plan.memory_rows_max is not None:
        limits.append(f"{figure(plan.memory_rows_max)} rows")
    if plan.memory_bytes_max is not None:
        limits.append(size(plan.memory_bytes_max))
    return f"{said}; memory up to {', '.join(limits)}" if limits else said


def _demand(plan: PlanFacts) -> str:
    kept = f"{figure(plan.memory_rows)} rows"
    if plan.memory_bytes:
        kept += f" ({size(plan.memory_bytes)})"
    busy = f"busy {percent(plan.utilisation)}"
    if plan.arrive or plan.emit:
        busy += f" (rows that come {percent(plan.arrive)}, results {percent(plan.emit)})"
    return f"{busy}, {kept}, {figure(plan.output_rate)} results/s"


def _shedding(plan: PlanFacts) -> Iterator[tuple[str, str]]:
    """Account for what is dropped: where, what remains, and what more capacity would bring."""
    shed = plan.shedding
    if shed is None:
        return
    dropped = [
        f"{percent(leaf.dropped)} of {leaf.name}"
        for leaf in inputs_in(plan.tree)
        if leaf.dropped > 0.0
    ]
    when = "" if shed.is_in_force else ", once it is seen to fall behind"
    yield "dropped", f"{', '.join(dropped) or 'nothing'} ({shed.boxes}, {shed.strategy}){when}"
    emitted = f"{figure(shed.output)} results/s, {percent(shed.kept)} as many as without dropping"
    yield "emitted", f"{emitted}, busy {percent(shed.utilisation)}"
    found = f"{percent(shed.found)} of the full answer is among them"
    yield "found", f"{found}, which is {percent(shed.exact_share)} of what is emitted"
    if shed.least_cost_plan != plan.tree.name:
        cheapest = f"{shed.least_cost_plan} costs least, and would emit"
        yield "instead of", f"{cheapest} {figure(shed.least_cost_output)}/s"
    each = plan.constant_s
    if shed.ratios:
        ranked = sorted(shed.ratios, key=lambda pair: -pair[1])
        unit = "results per second of work" if each is None else "results per row of capacity"
        worth = ", ".join(f"{name} {figure(ratio * (each or 1.0))}" for name, ratio in ranked)
        yield "value/cost", f"{worth} ({unit})"
    corners = [(used, output) for used, output in shed.corners if used > 0.0]
    if corners:
        told = (
            f"{percent(used)} → {figure(output)}/s"
            if each is None
            else f"{figure(used / each)} rows/s → {figure(output)}/s"
            for used, output in corners
        )
        yield "capacity", ", ".join(told)
