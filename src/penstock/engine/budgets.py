"""Budgets: joins and lookups that may hold so many rows, what they hold, and what they miss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.memories import Memory
from penstock.delivery.log import ResultLog
from penstock.engine.subscription_blocks import bind_blocks, by_text
from penstock.kinds.budgets import Budget, BudgetUse
from penstock.kinds.table import kind_of
from penstock.operators.catalogue import figures_of
from penstock.operators.protocol import NO_FACTS, LiveFacts
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, merged, together

BATCHES_TOLD = 1_000
"""Before the first batch of a run, so many batches of runs before tell what budgets bring."""

Facts = Callable[[str], LiveFacts]
"""`(group)`: what the group's live operator knows; nothing where it cannot be asked."""


def budget_of(described: Mapping[str, Any]) -> Budget | None:
    """Give what the kind of a step, as the registry describes it, says of budgets."""
    return None if described["kind"] in ATTENDANTS else kind_of(described).budget


def refuse_small_budgets(steps: Iterable[Mapping[str, Any]], shards: int) -> None:
    """Refuse budgets that would leave a shard without a row."""
    for described in steps:
        if (budget := budget_of(described)) is None:
            continue
        count = budget.memory(described).rows
        if count < shards:
            rows = "1 ROW" if count == 1 else f"{count} ROWS"
            raise PenstockError(
                "ENG-040",
                f"{budget.word} {rows} cannot be split among {shards} shards: each holds one at "
                "least.",
                f"Give {shards} rows or more, or run with fewer shards.",
            )


def no_facts(_group: str) -> LiveFacts:
    """Ask nobody."""
    return NO_FACTS


class Budgets:
    """What the budgets of a home's subscriptions hold."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: tuple[int, FigureTable] = -1, FigureTable()
        self._names: dict[tuple[str, str], tuple[tuple[str, ...], str | None]] = {}

    @property
    def groups(self) -> dict[str, tuple[Budget, Memory]]:
        """The groups that have a budget: what their kind says of budgets, and this one."""
        found = {}
        for record in list(self._registry.subscriptions.values()):
            described = self._registry.steps.get(record.group)
            if described is not None and (budget := budget_of(described)) is not None:
                found[record.group] = budget, budget.memory(described)
        return found

    def kept(self, log: ResultLog) -> FigureTable:
        """Give what groups met in the last batches of runs before, and what stood after them."""
        newest = log.newest()
        if newest != self._kept[0]:
            first = max(newest - BATCHES_TOLD + 1, 0)
            batches = range(first, newest + 1)
            told = [each for batch in batches for each in log.figures(batch, figures_of)]
            # A shard without rows in a batch says nothing, and still holds what it held.
            by_shard = {shard: figures.of_kind("gauge") for shard, figures in told}
            met = together(figures.of_kind("counter") for _, figures in told)
            self._kept = newest, met.then(merged(by_shard.values()))
        return self._kept[1]

    def figures(self, table: FigureTable, facts: Facts) -> dict[str, BudgetUse]:
        """Say of every subscription with a budget what it holds, finds and misses."""
        groups = self.groups
        live = {group: facts(group) for group in groups}
        found = {}
        for name, record in list(self._registry.subscriptions.items()):
            group = record.group
            if group in groups:
                budget, memory = groups[group]
                names, joined = self._inputs(name, budget)
                found[name] = budget.use(group, memory, table[group], live[group], names, joined)
        return found

    def _inputs(self, name: str, budget: Budget) -> tuple[tuple[str, ...], str | None]:
        """Give the names of the streams that laws are about, and which a query joins."""
        key = (name, self._registry.subscriptions[name].sql)
        if key not in self._names:
            blocks = self._registry.blocks[name]
            if not blocks:
                return (), None
            logical = bind_blocks(self._registry.catalog, by_text(blocks)[-1])
            self._names[key] = budget.by_law(logical), budget.joined(logical)
        return self._names[key]
