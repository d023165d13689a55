"""Budgets of rows: what kinds say whose groups may hold so many, and what those hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.algebra.memories import FAMILIES, Family, Memory
from penstock.kinds.run_figures import GroupFigures, in_force
from penstock.operators.bounded.forecast_corrections import corrected
from penstock.operators.protocol import NO_FACTS, LiveFacts
from penstock.vocabulary.codec import OMITTED, Node
from penstock.vocabulary.counts import counted
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import HITS, LAW, RESULTS, ROWS_BUDGET, ROWS_UNDER

Forecast = Callable[[], dict[str, Any]]
"""Foretells what memory brings, as `Curve.to_json` gives it; it takes its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFigures(GroupFigures):
    """What a group with a budget of rows holds, finds and misses.

    Attributes
    ----------
    held
        Rows by input.
    share_used
        Of the budget; None before the first batch.
    hit_rate
        Of those that asked, how many found something; None before anybody asked.
    in_force
        The policy, where the group has chosen one.
    recall, results_lost
        The estimated share of the full answer, and what it lacks.
    waiting
        Rows that wait: for a silent stream, or for a database.
    breaker
        Of lookups: `open` while the database is left alone.
    late_rows, hurried_rows
        Of joins: rows that came too late, and that did not wait.
    """

    held: Mapping[str, int]
    share_used: float | None
    hit_rate: float | None
    results: int
    in_force: str | None
    recall: float | None
    results_lost: int
    waiting: int
    breaker: str | None = field(default=None, metadata=OMITTED)
    late_rows: int | None = field(default=None, metadata=OMITTED)
    hurried_rows: int | None = field(default=None, metadata=OMITTED)


def common_figures(told: Tally, held: Mapping[str, int], asked: int) -> dict[str, Any]:
    """Give the fields that every budget fills alike; shares of nothing are None."""
    budget = told[ROWS_BUDGET]
    return {
        "held": held,
        "share_used": sum(held.values()) / budget if budget else None,
        "hit_rate": told[HITS] / asked if asked else None,
        "results": told[RESULTS],
        "in_force": in_force(told.by(ROWS_UNDER)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse(BudgetFigures):
    """How a subscription's budget of rows is used; streams are called as its text calls them.

    Attributes
    ----------
    group, policy, budget
        Whose it is, what USING says, and how many rows it has.
    based_on
        What the recall rests on, in words.
    laws
        The law in force, by stream.
    fits
        Laws with their parameters, where the operator lives in this process.
    facts
        What else a live operator says, as EXPLAIN shows it.
    """

    group: str
    policy: str
    budget: int
    based_on: str
    laws: Mapping[str, str]
    fits: Mapping[str, Node] = field(default_factory=dict, metadata=OMITTED)
    facts: LiveFacts = NO_FACTS

    def explained(self) -> dict[str, Any]:
        """Give what EXPLAIN says of the budget in this run; nothing before the first batch."""
        if self.share_used is None:
            return {}
        left_out = {"group", "policy", "facts"}
        found = {name: value for name, value in self.to_json().items() if name not in left_out}
        return found | self.facts.shown()

    def words(self) -> str:
        """Say it in a line.

        >>> use = BudgetUse(
        ...     group="g", policy="HEEB", budget=8, held={"r": 3, "s": 5}, share_used=1.0,
        ...     hit_rate=0.4, results=30, in_force=None, recall=0.75, results_lost=10, waiting=0,
        ...     based_on="", laws={"r": "linear trend", "s": "auto"})
        >>> use.words()
        '8 of 8 rows (r 3, s 5), hits 40 %, recall about 75.0 % (10 results lost), r linear trend'
        """
        sides = ", ".join(f"{name} {rows:,}" for name, rows in self.held.items())
        parts = [f"{sum(self.held.values()):,} of {self.budget:,} rows"]
        if len(self.held) > 1:
            parts[0] += f" ({sides})"
        if self.hit_rate is not None:
            parts.append(f"hits {100 * self.hit_rate:.0f} %")
        if self.breaker is None and self.recall is not None:
            lost = f" ({counted(self.results_lost, 'result')} lost)" if self.results_lost else ""
            parts.append(f"recall about {100 * self.recall:.1f} %{lost}")
        parts += [f"{name} {family}" for name, family in self.laws.items() if family != "auto"]
        if self.breaker is not None and self.waiting:
            parts.append(f"{counted(self.waiting, 'row waits', 'rows wait')} for the database")
        for rows, word in ((self.late_rows, "came too late"), (self.hurried_rows, "hurried")):
            if rows:
                parts.append(f"{counted(rows, 'row')} {word}")
        return ", ".join(parts)


class Budget(ABC):
    """What a kind whose groups may hold so many rows says of that."""

    word = "MEMORY"
    """The clause that says how many."""

    @abstractmethod
    def memory(self, described: Mapping[str, Any]) -> Memory:
        """Give the budget of a step, as the registry describes it."""

    @abstractmethod
    def by_law(self, logical: Any) -> tuple[str, ...]:
        """Name the streams whose keys laws are about, as the text calls them."""

    def joined(self, logical: Any) -> str | None:  # noqa: ARG002
        """Name the inputs that a query joins, where a group tells its joins apart."""
        return None

    @abstractmethod
    def figures(self, told: Tally, joined: str | None = None) -> BudgetFigures:
        """Say what a group holds, and what it or one of its joins finds and misses."""

    @abstractmethod
    def measured_share(self, told: Tally) -> tuple[float | None, int]:
        """Give what the budget brought, and of how many results or lookups that is."""

    @abstractmethod
    def based_on(self, memory: Memory, live: LiveFacts) -> str:
        """Say what the share rests on that a budget is said to bring."""

    def forecast(self, operator: Any) -> Forecast | None:
        """Give what foretells what memory brings, by what a live operator has fitted by now."""
        found: Forecast | None = operator.forecasting()
        return found

    def curve(self, forecast: Forecast, told: Tally) -> dict[str, Any]:
        """Foretell what memory brings, corrected by what was measured."""
        return corrected(forecast(), *self.measured_share(told))

    def use(
        self, group: str, memory: Memory, told: Tally, live: LiveFacts, names: Sequence[str],
        joined: str | None = None,
    ) -> BudgetUse:  # fmt: skip
        """Say how a group's budget is used, and call its streams by their names.

        What is found and missed is that of one join, if `joined` names one.
        """
        own = self.figures(told, joined)
        laws = [
            family_words(law.family, FAMILIES[told[LAW, number]])
            for number, law in enumerate(memory.laws)
        ]
        fits = live.laws
        if len(names) == len(laws):
            held = {name: own.held.get(str(number), 0) for number, name in enumerate(names)}
        else:
            held, fits = {"rows": sum(own.held.values())}, ()
        figures = {name: getattr(own, name) for name in BudgetFigures.__dataclass_fields__}
        return BudgetUse(
            **{**figures, "held": held},
            group=group,
            policy=memory.policy,
            budget=memory.rows,
            based_on=self.based_on(memory, live),
            laws=dict(zip(names, laws, strict=False)),
            fits=dict(zip(names, fits, strict=bool(fits))),
            facts=live,
        )


def family_words(declared: Family, in_force: Family) -> str:
    """Name the law in force; one that was declared and is not found yet says so.

    >>> family_words("auto", "ar1"), family_words("ar1", "auto")
    ('ar1', 'ar1, not fitted')
    """
    return f"{declared}, not fitted" if in_force == "auto" != declared else in_force
