"""Fields: what the kernels see of a row, int64 by int64.

Columns that equalities make equal are counted in one type: numbers and times by keys that compare
as they do, texts by codes. Comparisons and differences have their keys likewise, and so have the
comparisons with constants, for plans that ask them above the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.crossings import CrossedShape, key_classes
from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.common_keys import (
    canonical,
    common_type,
    difference_type,
    number_keys,
    same_values,
    value_keys,
)
from penstock.operators.shared.keys import validity
from penstock.operators.shared.terms import Term, input_terms
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import is_ordered

NO_CODES = -1
CODES_MIN = 1 << 12
"""So many codes of texts are never too many."""
Matrix = npt.NDArray[np.int64]
"""A row of fields per row."""
Spot = tuple[int, int]
"""A field of an input: (number of the input, number of the field)."""


@dataclass(frozen=True, slots=True)
class Link:
    """Fields of several inputs that must all be equal, at most one of each input."""

    members: tuple[Spot, ...]

    def __post_init__(self) -> None:
        inputs = [number for number, _ in self.members]
        assert len(set(inputs)) == len(inputs), "own keys are compared before rows are stored"


@dataclass(frozen=True, slots=True)
class Test:
    """`left op right`, or `low <= right - left <= high`, for fields of two inputs."""

    left: Spot
    op: Literal["<", "<=", "<>", "diff"]
    right: Spot
    low: int = 0
    high: int = 0

    def __post_init__(self) -> None:
        assert self.left[0] != self.right[0], "a test is between two inputs"

    def holds(self, left: Ints, right: Ints) -> Flags:
        """Ask it of the keys of two fields, row by row.

        >>> Test((0, 0), "diff", (1, 0), 1, 2).holds(np.array([5, -(1 << 63)]), np.array([7, 1]))
        array([ True, False])
        """
        found: Flags
        if self.op == "<":
            found = left < right
        elif self.op == "<=":
            found = left <= right
        elif self.op == "<>":
            found = left != right
        else:
            apart = right - left
            # A difference beyond 64 bits is beyond every bound; its sign then turns round.
            fits = ((right ^ left) & (right ^ apart)) >= 0
            found = fits & (self.low <= apart) & (apart <= self.high)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column in the type in which it is compared; `codes` numbers the texts it is coded among.

    `hashed` texts are keyed by their hash.
    """

    column: str
    type: pa.DataType
    common: pa.DataType
    codes: int = NO_CODES
    hashed: bool = False


class Fields:
    """The fields of every input, and what the kernels ask of them."""

    def __init__(self, step: CrossedShape) -> None:
        self._types = [shape.types for shape in step.inputs]
        self.specs: list[list[Field]] = [[] for _ in step.inputs]
        self.codes: list[BranchCodes] = []
        self._agreeing: list[list[tuple[Field, Field]]] = [[] for _ in step.inputs]
        self.links: list[Link] = []
        for places in key_classes(step.crossing.equalities):
            self._link(places)
        self.tests = [*self._comparisons(step), *self._differences(step)]
        self.terms: list[list[tuple[Term, int]]] = [
            [(term, self._place(number, self._term_field(number, term))) for term in terms]
            for number, terms in enumerate(input_terms(step))
        ]

    @property
    def widths(self) -> list[int]:
        """How many fields a row of each input has."""
        return [len(own) for own in self.specs]

    def _place(self, number: int, field: Field) -> int:
        """Give the place of a field among those of an input: equal ones have one."""
        own = self.specs[number]
        if field not in own:
            own.append(field)
        return own.index(field)

    def _link(self, places: tuple[tuple[int, str], ...]) -> None:
        types = [self._types[number][column] for number, column in places]
        common = reduce(common_type, types)
        codes = NO_CODES
        if not is_ordered(common):
            codes = len(self.codes)
            self.codes.append(BranchCodes([common]))
        members: dict[int, Field] = {}
        for (number, column), type_ in zip(places, types, strict=True):
            field = Field(column=column, type=type_, common=common, codes=codes)
            if number in members:
                self._agreeing[number].append((members[number], field))
            else:
                members[number] = field
        if len(members) > 1:
            own = tuple((number, self._place(number, field)) for number, field in members.items())
            self.links.append(Link(own))

    def _comparisons(self, step: CrossedShape) -> list[Test]:
        found = []
        for each in step.crossing.comparisons:
            left, right = (
                self._types[number][column] for number, column in (each.left, each.right)
            )
            common = common_type(left, right)
            assert is_ordered(common), "comparisons without an order are residual"
            found.append(Test(self._key(each.left, common), each.op, self._key(each.right, common)))
        return found

    def _differences(self, step: CrossedShape) -> list[Test]:
        found = []
        for each in step.crossing.differences:
            left, right = (
                self._types[number][column] for number, column in (each.left, each.right)
            )
            common = difference_type(left, right)
            own = self._key(each.left, common), self._key(each.right, common)
            found.append(Test(own[0], "diff", own[1], each.low, each.high))
        return found

    def _key(self, place: tuple[int, str], common: pa.DataType) -> tuple[int, int]:
        number, column = place
        field = Field(column=column, type=self._types[number][column], common=common)
        return number, self._place(number, field)

    def _term_field(self, number: int, term: Term) -> Field:
        own = self._types[number][term.column]
        return Field(column=term.column, type=own, common=term.type, hashed=term.text is not None)

    def columns(self, number: int) -> tuple[str, ...]:
        """Give the columns of an input that are read."""
        also = [right.column for _, right in self._agreeing[number]]
        return tuple(dict.fromkeys([*(field.column for field in self.specs[number]), *also]))

    def read(self, number: int, table: pa.Table) -> tuple[Matrix, Flags, Flags]:
        """Give the fields of rows but their codes, which rows have a value in all, and which agree.

        A row agrees if columns of its own that must be equal are.
        """
        rows = table.num_rows
        fields: Matrix = np.zeros((rows, len(self.specs[number])), dtype=np.int64)
        present: Flags = np.ones(rows, dtype=np.bool_)
        agrees: Flags = np.ones(rows, dtype=np.bool_)
        for place, field in enumerate(self.specs[number]):
            column = table.column(field.column)
            if field.codes != NO_CODES:
                present &= validity(canonical(column, field.type, field.common)[0])
                continue
            if field.hashed:
                keys, there = value_keys(column, field.type)
            else:
                keys, there = number_keys(column, field.type, field.common)
            fields[:, place] = keys
            present &= there
        for left, right in self._agreeing[number]:
            one, there = canonical(table.column(left.column), left.type, left.common)
            two, also = canonical(table.column(right.column), right.type, right.common)
            present &= there & also
            agrees &= same_values(one, two)
        return fields, present, agrees

    def encode(self, number: int, table: pa.Table, fields: Matrix) -> None:
        """Write the codes of rows whose values are all there."""
        for place, field in enumerate(self.specs[number]):
            if field.codes != NO_CODES:
                texts, _ = canonical(table.column(field.column), field.type, field.common)
                fields[:, place] = self.codes[field.codes].code([texts])

    def overgrown(self, rows: int) -> bool:
        """Whether there are many more codes than rows can have."""
        return any(codes.size > CODES_MIN + 4 * rows for codes in self.codes)

    def shrink(self, matrices: list[Matrix]) -> None:
        """Forget the codes that no row of the inputs has, and write the new codes of all rows."""
        for number, codes in enumerate(self.codes):
            columns = [
                matrix[:, place]
                for own, matrix in zip(self.specs, matrices, strict=True)
                for place, field in enumerate(own)
                if field.codes == number
            ]
            used: Ints = np.unique(np.concatenate(columns))
            renamed = codes.shrink(used)
            for column in columns:
                column[:] = renamed[column]
