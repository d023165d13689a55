"""Looking: references on their way through the cache, and the questions that it leaves.

Of a chunk of references the keys that are not held are fetched first. Only when all of them have
an answer does the cache see the references: before, nothing has changed, and the chunk can wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.lookups import LookupJoinStep
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.lookup.fetches import Fetching, Settings
from penstock.operators.lookup.held import ABSENT, BROKEN, FOUND, NOWHERE, Fetched, FetchedRows
from penstock.operators.lookup.keys import LookupKeys, moved_on
from penstock.operators.lookup.source_rows import asked, conformed
from penstock.operators.lookup.sources import lossless
from penstock.operators.protocol import Share
from penstock.operators.shared.inputs import Owning
from penstock.vocabulary.batches import Flags, Ints, Rows

NEVER = -(1 << 62)
"""The clock of a stream whose time is not asked for."""
REASONS_MAX = 5
TOTALS = ("references", "hits", "fetched", "absent", "broken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """References that have an answer: their keys, where their rows are, and what was fetched."""

    keys: Ints
    owned: Flags
    """Which references are looked up here; the others only tell where the stream is."""
    slots: Rows
    """NOWHERE for those that are not."""
    fetched: Fetched
    again: Ints
    """The first references of keys that were held, and fetched because they were too old."""


class Looking:
    """The cache of one shard, the rows that it holds, and the source behind it."""

    def __init__(self, step: LookupJoinStep, settings: Settings, fetching: Fetching, share: Share):
        looked = step.table
        stream = step.stream
        memory = step.lookup.memory
        self.budget = memory.share(share.number, share.count)
        assert self.budget >= 1, "the engine refuses budgets below the number of shards"
        # Who sees all rows of the stream caches a share of them; else what comes is all there is.
        self.memory = memory if step.sees_all else replace(memory, rows=self.budget)
        self.owning = Owning(stream, step.stream_key if step.sees_all else None, share)
        self.keys = LookupKeys(step)
        self.schema = pa.schema(list(looked.columns))
        self.cache = AutoLookup(self.memory, numeric=step.numeric, budget=self.budget)
        self.held = FetchedRows(self.schema)
        self.fetching = fetching
        self._settings = settings
        self.totals: dict[str, int] = dict.fromkeys(TOTALS, 0)
        self.reasons: list[list[str]] = []
        """The last keys that were refused, and why."""

    # References.

    def ask(self, table: pa.Table, clock: int) -> Answered | None:
        """Find or fetch the rows of a chunk of the stream; None if the source does not answer."""
        owned = self.owning.mine(table)
        rows = np.flatnonzero(owned)
        mine = table if len(rows) == len(owned) else table.filter(pa.array(owned))
        own, distinct, first, inverse = self._distinct(mine)
        slots = self.held.find(distinct)
        held = slots >= 0
        needed = ~held
        age_us = self._settings.max_age_us
        if age_us is not None:
            needed[held] = clock - self.held.stamps[slots[held]] > age_us
        values = self.keys.values(mine).take(pa.array(first[needed]))
        fetched = self._fetch(distinct[needed], values)
        if fetched is None:
            return None
        self.held.put(fetched, clock)
        keys = own if mine is table else self.keys.of_stream(table)
        places: Rows = np.full(len(keys), NOWHERE, dtype=np.int32)
        places[rows] = self.held.find(distinct)[inverse]
        again = rows[first[needed & held]]
        return Answered(keys=keys, owned=owned, slots=places, fetched=fetched, again=again)

    def settle(self, chunk: Answered) -> int:
        """Let the cache see the references of a chunk, and keep what it keeps; give the hits."""
        number = self.cache.now
        hits, left = self.cache.trace(chunk.keys, chunk.owned)
        self.held.settle(number, chunk.keys, chunk.owned & ~hits, left)
        assert len(self.held) == len(self.cache) <= self.budget
        found = int(np.count_nonzero(hits)) - int(np.count_nonzero(hits[chunk.again]))
        fetched = chunk.fetched
        references = int(np.count_nonzero(chunk.owned))
        counts = (references, found, len(fetched), fetched.count(ABSENT))
        for name, count in zip(TOTALS, (*counts, fetched.count(BROKEN)), strict=True):
            self.totals[name] += count
        return found

    def repeat(self, keys: Ints, owned: Flags, fetched: Fetched, clock: int) -> None:
        """Take a chunk that another copy had answers for."""
        self.held.put(fetched, clock)
        nowhere: Rows = np.empty(0, dtype=np.int32)
        chunk = Answered(keys=keys, owned=owned, slots=nowhere, fetched=fetched, again=keys[:0])
        self.settle(chunk)

    def _distinct(self, table: pa.Table) -> tuple[Ints, Ints, Ints, Ints]:
        """Give every row's key, the distinct ones, a row of each, and which each row has."""
        keys = self.keys.of_stream(table)
        while True:
            distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            if not self.keys.is_hashed:
                return keys, distinct, first, inverse
            strange = self._strangers(table, distinct, first, inverse)
            if not strange.any():
                return keys, distinct, first, inverse
            keys[strange] = moved_on(keys[strange])

    def _strangers(self, table: pa.Table, distinct: Ints, first: Ints, inverse: Ints) -> Any:
        """Say which rows have another text than the one that has their key."""
        values = self.keys.values(table)
        strange = ~self.keys.same(values, values.take(pa.array(first[inverse])))
        slots = self.held.find(distinct)[inverse]
        known = np.flatnonzero(slots >= 0)
        names = (self.keys.looked_up,)
        texts = self.held.contents.take(slots[known], names).column(0)
        strange[known] = ~self.keys.same(values.take(pa.array(known)), texts)
        return strange

    # Questions.

    def _fetch(self, keys: Ints, values: pa.Array) -> Fetched | None:
        """Fetch keys, some at a time."""
        parts = [self._nothing()]
        reasons: list[list[str]] = []
        for start in range(0, len(keys), self._settings.batch):
            part = slice(start, start + self._settings.batch)
            some = values.slice(start, self._settings.batch)
            refused: dict[int, str] = {}
            raw = asked(self.fetching.ask, some, self.schema, refused)
            if raw is None:
                return None
            parts.append(self._answer(raw, keys[part], some, refused, reasons))
        self.reasons = [*self.reasons, *reasons][-REASONS_MAX:]
        return Fetched(
            keys=np.concatenate([each.keys for each in parts]),
            states=np.concatenate([each.states for each in parts]),
            table=pa.concat_tables([each.table for each in parts]).combine_chunks(),
        )

    def _nothing(self) -> Fetched:
        keys = np.empty(0, dtype=np.int64)
        return Fetched(keys=keys, states=keys.astype(np.int8), table=self.schema.empty_table())

    def _answer(
        self, raw: pa.Table, keys: Ints, values: pa.Array, refused: dict[int, str],
        reasons: list[list[str]],
    ) -> Fetched:  # fmt: skip
        """Bring what a source gave into the order of the keys; refuse broken rows, and doubles.

        `refused` are keys that it cannot be read for.
        """
        table, broken = conformed(raw, self.schema)
        places = self.keys.places(values, keys, table)
        often = np.bincount(places[places >= 0], minlength=len(keys))
        states = np.where(often == 0, ABSENT, np.where(often == 1, FOUND, BROKEN)).astype(np.int8)
        why = {at: "several rows have this key" for at in np.flatnonzero(often > 1).tolist()}
        for row, reason in sorted(broken.items()):
            if (at := int(places[row])) >= 0:
                why.setdefault(at, reason)
        why |= refused
        states[list(why)] = BROKEN
        reasons += [[str(values[at].as_py()), why[at]] for at in sorted(why)]
        row_of = np.full(len(keys), -1, dtype=np.int64)
        row_of[places[places >= 0]] = np.flatnonzero(places >= 0)
        row_of[states != FOUND] = -1
        index = pa.array(row_of, mask=row_of < 0)
        columns = [column.take(index) for column in table.combine_chunks().columns]
        own = self.schema.get_field_index(self.keys.looked_up)
        columns[own] = pc.coalesce(columns[own], lossless(values, self.schema.field(own).type))
        return Fetched(keys=keys, states=states, table=pa.table(columns, schema=self.schema))
