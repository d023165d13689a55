"""The desk: where standing queries are registered, changed, explained and read, without Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.delivery.change_iterators import ChangeIterator
from penstock.delivery.log import ResultLog
from penstock.delivery.sink_kinds import BatchSink
from penstock.delivery.sinks import Sink, SinkRunner
from penstock.engine.adaptation import Notice, Watcher
from penstock.engine.budgets import refuse_small_budgets
from penstock.engine.explainer import Explainer
from penstock.engine.home import open_home, visit_home
from penstock.engine.home_sinks import HomeSinks, SinkFacts
from penstock.engine.kept_relations import KeptRelations, declare_kept, refuse_alteration
from penstock.engine.live import LiveRun, NoRun
from penstock.engine.losses import Losses
from penstock.engine.readers import HomeReaders
from penstock.engine.registration import (
    Options,
    Receipt,
    Request,
    as_ids,
    draft_adds,
    draft_alteration,
    draft_drops,
    is_single,
    nothing_added,
    prepare,
    raise_if_refused_alone,
    record_of,
    refuse_name,
    refuse_new_lane,
    standing_queries,
)
from penstock.engine.suspended import SuspendedQueries
from penstock.engine.upkeep import Upkeep
from penstock.kinds.kept_views import KeptView
from penstock.kinds.statistics import Statistics
from penstock.kinds.what_if import WhatIf
from penstock.operators.catalogue import OPERATORS
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.vocabulary.batches import NO_QUERIES
from penstock.vocabulary.counts import counted
from penstock.vocabulary.durations import Duration, seconds
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.losses import FAILED_OUTPUTS


class Subscription:
    """A named set of standing queries of one text.

    Attributes
    ----------
    name
        Unique in its engine.
    receipt
        What became of the registration: accepted, refused with reasons, since which version.
    """

    def __init__(self, desk: Desk, name: str, receipt: Receipt | None) -> None:
        self._desk = desk
        self.name = name
        self.receipt = receipt

    def __repr__(self) -> str:
        queries = counted(len(self), "standing query", "standing queries")
        return f"Subscription({self.name!r}, {queries})"

    def __len__(self) -> int:
        return self._desk.registry.standing(self.name)

    @property
    def sql(self) -> str:
        """The text."""
        return self._desk.registry.subscriptions[self.name].sql

    @property
    def group(self) -> str:
        """The group that its standing queries are in."""
        return self._desk.registry.subscriptions[self.name].group

    @property
    def verdict(self) -> str | None:
        """Of a multi-way join: ABUNDANT, TIGHT or INSUFFICIENT; see `receipt.notes`."""
        return self._desk.verdict(self.name)

    def changes(
        self, since: str | None = None, follow: bool = True, timeout: Duration | None = None,
        ids: Iterable[Any] | None = None,
    ) -> ChangeIterator:  # fmt: skip
        """Iterate over changes, from a resume token on; in an event loop by `async for`.

        With `follow` the iterator waits for new changes until the engine stops, or until none came
        for as long as `timeout` says; a failure that ends the run is raised. Else it ends with the
        log. Of a home that is only read it waits for another process's engine, also for its next
        run. With `ids` these queries alone are read, with tokens of their own.
        """
        self._desk.check(self.name)
        limit_s = None if timeout is None else seconds(timeout)
        return self._desk.readers.changes(self.name, since, follow, limit_s, ids)

    def read(self, since: str | None = None, ids: Iterable[Any] | None = None) -> pa.Table:
        """Read all changes so far as a table: _id, _query, _sign, the columns, _batch, _version."""
        self._desk.check(self.name)
        return self._desk.readers.read(self.name, since, ids)

    def before_last(self, count: int, ids: Iterable[Any] | None = None) -> str:
        """Give the token behind which the last `count` changes come, or all if they are fewer."""
        self._desk.check(self.name)
        return self._desk.readers.before_last(self.name, count, ids)

    def to(
        self, sink: Sink | BatchSink | str | PathLike[str], name: str | None = None
    ) -> SinkRunner:
        """Feed a sink with all changes from its cursor on, in this run and the next ones.

        It takes single changes, whole batches (`BatchSink`), or is an address: a directory,
        'https://…', 'postgresql://…'. Its cursor is kept under its `name`. The home keeps an
        address, and every process that runs it feeds the sink; what is no address, a function for
        example, must be given again after a restart.
        """
        return self._desk.sinks.add(self.name, sink, name)

    def sinks(self) -> list[SinkFacts]:
        """List the sinks: those that the home knows by address, and those that were functions."""
        return self._desk.sinks.of(self.name)

    def drop_sink(self, name: str) -> None:
        """Feed a sink no more, in no run, and forget how far it has read."""
        self._desk.sinks.drop(self.name, name)

    def drop(self, ids: Iterable[Any] | None = None) -> int:
        """Drop standing queries by id, or the whole subscription. Returns the version."""
        return self._desk.drop(self.name, ids)

    def add(self, each: Any) -> Receipt:  # whatever frames users have
        """Add standing queries: more rows of parameters for the same text."""
        return self._desk.add(self.name, each)

    def alter(self, sql: str | None = None, each: Any = None) -> Receipt:
        """Replace the text of a single query, or the parameters of the ids that `each` names."""
        return self._desk.alter(self.name, sql, each)

    def resume(self) -> int:
        """Run again after a suspension, with its shape if that rests. Returns the version."""
        return self._desk.resume(self.name)

    def explain(self) -> str:
        """Say how the standing queries are processed."""
        return self._desk.explain(self.name).text()

    def explain_tuple(self, relation: str, values: Mapping[str, Any]) -> TupleExplanation:
        """Say how a row of a relation would be processed if it came now."""
        return self._desk.explain_tuple(self.name, relation, values)


class Desk:
    """A home's registry and result log, open for one process.

    With `read_only` any number of processes may open it, beside the one whose engine runs: what
    stands and what was found is read as it is at that moment, and nothing can be changed.

    `run` is what a running pipeline says of itself, if there is one: `penstock.engine.runner`.
    """

    def __init__(
        self, home: str | Path, record: bool | None = None, read_only: bool = False
    ) -> None:
        self.home = visit_home(Path(home)) if read_only else open_home(Path(home))
        try:
            known = bool(self.home.facts.get("record"))
            if not read_only:
                self.home.settle(record=known if record is None else record)
            root, keeps = self.home.path / "registry", bool(self.home.facts.get("record"))
            self.registry = Registry(root, keep_history=keeps, read_only=read_only)
            if not read_only and (self.home.path / "checkpoint").exists():
                self.registry.keep_announcements()
            statistics = Statistics(self.home.path / "statistics.json")
        except BaseException:
            self.home.close()
            raise
        self.run: LiveRun = NoRun()
        self.kept = KeptRelations(self.registry, self.home.path, lambda: self.run)
        self.watcher = Watcher(self.registry, statistics)
        self.left_out = Losses(self.watcher.tell)
        self.suspended = SuspendedQueries(self.registry, self.watcher)
        if not read_only:
            self.suspended.examine(self.home)
        self.readers = HomeReaders(
            self.home, self.registry, self._output_failed, lambda: self.run.running,
            self.watcher.tell_subscription, lambda: self.run.raise_failure(),  # noqa: PLW0108
        )  # fmt: skip
        self.sinks = HomeSinks(self.home, self.registry, self.readers)
        self.upkeep = Upkeep(self.home, self.registry, self.readers, self.watcher, self.left_out)
        self.upkeep.reclaim = lambda: self.kept.reclaim(self.log)
        self._explainer = Explainer(
            self.home, self.registry, self.watcher, self.log, lambda: self.run
        )

    def __repr__(self) -> str:
        counts = self.registry.counts()
        return (
            f"{type(self).__name__}({str(self.home.path)!r}, "
            f"{counted(counts['queries'], 'standing query', 'standing queries')} of "
            f"{counted(counts['subscriptions'], 'subscription')})"
        )

    @property
    def log(self) -> ResultLog:
        """The result log."""
        return self.readers.log

    @property
    def notices(self) -> deque[Notice]:
        """What users should know: what was left out, new verdicts and plans, rows that hurry."""
        return self.watcher.notices

    def losses(self) -> dict[str, dict[str, int]]:
        """Count what was left out, by subscription or relation, then by cause.

        Causes are late rows, lines that do not parse, and others: `penstock.vocabulary.losses`.
        Subscriptions of one group tell the same. Outputs that failed are counted whenever they
        are read, everything else once in a run.
        """
        return self.left_out.told(self.registry)

    def keep(self, limits: str) -> None:
        """Say what results the home keeps: '7 days', '10 GB', '7 days, 10 GB until read', 'all'."""
        with self.registry.reserve():
            self.upkeep.keep(limits)

    def close(self) -> None:
        """Let another process open this home."""
        self.registry.close()
        self.home.close()

    def subscribe(
        self,
        sql: str,
        name: str | None = None,
        each: Any = None,  # whatever frames users have
        key: str | None = None,
        options: Options | None = None,
    ) -> Subscription:
        """Register a standing query, or one for every row of `each`, as `Engine.subscribe` says."""
        with self.registry.reserve():
            name = self._free_name() if name is None else name
            refuse_name(self.registry, name)
            return self.register(self.request(name, sql, each, key, options), each is None)

    def register(
        self, request: Request, is_single: bool, into: Iterable[tuple[str, str | None]] = ()
    ) -> Subscription:
        """Register what was asked for; a single query that is refused raises.

        Its changes go `into` sinks: addresses, each with a name if it has one.
        """
        with self.registry.reserve():
            refuse_name(self.registry, request.name)
            record = self.sinks.placed(request.record, into)
            draft = Draft(subscriptions=[record])
            declare_kept(self.registry, request, draft)
            receipt = draft_adds(self.registry, request, draft, NO_QUERIES)
            if is_single:
                raise_if_refused_alone(receipt)
            receipt = self.watcher.publish(request, draft, receipt)
            self.sinks.take(record, request.record)
        return Subscription(self, request.name, receipt)

    def _free_name(self) -> str:
        names = (f"subscription_{number}" for number in count(self.registry.version + 1))
        return next(name for name in names if name not in self.registry.subscriptions)

    def add(self, name: str, each: Any) -> Receipt:
        """Add standing queries to a subscription."""
        with self.registry.reserve():
            record = record_of(self.registry, name)
            if isinstance(each, list) and not each:  # it has no columns, and adds nothing
                return nothing_added(self.registry)
            request = self.request(name, record.sql, each, record.key, record.options)
            draft = Draft()
            receipt = draft_adds(self.registry, request, draft, NO_QUERIES)
            if receipt.accepted:
                receipt = self.watcher.publish(request, draft, receipt)
            return receipt

    def alter(self, name: str, sql: str | None, each: Any) -> Receipt:
        """Replace the text of a single query, or the parameters of the ids that `each` names."""
        with self.registry.reserve():
            record = record_of(self.registry, name)
            single = is_single(self.registry, name)
            if (sql is None) == (each is None) or (sql is not None and not single):
                raise PenstockError(
                    "REG-016",
                    f"Alter {name!r} takes a new text (for a single query) or new rows.",
                    "Pass sql= or each=.",
                )
            refuse_alteration(self.registry, record)
            request = self.request(name, sql or record.sql, each, record.key, record.options)
            draft, receipt = draft_alteration(self.registry, request, record)
            return self.watcher.publish(request, draft, receipt)

    def drop(self, name: str, ids: Iterable[Any] | None = None) -> int:
        """Drop standing queries by id, or a whole subscription. Returns the version."""
        with self.registry.reserve():
            record = record_of(self.registry, name)
            draft = Draft()
            if ids is None:
                self.kept.undeclare(record, draft)
                standing = [b.query[b.alive] for b in self.registry.blocks[name]]
                queries = np.concatenate(standing) if standing else NO_QUERIES
                draft.ended.append(name)
            else:
                queries = standing_queries(self.registry, name, as_ids(ids))
            draft_drops(self.registry, draft, queries)
            version = self.registry.publish(draft)
            if ids is None:
                self.sinks.forget(record)
            return version

    def view(self, name: str) -> KeptView:
        """Give a view by its name, to be read."""
        return self.kept.of(record_of(self.registry, name))

    def resume(self, name: str) -> int:
        """Let what is suspended of a subscription begin anew. Returns the version."""
        record_of(self.registry, name)
        return self.registry.version if self.readers.resume(name) else self.suspended.resume(name)

    def check(self, name: str) -> None:
        """Refuse unless a subscription stands."""
        record_of(self.registry, name)

    def subscription(self, name: str) -> Subscription:
        """Give a subscription by its name."""
        record_of(self.registry, name)
        return Subscription(self, name, None)

    def subscriptions(self) -> list[Subscription]:
        """List the subscriptions."""
        self.registry.refresh()
        return [Subscription(self, name, None) for name in self.registry.subscriptions]

    def explain(
        self, query: str, each: Any = None, options: Options | None = None,
        what_if: WhatIf = (), key: str | None = None,
    ) -> Explanation:  # fmt: skip
        """Say how a query, or a subscription, is or would be processed: see `Engine.explain`."""
        self.registry.refresh()
        return self._explainer.explain(query, each, options, what_if, key)

    def statistics(self) -> dict[str, Any]:
        """Give what was measured of relations and of groups of multi-way joins."""
        return self.watcher.statistics.to_json()

    def verdict(self, name: str) -> str | None:
        """Give the verdict on a subscription's multi-way join, as of its plan."""
        group = record_of(self.registry, name).group
        return self.watcher.over_group(group).verdict(group)

    def explain_tuple(
        self, subscription: str, relation: str, values: Mapping[str, Any]
    ) -> TupleExplanation:
        """Say how a row of a relation would be processed if it came now.

        Names the cost of every strategy for this row, and the one that is chosen. Columns that
        `values` does not name are NULL.
        """
        record = record_of(self.registry, subscription)
        return self._explainer.explain_tuple(record, relation, values)

    def _output_failed(self, name: str, batch: int, count: int) -> None:
        self.left_out.add(name, FAILED_OUTPUTS, count, batch)

    def request(
        self, name: str, sql: str, each: Any, key: str | None, options: Options | None
    ) -> Request:  # fmt: skip
        """Bind and plan a text; refuse what this home cannot take any more."""
        request = prepare(self.registry, name, sql, each, key, options)
        self.suspended.admit(request.record.group)
        refuse_new_lane(self.home.facts.get("lanes"), request.step, self.registry.catalog)
        refuse_small_budgets([request.step.to_json()], self.run.known_shards(self.home) or 1)
        if (check := OPERATORS[request.step.kind].check) is not None:
            check(request.step)
            self.kept.admit(request.step, self.log)
        if self.run.running:  # compile here: no batch waits for it
            OPERATORS[request.step.kind].warm_up(request.step)
        return request
