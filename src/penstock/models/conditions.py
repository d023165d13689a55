"""Conditions over segments: when they hold, and how far they are from holding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.algebra.models import (
    Comparator,
    Fidelity,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelNegation,
    Polynomial,
)
from penstock.kernels.comparisons import ABOVE, BELOW, ZERO
from penstock.kernels.condition_slacks import slacks_find
from penstock.kernels.condition_solutions import (
    AND,
    FALSE,
    OR,
    TRUE,
    Program,
    Room,
    conditions_solve,
    difference_code,
    rows_build,
)
from penstock.kernels.root_grids import root_room
from penstock.models.differences import differences_of, over_differences
from penstock.models.segments import WIDTH, Segments
from penstock.vocabulary.batches import Floats, Ints

ALLOWS: dict[Comparator, int] = {
    "<": BELOW,
    "<=": BELOW | ZERO,
    "=": ZERO,
    "<>": BELOW | ABOVE,
    ">=": ZERO | ABOVE,
    ">": ABOVE,
}
"""Which signs of a difference satisfy a comparator."""
EVERY_SIGN = BELOW | ZERO | ABOVE
BEYOND = 1e-9
"""By which share of its length a gate looks beyond both ends of a segment."""
PIECES_MIN = 1024
"""How many solutions there is room for at least."""

Solved = tuple[Ints, Floats, Floats]


class ConditionSolver:
    """When a condition holds on segments of so many attributes.

    `parameters` are the names that its comparisons may compare with: each segment then comes with a
    number for each of them.

    >>> from penstock.algebra.models import Monomial
    >>> below = Polynomial(terms=(Monomial(factor=-110.0, powers=(0,)),
    ...                           Monomial(factor=1.0, powers=(1,))))
    >>> solver = ConditionSolver(ModelComparison(polynomial=below, comparator="<"), 1)
    >>> price = np.zeros((1, 1, WIDTH))
    >>> price[0, 0, :2] = 100.0, 2.0
    >>> [part.tolist() for part in solver.solve(price, np.zeros(1), np.full(1, 10.0))]
    [[0], [0.0], [5.0]]
    """

    def __init__(
        self, condition: ModelCondition, attributes: int, parameters: Sequence[str] = ()
    ) -> None:
        writer = _Writer(attributes, parameters)
        writer.write(condition)
        self.attributes = attributes
        self._parameters = len(parameters)
        self._writer = writer
        self._program = writer.program()

    def restrict(self, segments: Segments, numbers: Floats | None = None) -> Segments:
        """Give each segment for every interval, and at every instant, where the condition holds."""
        index, low, high = self.solve(segments.coefficients, segments.low, segments.high, numbers)
        if (
            len(index) == len(segments)
            and np.array_equal(low, segments.low)
            and np.array_equal(high, segments.high)
        ):
            return segments
        return segments.parts(index, low, high)

    def gate(self, segments: Segments) -> Segments:
        """Give the segments in which the condition holds for an instant, as they are.

        Such an instant may be a billionth of the range beyond it: who asks for less may have found
        it within, as the roots of polynomials that meet there are rounded.
        """
        beyond = BEYOND * (segments.high - segments.low)
        index, _, _ = self.solve(
            segments.coefficients, segments.low - beyond, segments.high + beyond
        )
        holds = np.zeros(len(segments), np.bool_)
        holds[index] = True
        return segments if holds.all() else segments.take(holds)

    def solve(
        self, coefficients: Floats, low: Floats, high: Floats, numbers: Floats | None = None
    ) -> Solved:
        """Give the number of the segment, low and high of every solution, segment by segment.

        `coefficients` are (n, attributes, WIDTH), `numbers` (n, parameters). A solution whose ends
        are equal is an instant. One that is the whole range has the range's own ends.
        """
        total = len(low)
        coefficients, low, high, numbers = self._input(coefficients, low, high, numbers)
        room = self._writer.room(coefficients.shape[2])
        state = np.zeros(1, np.int64)
        parts: list[Solved] = []
        size = max(PIECES_MIN, len(room.cuts), total + total // 8)
        while state[0] < total or not parts:
            made = np.empty(size, np.int64), np.empty(size), np.empty(size)
            count = conditions_solve(
                self._program, room, coefficients, numbers, low, high, int(state[0]), *made, state
            )
            parts.append((made[0][:count], made[1][:count], made[2][:count]))
        if len(parts) == 1:
            return parts[0]
        index, lows, highs = (np.concatenate(each) for each in zip(*parts, strict=True))
        return index, lows, highs

    def slack(
        self,
        coefficients: Floats,
        low: Floats,
        high: Floats,
        numbers: Floats | None = None,
        *,
        fidelity: Fidelity = "repaired",
    ) -> Floats:
        """Give by how much rows must move at least before the condition holds somewhere.

        It is 0 where the condition holds for an instant, or rows touch where it would. `literal`
        takes the greatest |row|, rows that hold included: more than is safe.
        """
        index, _, _ = self.solve(coefficients, low, high, numbers)
        coefficients, low, high, numbers = self._input(coefficients, low, high, numbers)
        holds = np.zeros(len(low), np.bool_)
        holds[index] = True
        found = np.empty(len(low))
        slacks_find(
            self._program, self._writer.room(coefficients.shape[2]), coefficients, numbers,
            low, high, holds, fidelity == "literal", found,
        )  # fmt: skip
        return found

    def kernel_input(self, width: int) -> tuple[Program, Room]:
        """Give the condition as kernels take it, with room for models of so many coefficients."""
        return self._program, self._writer.room(width)

    def _input(
        self, coefficients: Floats, low: Floats, high: Floats, numbers: Floats | None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        if numbers is None:
            numbers = np.zeros((len(low), self._parameters))
        return floats(coefficients), floats(low), floats(high), floats(numbers)


def floats(values: Floats) -> Floats:
    """Give numbers as kernels know them: side by side."""
    return np.ascontiguousarray(values, np.float64)


class PolynomialMap:
    """Models that are polynomials over the attributes of segments.

    >>> from penstock.algebra.models import Monomial
    >>> square = PolynomialMap([Polynomial(terms=(Monomial(factor=1.0, powers=(2,)),))], 1)
    >>> line = np.zeros((1, 1, WIDTH))
    >>> line[0, 0, :2] = 1.0, 2.0
    >>> square.models(line)[0, 0, :4].tolist(), square.degree_of([1])
    ([1.0, 4.0, 4.0, 0.0], 2)
    """

    def __init__(self, polynomials: Sequence[Polynomial], attributes: int) -> None:
        self._writer = _Writer(attributes, ())
        for polynomial in polynomials:
            self._writer.row(polynomial)
        self._program = self._writer.program()
        self._polynomials = tuple(polynomials)

    def models(self, coefficients: Floats) -> Floats:
        """Give the models (n, polynomials, WIDTH) of segments (n, attributes, WIDTH)."""
        coefficients = floats(coefficients)
        out = np.empty((len(coefficients), len(self._polynomials), WIDTH))
        room = self._writer.room(coefficients.shape[2])
        lost = rows_build(self._program, room, coefficients, out)
        if lost:
            raise OverflowError(f"{lost} models have powers above {WIDTH - 1}; see degree_of")
        return out

    def degree_of(self, degrees: Sequence[int]) -> int:
        """Give the highest power of time that a model may have, from those of the attributes."""
        return max(
            (
                sum(power * degree for power, degree in zip(term.powers, degrees, strict=True))
                for polynomial in self._polynomials
                for term in polynomial.terms
            ),
            default=0,
        )


class _Writer:
    """Writes a condition as arrays."""

    def __init__(self, attributes: int, parameters: Sequence[str]) -> None:
        self._attributes = attributes
        self._parameters = tuple(parameters)
        self._rows: list[Polynomial] = []
        self._tests: list[tuple[int, int, int]] = []
        self._words: list[int] = []
        self._rooms: dict[int, Room] = {}

    def row(self, polynomial: Polynomial) -> int:
        """Give the number of a polynomial's row, a new one at its place."""
        self._rows.append(polynomial)
        return len(self._rows) - 1

    def write(self, condition: ModelCondition, negated: bool = False) -> None:
        """Write a tree, or what it denies, the terms first."""
        if isinstance(condition, ModelNegation):
            self.write(condition.term, not negated)
        elif isinstance(condition, ModelComparison):
            number = -1
            if condition.parameter is not None:
                number = self._parameters.index(condition.parameter)
            allows = ALLOWS[condition.comparator]
            self._words.append(len(self._tests))
            self._tests.append(
                (self.row(condition.polynomial), EVERY_SIGN - allows if negated else allows, number)
            )
        else:
            is_and = isinstance(condition, ModelConjunction) != negated
            if not condition.terms:
                self._words.append(TRUE if is_and else FALSE)
            for place, term in enumerate(condition.terms):
                self.write(term, negated)
                if place:
                    self._words.append(AND if is_and else OR)

    def program(self) -> Program:
        """Give the arrays."""
        row_terms, factors, term_attributes, attributes = [0], [], [0], []
        for row in self._rows:
            pairs = differences_of(row)
            codes = {one: difference_code(one, other) for one, other in pairs}
            for term in over_differences(row, pairs).terms:
                factors.append(term.factor)
                for place, power in enumerate(term.powers):
                    attributes += [codes.get(place, place)] * power
                term_attributes.append(len(attributes))
            row_terms.append(len(factors))
        tests = np.array(self._tests, np.int64).reshape(-1, 3)
        return Program(
            np.array(row_terms, np.int64), np.array(factors, np.float64),
            np.array(term_attributes, np.int64), np.array(attributes, np.int64),
            tests[:, 0].copy(), tests[:, 1].copy(), tests[:, 2].copy(),
            np.array(self._words, np.int64),
        )  # fmt: skip

    def room(self, width: int) -> Room:
        """Give what solving writes into, for models of so many coefficients: made once."""
        if width not in self._rooms:
            self._rooms[width] = self._made_room(width)
        return self._rooms[width]

    def _made_room(self, width: int) -> Room:
        power = max((sum(t.powers) for row in self._rows for t in row.terms), default=1)
        wide = max(power, 1) * (width - 1) + 3
        tests = max(len(self._tests), 1)
        return Room(
            np.empty((tests, wide)), np.empty(tests, np.int64),
            np.empty((tests + 1, wide)), np.empty((tests + 1, wide), np.int8),
            np.empty(tests, np.int64), np.empty(tests, np.int64),
            root_room(wide), np.empty(wide), np.empty((4, wide)),
            np.empty(tests * wide + 2), np.empty(len(self._words) + 1, np.bool_),
            np.empty(len(self._words) + 1),
        )  # fmt: skip
