"""Sweeps of model queries: stored segments, asked in all combinations at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.kinds.model_query.held_ranges import HeldRanges, held_ranges
from penstock.kinds.model_query.stored_segments import SegmentShelf, StoredSegments
from penstock.kinds.sweeps import ANSWERS, Sweep, SweepOutcome, Variants
from penstock.models.segments import Segments
from penstock.models.storage import from_table
from penstock.operators.catalogue import OPERATORS
from penstock.operators.model_query.key_codes import ABSENT
from penstock.operators.model_query.replay import SegmentReplay
from penstock.operators.shared.entries import PORT
from penstock.vocabulary.batches import Ints

PIECES_MAX = 1 << 22
"""Pairs of a query and a segment that are looked at together."""
SECOND_US = 1_000_000


def sweep_models(asked: Sweep) -> SweepOutcome:
    """Ask every combination of what the models of past rows say."""
    store = SegmentShelf(asked.directory, asked.past, asked.catalog)
    found = SweepTotals.of_none(asked.combinations)
    notes: dict[str, None] = {}
    done = 0
    for step, variants in _by_step(asked.variants):
        asked.progress("Making segments", done, asked.combinations)
        stored = store.of(step)
        notes.update(dict.fromkeys(each.words() for each in stored))
        replay = SegmentReplay(step)
        segments = [_segments(each, replay) for each in stored]
        lasts = [each.facts["last_us"] for each in stored if each.facts["last_us"] is not None]
        asked.progress("Replaying segments", done, asked.combinations)
        said = replay.said(segments)
        places, entries = _entries(step, variants)
        some = max(1, PIECES_MAX // max(len(said), 1))
        for first in range(0, entries.num_rows, some):
            own = entries.slice(first, some)
            pairs = replay.pairs(own, said)
            ranges = held_ranges(
                pairs.slot, _keys(pairs.rows.key)[pairs.row], pairs.starts,
                pairs.rows.ends[pairs.row], pairs.sign, max(lasts, default=0),
            )  # fmt: skip
            found.put(places[first : first + some], ranges, is_sampled=step.sample_us is not None)
            done += own.num_rows
            asked.progress("Asking", done, asked.combinations)
        done += sum(len(each.places) for each in variants) - entries.num_rows
    return SweepOutcome(answers=found.table(), notes=(*notes, *store.words()))


def _by_step(variants: Sequence[Variants]) -> list[tuple[ModelQueryStep, list[Variants]]]:
    """Put combinations of one shape together: they share segments and plan."""
    found: dict[ModelQueryStep, list[Variants]] = {}
    for each in variants:
        found.setdefault(each.logical.shape, []).append(each)
    return list(found.items())


def _entries(step: ModelQueryStep, variants: list[Variants]) -> tuple[Ints, pa.Table]:
    """Give the entries of combinations, and the number of the combination of each.

    Who asks for NULL is told nothing, and has no entry.
    """
    kind = OPERATORS[step.kind]
    places, parts = [], []
    for each in variants:
        own = kind.register(each.logical, step, each.parameters, 0).adds[PORT]
        places.append(each.places[own.column("query").to_numpy()])
        parts.append(own)
    return np.concatenate(places), pa.concat_tables(parts)


def _segments(stored: StoredSegments, replay: SegmentReplay) -> Segments:
    """Give stored segments with keys as the replay knows them."""
    key = np.empty((stored.table.num_rows, len(stored.source.made_key)), dtype=np.int64)
    for place, (name, type_) in enumerate(stored.source.made_key):
        codes, there = replay.codes.code(stored.table.column(name), type_)
        key[:, place] = np.where(there, codes, ABSENT)
    return from_table(stored.table, key, stored.attributes)


def _keys(codes: Ints) -> Ints:
    """Give a number for the key of every row, equal for equal ones."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), dtype=np.int64)
    found = np.unique(codes, axis=0, return_inverse=True)[1]
    return found.reshape(-1).astype(np.int64)


class SweepTotals:
    """What is told of every combination."""

    def __init__(self, answers: Ints, seconds: np.ndarray, first: Ints, last: Ints) -> None:
        self._answers, self._seconds, self._first, self._last = answers, seconds, first, last

    @classmethod
    def of_none(cls, combinations: int) -> SweepTotals:
        """Begin with no answer."""
        lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        return cls(
            np.zeros(combinations, dtype=np.int64), np.zeros(combinations),
            np.full(combinations, highest), np.full(combinations, lowest),
        )  # fmt: skip

    def put(self, places: Ints, ranges: HeldRanges, is_sampled: bool) -> None:
        """Take the answers of some combinations, which are the slots of the ranges."""
        of = places[ranges.slot]
        np.add.at(self._answers, of, 1)
        np.add.at(self._seconds, of, (ranges.ends - ranges.starts) / SECOND_US)
        np.minimum.at(self._first, of, ranges.starts)
        np.maximum.at(self._last, of, ranges.ends)
        if is_sampled:
            self._seconds[places] = np.nan

    def table(self) -> pa.Table:
        """Give a row for every combination."""
        none = self._answers == 0
        when = pa.timestamp("us", tz="UTC")
        times = [
            pa.array(np.where(none, 0, own), pa.int64(), mask=none).view(when)
            for own in (self._first, self._last)
        ]
        seconds = pa.array(self._seconds, mask=np.isnan(self._seconds))
        return pa.table([pa.array(self._answers), seconds, *times], schema=ANSWERS)
