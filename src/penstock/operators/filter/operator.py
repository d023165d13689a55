"""FilterOperator: a million standing filters against a batch of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import PLAN_PORT, BranchShape, FilterStep
from penstock.expressions.conditions import Predicate
from penstock.kernels.hash_tables import EMPTY, pairs_deduplicate
from penstock.operators.filter.boxes import Box, let_through, times_of
from penstock.operators.filter.figures import ENTRIES, FILTERED_ROWS, FILTERED_US, SLOW_PATH_QUERIES
from penstock.operators.protocol import NO_CLOCKS
from penstock.operators.shared.keys import ordered_keys
from penstock.operators.shared.residuals import (
    CANDIDATES_MAX,
    nan_to_null,
    pair_table,
)
from penstock.operators.shared.stabbing_index import GROWTH, BranchIndex
from penstock.operators.shared.stabbing_level import Level
from penstock.operators.shared.stabbing_probes import NO_CODES, Events
from penstock.operators.shared.threads import default_threads, run_parts
from penstock.vocabulary.batches import Flags, Ints, QueryChanges, Results, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FAILED_CONDITIONS, SHED_ROWS
from penstock.vocabulary.shared_figures import CANDIDATES, NULL_VALUES, QUERIES

Pair = tuple[Rows, Ints]


@dataclass(slots=True)
class Found:
    """Pairs of one part of a batch: unique ones, and those that another entry may repeat.

    `failed` are pairs for which a residual failed; another entry may match them all the same.
    """

    unique: list[Pair] = field(default_factory=list)
    shared: list[Pair] = field(default_factory=list)
    failed: list[Pair] = field(default_factory=list)
    candidates: int = 0

    def take(self, rows: Rows, queries: Ints, shared: Flags | None) -> None:
        """Take pairs; `shared` marks those whose query has several entries (None: none has)."""
        if shared is None or not shared.any():
            self.unique.append((rows, queries))
            return
        self.shared.append((rows[shared], queries[shared]))
        if not shared.all():
            self.unique.append((rows[~shared], queries[~shared]))


class FilterBranch:
    """One branch shape: its index and its residual."""

    def __init__(self, shape: BranchShape, growth: int) -> None:
        self.shape = shape
        types = [type_ for _, type_ in shape.equalities]
        self.index = BranchIndex(types, len(shape.ranges), growth)
        self.residual = Predicate(shape.residual_sql) if shape.residual_sql else None

    @property
    def is_slow(self) -> bool:
        """Whether every event meets every query."""
        return not self.shape.equalities and not self.shape.ranges

    def add(self, table: pa.Table) -> None:
        """Take entries; NaN among residual parameters is NULL."""
        for i, name in enumerate(table.column_names):
            if name[0] == "r":
                table = table.set_column(i, name, nan_to_null(table.column(name)))
        self.index.add(table)

    def events(self, batch: pa.Table) -> tuple[Events, int]:
        """Give what the index sees of a batch, and how many rows lack an indexed value."""
        valid: Flags = np.ones(batch.num_rows, dtype=np.bool_)
        codes = NO_CODES
        if self.shape.equalities:
            columns = [batch.column(name) for name, _ in self.shape.equalities]
            codes, present = self.index.codes.find(columns)
            valid = present
        keys = np.zeros((max(len(self.shape.ranges), 1), batch.num_rows), dtype=np.int64)
        if len(self.shape.ranges) == 1:
            name, type_ = self.shape.ranges[0]
            own, present = ordered_keys(batch.column(name), type_)
            keys, valid = own[None], valid & present
        else:
            for k, (name, type_) in enumerate(self.shape.ranges):
                keys[k], present = ordered_keys(batch.column(name), type_)
                valid = valid & present
        events = Events(codes=codes, keys=keys, valid=valid, code_count=self.index.codes.size)
        return events, int(len(valid) - np.count_nonzero(valid))

    def match(
        self, events: Events, columns: list[pa.Array], start: int, stop: int, found: Found
    ) -> None:
        """Find the pairs of the events [start, stop); residuals see a bounded number at a time."""
        capacity = CANDIDATES_MAX if self.residual else None
        for level, met, carried in self.index.probe(events, start, stop, capacity):
            found.candidates += len(met)
            rows, payloads = met, carried
            if self.residual is not None:
                held = self.residual.ask(pair_table(columns, met, level.parameters, carried))
                rows, payloads = met[held.holds], carried[held.holds]
                if held.failed is not None:
                    queries = _queries(level, carried[held.failed])
                    found.failed.append((met[held.failed], queries))
            if level.parameters is not None:
                shared = None if level.shared is None else level.shared[payloads]
                found.take(rows, level.queries[payloads], shared)
            elif level.shared is None:
                found.take(rows, payloads, None)
            else:
                shared = payloads < 0
                found.take(rows, np.where(shared, ~payloads, payloads), shared)


class FilterOperator:
    """Matches every event against all standing filters of a step. It keeps no data state.

    Parameters
    ----------
    threads
        Cores that one batch may use; as many as the process has (up to a few) by default.
    growth
        See `BranchIndex`.
    """

    def __init__(self, step: FilterStep, threads: int | None = None, growth: int = GROWTH) -> None:
        self._step = step
        self._threads = threads or default_threads()
        self.branches = [FilterBranch(shape, growth) for shape in step.branches]
        self._standing = self._slow = 0
        self._box = Box()
        self._counts = Tally()

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take nothing: filters see changes only."""

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries of earlier versions."""
        self._box.apply(changes.adds.get(PLAN_PORT), changes.drops)
        known: Flags = np.zeros(len(changes.drops), dtype=np.bool_)
        slow = known.copy()
        added, added_slow = [], []
        for i, branch in enumerate(self.branches):
            hit = branch.index.drop(changes.drops)
            known |= hit
            slow |= hit & branch.is_slow
            table = changes.adds.get(f"branch{i}")
            if table is not None:
                branch.add(table)
                added.append(table.column("query").to_numpy())
                added_slow += added[-1:] if branch.is_slow else []
        # Counted by what changes, never by what stands: a version costs its own size.
        self._standing += _distinct(added) - int(np.count_nonzero(known))
        self._slow += _distinct(added_slow) - int(np.count_nonzero(slow))

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch: every (event, query) pair once, in no particular order."""
        self._counts = Tally()
        table = batch.get(self._step.relation)
        if table is None or table.num_rows == 0:
            return []
        self._counts[FILTERED_ROWS] = table.num_rows
        kept = self._kept(table) if self._step.dropping else None
        if kept is not None:
            table = table.take(pa.array(kept))
        found = [Found()]
        for branch in self.branches:
            if len(branch.index) == 0:
                continue
            found += self._match_branch(branch, table)
        self._counts[CANDIDATES] += sum(part.candidates for part in found)
        pairs = [pair for part in found for pair in part.unique]
        shared = [pair for part in found for pair in part.shared]
        if shared:
            pairs.append(_deduplicated(shared))
        pairs = [pair for pair in pairs if len(pair[0])]
        failed = [pair for part in found for pair in part.failed]
        if failed:
            self._counts[FAILED_CONDITIONS] = _unmatched(failed, pairs)
        return [
            Results(
                relation=self._step.relation,
                query=queries,
                event=rows if kept is None else kept[rows],
            )
            for rows, queries in pairs
        ]

    def _kept(self, table: pa.Table) -> Rows | None:
        """Give the places of the rows that the drop box lets through; None if it is open."""
        times, there = times_of(table.column(str(self._step.event_time)))
        if there.any():
            self._counts[FILTERED_US] = int(times[there].max() - times[there].min())
        if self._box.share >= 1.0:
            return None
        kept = np.flatnonzero(let_through(times, there, self._box.share)).astype(np.int32)
        self._counts[SHED_ROWS] = table.num_rows - len(kept)
        return kept

    def _match_branch(self, branch: FilterBranch, table: pa.Table) -> list[Found]:
        events, missing = branch.events(table)
        self._counts[NULL_VALUES] += missing
        branch.index.observe(events)
        columns = [nan_to_null(table.column(name)) for name in branch.shape.residual_columns]

        def part(start: int, stop: int) -> Found:
            found = Found()
            branch.match(events, columns, start, stop, found)
            return found

        return run_parts(part, table.num_rows, self._threads)

    def delta(self) -> bytes | None:
        """Give nothing: filters keep no data state."""
        return None

    def catch_up(self, delta: bytes) -> None:
        """Refuse: filters give no deltas, so there is none to take."""
        raise AssertionError(f"filters have no data state, got {len(delta)} bytes")

    def snapshot(self) -> bytes | None:
        """Give nothing: filters keep no data state."""
        return None

    def sizes(self) -> Tally:
        """Say what stands: queries, those on slow paths, entries."""
        entries = sum(len(branch.index) for branch in self.branches)
        return Tally({QUERIES: self._standing, SLOW_PATH_QUERIES: self._slow, ENTRIES: entries})

    def counts(self) -> Tally:
        """Say what the last batch met: candidates, and rows that lack an indexed value."""
        return self._counts


def _distinct(numbers: list[Ints]) -> int:
    """Count distinct query numbers; each array is sorted."""
    if len(numbers) == 0:
        return 0
    together = numbers[0] if len(numbers) == 1 else np.sort(np.concatenate(numbers), kind="stable")
    return int(np.count_nonzero(np.diff(together)) + 1) if len(together) else 0


def _queries(level: Level, payloads: Ints) -> Ints:
    """Give the query numbers of what entries carry."""
    if level.parameters is not None:
        return level.queries[payloads]
    return payloads if level.shared is None else np.where(payloads < 0, ~payloads, payloads)


def _unmatched(failed: list[Pair], matched: list[Pair]) -> int:
    """Count the pairs that failed, each once, and that nothing else matched."""
    tables = [
        pa.table(
            {
                "row": np.concatenate([pair[0] for pair in pairs]).astype(np.int64),
                "query": np.concatenate([pair[1] for pair in pairs]).astype(np.int64),
            }
        )
        for pairs in (failed, [*matched, (np.empty(0), np.empty(0))])
    ]
    names = ["row", "query"]
    distinct = tables[0].group_by(names).aggregate([])
    return int(distinct.join(tables[1], names, join_type="left anti").num_rows)


def _deduplicated(pairs: list[Pair]) -> Pair:
    """Keep the first of equal pairs."""
    rows = np.concatenate([pair[0] for pair in pairs])
    queries = np.concatenate([pair[1] for pair in pairs])
    cells = np.full(1 << (2 * len(rows)).bit_length(), EMPTY, dtype=np.int32)
    first = pairs_deduplicate(rows, queries, cells)
    return rows[first], queries[first]
