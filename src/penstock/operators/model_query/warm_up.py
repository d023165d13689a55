"""Warming: every kernel of model queries once, with the types of production."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import pyarrow as pa

from penstock.algebra.models import (
    ErrorBound,
    Fit,
    MappedAttribute,
    ModelComparison,
    ModelConjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelledAttribute,
    ModelMap,
    ModelQueryStep,
    ModelSource,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
    Threshold,
)
from penstock.kernels.coefficient_cells import segments_draw
from penstock.models.coefficient_histograms import CoefficientHistogram
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.operators.model_query.operator import ModelQueryOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.rehearsal import rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 40
KEY = (("key", pa.string()),)
X = Polynomial(terms=(Monomial(factor=1.0, powers=(1,)),))
LESS = Polynomial(terms=(Monomial(factor=-1.0, powers=(0, 1)), Monomial(factor=1.0, powers=(1, 0))))
"""The difference of two attributes."""
SQUARE = Polynomial(
    terms=tuple(
        Monomial(factor=factor, powers=powers)
        for factor, powers in ((1.0, (0, 2)), (-2.0, (1, 1)), (1.0, (2, 0)))
    )
)
ALWAYS = ModelConjunction(terms=())


def warm_up(_step: ModelQueryStep | None = None) -> None:
    """Run small groups through everything that any step may need, once per process."""
    _run()
    _count()


@cache
def _count() -> None:
    """Count segments as a source does that several shapes share, and as a shard after a crash."""
    none = Segments.none(1, 1)
    histogram = CoefficientHistogram(2)
    histogram.count(none, 0)
    histogram.restore(histogram.arrays())
    histogram.bins()
    CoefficientHistogram.summary(histogram, histogram, 1 << 2)
    segments_draw(none.key, none.reference, none.sign, 0, 0, 0, np.empty(1, dtype=np.int64))


@cache
def _run() -> None:
    for number, (plan, attributes, predicts) in enumerate(_plans()):
        key = tuple((f"key{n}", pa.string()) for n in range(SegmentPlan(plan).shape.key))
        first = (1, 0) if len(attributes) > 1 else (1,)
        polynomial = Polynomial(terms=(Monomial(factor=1.0, powers=first),))
        below = ModelComparison(polynomial=polynomial, comparator="<", parameter="n0")
        above = ModelComparison(polynomial=polynomial, comparator=">", parameter="n1")
        compared = (below, above) if number == 0 else (below,)  # once the queries are bands
        step = ModelQueryStep(
            plan=plan,
            key=key,
            attributes=attributes,
            asked=Threshold(key=(0,), comparisons=compared),
            bounds=(ErrorBound(amount=0.5, attribute="x" if attributes == ("y",) else None),),
            sample_us=None if predicts else 1_000_000,
            predicts=predicts,
        )
        numbers = np.arange(ROWS)
        keys = pa.array(["a", "b"] * (ROWS // 2))
        columns = {"query": numbers, "e0": keys, "n0": numbers / 3, "n1": numbers / 4}
        adds = pa.table(columns).select(["query", "e0", "n0", "n1"][: 2 + len(compared)])
        rehearse(
            partial(ModelQueryOperator, step),
            [
                (QueryChanges(adds={PORT: adds}), {"rows": _rows(0)}),
                (QueryChanges(drops=numbers[:9]), {"rows": _rows(ROWS)}),
            ],
        )


def _plans() -> Iterator[tuple[ModelStage, tuple[str, ...], bool]]:
    """Give a plan with every stage and every way to make models, its attributes, and its form."""
    named = ModelledAttribute(name="x", observed="x", coefficients=("c0", "c1"))
    source = ModelSource(
        relation="rows", event_time="at", key=KEY, attributes=(named,), columns=("x", "v"),
        horizon_us=10_000_000,
    )  # fmt: skip
    above = ModelComparison(polynomial=X, comparator=">")
    yield ModelFilter(input=source, condition=above), ("x",), True
    below = ModelComparison(polynomial=LESS, comparator="<")
    yield ModelJoin(left=source, right=source, condition=below, equal=((0, 0),)), ("x", "y"), True
    root = MappedAttribute(name="y", polynomial=X, function="sqrt", tolerance=0.1)
    yield ModelMap(input=source, attributes=(root,), key=(0,)), ("y",), False
    yield ModelEnvelope(
        input=source, function="max", attribute=0, name="y", group=(0,)
    ), ("y",), True  # fmt: skip
    pairs = ModelJoin(left=source, right=source, condition=ALWAYS, unequal=((0, 0),))
    apart = MappedAttribute(name="y", polynomial=SQUARE, function="sqrt", tolerance=0.1)
    average = ModelWindow(
        input=ModelMap(input=pairs, attributes=(apart,), key=(0, 1)), function="avg", attribute=0,
        name="y", size_us=3_000_000, slide_us=1_000_000, group=(0, 1),
    )  # fmt: skip
    near = Polynomial(terms=(Monomial(factor=-1.0, powers=(0,)), *X.terms))
    yield ModelFilter(
        input=average, condition=ModelComparison(polynomial=near, comparator="<")
    ), ("y",), False  # fmt: skip
    for function in ("max", "avg"):
        yield ModelWindow(
            input=source, function=function, attribute=0, name="y", size_us=3_000_000,
            slide_us=1_000_000, group=(0,),
        ), ("y",), False  # fmt: skip
    for method in ("sliding", "bottom_up", "swab"):
        fitted = ModelledAttribute(name="x", observed="x", fit=Fit(method=method))
        own = ModelSource(
            relation="rows", event_time="at", key=KEY, attributes=(fitted,), horizon_us=10_000_000
        )
        yield own, ("x",), method == "bottom_up"


def _rows(first: int) -> pa.Table:
    numbers = np.arange(ROWS)
    at = pa.array((first + numbers) * 300_000).cast(pa.timestamp("us", "UTC"))
    values = (numbers * 7 % 11) / 2
    keys = pa.array(["a", "b"] * (ROWS // 2))
    return pa.table({"key": keys, "at": at, "x": values, "v": 1.0 - values / 3})
