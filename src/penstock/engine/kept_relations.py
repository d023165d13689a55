"""Kept relations: what standing queries keep for others to read, from declaration to reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.delivery.log import ResultLog
from penstock.engine.declarations import refuse_used
from penstock.engine.live import LiveRun
from penstock.engine.registration import Request
from penstock.kinds.kept_views import KeptView
from penstock.kinds.protocol import KeptQuery, Kind, LeftQuery
from penstock.kinds.table import KINDS, kind_of
from penstock.language.view_reads import view_read
from penstock.operators.catalogue import OPERATORS
from penstock.operators.shard import Shard
from penstock.registry.records import Declaration, Draft, Source, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable


def declare_kept(registry: Registry, request: Request, draft: Draft) -> None:
    """Declare the relation that a query keeps for others to read, if it keeps one."""
    relation = kind_of(request.step).relation(request.logical)
    if relation is None:
        return
    known = registry.catalog.get(relation.name.lower())
    if known is not None:
        fact = f"There is a {known.kind} {known.name!r} already."
        raise PenstockError("CAT-016", fact, "Choose another name.")
    draft.declarations.append(Declaration(relation=relation, source=Source()))


def refuse_alteration(registry: Registry, record: SubscriptionRecord) -> None:
    """Refuse another text for a query whose rows others may read, and know."""
    known = registry.catalog.get(record.name.lower())
    if known is not None and known.keeps and not known.flows:
        raise PenstockError(
            "VIEW-067",
            f"{record.name!r} is a view: whoever reads it knows its rows, and what they are of.",
            "Drop it, and what reads it first; then create it anew.",
        )


class KeptRelations:
    """The relations that the standing queries of a home keep, for those who read them."""

    def __init__(self, registry: Registry, home: Path, run: Callable[[], LiveRun]) -> None:
        self._registry, self._home, self._run = registry, home, run

    def undeclare(self, record: SubscriptionRecord, draft: Draft) -> None:
        """Take back the relation that a query keeps, if it keeps one; refuse while it is read."""
        known = self._registry.catalog.get(record.name.lower())
        if known is not None and known.keeps and not known.flows:
            refuse_used(self._registry, known)
            self.of(record).forget(is_running=self._run().running)
            draft.undeclared.append(known.name)

    def tidy(self, log: ResultLog) -> None:
        """Take away what is left of queries that stand no more, once no batch can ask for it."""
        if self._is_settled(log):
            for kind in KINDS.values():
                kind.tidy(self._home, self._standing(kind))

    def reclaim(self, log: ResultLog) -> None:
        """Take away what such queries have outside the home: also while batches run."""
        if self._is_settled(log):
            for kind in KINDS.values():
                kind.reclaim(self._home, self._standing(kind))

    def admit(self, step: Any, log: ResultLog) -> None:
        """Make room for a query outside the home; refuse it if there is none yet."""
        kind = kind_of(step)
        is_free = self._is_settled(log) or not self._run().running
        kind.make_way(self._home, step, self._standing(kind) if is_free else None)

    def _is_settled(self, log: ResultLog) -> bool:
        """Say whether no batch will come of a version before the newest."""
        newest = log.committed(log.newest()) if log.newest() >= 0 else None
        return newest is not None and newest.version >= self._registry.version

    def _standing(self, kind: Kind) -> Iterator[tuple[Any, int]]:
        """Give the steps of a kind, each with its newest query; looked up when first asked for."""
        registry = self._registry
        with registry.reserve():
            found = [
                (OPERATORS[own["kind"]].step_from_json(own), int(query))
                for group, own in registry.steps.items()
                if own["kind"] in kind.operators
                for query in registry.queries_of_group(group)[-1:]
            ]
        yield from found

    def examine(
        self, log: ResultLog, states: Mapping[str, bytes]
    ) -> Iterator[tuple[str, tuple[Path, str]]]:
        """Say what is wrong with files that queries keep, each with its subscription's name.

        `states` are the newest of the groups, where these are known.
        """
        registry, noted = self._registry, log.noted(log.newest()) or {}
        for record in registry.subscriptions.values():
            described = registry.steps.get(record.group)
            if described is None:
                continue  # No query of it stands, and so nothing is kept.
            began = min(block.version for block in registry.blocks[record.name])
            rests = record.group in noted.get("suspended", ())
            left = LeftQuery(
                name=record.name,
                step=OPERATORS[described["kind"]].step_from_json(described),
                query=int(registry.queries_of_group(record.group)[-1]),
                state=states.get(record.group),
                has_run=not rests and noted.get("version", -1) >= began,
            )
            found = kind_of(described).examine(self._home, left)
            if found is not None:
                yield record.name, found

    def read(self, sql: str, fresh: bool = False) -> pa.Table:
        """Run a SELECT over the one view that it names."""
        catalog = self._registry.catalog
        views = [each.name for each in catalog.values() if each.keeps and not each.flows]
        record = self._registry.subscriptions[view_read(sql, views)]
        return self.of(record).query(sql, fresh=fresh)

    def of(self, record: SubscriptionRecord) -> KeptView:
        """Give the rows that a standing query keeps, to be read."""
        registry, group = self._registry, record.group
        described = registry.steps[group]
        query = int(registry.queries_of_group(group)[-1])

        def rests() -> str | None:
            standing = registry.suspensions.standing()
            found = standing.get(group) or standing.get(f"{group}.{query}")
            return None if found is None else f"It rests since {found.since}: {found.reason}"

        def ask(question: Callable[[Any], Any]) -> Any:
            def asked(shard: Shard) -> Any:
                operator = shard.operator(group)
                return None if operator is None else question(operator)

            return self._run().ask_kept(asked)

        def beat() -> None:
            registry.publish(Draft())

        def kept(name: str) -> KeptView | None:
            known = registry.catalog.get(name.lower())
            if known is None or not known.keeps or known.flows:
                return None
            return self.of(registry.subscriptions[known.name])

        return kind_of(described).kept(
            KeptQuery(
                name=record.name,
                group=group,
                step=OPERATORS[described["kind"]].step_from_json(described),
                query=query,
                home=self._home,
                rests=rests,
                ask=ask,
                beat=beat,
                met=lambda: (self._run().met() or FigureTable())[group],
                kept=kept,
            )
        )
