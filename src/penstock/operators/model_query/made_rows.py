"""Made rows: segments, or samples of them, as rows of answers, each distinct one once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.kernels.model_tellings import contents_write, lists_write, pieces_place
from penstock.kernels.polynomials import polynomials_evaluate
from penstock.models.segments import WIDTH, Segments
from penstock.operators.model_query.asked_index import SolvedPieces
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.standing_segments import SECOND_US, microseconds, not_before
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.changes import sign_beside

EXPECTED, CONFIRMED = "expected", "confirmed"
STATUSES = pa.array([CONFIRMED, EXPECTED])
INSTANT = pa.timestamp("us", tz="UTC")


class RowContents(NamedTuple):
    """What rows say, as words: a key, from when to when, and the bits of numbers.

    Numbers are the coefficients of each attribute after the start, or, of a sample, its values.
    """

    words: Ints
    """(n, key columns + 2 + numbers), side by side."""
    keys: int
    """How many columns the key has."""

    @classmethod
    def of(cls, key: Ints, starts: Ints, ends: Ints, numbers: np.ndarray) -> RowContents:
        """Put rows together."""
        bits = np.ascontiguousarray(numbers).view(np.int64)
        words = np.concatenate([key, starts[:, None], ends[:, None], bits], axis=1)
        return cls(words, key.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    @property
    def key(self) -> Ints:
        """The codes of keys."""
        return self.words[:, : self.keys]

    @property
    def starts(self) -> Ints:
        """When rows begin."""
        return self.words[:, self.keys]

    @property
    def ends(self) -> Ints:
        """When rows end."""
        return self.words[:, self.keys + 1]

    @property
    def numbers(self) -> Floats:
        """The numbers of rows."""
        return self.words.view(np.float64)[:, self.keys + 2 :]

    def take(self, places: np.ndarray) -> RowContents:
        """Give some rows."""
        return RowContents(self.words[places], self.keys)

    @classmethod
    def joined(cls, parts: Sequence[RowContents]) -> RowContents:
        """Give the rows of several, one behind the other."""
        return cls(np.concatenate([own.words for own in parts]), parts[0].keys)


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
        firsts = np.cumsum([0, *(len(own.rows) for own in parts)])
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

    def compact(self) -> MadePairs:
        """Give the same pairs without rows that none of them has."""
        used, row = np.unique(self.row, return_inverse=True)
        return MadePairs(self.rows.take(used), self.slot, row.reshape(-1), self.sign)


NOT_BORN: Ints = np.empty((0, 1), dtype=np.int64)
"""Births of queries that are told of all times."""


class RowMaker:
    """Makes the rows of a step."""

    def __init__(self, step: ModelQueryStep, codes: KeyCodes) -> None:
        self._step, self._codes = step, codes
        names = [name for name, _ in step.made]
        self._names = [*names, sign_beside(names)]
        self._schema: pa.Schema | None = None

    def pairs(
        self, segments: Segments, pieces: SolvedPieces, births: Ints = NOT_BORN
    ) -> MadePairs:  # fmt: skip
        """Give pieces as rows, those that are equal once for each segment.

        `births` say from when on the query of each slot is told.
        """
        if self._step.sample_us is not None:
            born = _born(segments, pieces, births) if len(births) else pieces
            return self._samples(segments, born, self._step.sample_us)
        count = len(pieces.index)
        slot, sizes = np.empty(count, np.int32), np.empty(2, np.int64)
        index, starts, ends, first, row = np.empty((5, count), np.int64)
        pieces_place(
            segments.reference, births, pieces.slot, pieces.index, pieces.low, pieces.high,
            slot, index, starts, ends, first, row, sizes,
        )  # fmt: skip
        told, rows = sizes.tolist()
        index, row = index[:told], row[:told]
        first = first[:rows]
        if rows < 0:
            first, row = _distinct([index, starts[:told], ends[:told]])
        models = np.ascontiguousarray(segments.coefficients)
        key = np.ascontiguousarray(segments.key)
        width = key.shape[1] + 2 + models.shape[1] * models.shape[2]
        words = np.empty((len(first), width), np.int64)
        contents_write(
            key, segments.reference, models, index, starts, ends, first, words,
            words.view(np.float64),
        )  # fmt: skip
        made = RowContents(words, key.shape[1])
        return MadePairs(made, slot[:told], row, segments.sign[index])

    def _samples(self, segments: Segments, pieces: SolvedPieces, every: int) -> MadePairs:
        """Give the values at all multiples of the period in pieces, and at instants."""
        reference = segments.reference[pieces.index]
        points: Flags = pieces.low == pieces.high
        first, last = (-(-not_before(reference, x) // every) for x in (pieces.low, pieces.high))
        sizes = np.where(points, 1, np.maximum(last - first, 0))
        starts = microseconds(reference, pieces.low)
        of = np.repeat(np.arange(len(sizes)), sizes)
        nth = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.where(points[of], starts[of], (first[of] + nth) * every)
        index = pieces.index[of]
        once, row = _distinct([index, at])
        own = segments.take(index[once])
        seconds = (at[once] - own.reference) / SECOND_US
        values = np.empty((len(own), own.coefficients.shape[1]))
        polynomials_evaluate(np.ascontiguousarray(own.coefficients), seconds, values)
        rows = RowContents.of(own.key, at[once], at[once], values + 0.0)
        return MadePairs(rows, pieces.slot[of], row, segments.sign[index])

    def table(self, rows: RowContents, sign: np.ndarray, expected: Flags | None) -> pa.Table:
        """Give rows as Arrow has them, with their signs and, if they predict, their status."""
        step, key = self._step, rows.key
        columns: list[pa.Array] = [
            self._codes.values(key[:, place], type_) for place, (_, type_) in enumerate(step.key)
        ]
        columns.append(_times(rows.starts))
        if step.sample_us is None:
            columns.append(_times(rows.ends))
            bits = np.ascontiguousarray(rows.words).view(np.float64)
            firsts = range(rows.keys + 2, bits.shape[1], WIDTH)
            columns += [_lists(bits, first) for first in firsts]
        else:
            columns += [pa.array(own) for own in rows.numbers.T]
        if expected is not None:
            columns.append(STATUSES.take(pa.array(expected.view(np.int8))))
        columns.append(pa.array(sign, pa.int8()))
        if self._schema is None:
            types = [own.type for own in columns]
            self._schema = pa.schema(list(zip(self._names, types, strict=True)))
        return pa.Table.from_arrays(columns, schema=self._schema)


def _times(instants: Ints) -> pa.Array:
    """Give event times as Arrow has them."""
    own = np.ascontiguousarray(instants)
    return pa.Array.from_buffers(INSTANT, len(own), [None, pa.py_buffer(own)])


def _lists(numbers: Floats, begin: int) -> pa.Array:
    """Give coefficients, which begin at a column, as lists of those up to the highest power."""
    offsets, values = np.empty(len(numbers) + 1, np.int32), np.empty(len(numbers) * WIDTH)
    count = lists_write(numbers, begin, WIDTH, offsets, values)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[:count]))


def _born(segments: Segments, pieces: SolvedPieces, births: Ints) -> SolvedPieces:
    """Give pieces, each from the birth of its query on."""
    born = births[pieces.slot, 0]
    reference = segments.reference[pieces.index]
    early: Flags = microseconds(reference, pieces.low) < born
    if not early.any():
        return pieces
    ends = microseconds(reference, pieces.high)
    low = np.where(early, (born - reference) / SECOND_US, pieces.low)
    found = SolvedPieces(pieces.slot, pieces.index, low, pieces.high)
    return found.take(~early | (ends > born))


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
