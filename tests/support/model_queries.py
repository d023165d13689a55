"""Lives of groups of model queries, drawn by chance: shapes, queries, rows of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.models import (
    ErrorBound,
    Fit,
    MappedAttribute,
    ModelComparison,
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
    StandingModelQuery,
    Threshold,
)
from penstock.operators.catalogue import OPERATORS
from penstock.vocabulary.batches import QueryChanges

COLUMNS: dict[str, pa.DataType] = {
    "k": pa.string(), "g": pa.int32(), "x": pa.float64(), "v": pa.float64(), "u": pa.string(),
    "at": pa.timestamp("us", "UTC"),
}  # fmt: skip
SECOND = 1_000_000


def linear(*factors: float, constant: float = 0.0) -> Polynomial:
    """Give a sum of attributes, each with a factor, and a number."""
    count = len(factors)
    terms = [Monomial(factor=constant, powers=(0,) * count)] if constant else []
    for place, factor in enumerate(factors):
        if factor:
            powers = tuple(int(own == place) for own in range(count))
            terms.append(Monomial(factor=factor, powers=powers))
    return Polynomial(terms=tuple(sorted(terms, key=lambda own: own.powers)))


def source(relation: str = "s", key: tuple[str, ...] = ("k",), **more: Any) -> ModelSource:
    """Give a source whose model is a line through what was observed."""
    given: dict[str, Any] = {
        "relation": relation,
        "event_time": "at",
        "key": tuple((name, COLUMNS[name]) for name in key),
        "attributes": (ModelledAttribute(name="x", observed="x", coefficients=("c0", "c1")),),
        "columns": ("x", "v"),
        "horizon_us": 8 * SECOND,
    }
    return ModelSource(**{**given, **more})


@dataclass(frozen=True)
class ModelForm:
    """A shape of model queries."""

    plan: ModelStage
    key: tuple[str, ...] = ("k",)
    attributes: tuple[str, ...] = ("x",)
    asked_key: tuple[int, ...] = ()
    comparators: tuple[str, ...] = (">",)
    bound: float = 0.5
    bound_of: str | None = None
    sample_us: int | None = None
    predicts: bool = False

    def bind(self) -> StandingModelQuery:
        """Give what the query asks."""
        count = len(self.attributes)
        comparisons = tuple(
            ModelComparison(
                polynomial=linear(*([1.0] + [0.0] * (count - 1))),
                comparator=comparator,  # type: ignore[arg-type]
                parameter=f"n{place}",
            )
            for place, comparator in enumerate(self.comparators)
        )
        step = ModelQueryStep(
            plan=self.plan,
            key=tuple((name, COLUMNS[name.rstrip("12")]) for name in self.key),
            attributes=self.attributes,
            asked=Threshold(key=self.asked_key, comparisons=comparisons),
            bounds=(ErrorBound(amount=self.bound, attribute=self.bound_of),),
            sample_us=self.sample_us,
            predicts=self.predicts,
        )
        keys = tuple(f"k{place}" for place in self.asked_key)
        numbers = tuple(f"n{place}" for place in range(len(comparisons)))
        types = {name: step.key[place][1] for name, place in zip(keys, self.asked_key, strict=True)}
        return StandingModelQuery(
            shape=step,
            outputs=(),
            parameters={**types, **dict.fromkeys(numbers, pa.float64())},
            key_parameters=keys,
            number_parameters=numbers,
        )

    @property
    def relations(self) -> tuple[str, ...]:
        """The streams that it reads."""
        return self.bind().shape.relations


def above(stage: ModelStage, attributes: int, number: float) -> ModelFilter:
    """Let the first attribute be above a number."""
    condition = ModelComparison(
        polynomial=linear(*([1.0] + [0.0] * (attributes - 1)), constant=-number), comparator=">"
    )
    return ModelFilter(input=stage, condition=condition)


def fitted(method: str, degree: int = 1, **more: Any) -> ModelSource:
    """Give a source whose models are fitted to what was observed."""
    fit = Fit(method=method, degree=degree)  # type: ignore[arg-type]
    attribute = ModelledAttribute(name="x", observed="x", fit=fit)
    return source(attributes=(attribute,), columns=(), **more)


LATE = source(lateness_us=2 * SECOND)
FORMS: dict[str, ModelForm] = {
    "thresholds": ModelForm(source()),
    "keyed": ModelForm(source(), asked_key=(0,), comparators=("<",)),
    "everything": ModelForm(source(key=("g", "k")), ("g", "k"), asked_key=(1, 0), comparators=()),
    "between": ModelForm(above(LATE, 1, 1.0), comparators=(">=", "<=")),
    "sampled": ModelForm(LATE, comparators=("<",), sample_us=SECOND),
    "predicted": ModelForm(source(), predicts=True),
    "predicted_late": ModelForm(LATE, asked_key=(0,), predicts=True, comparators=("<",)),
    "predicted_samples": ModelForm(LATE, predicts=True, sample_us=SECOND, comparators=("=",)),
    "fitted": ModelForm(fitted("sliding", lateness_us=SECOND)),
    "fitted_ahead": ModelForm(fitted("sliding"), predicts=True),
    "fitted_later": ModelForm(fitted("swab"), comparators=("<",), sample_us=SECOND),
    "carried": ModelForm(
        source(carried=(("u", pa.string()),), condition="c2 <> 2", columns=("x", "v", "g")),
        ("k", "u"),
    ),
}


def pairs(left: ModelSource, right: ModelSource, **more: Any) -> ModelJoin:
    """Give pairs of keys where the left one is below the right one."""
    below = ModelComparison(polynomial=linear(1.0, -1.0), comparator="<")
    return ModelJoin(left=left, right=right, condition=below, **more)


def aggregated(stage: ModelStage, function: str, group: tuple[int, ...] = ()) -> ModelWindow:
    """Give an aggregate over three seconds."""
    return ModelWindow(
        input=stage, function=function, attribute=0, name="y", size_us=3 * SECOND,  # type: ignore[arg-type]
        slide_us=SECOND, group=group,
    )  # fmt: skip


SUM = MappedAttribute(name="y", polynomial=linear(1.0, 1.0))
FAR = MappedAttribute(
    name="y", polynomial=linear(1.0, constant=-2.0), function="abs", tolerance=0.05
)
TWO = pairs(source(), source("r"))
WIDE: dict[str, ModelForm] = {
    "two_streams": ModelForm(TWO, ("k1", "k2"), ("x", "x2")),
    "two_late": ModelForm(
        pairs(LATE, source("r", lateness_us=SECOND), equal=((0, 0),)), ("k1", "k2"), ("x", "x2"),
        asked_key=(1,), comparators=("<",),
    ),
    "with_itself": ModelForm(
        pairs(source(), source(), unequal=((0, 0),)), ("k1", "k2"), ("x", "x2"), comparators=(),
        predicts=True,
    ),
    "summed": ModelForm(
        ModelMap(input=TWO, attributes=(SUM,), key=(0, 1)), ("k1", "k2"), ("y",)
    ),
    "far": ModelForm(
        ModelMap(input=LATE, attributes=(FAR,), key=(0,)), attributes=("y",), predicts=True
    ),
    "highest": ModelForm(
        ModelEnvelope(input=LATE, function="max", attribute=0, name="y"), (), ("y",)
    ),
    "average": ModelForm(
        aggregated(LATE, "avg", (0,)), attributes=("y",), sample_us=SECOND, comparators=("<",)
    ),
    "total": ModelForm(aggregated(source(), "sum"), (), ("y",), comparators=(), bound_of="x"),
    "peak": ModelForm(aggregated(source(), "max", (0,)), attributes=("y",), predicts=True),
}  # fmt: skip
"""Shapes in which keys or instants meet."""


@dataclass
class ModelRows:
    """Draws rows of streams: lines that jump, NULLs, times in disorder but not too late."""

    chance: np.random.Generator
    clock: int = 0

    def batch(self, size: int, disorder: int = 0) -> pa.Table:
        """Draw rows; up to so many microseconds behind the newest."""
        chance = self.chance
        steps = chance.integers(0, SECOND, size) // 250_000 * 250_000
        times = self.clock + np.cumsum(steps)
        self.clock = int(times.max(initial=self.clock))
        if disorder and size:
            times = np.maximum(times - chance.integers(0, disorder, size), 0)
        key = chance.integers(0, 3, size)
        x = np.round(chance.normal(2.0, 1.0, size) * 2) / 2
        near = chance.random(size) < 0.6
        x = np.where(near, 1.5 + key * 0.25, x)
        v = np.where(near, 0.0, np.round(chance.normal(0, 1, size) * 2) / 2)
        missing = chance.random(size)
        return pa.table(
            {
                "k": pa.array(["abc"[own] for own in key.tolist()], mask=missing < 0.03),
                "g": pa.array(key, pa.int32()),
                "x": pa.array(np.where(missing > 0.97, np.nan, x)),
                "v": pa.array(v, mask=(missing > 0.94) & (missing < 0.97)),
                "u": pa.array(["uv"[own] for own in chance.integers(0, 8, size) // 7]),
                "at": pa.array(times, mask=missing > 0.99).cast(COLUMNS["at"]),
            }
        )


def drawn_queries(chance: np.random.Generator, form: ModelForm, size: int) -> pa.Table:
    """Draw the parameters of queries."""
    logical = form.bind()
    columns: dict[str, Any] = {}
    for name, type_ in logical.parameters.items():
        if name.startswith("k"):
            values = ["a", "b", "z", None] if pa.types.is_string(type_) else [0, 1, 7, None]
            columns[name] = pa.array([values[n] for n in chance.integers(0, 4, size)], type_)
        else:
            numbers = np.round(chance.normal(2.0, 1.0, size) * 4) / 4
            if name == "n1":
                numbers = numbers + 1.0
            columns[name] = pa.array(numbers)
    return pa.table(columns) if columns else pa.table({"nothing": pa.nulls(size)})


def queries_of(
    logical: StandingModelQuery, rows: pa.Table, first: int, drops: list[int]
) -> QueryChanges:
    """Give what a version adds and drops."""
    step = logical.step()
    registered = OPERATORS[step.kind].register(logical, step, rows, first)
    assert not registered.refusals.code
    return QueryChanges(adds=registered.adds, drops=np.array(drops, dtype=np.int64))
