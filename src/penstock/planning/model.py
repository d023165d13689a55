"""The model of a multi-way window join: what the planner knows of its inputs and predicates.

Rates are rows per second, times are seconds. Sets of inputs are masks, as in `algebra.trees`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class InputModel:
    """A stream with its window, or a table: `rate` is 0, and `rows` its size.

    A window of `rows` is tuple-based. One of `range_s` seconds holds rate * range_s rows.
    """

    name: str
    rate: float
    rows: float | None = None
    range_s: float | None = None
    row_bytes: float = 0.0
    is_table: bool = False
    minimum: float = 0.0
    """The least pass fraction that shedding may choose."""
    weight: float = 1.0
    """How much a result through a row of this input is worth when something must go."""

    def __post_init__(self) -> None:
        assert (self.rows is None) != (self.range_s is None)
        if not self.is_table and not self.rate > 0:
            raise PenstockError(
                "PLN-001",
                f"The rate of {self.name!r} is {self.rate:g} rows per second.",
                "Give a rate above zero.",
            )
        if not (self.rows if self.rows is not None else self.range_s or 0.0) > 0:
            raise PenstockError(
                "PLN-002",
                f"The window of {self.name!r} holds nothing.",
                "Give a window above zero.",
            )
        if not 0.0 <= self.minimum <= 1.0:
            raise PenstockError(
                "PLN-003",
                f"The least share of {self.name!r} to keep is {self.minimum:g}.",
                "Give a share from 0 to 1.",
            )

    @property
    def window(self) -> float:
        """The rows that are active, on average (W)."""
        return self.rows if self.rows is not None else self.rate * (self.range_s or 0.0)

    @property
    def turnover(self) -> float:
        """How often per second the window is renewed (theta): rate / window."""
        return self.rate / self.window


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionModel:
    """A predicate on one input: it lets a share through and takes time for every row asked."""

    input: int
    part: Literal["terms", "residual"] = "terms"
    selectivity: float
    cost_s: float = 0.0

    def __post_init__(self) -> None:
        check_selectivity(self.selectivity, "a selection")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateModel:
    """A predicate that speaks of the inputs in `mask`; equalities can be looked up by a hash."""

    mask: int
    selectivity: float
    is_equality: bool = True

    def __post_init__(self) -> None:
        check_selectivity(self.selectivity, "a join predicate")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassModel:
    """Columns that are all equal, one of each input in `mask`.

    Two of the inputs match with probability `selectivity`, k of them with its power k - 1.
    """

    mask: int
    selectivity: float

    def __post_init__(self) -> None:
        check_selectivity(self.selectivity, "a key")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinModel:
    """A multi-way window join as the planner sees it."""

    inputs: tuple[InputModel, ...]
    predicates: tuple[PredicateModel, ...] = ()
    classes: tuple[ClassModel, ...] = ()
    selections: tuple[SelectionModel, ...] = ()

    @property
    def everything(self) -> int:
        """The set of all inputs."""
        return (1 << len(self.inputs)) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the inputs are called."""
        return tuple(each.name for each in self.inputs)

    def selectivity(self, mask: int) -> float:
        """Give the product of all join predicates inside a set (F_S).

        >>> a, b, c = (InputModel(name=n, rate=1, rows=10) for n in "abc")
        >>> ab = PredicateModel(mask=0b011, selectivity=0.5)
        >>> model = JoinModel(inputs=(a, b, c), predicates=(ab,))
        >>> model.selectivity(0b111), model.selectivity(0b101)
        (0.5, 1.0)
        """
        found = 1.0
        for predicate in self.predicates:
            if predicate.mask & mask == predicate.mask:
                found *= predicate.selectivity
        for each in self.classes:
            found *= each.selectivity ** max((each.mask & mask).bit_count() - 1, 0)
        return found

    def crossing(self, left: int, right: int) -> float:
        """Give the product of the predicates that two sets meet by (1: a Cartesian product)."""
        found = 1.0
        for predicate in self.predicates:
            inside = predicate.mask & (left | right) == predicate.mask
            if inside and predicate.mask & left and predicate.mask & right:
                found *= predicate.selectivity
        for each in self.classes:
            if each.mask & left and each.mask & right:
                found *= each.selectivity
        return found

    def meets(self, left: int, right: int) -> bool:
        """Say whether an equality joins two sets, so that one can be looked up by a hash."""
        return any(each.mask & left and each.mask & right for each in self.classes) or any(
            predicate.is_equality
            and predicate.mask & (left | right) == predicate.mask
            and predicate.mask & left
            and predicate.mask & right
            for predicate in self.predicates
        )


def check_selectivity(value: float, what: str) -> None:
    """Refuse a selectivity outside [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise PenstockError(
            "PLN-004",
            f"The selectivity of {what} is {value:g}.",
            "Give a share from 0 to 1.",
        )
