"""Maps: segments with other attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.algebra.models import MappedAttribute, ModelMap, Polynomial
from penstock.kernels.model_approximations import (
    ABS,
    EXACT,
    LEVELS,
    RATIO,
    SQRT,
    Tangents,
    models_approximate,
)
from penstock.kernels.root_grids import root_room
from penstock.models.conditions import PolynomialMap
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape, limited
from penstock.models.stages import Stateless
from penstock.vocabulary.errors import PenstockError

KINDS = {None: EXACT, "sqrt": SQRT, "abs": ABS, "ratio": RATIO}
NOTHING = Polynomial(terms=())
PIECES_MIN = 1024
PIECES_MAX = 1 << 20
"""How many pieces one segment may become."""


class MapStage(Stateless):
    """Attributes that are polynomials over those of the input, or certified lines near functions.

    It keeps nothing: the lines of a part of a segment are those of the whole.
    """

    def __init__(self, node: ModelMap, shape: SegmentShape) -> None:
        super().__init__(mapped_shape(node, shape))
        self._key = np.array(node.key, np.int64)
        count = len(shape.degrees)
        self._numerators = PolynomialMap([each.polynomial for each in node.attributes], count)
        self._divisors = PolynomialMap([each.divisor or NOTHING for each in node.attributes], count)
        self._kinds = np.array([KINDS[each.function] for each in node.attributes], np.int64)
        self._tolerances = np.array([each.tolerance for each in node.attributes], np.float64)

    def push(self, segments: Segments) -> Segments:
        """Give the segments with their new attributes."""
        models = self._numerators.models(segments.coefficients)
        segments = replace(segments, key=segments.key[:, self._key])
        if not self._kinds.any():
            return replace(segments, coefficients=models)
        divisors = self._divisors.models(segments.coefficients)
        state = np.zeros(1, np.int64)
        parts = []
        room = max(PIECES_MIN, 2 * len(segments))
        while state[0] < len(segments):
            before = int(state[0])
            index, low, high = np.empty(room, np.int64), np.empty(room), np.empty(room)
            out = np.empty((room, len(self._kinds), WIDTH))
            count = models_approximate(
                self._kinds, self._tolerances, models, divisors, segments.low, segments.high,
                self._desk(), state, index, low, high, out,
            )  # fmt: skip
            taken = segments.take(index[:count])
            parts.append(
                replace(taken, low=low[:count], high=high[:count], coefficients=out[:count])
            )
            if state[0] == before:
                room = self._widened(room)
        return Segments.joined(parts) if parts else replace(segments, coefficients=models)

    @staticmethod
    def _widened(room: int) -> int:
        if room >= PIECES_MAX:
            raise PenstockError(
                "MDL-053",
                f"A segment would become more than {PIECES_MAX:,} pieces of a function.",
                "Widen the error bound of the query, or shorten the horizon.",
            )
        return room * 4

    def _desk(self) -> Tangents:
        wide = WIDTH + 4
        return Tangents(
            np.empty(wide), np.empty(wide), np.empty(wide), np.empty(wide), np.empty(wide),
            np.empty(wide, np.int8), root_room(wide), np.empty(wide),
            np.empty(len(self._kinds) * wide + 2), np.empty((len(self._kinds), 2)),
            np.empty((LEVELS + 2, 2)),
        )  # fmt: skip


def mapped_shape(node: ModelMap, shape: SegmentShape) -> SegmentShape:
    """Give the shape of what a map makes."""
    for each in node.attributes:
        _check(each)
    degrees = tuple(_degree(each, shape.degrees) for each in node.attributes)
    kept = tuple(shape.same.get(column, column) for column in node.key)
    is_function = shape.is_function and all(
        shape.same.get(column, column) in kept for column in range(shape.key)
    )
    return limited(replace(shape, key=len(node.key), degrees=degrees, is_function=is_function,
                           same={}))  # fmt: skip


def _check(each: MappedAttribute) -> None:
    if each.function in ("sqrt", "ratio") and not each.tolerance > 0.0:
        raise PenstockError(
            "MDL-054",
            f"'{each.name}' is a {each.function}, to which models can only come near, and nothing "
            "says how near.",
            "Give the query an ERROR WITHIN above 0.",
        )


def _degree(each: MappedAttribute, degrees: Sequence[int]) -> int:
    own = PolynomialMap([each.polynomial], len(degrees)).degree_of(degrees)
    below = PolynomialMap([each.divisor or NOTHING], len(degrees)).degree_of(degrees)
    return max(own, below) if each.function in (None, "abs") else max(1, own, below)
