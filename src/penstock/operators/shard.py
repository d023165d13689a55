"""A shard: the live operators of all groups in one place, and how they move from batch to batch.

Both hosts run shards and nothing else, so that an answer does not depend on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.physical import Step
from penstock.operators.catalogue import OPERATORS
from penstock.operators.clock import ClockOperator
from penstock.operators.keep import KeepOperator
from penstock.operators.protocol import WHOLE, Operator, OperatorKind, Share
from penstock.vocabulary.batches import Feed, QueryChanges, Results, Rows
from penstock.vocabulary.broken import sound_rows
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ACTUAL_COST

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
        self._kept: dict[str, KeepOperator] = {}
        self._clocks: dict[str, ClockOperator] = {}
        self._resolved: dict[str, pa.Table] = {}
        self._steps: dict[str, tuple[OperatorKind, Step]] = {}
        self._first: list[tuple[str, Results]] = []
        """The first answers of queries that begin with what their tables hold."""
        self._spent: dict[str, int] = {}
        self._seeing: set[str] = set()
        """Groups that see lines which do not parse, since they ask for them."""
        self.version = 0
        self.asks_outside = False
        """Whether an operator asks somebody else: running a batch again may give something else."""
        self._advance(version, snapshot or {}, begin=False)

    def advance(self, version: int, kept: Mapping[str, bytes] | None = None) -> None:
        """Take over the registry's changes up to `version`; they hold from the next batch on.

        A group that is new begins with the rows that its tables hold and the times that its
        streams have come to, unless something was `kept` of it. Queries WITH SNAPSHOT have their
        first answer in the next batch.
        """
        self._first = []
        self._advance(version, kept or {}, begin=True)

    def catch_up(self, version: int, deltas: Mapping[str, bytes]) -> None:
        """Follow a batch that another copy of this shard ran under `version`."""
        self._advance(version, {}, begin=False)
        for group, delta in deltas.items():
            self._operators[group].catch_up(delta)

    def _advance(self, version: int, snapshot: Mapping[str, bytes], begin: bool) -> None:
        if version <= self.version:
            return
        asked: dict[str, list[QueryChanges]] = {}
        for change in self._feed(self.version, version):
            for group, described in change.steps.items():
                kind = OPERATORS[described["kind"]]
                step = kind.step_from_json(described)
                if self._hosts(step):
                    self._build(group, kind, step, snapshot.get(group), begin)
            for group, changes in change.changes.items():
                if group in self._operators:
                    self._operators[group].apply(changes)
                    kind, step = self._steps[group]
                    if begin and kind.begins_full(step):
                        asked.setdefault(group, []).append(changes)
        for group, own in asked.items():
            self._first += self._first_answers(group, own)
        self.version = version

    def _first_answers(
        self, group: str, asked: Sequence[QueryChanges]
    ) -> Iterator[tuple[str, Results]]:
        """Give what queries find in the rows that their tables hold.

        That is what they would be told if there were no others, and all rows came at once.
        """
        kind, step = self._steps[group]
        alone = kind.build(step, None, self._share)
        for changes in asked:
            alone.apply(changes)
        rows = {name: self._kept[name].rows() for name in step.relations}
        return ((group, own) for own in alone.process(rows) if len(own.query))

    def _build(
        self, group: str, kind: OperatorKind, step: Step, snapshot: bytes | None, begin: bool
    ) -> None:
        operator = kind.build(step, snapshot, self._share)
        self._operators[group] = operator
        self._steps[group] = kind, step
        if kind.sees_broken(step):
            self._seeing.add(group)
        self.asks_outside |= kind.asks_outside
        if isinstance(operator, KeepOperator):
            self._kept[step.relations[0]] = operator
        elif isinstance(operator, ClockOperator):
            self._clocks[step.relations[0]] = operator
        elif begin and snapshot is None:
            tables = {n: self._kept[n].rows() for n in step.relations if n in self._kept}
            clocks = {n: self._clocks[n].newest for n in step.relations if n in self._clocks}
            operator.begin(tables, clocks)

    def operator(self, group: str) -> Operator | None:
        """Give the live operator of a group, if it is here."""
        return self._operators.get(group)

    def process(
        self, batch: Mapping[str, pa.Table], clock_ns: Callable[[], int] = lambda: 0
    ) -> list[tuple[str, Results]]:
        """Run one micro-batch through every group; the host's clock tells what each takes.

        Kept tables come first: the others see how rows changed, not what was written of them.
        """
        found, self._first = self._first, []
        sound, places = _sound(batch)
        for group, operator in self._operators.items():
            if isinstance(operator, KeepOperator):
                started = clock_ns()
                operator.process(sound)
                self._spent[group] = clock_ns() - started
        told = ((name, keeper.resolved) for name, keeper in self._kept.items())
        net = {name: changes for name, changes in told if changes is not None}
        self._resolved = {name: _with_broken(own, batch[name]) for name, own in net.items()}
        whole, sound = {**batch, **self._resolved}, {**sound, **net}
        places = {name: own for name, own in places.items() if name not in net}
        for group, operator in self._operators.items():
            if isinstance(operator, KeepOperator):
                continue
            started = clock_ns()
            if group in self._seeing:
                results = operator.process(whole)
            else:
                results = [_placed(own, places) for own in operator.process(sound)]
            found += [(group, own) for own in results if len(own.query)]
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
        return {group: data for group, data in found.items() if data is not None}

    def snapshots(self) -> dict[str, bytes]:
        """Give each group's whole data state."""
        found = {group: operator.snapshot() for group, operator in self._operators.items()}
        return {group: data for group, data in found.items() if data is not None}

    def figures(self) -> FigureTable:
        """Say what stands, and what the last batch met: by group, or of a kind's groups together.

        What the changes of tables lacked is left to `table_figures`.
        """
        found: dict[str, Tally] = {}
        for group, operator in self._operators.items():
            kind, step = self._steps[group]
            own = found[group] = Tally({ACTUAL_COST: self._spent.get(group, 0)})
            rest = own if kind.tells_apart else found.setdefault(step.kind, Tally())
            operator.sizes().divide(own, rest)
            if not isinstance(operator, KeepOperator):
                operator.counts().divide(own, rest)
        return FigureTable(found)

    def table_figures(self) -> FigureTable:
        """Say what changes of tables lacked in the last batch, by table.

        Where several shards see the same changes, one of them is asked.
        """
        return FigureTable({name: keeper.counts() for name, keeper in self._kept.items()})


def _sound(batch: Mapping[str, pa.Table]) -> tuple[dict[str, pa.Table], dict[str, Rows]]:
    """Leave out lines that do not parse; give the places of what stays, where something went."""
    sound, places = dict(batch), {}
    for name, table in batch.items():
        kept = sound_rows(table)
        if kept is not None:
            sound[name] = table.filter(kept)
            places[name] = np.flatnonzero(kept.to_numpy(zero_copy_only=False)).astype(np.int32)
    return sound, places


def _with_broken(changes: pa.Table, written: pa.Table) -> pa.Table:
    """Put the lines that do not parse behind the changes of a table."""
    sound = sound_rows(written)
    if sound is None:
        return changes
    broken = written.filter(pc.invert(sound)).select(changes.column_names)
    return pa.concat_tables([changes, broken])


def _placed(results: Results, places: Mapping[str, Rows]) -> Results:
    """Let results speak of the places that rows have in the whole batch."""
    if results.rows is not None or results.relation not in places:
        return results
    return replace(results, event=places[results.relation][results.event])
