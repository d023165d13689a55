"""Replacing: a table with a key, in which the newest change of a key decides.

Which is the newest is said by the order columns, if there are any: a sequence that the user names,
or where in which file the change stood; among equals, and without such columns, by arrival. What
is older than what stands is passed over, whenever it comes. So a key that was deleted is remembered
with its place in the order: an older row of it may still come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.physical import KeepStep
from penstock.operators.keep.held import Held
from penstock.operators.shared.codec import from_bytes, numbers_of, to_bytes
from penstock.operators.shared.common_keys import fingerprints
from penstock.operators.shared.keys import validity, whole
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.changes import Meaning, Meanings
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import (
    FORGOTTEN_DELETES,
    GUESSED_ORDER,
    KEYLESS_CHANGES,
    OLDER_CHANGES,
    TIED_CHANGES,
    UNKNOWN_DELETES,
)
from penstock.vocabulary.types import ColumnKind, kind_of

DELETED_MAX = 1 << 20
"""So many deleted keys are remembered; of more, the newest."""
BEFORE = "update_before"
KIND, PRINT, NUMBER = "kind", "print", "number"


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest change of some keys: its row, and what it means."""

    table: pa.Table
    prints: Ints
    meanings: Meanings


@dataclass(frozen=True, slots=True)
class KeyContest:
    """Changes of a batch (`arrived`) and what stands of their keys (`standing`), the latter first.

    `of` is the key of each, `ranks` its place in the order by each further order column.
    """

    standing: Rows
    keys: Ints
    of: Ints
    ranks: list[Ints]
    meanings: Meanings

    @property
    def rank(self) -> Ints:
        """The place in the whole order."""
        return self.ranks[-1]


class KeyedTable:
    """Rows by key: those that stand, and those deleted whose place in the order is remembered."""

    def __init__(self, step: KeepStep, snapshot: bytes | None) -> None:
        self._step = step
        self._types = dict(step.columns) | dict(step.position)
        self._order = step.order
        self._visible = [name for name, _ in step.columns]
        self.schema = pa.schema([*step.columns, *step.position])
        self._held = Held(self.schema)
        self._kinds: Meanings = np.empty(0, dtype=np.int8)
        self._deleted = 0
        self._fresh: Newest | None = None
        if snapshot is not None:
            self._restore(snapshot)

    def resolve(
        self, table: pa.Table, conformed: pa.Table, meanings: Meanings, counts: Tally
    ) -> pa.Table:
        """Take changes that mean something; give how the standing rows change."""
        kept = self._decidable(conformed, meanings, counts)
        if not kept.all():
            chosen = pa.array(kept)
            table, conformed = table.filter(chosen), conformed.filter(chosen)
            meanings = meanings[kept]
        names = [name for name in table.column_names if name not in dict(self._step.position)]
        table = table.select(names)
        if len(meanings) == 0:
            return table
        contest = self._contest(conformed, meanings)
        self._count(contest, counts)
        won = _last_of_each(contest)
        mine = won >= len(contest.standing)
        rows = won[mine] - len(contest.standing)
        newest = Newest(conformed.take(pa.array(rows)), contest.keys[mine], meanings[rows])
        slots = self._held.find(newest.prints)
        counts[UNKNOWN_DELETES] += _unknown(contest, won, mine, slots)
        resolved = self._told(table.take(pa.array(rows)), newest, slots)
        counts[FORGOTTEN_DELETES] += self._take(newest)
        self._fresh = newest if len(rows) else None
        return resolved

    def _decidable(self, rows: pa.Table, meanings: Meanings, counts: Tally) -> Flags:
        """Leave out what has no key or no place in the order, and images that say nothing new."""
        whole_rows: Flags = np.ones(len(meanings), dtype=np.bool_)
        for name in (*self._step.key, *self._order):
            column = whole(rows.column(name))
            whole_rows &= validity(column)
            if kind_of(column.type) is ColumnKind.FLOAT:
                whole_rows &= ~np.isnan(np.asarray(column.fill_null(0.0).to_numpy(), np.float64))
        counts[KEYLESS_CHANGES] += int(np.count_nonzero(~whole_rows))
        if self._step.sequence:
            return whole_rows
        whole_rows &= meanings != Meaning.BEFORE
        return whole_rows

    def _contest(self, rows: pa.Table, meanings: Meanings) -> KeyContest:
        columns = [rows.column(name) for name in self._step.key]
        prints = fingerprints(columns, [self._types[name] for name in self._step.key])
        keys, of = np.unique(prints, return_inverse=True)
        slots = self._held.find(keys)
        known = np.flatnonzero(slots >= 0)
        standing = slots[known]
        ranks: list[Ints] = [np.zeros(len(known) + len(of), dtype=np.int64)]
        if self._order:
            held = self._held.contents.take(standing, self._order)
            for name in self._order:
                both = pa.concat_arrays([whole(held.column(name)), whole(rows.column(name))])
                own = np.asarray(pc.rank(both, tiebreaker="dense").to_numpy(), dtype=np.int64)
                _, place = np.unique(ranks[-1] * (len(own) + 1) + own, return_inverse=True)
                ranks.append(place)
        kinds = np.concatenate([self._kinds[standing], meanings])
        return KeyContest(standing, keys, np.concatenate([known, of]), ranks, kinds)

    def _count(self, contest: KeyContest, counts: Tally) -> None:
        """Count what was passed over, and where the order was not said."""
        images = contest.meanings != Meaning.BEFORE
        arrived = np.arange(len(contest.of)) >= len(contest.standing)
        stands = np.full(len(contest.keys), -1, dtype=np.int64)
        stands[contest.of[~arrived]] = contest.rank[~arrived]
        older = arrived & images & (contest.rank < stands[contest.of])
        counts[OLDER_CHANGES] += int(np.count_nonzero(older))
        counted = images & (contest.rank >= stands[contest.of])
        if self._step.sequence:
            counts[TIED_CHANGES] += _alike(contest, counted, -1)
        elif self._step.position:
            # Files of one time: their names decide, which is a guess.
            together = _alike(contest, counted, 1) - _alike(contest, counted, 2)
            counts[GUESSED_ORDER] += together
        else:
            counts[GUESSED_ORDER] += _alike(contest, counted & arrived, -1)

    def _told(self, rows: pa.Table, newest: Newest, slots: Rows) -> pa.Table:
        """Say how the standing rows change: what goes, then what comes."""
        stood = slots >= 0
        stood[stood] = self._kinds[slots[stood]] > 0
        comes = newest.meanings > 0
        replaced = np.flatnonzero(stood & comes)
        old = self._held.contents.take(slots[replaced], tuple(self._visible))
        new = newest.table.take(pa.array(replaced))
        types = [self._types[name] for name in self._visible]
        same = replaced[_prints(old, self._visible, types) == _prints(new, self._visible, types)]
        changes = np.ones(len(slots), dtype=np.bool_)
        changes[same] = False
        goes = np.flatnonzero(stood & changes)
        gone = self._held.contents.take(slots[goes], tuple(self._visible))
        said = rows[self._step.change_column].take(pa.array(goes))
        words = pc.if_else(pa.array(comes[goes]), pa.scalar(BEFORE, said.type), said)
        gone = gone.append_column(self._step.change_column, words)
        came = rows.filter(pa.array(comes & changes))
        return pa.concat_tables([gone.select(rows.column_names).cast(rows.schema), came])

    def _take(self, newest: Newest) -> int:
        """Let changes stand for their keys; give how many deleted keys are forgotten."""
        held = self._held
        slots = held.find(newest.prints)
        fresh = slots < 0
        self._deleted -= int(np.count_nonzero(self._kinds[slots[~fresh]] < 0))
        held.contents.remove(slots[~fresh])
        slots[fresh] = held.add(newest.prints[fresh])
        self._kinds = grown(self._kinds, held.slots.room)
        self._kinds[slots] = newest.meanings
        goes = newest.meanings < 0
        stays = ~goes if not self._order else np.ones(len(slots), dtype=np.bool_)
        held.contents.add(slots[stays], newest.table.filter(pa.array(stays)))
        held.number(slots)
        held.remove(slots[~stays])
        self._deleted += int(np.count_nonzero(goes & stays))
        return self._forget()

    def _forget(self) -> int:
        """Forget the oldest of too many deleted keys."""
        over = self._deleted - DELETED_MAX
        if over <= 0:
            return 0
        slots = self._held.in_order()
        gone = slots[self._kinds[slots] < 0][:over]
        self._held.contents.remove(gone)
        self._held.remove(gone)
        self._deleted -= over
        return over

    def rows(self) -> pa.Table:
        """Give the rows that stand."""
        slots = self._held.in_order()
        return self._held.contents.take(slots[self._kinds[slots] > 0], tuple(self._visible))

    # State.

    def delta(self) -> bytes | None:
        """Give the changes that came to stand in the last batch."""
        fresh, self._fresh = self._fresh, None
        if fresh is None:
            return None
        return to_bytes([(fresh.table, pa.table({KIND: fresh.meanings, PRINT: fresh.prints}))], {})

    def catch_up(self, delta: bytes) -> None:
        """Take changes that came to stand in another copy."""
        ((table, own),), _ = from_bytes(delta)
        self._take(Newest(table, numbers_of(own, PRINT), numbers_of(own, KIND)))

    def snapshot(self) -> bytes:
        """Give what stands of all keys."""
        held, slots = self._held, self._held.in_order()
        own = {KIND: self._kinds[slots], PRINT: held.prints[slots], NUMBER: held.numbers[slots]}
        return to_bytes([(held.contents.take(slots), pa.table(own))], {"next": held.next})

    def _restore(self, snapshot: bytes) -> None:
        ((table, own),), facts = from_bytes(snapshot)
        self._take(Newest(table, numbers_of(own, PRINT), numbers_of(own, KIND)))
        held = self._held
        held.numbers[held.find(numbers_of(own, PRINT))] = numbers_of(own, NUMBER)
        held.next = facts["next"]


def _prints(table: pa.Table, names: list[str], types: list[pa.DataType]) -> Ints:
    return fingerprints([table.column(name) for name in names], types)


def _last_of_each(contest: KeyContest) -> Ints:
    """Give the newest of every key; an image of before an update gives way to its equals."""
    firm = contest.meanings != Meaning.BEFORE
    order = np.lexsort((np.arange(len(contest.of)), firm, contest.rank, contest.of))
    sorted_: npt.NDArray[Any] = contest.of[order]
    ends = np.flatnonzero(np.append(sorted_[1:] != sorted_[:-1], True))
    return order[ends]


def _alike(contest: KeyContest, counted: Flags, rank: int) -> int:
    """Count the changes whose key and place others before them have."""
    of, place = contest.of[counted], contest.ranks[rank][counted]
    # Sorting is several times as fast here as numpy's own set of distinct numbers.
    both = np.sort(of * (int(place.max(initial=0)) + 1) + place)
    return int(np.count_nonzero(both[1:] == both[:-1]))


def _unknown(contest: KeyContest, won: Ints, mine: Flags, slots: Rows) -> int:
    """Count the deletes of keys of which no row was ever seen."""
    seen = np.zeros(len(contest.keys), dtype=np.bool_)
    seen[contest.of[contest.meanings > 0]] = True
    deletes = contest.meanings[won[mine]] == Meaning.GOES
    return int(np.count_nonzero(deletes & (slots < 0) & ~seen[mine]))
