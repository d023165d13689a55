"""A shard: the live operators of all groups in one place, and how they move from batch to batch.

Both hosts run shards and nothing else, so that an answer does not depend on the host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.physical import Step, reads_of
from penstock.expressions.allowances import EvaluationError
from penstock.operators.broken_lines import placed, sound_batch, with_broken
from penstock.operators.catalogue import OPERATORS
from penstock.operators.clock import ClockOperator
from penstock.operators.feeding import Feeding
from penstock.operators.protocol import (
    WHOLE,
    AnsweringOperator,
    ClosingOperator,
    FedOperator,
    GroupFailureError,
    Operator,
    OperatorKind,
    RelationOperator,
    Share,
    failures_of,
    standing_after,
)
from penstock.operators.shard_figures import told_figures, unanswered_rows
from penstock.vocabulary.batches import Feed, Ints, QueryChanges, Results
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import UNANSWERED_ROWS

RESTS = ".rests"
"""The state of the shard itself, beside that of its groups: which of them rest, or rested."""
NOBODY: Mapping[str, Collection[int]] = {}

Hosts = Callable[[Step], bool]
"""Which steps live in a shard."""


def everything(_step: Step) -> bool:
    """Host every step: there is no other shard."""
    return True


class Shard:
    """The operators of one shard at one registry version.

    >>> shard = Shard(lambda after, upto: [])
    >>> shard.advance(0)
    >>> shard.process({})
    []
    """

    def __init__(
        self,
        feed: Feed,
        version: int = 0,
        snapshot: Mapping[str, bytes] | None = None,
        share: Share = WHOLE,
        hosts: Hosts = everything,
    ) -> None:
        """Build, or restore at `version`: data state from the snapshot, queries from the feed."""
        self._feed = feed
        self._share = share
        self._hosts = hosts
        self._operators: dict[str, Operator] = {}
        self._kept: dict[str, RelationOperator] = {}
        """Those that keep a relation, by its name, in the order of their declaration."""
        self._clocks: dict[str, ClockOperator] = {}
        self._givers: dict[str, Step] = {}
        """The steps of queries that keep relations, by the relation, wherever they live."""
        self._resolved: dict[str, pa.Table] = {}
        self._steps: dict[str, tuple[OperatorKind, Step]] = {}
        self._feeding = Feeding()
        self._asked: dict[str, list[QueryChanges]] = {}
        """New queries that begin with what their tables hold, by group."""
        self._unbegun: dict[str, EvaluationError] = {}
        """Groups that could not be given what their tables hold, and why."""
        self._spent: dict[str, int] = {}
        self._came: dict[str, int] = {}
        self._seeing: set[str] = set()
        """Groups that see lines which do not parse, since they ask for them."""
        self._resting: set[str] = set()
        self._woken: set[str] = set()
        self._excluded: dict[str, list[int]] = {}
        """Queries that rest though others of their group run, by group."""
        self._told_rests = set[str](), dict[str, list[int]]()
        self._limit_s: float | None = None
        self.version = 0
        self.asks_outside = False
        """Whether an operator asks somebody else: running a batch again may give something else."""
        self._advance(version, snapshot or {}, begin=False)
        self._take_rests((snapshot or {}).get(RESTS))

    def advance(self, version: int, kept: Mapping[str, bytes] | None = None) -> None:
        """Take over the registry's changes up to `version`; they hold from the next batch on.

        A group that is new begins with the rows that its tables hold and the times that its
        streams have come to, unless something was `kept` of it. Queries WITH SNAPSHOT have their
        first answer in the next batch.
        """
        self._asked = {}
        self._advance(version, kept or {}, begin=True)

    def rest(
        self,
        groups: Collection[str],
        limit_s: float | None = None,
        queries: Mapping[str, Collection[int]] = NOBODY,
    ) -> None:
        """Let groups rest, which are suspended; those that rested and are not named begin anew.

        So do single `queries`, by group, and for good: one that is resumed has another number. With
        `limit_s`, what the text of a group may take in the next batch is limited, and `process`
        raises `GroupFailureError` when it is not enough.
        """
        self._limit_s = limit_s
        self._exclude(queries)
        groups = {*groups, *self._feeding.idle(groups)}
        for group in self._feeding.ordered(sorted(self._resting.difference(groups))):
            self._wake(group, begin=True)
            self._woken.add(group)
        for group in self._operators.keys() & set(groups):
            self._suspend(group)

    def catch_up(self, version: int, deltas: Mapping[str, bytes]) -> None:
        """Follow a batch that another copy of this shard ran under `version`."""
        self._advance(version, {}, begin=False)
        self._take_rests(deltas.get(RESTS))
        for group in self._feeding.ordered(name for name in deltas if name != RESTS):
            self._operators[group].catch_up(deltas[group])

    def _take_rests(self, data: bytes | None) -> None:
        """Take which groups rest, and which began anew, from another copy of this shard."""
        if data is None:
            return
        told = json.loads(data)
        self._exclude(told.get("queries", {}))
        for group in self._operators.keys() & {*told["resting"], *told["woken"]}:
            self._suspend(group)
        for group in self._feeding.ordered(sorted(self._resting.difference(told["resting"]))):
            self._wake(group, begin=False)
        self._told_rests = set(self._resting), self._excluded

    def _exclude(self, queries: Mapping[str, Collection[int]]) -> None:
        """Let these queries rest, and no others: those that rested before are there no more."""
        before, self._excluded = self._excluded, {g: sorted(own) for g, own in queries.items()}
        for group, own in self._excluded.items():
            if group in self._operators and own != before.get(group):
                self._operators[group].apply(self._exclusion(group))

    def _exclusion(self, group: str) -> QueryChanges:
        return QueryChanges(drops=np.array(self._excluded.get(group, ()), dtype=np.int64))

    def queries(self, group: str) -> Ints:
        """List the queries of a group that do not rest, in order."""
        every = [own.changes[group] for own in self._feed(0, self.version) if group in own.changes]
        return np.setdiff1d(standing_after(every), self._exclusion(group).drops)

    def readers(self, group: str) -> list[str]:
        """List the groups that read what a group makes."""
        return self._feeding.readers(group)

    def narrow(self, group: str, without: Ints) -> None:
        """Let nothing run but a group, without some queries, and those that keep what it reads."""
        wanted = {group, *self._feeding.behind(group)}
        relations = [*self._steps[group][1].relations]
        for relation in relations:
            keeper = self._kept.get(relation)
            for other in [own for own, each in self._operators.items() if each is keeper]:
                if other not in wanted:
                    wanted.add(other)
                    relations += self._steps[other][1].relations
        for other in self._operators.keys() - wanted:
            self._unkeep(self._operators.pop(other))
        self._exclude({group: [*self._excluded.get(group, ()), *without.tolist()]})

    def _suspend(self, group: str) -> None:
        self._unkeep(self._operators.pop(group))
        self._resting.add(group)
        self._spent.pop(group, None)

    def _unkeep(self, operator: Operator | None) -> None:
        """Let go of the relation that an operator kept, and of what it held open."""
        if isinstance(operator, RelationOperator):
            self._kept.pop(operator.gives, None)
        if isinstance(operator, ClosingOperator):
            operator.close()

    def _wake(self, group: str, begin: bool) -> None:
        """Begin anew with a group that rested: its queries are as if registered now."""
        self._resting.discard(group)
        self._build(group, *self._steps[group], None, begin, self.version)
        for change in self._feed(0, self.version):
            if group in change.changes:
                self._operators[group].apply(change.changes[group])
        self._operators[group].apply(self._exclusion(group))

    def _advance(self, version: int, snapshot: Mapping[str, bytes], begin: bool) -> None:
        if version <= self.version:
            return
        for change in self._feed(self.version, version):
            for group, described in change.steps.items():
                kind = OPERATORS[described["kind"]]
                step = kind.step_from_json(described)
                if self._is_here(step) and group not in self._resting:
                    self._build(group, kind, step, snapshot.get(group), begin, version)
            for group, changes in change.changes.items():
                if group in self._operators:
                    self._operators[group].apply(changes)
                    kind, step = self._steps[group]
                    if begin and kind.begins_full(step):
                        self._asked.setdefault(group, []).append(changes)
            for group in change.let_go:
                self._asked.pop(group, None)
                self._forget(group)
        self.version = version

    def _is_here(self, step: Step) -> bool:
        """Say whether a step lives here: who reads what a query keeps lives where that does."""
        if (kept := getattr(step, "gives", None)) is not None:
            self._givers[kept] = step
        giver = next((self._givers[name] for name in step.relations if name in self._givers), step)
        return self._hosts(giver)

    def _forget(self, group: str) -> None:
        """Forget a group in which no query stands: if it comes again, it begins anew."""
        self._unkeep(self._operators.pop(group, None))
        self._resting.discard(group)
        self._feeding.forget(group)
        if self._steps.pop(group, None) is not None:
            self._spent.pop(group, None)
            self._seeing.discard(group)
            self.asks_outside = any(kind.asks_outside for kind, _ in self._steps.values())

    def _first_answers(
        self, group: str, asked: Sequence[QueryChanges]
    ) -> Iterator[tuple[str, Results]]:
        """Give what queries find in what there is.

        That is what they would be told if there were no others, and all rows came at once.
        """
        live = self._operators[group]
        if isinstance(live, AnsweringOperator):
            return ((group, own) for own in live.first_answers(asked) if len(own.query))
        kind, step = self._steps[group]
        alone = kind.build(step, None, self._share)
        for changes in asked:
            alone.apply(changes)
        alone.apply(self._exclusion(group))
        rows = {name: self._kept[name].rows() for name in step.relations}
        return ((group, own) for own in alone.process(rows) if len(own.query))

    def _build(
        self, group: str, kind: OperatorKind, step: Step, snapshot: bytes | None, begin: bool,
        version: int,
    ) -> None:  # fmt: skip
        for feeder in self._resting.intersection(reads_of(step)):  # somebody reads it again
            self._wake(feeder, begin)
            self._woken.update([feeder] if begin else [])
        operator = kind.build(step, snapshot, replace(self._share, version=version))
        self._operators[group] = operator
        self._steps[group] = kind, step
        self._feeding.take(group, step)
        for each in (group, *self._feeding.readers(group)):
            self._attach(each)
        if kind.sees_broken(step):
            self._seeing.add(group)
        self.asks_outside |= kind.asks_outside
        if isinstance(operator, ClockOperator):
            self._clocks[step.relations[0]] = operator
        self._unbegun.pop(group, None)
        if begin and snapshot is None and step.kind not in ATTENDANTS:
            clocks = {n: self._clocks[n].newest for n in step.relations if n in self._clocks}
            try:
                tables = {n: self._kept[n].rows() for n in step.relations if n in self._kept}
                operator.begin(tables, clocks)
            except EvaluationError as error:
                self._unbegun[group] = error
        if isinstance(operator, RelationOperator):
            self._kept[operator.gives] = operator

    def _attach(self, group: str) -> None:
        """Let a group read from those that feed it, as they are now."""
        fed = self._operators.get(group)
        if isinstance(fed, FedOperator) and (names := self._feeding.of(group)):
            fed.attach([self._operators[name] for name in names])

    def close(self) -> None:
        """Let go of what operators hold open: stores, connections."""
        for operator in self._operators.values():
            if isinstance(operator, ClosingOperator):
                operator.close()

    def operator(self, group: str) -> Operator | None:
        """Give the live operator of a group, if it is here."""
        return self._operators.get(group)

    def process(
        self, batch: Mapping[str, pa.Table], clock_ns: Callable[[], int] = lambda: 0
    ) -> list[tuple[str, Results]]:
        """Run one micro-batch through every group; the host's clock tells what each takes.

        Those that keep relations come first, as they were registered: the others, and those that
        read one registered before, see how rows changed, not what was written of them.
        """
        found: list[tuple[str, Results]] = []
        for group in filter(self._operators.__contains__, self._unbegun):
            raise GroupFailureError(self._unbegun[group], group)
        asked, self._asked = self._asked, {}
        for group in filter(self._operators.__contains__, asked):
            with failures_of(group, self._limit_s):
                found += self._first_answers(group, asked[group])
        sound, places = sound_batch(batch)
        self._came = {name: table.num_rows for name, table in batch.items()}
        self._resolved = {}
        whole = dict(batch)
        keepers = {id(operator) for operator in self._kept.values()}
        listed = [group for group in self._steps if group in self._operators]
        first = [(g, self._operators[g]) for g in listed if id(self._operators[g]) in keepers]
        ordered = [(g, self._operators[g]) for g in self._feeding.ordered(listed)]
        others = [(g, own) for g, own in ordered if id(own) not in keepers]
        for group, operator in (*first, *others):
            started = clock_ns()
            with failures_of(group, self._limit_s):
                own_batch = whole if group in self._seeing else sound
                results = operator.process(own_batch)
            if group not in self._seeing:
                results = [placed(own, places) for own in results]
            found += [(group, own) for own in results if len(own.query)]
            if id(operator) in keepers and isinstance(operator, RelationOperator):
                name, changes = operator.gives, operator.resolved
                if changes is not None:
                    sound[name] = changes
                    whole[name] = self._resolved[name] = with_broken(changes, batch.get(name))
                    places.pop(name, None)
            self._spent[group] = clock_ns() - started
        return found

    def resolved(self) -> dict[str, pa.Table]:
        """Give what readers of kept tables saw in the last batch: how rows changed.

        Lines that do not parse are at the end.
        """
        return self._resolved

    def deltas(self) -> dict[str, bytes]:
        """Give each group's change of data state since the last call."""
        found = {group: operator.delta() for group, operator in self._operators.items()}
        rests = set(self._resting), self._excluded
        if self._woken or rests != self._told_rests:
            found[RESTS] = self._rests()
            self._told_rests, self._woken = rests, set()
        return {group: data for group, data in found.items() if data is not None}

    def snapshots(self) -> dict[str, bytes]:
        """Give each group's whole data state."""
        found = {group: operator.snapshot() for group, operator in self._operators.items()}
        if self._resting or self._excluded:
            found[RESTS] = self._rests()
        return {group: data for group, data in found.items() if data is not None}

    def _rests(self) -> bytes:
        told: dict[str, Any] = {"resting": sorted(self._resting), "woken": sorted(self._woken)}
        if self._excluded:
            told["queries"] = self._excluded
        return json.dumps(told).encode()

    def figures(self) -> FigureTable:
        """Say what stands, and what the last batch met: by group, or of a kind's groups together.

        What the changes of tables lacked is left to `table_figures`.
        """
        found = told_figures(self._operators, self._steps, self._spent)
        for group in self._resting:
            step = self._steps[group][1]
            missed = unanswered_rows(step, self._came, self._share)
            found[group] = Tally({UNANSWERED_ROWS: missed} if missed else {})
        return FigureTable(found)

    def table_figures(self) -> FigureTable:
        """Say what changes of tables lacked in the last batch, by table.

        Where several shards see the same changes, one of them is asked.
        """
        attended = {own.relations[0] for _, own in self._steps.values() if own.kind in ATTENDANTS}
        return FigureTable(
            {name: own.counts() for name, own in self._kept.items() if name in attended}
        )
