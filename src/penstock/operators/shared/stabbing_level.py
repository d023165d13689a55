"""Level: entries that were indexed together; nothing changes in it but that entries die."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.kernels.levels import highs_summarise, runs_arrange
from penstock.kernels.radix_sorts import entries_order
from penstock.kernels.stabs import DEAD
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelEntries:
    """Entries in the order of their queries; `lows[k]`, `highs[k]` are the ranges on column k.

    A branch without ranges has one, which contains every key.
    """

    codes: Rows
    lows: Ints
    highs: Ints
    queries: Ints
    shared: Flags | None
    parameters: pa.Table | None

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Entries in index order (see `kernels.stabbing`), and where each one of a query is.

    `payloads` are query numbers (`~query` for shared ones), or, with parameters, ranks: an entry's
    rank is its place in the order of queries. `queries`, `shared`, `positions` and `parameters`
    are by rank.
    """

    indexed: int
    run_codes: Rows
    run_starts: Rows
    run_widths: Ints
    run_mirrored: npt.NDArray[np.uint8]
    lows: Ints
    highs: Ints
    payloads: Ints
    blocks: Ints
    pages: Ints
    other_lows: Ints
    other_highs: Ints
    queries: Ints
    shared: Flags | None
    positions: Rows
    parameters: pa.Table | None

    def __len__(self) -> int:
        return len(self.queries)

    def kill(self, drops: Ints) -> tuple[int, Flags]:
        """Make the entries of queries match nothing; say how many died, and whose they were."""
        first = np.searchsorted(drops, self.queries[0])
        last = np.searchsorted(drops, self.queries[-1], side="right")
        hit = np.zeros(len(drops), dtype=np.bool_)
        near = drops[first:last]
        start = np.searchsorted(self.queries, near)
        if self.shared is None:  # A query has one entry.
            at = np.minimum(start, len(self.queries) - 1)
            count = (self.queries[at] == near).astype(np.int64)
        else:
            count = np.searchsorted(self.queries, near, side="right") - start
        # Ranks start, start + 1, …, start + count - 1 for every dropped query.
        ranks = np.repeat(start - np.cumsum(count) + count, count) + np.arange(count.sum())
        positions = self.positions[ranks]
        alive = self.highs[positions] != DEAD
        self.highs[positions] = DEAD
        hit[first + np.repeat(np.arange(len(near)), count)[alive]] = True
        return int(np.count_nonzero(alive)), hit

    def live(self) -> Flags:
        """Say by rank which entries live."""
        return np.asarray(self.highs[self.positions] != DEAD)

    def entries(self) -> LevelEntries:
        """Give back what lives, in the order of queries."""
        live = self.live()
        positions = self.positions[live]
        runs = np.diff(self.run_starts)
        low, high = self.lows[positions], self.highs[positions]
        if self.run_mirrored.any():
            mirrored = np.repeat(self.run_mirrored != 0, runs)[positions]
            low, high = np.where(mirrored, LOWEST, low), np.where(mirrored, ~low, high)
        lows = [column[positions] for column in self.other_lows]
        highs = [column[positions] for column in self.other_highs]
        lows.insert(self.indexed, low)
        highs.insert(self.indexed, high)
        return LevelEntries(
            codes=np.repeat(self.run_codes, runs)[positions],
            lows=np.stack(lows),
            highs=np.stack(highs),
            queries=self.queries[live],
            shared=None if self.shared is None else self.shared[live],
            parameters=None if self.parameters is None else self.parameters.filter(pa.array(live)),
        )


def build_level(entries: LevelEntries, indexed: int) -> Level:
    """Index entries on one of their range columns.

    Entries without a lower end are mirrored: their low is ~high, and ~key is looked for. Their
    only end then decides, and it is what they are sorted by.
    """
    low, high = entries.lows[indexed], entries.highs[indexed]
    mirrored = low == LOWEST
    codes = entries.codes << 1
    if mirrored.any():
        low, high = np.where(mirrored, ~high, low), np.where(mirrored, HIGHEST, high)
        codes |= mirrored
    order = entries_order(codes, low)
    # In order first: arranging runs reads the entries several times.
    codes, low, high = codes[order], low[order], high[order]
    moved, run_codes, run_starts, run_widths = runs_arrange(codes, low, high)
    placed = order[moved]
    low, high = low[moved], high[moved]
    positions = np.empty(len(entries), dtype=np.int32)
    positions[placed] = np.arange(len(entries), dtype=np.int32)
    blocks, pages = highs_summarise(high)
    payloads = entries.queries
    if entries.parameters is not None:
        payloads = np.arange(len(entries))
    elif entries.shared is not None:
        payloads = np.where(entries.shared, ~payloads, payloads)
    others = [k for k in range(len(entries.lows)) if k != indexed]
    return Level(
        indexed=indexed,
        run_codes=run_codes >> 1,
        run_starts=run_starts,
        run_widths=run_widths,
        run_mirrored=(run_codes & 1).astype(np.uint8),
        lows=low,
        highs=high,
        payloads=payloads[placed],
        blocks=blocks,
        pages=pages,
        other_lows=_columns(entries.lows, others, placed),
        other_highs=_columns(entries.highs, others, placed),
        queries=entries.queries,
        shared=entries.shared,
        positions=positions,
        parameters=entries.parameters,
    )


def _columns(ranges: Ints, chosen: list[int], placed: Rows) -> Ints:
    """Give the chosen columns in index order (no column: an empty array costs nothing)."""
    columns = np.empty((len(chosen), len(placed) if chosen else 0), dtype=np.int64)
    for k, column in enumerate(chosen):
        columns[k] = ranges[column][placed]
    return columns


def join_entries(parts: list[LevelEntries]) -> LevelEntries:
    """Put entries together; the queries of each part are above those of the part before."""
    if len(parts) == 1:
        return parts[0]
    shared = None
    if any(part.shared is not None for part in parts):
        shared = np.concatenate(
            [np.zeros(len(p), dtype=np.bool_) if p.shared is None else p.shared for p in parts]
        )
    tables = [part.parameters for part in parts if part.parameters is not None]
    return LevelEntries(
        codes=np.concatenate([part.codes for part in parts]),
        lows=np.concatenate([part.lows for part in parts], axis=1),
        highs=np.concatenate([part.highs for part in parts], axis=1),
        queries=np.concatenate([part.queries for part in parts]),
        shared=shared,
        parameters=pa.concat_tables(tables).combine_chunks() if tables else None,
    )
