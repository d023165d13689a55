"""Explanations: what EXPLAIN says, as facts and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from penstock.planning.plan_explanation import PlanExplanation
from penstock.vocabulary.counts import counted

LABEL_WIDTH = 10
CHART = "chart"
"""A fact of this name is a drawing in letters: a line each."""
DRAWN = frozenset({"curve"})
"""Facts that a chart shows."""
SHARES = ("share", "coverage", "recall", "hit_rate", "hit rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a standing query is, or would be, processed.

    `branches` holds, for each branch of the group, what the operator's kind says of it; `facts` is
    what it says of the whole group. `run` is what the group did in the engine's present run.
    """

    sql: str
    group: str
    relation: str
    operator: str
    queries: int
    is_new: bool
    branches: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = field(default=())
    facts: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    plan: PlanExplanation | None = None
    """Of a multi-way join: its tree, its verdict, what it costs."""

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "sql": self.sql,
            "group": self.group,
            "relation": self.relation,
            "operator": self.operator,
            "queries": self.queries,
            "is_new": self.is_new,
            "branches": list(self.branches),
            "notes": list(self.notes),
            "facts": self.facts,
            "run": self.run,
            "plan": None if self.plan is None else self.plan.to_json(),
        }

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """Show the text in a notebook."""
        return f"<pre>{escape(self.text())}</pre>"

    def text(self) -> str:
        """Give the facts for people."""
        notes = [("note", note) for note in self.notes]
        if self.plan is not None:
            return "\n".join([self.plan.text(), *_aligned(notes)])
        standing = counted(self.queries, "standing query", "standing queries")
        others = "a new group" if self.is_new else f"grouped with {standing}"
        lines = [("group", f"{self.group} ({self.operator} on {self.relation}; {others})")]
        for number, branch in enumerate(self.branches):
            if len(self.branches) > 1:
                lines.append((f"branch {number + 1} of {len(self.branches)}", ""))
            lines += _branch_lines(branch)
        lines += _fact_lines(self.facts)
        if self.run:
            lines += [("in this run", ""), *_fact_lines(self.run)]
        lines += notes
        return "\n".join([" ".join(self.sql.split()), *_aligned(lines)])


def _aligned(lines: list[tuple[str, str]]) -> list[str]:
    """Write labels and values in two columns."""
    width = max([LABEL_WIDTH, *(len(label) for label, value in lines if value)])
    return [f"  {label:<{width}} {value}".rstrip() for label, value in lines]


def _fact_lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give a line for every fact that says something; a list gets a line for each of its items."""
    lines = []
    for name, value in facts.items():
        if name in DRAWN or value is None or value in ([], (), {}, ""):
            continue
        if name == CHART:
            lines += [(name if not number else "", line) for number, line in enumerate(value)]
            continue
        items = value if isinstance(value, list | tuple) else [value]
        if all(isinstance(item, str) for item in items):
            items = [", ".join(items)]
        lines += [(name.replace("_", " "), _words(item, name)) for item in items]
    return lines


def _words(value: Any, name: str = "") -> str:
    """Say a value: nested facts in one line, shares in percent."""
    if isinstance(value, Mapping):
        pairs = ((key, item) for key, item in value.items() if item is not None)
        is_share = _is_share(name)
        words = (f"{key} {_words(item, name if is_share else key)}" for key, item in pairs)
        return ", ".join(words).replace("_", " ")
    if isinstance(value, list | tuple):
        return ", ".join(_words(item) for item in value)
    if isinstance(value, float) and _is_share(name):
        return f"{100 * value:.1f} %"
    return _figure(value)


def _branch_lines(branch: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if branch.get("partitioned_by"):
        lines.append(("partition", f"by {', '.join(branch['partitioned_by'])}"))
    if branch.get("indexed_on"):
        lines.append(("index", f"stabbing index on {branch['indexed_on']}"))
    if branch.get("verified"):
        lines.append(("verify", f"{', '.join(branch['verified'])} in the same pass"))
    if branch.get("residual"):
        lines.append(("residual", f"{branch['residual']} (on candidates only)"))
    expected = branch.get("expected_candidates_per_event")
    if expected is not None:
        lines.append(("expect", f"{expected:,.2f} candidates per event"))
    if branch.get("slow_path"):
        lines.append(("SLOW PATH", str(branch["slow_path"])))
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleExplanation:
    """How one row would be processed: what each strategy would cost, and which one is chosen.

    `estimates` are what the costs are computed from. A row that joins with nothing has no choice.
    """

    subscription: str
    group: str
    relation: str
    row: dict[str, Any]
    estimates: dict[str, float]
    costs: dict[str, float]
    choice: str | None
    unit: str = "ns"

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "subscription": self.subscription,
            "group": self.group,
            "relation": self.relation,
            "row": {
                name: value if isinstance(value, int | float | str | None) else str(value)
                for name, value in self.row.items()
            },
            "estimates": self.estimates,
            "costs": self.costs,
            "choice": self.choice,
            "unit": self.unit,
        }

    def text(self) -> str:
        """Give the facts for people: a row per strategy, the cheapest first."""
        named = ((name, value) for name, value in self.row.items() if value is not None)
        values = ", ".join(f"{name} = {value!r}" for name, value in named)
        lines = [("group", self.group)]
        for name, value in self.estimates.items():
            lines.append(("estimate", f"{name.replace('_', ' ')} {_figure(value)}"))
        width = max((len(name) for name in self.costs), default=0)
        for name, cost in sorted(self.costs.items(), key=lambda item: item[1]):
            mark = "  chosen" if name == self.choice else ""
            lines.append(("strategy", f"{name:<{width}} {_figure(cost):>14} {self.unit}{mark}"))
        if self.choice is None:
            lines.append(("chosen", "none: the row joins with nothing"))
        elif self.choice not in self.costs:
            lines.append(("chosen", self.choice))
        first = f"{self.relation} ({values}) for {self.subscription}"
        return "\n".join([first, *_aligned(lines)])


def _is_share(name: str) -> bool:
    return any(word in name for word in SHARES)


def _figure(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return str(value)
