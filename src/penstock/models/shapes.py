"""Shapes: what is known of a stage's segments before there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.algebra.models import DEGREE_MAX, ModelSource
from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentShape:
    """The key columns and attributes of segments, and how they lie in time."""

    key: int
    """How many key columns there are."""
    degrees: tuple[int, ...]
    """The highest power of time of each attribute."""
    is_function: bool = True
    """Whether a key has at most one segment at an instant."""
    same: Mapping[int, int] = field(default_factory=dict)
    """Key columns that equal an earlier one, always."""
    late_us: int = 0
    """How far before the present a segment may begin that comes now."""


def source_shape(source: ModelSource) -> SegmentShape:
    """Give the shape of a source's segments."""
    degrees = tuple(
        each.fit.degree if each.fit is not None else max(len(each.coefficients) - 1, 0)
        for each in source.attributes
    )
    return limited(SegmentShape(key=len(source.made_key), degrees=degrees))


def limited(shape: SegmentShape) -> SegmentShape:
    """Refuse models of too high a degree."""
    highest = max(shape.degrees, default=0)
    if highest > DEGREE_MAX:
        raise PenstockError(
            "MDL-052",
            f"A model of the query would have the degree {highest}; the highest is {DEGREE_MAX}.",
            "Use models of a lower degree, or multiply fewer of them.",
        )
    return shape
