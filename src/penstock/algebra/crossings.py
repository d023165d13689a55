"""Crossings: what a join asks of columns of several inputs, as kernels understand it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from penstock.algebra.inputs import InputsQuery, InputsShape, Place
from penstock.vocabulary.codec import Form, Node

Comparing = Literal["<", "<=", "<>"]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left op right` for columns of two inputs whose types have one order."""

    FORM: ClassVar[Form] = "row"

    left: Place
    op: Comparing
    right: Place


@dataclass(frozen=True, slots=True)
class Difference(Node):
    """`low <= right - left <= high` for columns of two inputs: whole numbers of one unit."""

    FORM: ClassVar[Form] = "row"

    left: Place
    right: Place
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing(Node):
    """The predicates that speak of several inputs and that kernels understand."""

    equalities: tuple[tuple[Place, Place], ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    differences: tuple[Difference, ...] = ()


def key_classes(equalities: Iterable[tuple[Place, Place]]) -> tuple[tuple[Place, ...], ...]:
    """Bring together all columns that equalities make equal; a class may name an input twice.

    >>> key_classes([((0, "x"), (1, "x")), ((2, "y"), (1, "x")), ((0, "z"), (2, "z"))])
    (((0, 'x'), (1, 'x'), (2, 'y')), ((0, 'z'), (2, 'z')))
    """
    classes: list[set[Place]] = []
    for left, right in equalities:
        met = [each for each in classes if left in each or right in each]
        classes = [each for each in classes if each not in met]
        classes.append({left, right}.union(*met))
    return tuple(sorted(tuple(sorted(each)) for each in classes))


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedQuery(InputsQuery):
    """A join whose inputs meet by crossings: in windows, within a budget, or by looking up.

    Its inputs stand in the order of FROM. `where_sql` is the whole predicate but the windows.
    """

    crossing: Crossing = field(default_factory=Crossing)

    @classmethod
    def of(cls, query: CrossedQuery, **more: Any) -> Self:  # what the class has beside
        """Give a query that asks the same, and something beside it."""
        return cls(
            **{each.name: getattr(query, each.name) for each in fields(CrossedQuery)}, **more
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedShape(InputsShape):
    """What all such joins of one shape have in common."""

    crossing: Crossing = field(default_factory=Crossing)
