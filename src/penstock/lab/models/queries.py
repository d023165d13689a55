"""The published queries over models: plans, and how rows run through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.algebra.models import (
    MappedAttribute,
    ModelComparison,
    ModelConjunction,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
    WindowFunction,
)
from penstock.lab.models.sources import constant_prices, straight_motion
from penstock.lab.models.workload import SECOND
from penstock.models.netting import netted
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances

ALWAYS = ModelConjunction(terms=())


def polynomial(*terms: tuple[float, tuple[int, ...]]) -> Polynomial:
    """Give a sum of factors times powers of attributes."""
    ordered = sorted(terms, key=lambda term: term[1])
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in ordered))


def below(bound: float) -> ModelStage:
    """Q1: `x < bound`."""
    return ModelFilter(
        input=straight_motion(axes="x"),
        condition=ModelComparison(polynomial=polynomial((1.0, (1,)), (-bound, (0,))),
                                  comparator="<"),
    )  # fmt: skip


def windowed(
    source: ModelStage, function: WindowFunction, size_s: float, slide_s: float
) -> ModelStage:
    """Q2 and parts of Q4: an aggregate of the first attribute, key by key."""
    return ModelWindow(
        input=source, function=function, attribute=0, name="a", size_us=int(size_s * SECOND),
        slide_us=int(slide_s * SECOND), group=(0,),
    )  # fmt: skip


def crossed() -> ModelStage:
    """Q3: pairs of objects of two streams while `left.x < right.x`."""
    difference = polynomial((1.0, (1, 0)), (-1.0, (0, 1)))
    return ModelJoin(
        left=straight_motion(axes="x", relation="a"), right=straight_motion(axes="x", relation="b"),
        condition=ModelComparison(polynomial=difference, comparator="<"),
    )  # fmt: skip


def macd(short_s: float = 10, long_s: float = 60, slide_s: float = 2) -> ModelStage:
    """Q4: the difference of two moving averages of a price, while it is positive."""
    difference = polynomial((1.0, (1, 0)), (-1.0, (0, 1)))
    joined = ModelJoin(
        left=windowed(constant_prices(), "avg", short_s, slide_s),
        right=windowed(constant_prices(), "avg", long_s, slide_s),
        condition=ModelComparison(polynomial=difference, comparator=">"), equal=((0, 0),),
    )  # fmt: skip
    return ModelMap(
        input=joined, attributes=(MappedAttribute(name="diff", polynomial=difference),), key=(0,)
    )


def followers(
    limit_m: float, size_s: float, slide_s: float, tolerance_m: float, horizon_s: int = 3_600
) -> ModelStage:
    """Q5: pairs of ships whose average distance over a window is below a limit."""
    ships = straight_motion(horizon_s * SECOND)
    pairs = ModelJoin(left=ships, right=ships, condition=ALWAYS, unequal=((0, 0),))
    squares = polynomial(
        (1.0, (2, 0, 0, 0)), (-2.0, (1, 0, 1, 0)), (1.0, (0, 0, 2, 0)),
        (1.0, (0, 2, 0, 0)), (-2.0, (0, 1, 0, 1)), (1.0, (0, 0, 0, 2)),
    )  # fmt: skip
    distance = MappedAttribute(
        name="dist", polynomial=squares, function="sqrt", tolerance=tolerance_m
    )
    averaged = ModelWindow(
        input=ModelMap(input=pairs, attributes=(distance,), key=(0, 1)), function="avg",
        attribute=0, name="a", size_us=int(size_s * SECOND), slide_us=int(slide_s * SECOND),
        group=(0, 1),
    )  # fmt: skip
    return ModelFilter(
        input=averaged,
        condition=ModelComparison(polynomial=polynomial((1.0, (1,)), (-limit_m, (0,))),
                                  comparator="<"),
    )  # fmt: skip


class QueryRun:
    """One query over models: rows go in by batches, and what is answered is counted.

    Sources that read one stream share its segments: a row is held against one model.
    """

    def __init__(self, plan: ModelStage, tolerances: SourceTolerances, shared: bool = True) -> None:
        self.plan = SegmentPlan(plan)
        own = self.plan.sources[:1] if shared else self.plan.sources
        self._is_shared = shared
        self.sources = [SegmentSource(each, tolerances) for each in own]
        self.kept: list[Segments] = []
        self.answers = self.changes = 0

    def take(self, batches: Sequence[SourceRows], *, keep: bool = False) -> None:
        """Take a batch of each stream."""
        for number, rows in enumerate(batches):
            made = netted(self.sources[number].process(rows))
            self.changes += len(made)
            into = range(len(self.plan.sources)) if self._is_shared else (number,)
            for place in into:
                found = self.plan.push(place, made)
                self.answers += len(found)
                if keep:
                    self.kept.append(found)
        newest = max(int(rows.at[-1]) for rows in batches if len(rows))
        self.plan.advance(newest)

    def run(self, streams: Sequence[SourceRows], batch: int, *, keep: bool = False) -> None:
        """Take all rows, so many of each stream at a time."""
        longest = max(len(rows) for rows in streams)
        for start in range(0, longest, batch):
            self.take([rows.take(slice(start, start + batch)) for rows in streams], keep=keep)

    @property
    def answer(self) -> Segments:
        """All that was kept of the answer."""
        return Segments.joined(self.kept)


def values_at(answer: Segments, key: np.ndarray, at: np.ndarray, attribute: int = 0) -> np.ndarray:
    """Give what an answer says of keys at instants, all changes added up; NaN where nothing is."""
    found = np.full(len(at), np.nan)
    weight = np.zeros(len(at))
    total = np.zeros(len(at))
    by_key: dict[tuple[int, ...], list[int]] = {}
    for place, own in enumerate(map(tuple, answer.key.tolist())):
        by_key.setdefault(own, []).append(place)
    for asked in {tuple(own) for own in key.tolist()}:
        mine = np.flatnonzero((key == np.array(asked)).all(1))
        for place in by_key.get(asked, []):
            since = (at[mine] - answer.reference[place]) / SECOND
            inside = (since >= answer.low[place]) & (since < answer.high[place])
            places = mine[inside]
            value = np.polynomial.polynomial.polyval(
                since[inside], answer.coefficients[place, attribute]
            )
            total[places] += answer.sign[place] * value
            weight[places] += answer.sign[place]
    found[weight > 0] = total[weight > 0] / weight[weight > 0]
    return found
