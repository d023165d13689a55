"""Made rows: segments, or samples of them, as rows of answers, each distinct one once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.kernels.polynomials import polynomials_evaluate, polynomials_shift
from penstock.models.segments import WIDTH, Segments
from penstock.operators.model_query.asked_index import SolvedPieces
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.same_words import same_words
from penstock.operators.model_query.standing_segments import SECOND_US, microseconds
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.changes import sign_beside

EXPECTED, CONFIRMED = "expected", "confirmed"


class RowContents(NamedTuple):
    """What rows say, as numbers; a sample has one instant, and its values."""

    key: Ints
    starts: Ints
    ends: Ints
    numbers: np.ndarray
    """(n, attributes, WIDTH) coefficients after `starts`, or (n, attributes) values."""

    def take(self, places: np.ndarray) -> Self:
        """Give some rows."""
        return type(self)(*(own[places] for own in self))

    @classmethod
    def joined(cls, parts: list[RowContents]) -> RowContents:
        """Give the rows of several, one behind the other."""
        return cls(*(np.concatenate(own) for own in zip(*parts, strict=True)))

    def same_of(self, row: Ints, marks: Flags) -> Ints:
        """Give a number for each mention of a row: equal where rows say the same and marks do."""
        found: Ints = self._same()[row] * 2 + marks
        return found

    def _same(self) -> Ints:
        """Give a number for every row, equal for rows that say the same."""
        if len(self.starts) == 0:
            return self.starts
        numbers = np.ascontiguousarray(self.numbers).reshape(len(self.starts), -1)
        words = np.concatenate(
            [self.key, self.starts[:, None], self.ends[:, None], numbers.view(np.int64)], axis=1
        )
        return same_words(words)


class MadePairs(NamedTuple):
    """Rows, and whom they are for: for each pair the query's slot, the row and the sign."""

    rows: RowContents
    slot: np.ndarray
    row: Ints
    sign: np.ndarray

    def take(self, places: np.ndarray) -> MadePairs:
        """Give some pairs of the same rows."""
        return MadePairs(self.rows, self.slot[places], self.row[places], self.sign[places])

    @classmethod
    def joined(cls, parts: Sequence[MadePairs]) -> MadePairs:
        """Give the pairs of several, one behind the other."""
        firsts = np.cumsum([0, *(len(own.rows.starts) for own in parts)])
        return cls(
            RowContents.joined([own.rows for own in parts]),
            np.concatenate([own.slot for own in parts]),
            np.concatenate([own.row + first for own, first in zip(parts, firsts, strict=False)]),
            np.concatenate([own.sign for own in parts]),
        )

    @property
    def starts(self) -> Ints:
        """When the row of each pair begins."""
        return self.rows.starts[self.row]

    def net(self, marks: Flags) -> tuple[MadePairs, Flags]:
        """Add up the signs of equal rows of a query that are marked alike; give what is left.

        A pair whose signs add up to more than one is there as often.
        """
        group = self.rows.same_of(self.row, marks)
        order = np.lexsort((group, self.slot))
        slot, own = self.slot[order], group[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (slot[1:] != slot[:-1]) | (own[1:] != own[:-1])
        places = np.flatnonzero(first)
        total = np.add.reduceat(self.sign[order].astype(np.int64), places) if len(order) else places
        left = np.repeat(places, np.abs(total))
        kept = order[left]
        sign = np.repeat(np.sign(total), np.abs(total)).astype(np.int8)
        return MadePairs(self.rows, self.slot[kept], self.row[kept], sign), marks[kept]

    def compact(self) -> MadePairs:
        """Give the same pairs without rows that none of them has."""
        used, row = np.unique(self.row, return_inverse=True)
        return MadePairs(self.rows.take(used), self.slot, row.reshape(-1), self.sign)


class RowMaker:
    """Makes the rows of a step."""

    def __init__(self, step: ModelQueryStep, codes: KeyCodes) -> None:
        self._step, self._codes = step, codes
        names = [name for name, _ in step.made]
        self._names = [*names, sign_beside(names)]

    def pairs(self, segments: Segments, pieces: SolvedPieces) -> MadePairs:
        """Give pieces as rows, those that are equal once for each segment."""
        if self._step.sample_us is not None:
            return self._samples(segments, pieces, self._step.sample_us)
        index = pieces.index
        starts = microseconds(segments.reference[index], pieces.low)
        ends = microseconds(segments.reference[index], pieces.high)
        told: Flags = (starts < ends) | (pieces.low == pieces.high)
        if not told.all():
            index, starts, ends = index[told], starts[told], ends[told]
        first, row = _distinct([index, starts, ends])
        own = segments.take(index[first])
        later = (starts[first] - own.reference) / SECOND_US
        models = np.empty(own.coefficients.shape)
        polynomials_shift(np.ascontiguousarray(own.coefficients), later, models)
        rows = RowContents(own.key, starts[first], ends[first], models + 0.0)
        slot = pieces.slot if told.all() else pieces.slot[told]
        return MadePairs(rows, slot, row, segments.sign[index])

    def _samples(self, segments: Segments, pieces: SolvedPieces, every: int) -> MadePairs:
        """Give the values at all multiples of the period in pieces, and at instants."""
        starts = microseconds(segments.reference[pieces.index], pieces.low)
        ends = microseconds(segments.reference[pieces.index], pieces.high)
        points: Flags = pieces.low == pieces.high
        first, last = -(-starts // every), -(-ends // every)
        sizes = np.where(points, 1, np.maximum(last - first, 0))
        of = np.repeat(np.arange(len(sizes)), sizes)
        nth = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.where(points[of], starts[of], (first[of] + nth) * every)
        index = pieces.index[of]
        once, row = _distinct([index, at])
        own = segments.take(index[once])
        seconds = (at[once] - own.reference) / SECOND_US
        values = np.empty((len(own), own.coefficients.shape[1]))
        polynomials_evaluate(np.ascontiguousarray(own.coefficients), seconds, values)
        rows = RowContents(own.key, at[once], at[once], values + 0.0)
        return MadePairs(rows, pieces.slot[of], row, segments.sign[index])

    def table(self, rows: RowContents, sign: np.ndarray, expected: Flags | None) -> pa.Table:
        """Give rows as Arrow has them, with their signs and, if they predict, their status."""
        step = self._step
        columns: list[pa.Array] = [
            self._codes.values(rows.key[:, place], type_)
            for place, (_, type_) in enumerate(step.key)
        ]
        when = pa.timestamp("us", tz="UTC")
        columns.append(pa.array(rows.starts, pa.int64()).view(when))
        if step.sample_us is None:
            columns.append(pa.array(rows.ends, pa.int64()).view(when))
        for place in range(len(step.attributes)):
            own = rows.numbers[:, place]
            columns.append(pa.array(own) if step.sample_us is not None else _lists(own))
        if expected is not None:
            words = pa.array([CONFIRMED, EXPECTED])
            columns.append(words.take(pa.array(expected.astype(np.int8))))
        return pa.table([*columns, pa.array(sign.astype(np.int8))], names=self._names)


def _lists(models: np.ndarray) -> pa.Array:
    """Give coefficients as lists, without the zeros behind the highest power."""
    there = models != 0.0
    sizes = np.where(there.any(axis=1), WIDTH - np.argmax(there[:, ::-1], axis=1), 1)
    values = models[np.arange(WIDTH) < sizes[:, None]]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def _distinct(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Give the place of the first of equal rows, and for every row which of these it is."""
    order = np.lexsort(columns[::-1])
    differs = np.zeros(len(order), dtype=np.bool_)
    differs[:1] = True
    for column in columns:
        own = column[order]
        differs[1:] |= own[1:] != own[:-1]
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(differs) - 1
    return order[differs], row
