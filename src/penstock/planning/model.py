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
    offered: float | None = None
    """Rows per second that come to the drop box, where `rate` is what it lets pass."""

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
    """A predicate that speaks of the inputs in `mask`; equalities can be looked up by a hash.

    Of two inputs, rows of the first may match another share of the second's window than rows of the
    second match of the first's: `selectivity` is then that of the first's rows, and `reverse` that
    of the second's, as between one and many. What a window holds and what a probe takes go by the
    mean of both: see `JoinModel.means`.
    """

    mask: int
    selectivity: float
    is_equality: bool = True
    reverse: float | None = None
    """None: the same both ways."""
    fixed_mean: float | None = None
    """The mean of both ways, where it is not that of the model's rates: behind drop boxes."""

    def __post_init__(self) -> None:
        check_selectivity(self.selectivity, "a join predicate")
        if self.reverse is not None:
            assert self.mask.bit_count() == 2, "only two inputs have two ways"
            check_selectivity(self.reverse, "a join predicate")

    @property
    def ways(self) -> tuple[tuple[int, float], ...]:
        """The inputs of a predicate that is not the same both ways, with what their rows match."""
        if self.reverse is None:
            return ()
        first, second = (self.mask & -self.mask).bit_length() - 1, self.mask.bit_length() - 1
        return (first, self.selectivity), (second, self.reverse)


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

    @property
    def means(self) -> tuple[float, ...]:
        """The share of pairs that each predicate lets meet, whichever of them came last (E4).

        Of one that is not the same both ways, the mean by how many pairs either input's rows
        complete: rate of the join / (W_R rate_L + W_L rate_R), of the two inputs alone. Where
        several such join the same two, the product is the mean of all together. [X]

        >>> inputs = InputModel(name="a", rate=30, rows=10), InputModel(name="b", rate=10, rows=10)
        >>> ab = PredicateModel(mask=0b11, selectivity=0.5, reverse=0.1)
        >>> [round(mean, 12) for mean in JoinModel(inputs=inputs, predicates=(ab,)).means]
        [0.4]
        """
        found = [each.selectivity for each in self.predicates]
        uneven = [place for place, each in enumerate(self.predicates) if each.reverse is not None]
        met: dict[int, tuple[float, float]] = {}
        for place in sorted(uneven, key=lambda place: not self.predicates[place].is_equality):
            each = self.predicates[place]
            (first, forth), (second, back) = each.ways
            turnovers = self.inputs[first].turnover, self.inputs[second].turnover
            before = met.get(each.mask, turnovers if sum(turnovers) else (1.0, 1.0))
            after = met[each.mask] = forth * before[0], back * before[1]
            found[place] = sum(after) / sum(before) if sum(before) else 0.0
            if each.fixed_mean is not None:
                found[place] = each.fixed_mean
        return tuple(found)

    @property
    def leanings(self) -> tuple[tuple[int, int, float], ...]:
        """Where ways differ: (set of a predicate, input, how many times the mean its rows match).

        The rate that an input's rows bring is so many times that of the mean once the predicate has
        been asked. So rates depend on a set S of inputs alone, as where ways are the same: they are
        W_S * sum over k of turnover_k * the leanings of k inside S.
        """
        return tuple(
            (predicate.mask, number, share / mean if mean else 1.0)
            for predicate, mean in zip(self.predicates, self.means, strict=True)
            for number, share in predicate.ways
        )

    def selectivity(self, mask: int) -> float:
        """Give the product of all join predicates inside a set (F_S), of the mean of both ways.

        >>> a, b, c = (InputModel(name=n, rate=1, rows=10) for n in "abc")
        >>> ab = PredicateModel(mask=0b011, selectivity=0.5)
        >>> model = JoinModel(inputs=(a, b, c), predicates=(ab,))
        >>> model.selectivity(0b111), model.selectivity(0b101)
        (0.5, 1.0)
        """
        found = 1.0
        for predicate, mean in zip(self.predicates, self.means, strict=True):
            if predicate.mask & mask == predicate.mask:
                found *= mean
        for each in self.classes:
            found *= each.selectivity ** max((each.mask & mask).bit_count() - 1, 0)
        return found

    def crossing(self, left: int, right: int) -> float:
        """Give the product of the predicates that two sets meet by (1: a Cartesian product)."""
        found = 1.0
        for predicate, mean in zip(self.predicates, self.means, strict=True):
            inside = predicate.mask & (left | right) == predicate.mask
            if inside and predicate.mask & left and predicate.mask & right:
                found *= mean
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
