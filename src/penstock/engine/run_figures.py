"""Figures of a run: what an engine counted and measured, each found when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engine.budgets import Budgets, Facts, no_facts
from penstock.engine.desk import Desk
from penstock.engine.figures import engine_figures
from penstock.engine.tuple_explanation import live_facts
from penstock.kinds.budgets import BudgetUse
from penstock.kinds.run_figures import GroupFigures
from penstock.kinds.table import groups_of
from penstock.kinds.watch import Shedding
from penstock.operators.catalogue import OPERATORS
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.exposition import prometheus_text
from penstock.vocabulary.figure_tables import FigureRow, FigureTable, together
from penstock.vocabulary.figures import Figure, Tally

BatchSeconds = Callable[[], dict[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """What an engine did in this run, as of when it was asked; iterating gives all figures.

    `totals` counts batches, events and matches; `reports` are the last batches, each with what it
    counted. With `is_live`, operators of this process are asked too, between two batches.
    """

    desk: Desk
    totals: Mapping[str, int]
    reports: tuple[BatchReport, ...]
    told: FigureTable
    spent_s: float
    batch_seconds_of: BatchSeconds
    host: object
    is_live: bool

    def __iter__(self) -> Iterator[FigureRow]:
        return iter(self.table)

    @property
    def table(self) -> FigureTable:
        """Every figure: typed rows, by group, relation or kind; of the engine as a whole by ""."""
        whole = engine_figures(self.totals, self.spent_s, self.desk.registry.counts())
        return together([self.told, FigureTable({"": whole})])

    def prometheus(self) -> str:
        """Give every figure as the text that Prometheus reads: serve it where it scrapes."""
        return prometheus_text(self)

    def total(self, figure: Figure) -> int:
        """Add a figure up over all groups and labels."""
        return self.table.total(figure)

    def whole(self) -> Tally:
        """Add all groups up."""
        return self.table.whole()

    @property
    def budgets(self) -> Budgets:
        """The groups that have a budget of rows."""
        return Budgets(self.desk.registry)

    @property
    def metrics(self) -> dict[str, int]:
        """Queries, slow paths, values passed over, events, matches; times are in ms."""
        registry = self.desk.registry
        kinds = {described["kind"] for described in list(registry.steps.values())}
        found = {figure.name: 0 for kind in kinds for figure in OPERATORS[kind].figures}
        for figure, _, value in self.told.whole():
            found[figure.name] = found.get(figure.name, 0) + value
        spent = {"operators_ms": round(self.spent_s * 1e3)}
        return {**found, **registry.counts(), **self.totals, **spent}

    @property
    def joins(self) -> dict[str, GroupFigures]:
        """What every group of joins did: plan shares, moves, rebuilds, cost.

        Costs are those that the router expects; compare them with what the host took, in all.
        """
        groups = groups_of(self.desk.registry.steps)
        found = {group: kind.run_figures(self.told[group]) for group, _, kind in groups}
        return {group: own for group, own in found.items() if own is not None}

    @property
    def memory(self) -> dict[str, BudgetUse]:
        """What every join and lookup with a budget of rows holds, finds and misses.

        By subscription: the budget and the rows held per side, the hit rate, the estimated recall
        and the results lost, the model in force per stream, the rows that wait; of joins those that
        hurried, of lookups whether the database answers. `facts` is what live operators of the
        embedded host say of their models and sources.

        Before the first batch of a run these are figures of what the runs before have kept.
        """
        desk, budgets = self.desk, self.budgets
        told = self.told if self.reports else budgets.kept(desk.log)
        facts: Facts = no_facts
        if self.is_live:
            newest = desk.log.newest()
            facts = live_facts(budgets.groups, desk.home, desk.registry, newest, self.host)
        return budgets.figures(told, facts)

    @property
    def shedding(self) -> dict[str, Shedding]:
        """What every multi-way join lets through, and the share of results kept."""
        return self.desk.watcher.shedding()

    @property
    def losses(self) -> dict[str, dict[str, int]]:
        """What was left out, by subscription or relation, then by cause."""
        return self.desk.losses()

    @property
    def statistics(self) -> dict[str, Any]:
        """What was measured of relations and of groups of multi-way joins."""
        return self.desk.statistics()

    @property
    def batch_seconds(self) -> dict[int, float]:
        """How long Spark took for each of the last micro-batches, by batch number."""
        return self.batch_seconds_of()
