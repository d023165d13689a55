"""Keys: what the rows of streams join by, one int64 each.

Whole numbers, dates, times (microseconds) and decimals (their last digits) are keys as they are, so
that laws can count with them. Everything else, and several columns together, is hashed; then what
is found to join is asked again for the values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import CrossedShape
from penstock.algebra.memories import COUNTED
from penstock.kernels.fingerprints import prints_mix
from penstock.operators.shared.combinations import Combinations
from penstock.operators.shared.common_keys import canonical, number_keys, same_values, text_hashes
from penstock.operators.shared.fields import NO_CODES, Field, Fields, Matrix, Test
from penstock.operators.shared.inputs import Input
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, kind_of

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class JoinKeys:
    """How keys are read, and what is left to be asked of rows whose keys are equal."""

    def __init__(self, step: CrossedShape) -> None:
        self.fields = Fields(step)
        self._links = [dict(sorted(link.members)) for link in self.fields.links]
        assert self._links, "the streams have an equality"
        own = [self.fields.specs[number][place] for number, place in self._links[0].items()]
        self._common = own[0].common
        self.numeric = (
            len(self._links) == 1
            and own[0].codes == NO_CODES
            and kind_of(self._common) in COUNTED
            and all(field.type != pa.uint64() for field in own)
        )
        """Whether keys are the values themselves."""
        is_exact = kind_of(self._common) is not ColumnKind.TIMESTAMP or self._common.unit == "us"
        self._asked = [] if self.numeric and is_exact else self._links

    def read(self, number: int, table: pa.Table) -> tuple[Matrix, Flags, Flags]:
        """Give the fields of rows, which rows have all values, and which agree with themselves."""
        return self.fields.read(number, table)

    def keys(self, number: int, table: pa.Table, fields: Matrix) -> Ints:
        """Give the keys of rows that have all values."""
        if self.numeric:
            return self._counted(fields[:, self._links[0][number]])
        prints = np.zeros(len(fields), dtype=np.int64)
        present = np.ones(len(fields), dtype=np.bool_)
        for link in self._links:
            field = self.fields.specs[number][link[number]]
            words = fields[:, link[number]]
            if field.codes != NO_CODES:
                column = table.column(field.column)
                words = text_hashes(canonical(column, field.type, field.common)[0])
            prints_mix(prints, np.ascontiguousarray(words), present)
        return prints

    def _counted(self, keys: Ints) -> Ints:
        if kind_of(self._common) is ColumnKind.TIMESTAMP:
            unit = self._common.unit
            return keys // 1_000 if unit == "ns" else keys * MICROSECONDS[unit]
        return np.ascontiguousarray(keys)

    def hold(self, inputs: Mapping[int, Input], found: Combinations, others: bool = False) -> Flags:
        """Say which pairs of rows with equal keys satisfy all that links the streams.

        `others`: whether rows are there for other queries too, and by another key.
        """
        holds: Flags = np.ones(len(found), dtype=np.bool_)
        if others:
            for number in self._links[0]:
                ids = np.ascontiguousarray(found[:, number])
                table = inputs[number].take(ids, self.fields.columns(number))
                _, present, agrees = self.fields.read(number, table)
                holds &= present & agrees
        for link in self._links if others else self._asked:
            holds &= self._same(inputs, found, link)
        for test in self.fields.tests:
            holds &= self._passes(inputs, found, test)
        return holds

    def _same(
        self, inputs: Mapping[int, Input], found: Combinations, link: dict[int, int]
    ) -> Flags:
        sides = []
        for number, place in link.items():
            field = self.fields.specs[number][place]
            column = inputs[number].take(found[:, number], (field.column,)).column(0)
            sides.append(canonical(column, field.type, field.common)[0].cast(_plain(field)))
        return same_values(*sides)

    def _passes(self, inputs: Mapping[int, Input], found: Combinations, test: Test) -> Flags:
        left, right = (self._numbers(inputs, found, *place) for place in (test.left, test.right))
        return test.holds(left, right)

    def _numbers(
        self, inputs: Mapping[int, Input], found: Combinations, number: int, place: int
    ) -> Ints:
        field = self.fields.specs[number][place]
        column = inputs[number].take(found[:, number], (field.column,)).column(0)
        return number_keys(column, field.type, field.common)[0]


def _plain(field: Field) -> pa.DataType:
    """Give one type for the texts, or the numbers, of both sides."""
    return pa.int64() if field.codes == NO_CODES else pa.string()


def is_numeric(step: CrossedShape) -> bool:
    """Say whether laws can count with the keys of a step."""
    return JoinKeys(step).numeric
