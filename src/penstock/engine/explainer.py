"""The explainer: how queries and single rows are or would be processed, by a home as it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.delivery.log import ResultLog
from penstock.engine.adaptation import Watcher
from penstock.engine.budgets import Budgets, budget_of
from penstock.engine.explanation import explain_query, explain_subscription
from penstock.engine.home import Home
from penstock.engine.live import LiveRun
from penstock.engine.registration import Options, record_of
from penstock.engine.silent_streams import rows_waiting, waiting_words
from penstock.engine.suspended import SuspendedQueries
from penstock.engine.tuple_explanation import (
    Answer,
    ask_router,
    ask_shard,
    kept_shard,
    relation_of,
    row_of,
)
from penstock.kinds.budgets import Forecast
from penstock.kinds.curves import with_curve
from penstock.kinds.what_if import WhatIf, assumptions
from penstock.operators.protocol import Operator
from penstock.operators.shard import Shard
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.registry.records import SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.figure_tables import FigureTable


class Explainer:
    """Asks the planner, the operators that live or were kept, and what runs."""

    def __init__(
        self,
        home: Home,
        registry: Registry,
        watcher: Watcher,
        log: ResultLog,
        run: Callable[[], LiveRun],
    ) -> None:
        self._home, self._registry, self._watcher = home, registry, watcher
        self._log, self._run = log, run
        self._suspended = SuspendedQueries(registry, watcher)

    def explain(
        self,
        query: str,
        each: Any = None,
        options: Options | None = None,
        what_if: WhatIf = (),
        key: str | None = None,
    ) -> Explanation:
        """Say how a query, or a subscription by its name, is or would be processed."""
        assumed = assumptions(what_if)
        is_text = isinstance(query, str)
        if is_text and len(query.split()) == 1:  # no query has one word
            record_of(self._registry, query)
        if is_text and query in self._registry.subscriptions:
            found = explain_subscription(self._registry, self._watcher, query, assumed)
        else:
            found = explain_query(
                self._registry, self._watcher, query, each, key, options or {}, assumed
            )
        found = replace(found, notes=(*found.notes, *self._suspended.notes(query, found.group)))
        if waiting := rows_waiting(self._registry, found.group, self._met):
            note = waiting_words(self._registry, found.group, waiting)
            found = replace(found, notes=(*found.notes, note))
        if (curve := self._curve_of(found.group)) is not None:
            found = replace(found, facts=with_curve({**found.facts, "curve": curve}))
        if found.plan is None:
            return replace(found, run=self._run().facts(found.group))
        seen = self._watcher.plan_run(found.group)
        run = {} if seen is None else seen.to_json()
        return replace(found, plan=replace(found.plan, run=seen), run=run)

    def explain_tuple(
        self, record: SubscriptionRecord, relation: str, values: Mapping[str, Any]
    ) -> TupleExplanation:
        """Say how a row of a relation would be processed by a subscription, if it came now."""
        source = relation_of(self._registry, record, relation)
        row = row_of(source, values)
        told = self._ask_group(
            record.group,
            lambda operator: ask_router(operator, record.name, source.name, row),
        )
        return TupleExplanation(
            subscription=record.name,
            group=record.group,
            relation=source.name,
            row=row.to_pylist()[0],
            estimates=told.estimates,
            costs=told.costs,
            choice=told.choice,
            unit=told.unit,
        )

    def _ask_group(self, group: str, question: Callable[[Operator], Answer]) -> Answer:
        """Ask the operator of a group."""
        return self._ask(lambda shard: ask_shard(shard, group, question))

    def _ask(self, question: Callable[[Shard], Answer]) -> Answer:
        """Ask the live shard while a pipeline runs here, else what the last batch left of it."""
        answer = self._run().ask(question)
        if answer is not None:
            return answer
        return question(kept_shard(self._home, self._registry, self._log.newest()))

    def _curve_of(self, group: str) -> dict[str, Any] | None:
        """Let an operator forecast what memory brings, by the models that it has fitted."""
        described = self._registry.steps.get(group)
        budget = None if described is None else budget_of(described)
        if budget is None:
            return None
        if self._log.newest() < 0 or self._home.facts.get("host") != "embedded":
            return None

        def ask(shard: Shard) -> Forecast | None:
            operator = shard.operator(group)
            return None if operator is None else budget.forecast(operator)

        forecast = self._ask(ask)
        if forecast is None:
            return None
        # Batches need not wait for it.
        return budget.curve(forecast, self._met()[group])

    def _met(self) -> FigureTable:
        """Give what groups met in this run, or before its first batch in the last ones."""
        met = self._run().met()
        return Budgets(self._registry).kept(self._log) if met is None else met
