"""Inputs inside what inversion allows them give outputs inside their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import (
    ErrorBound,
    MappedAttribute,
    ModelComparison,
    ModelConjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelledAttribute,
    ModelMap,
    ModelSource,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
    SplitMethod,
)
from penstock.models.gains import leaves_of, reach, width_of
from penstock.models.inversion import inversion
from penstock.models.splits import Dependency, GradientSplit, equi_split
from penstock.vocabulary.batches import Floats
from penstock.vocabulary.errors import PenstockError

SECOND = 1_000_000
INSTANTS = 120
"""One per second; windows are whole seconds, so that both sides are sums of the same instants."""
LIMIT = 3.0
Traces = list[Floats]
"""By attribute: (keys, instants)."""

factors = st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0])


def polynomial(terms: Mapping[tuple[int, ...], float]) -> Polynomial:
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for p, f in sorted(terms.items())))


@st.composite
def sources(draw: st.DrawFn) -> ModelStage:
    """Draw a source whose attributes a filter keeps between two numbers."""
    count = draw(st.integers(1, 2))
    source = ModelSource(
        relation="s", event_time="t", key=(("k", pa.int64()),), horizon_us=SECOND,
        attributes=tuple(
            ModelledAttribute(name=f"x{i}", observed="x", coefficients=("c0",))
            for i in range(count)
        ),
    )  # fmt: skip
    edges = []
    for place in range(count):
        own = tuple(int(i == place) for i in range(count))
        for edge, comparator in ((-LIMIT, ">="), (LIMIT, "<=")):
            held = polynomial({(0,) * count: -edge, own: 1.0})
            edges.append(ModelComparison(polynomial=held, comparator=comparator))  # type: ignore[arg-type]
    return ModelFilter(input=source, condition=ModelConjunction(terms=tuple(edges)))


@st.composite
def maps(draw: st.DrawFn, below: ModelStage) -> ModelMap:
    """Draw maps of degree 2 at most, functions among them."""
    width = width_of(below)
    made = []
    for number in range(draw(st.integers(1, 2))):
        terms: dict[tuple[int, ...], float] = {}
        for _ in range(draw(st.integers(1, 3))):
            chosen = draw(st.lists(st.integers(0, width - 1), max_size=2))
            terms[tuple(chosen.count(i) for i in range(width))] = draw(factors)
        function = draw(st.sampled_from([None, None, "abs", "distance"]))
        tolerance = 0.0
        if function == "distance":
            function, tolerance = "sqrt", 0.01
            terms = {tuple(2 * int(i == k) for i in range(width)): 1.0 for k in range(width)}
            if width > 1:
                terms[(1, 1, *(0,) * (width - 2))] = -2.0
        made.append(
            MappedAttribute(
                name=f"m{number}", polynomial=polynomial(terms), function=function,  # type: ignore[arg-type]
                tolerance=tolerance,
            )
        )  # fmt: skip
    return ModelMap(input=below, attributes=tuple(made), key=(0,))


@st.composite
def plans(draw: st.DrawFn) -> ModelStage:
    """Draw plans of linear, product and aggregate stages over one or two sources."""
    plan = draw(sources())
    if draw(st.booleans()):
        other, always = draw(sources()), ModelConjunction(terms=())
        plan = ModelJoin(left=plan, right=other, condition=always, equal=((0, 0),))
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["map", "window", "envelope"]))
        if kind == "map":
            plan = draw(maps(plan))
        elif kind == "window":
            plan = ModelWindow(
                input=plan, function=draw(st.sampled_from(["sum", "avg", "min", "max"])),
                attribute=draw(st.integers(0, width_of(plan) - 1)), name="w",
                size_us=draw(st.sampled_from([1, 7, 20])) * SECOND, slide_us=SECOND, group=(0,),
            )  # fmt: skip
        else:
            plan = ModelEnvelope(
                input=plan, function=draw(st.sampled_from(["min", "max"])),
                attribute=draw(st.integers(0, width_of(plan) - 1)), name="e", group=(0,),
            )  # fmt: skip
    return plan


def evaluated(plan: ModelStage, leaves: list[Floats], rng: np.random.Generator | None) -> Traces:
    """Evaluate a plan at every instant; leaves are taken in order.

    With a generator, functions are off by their tolerance, as those of models are.
    """
    if isinstance(plan, ModelSource):
        return [leaves.pop(0) for _ in plan.attributes]
    if isinstance(plan, ModelJoin):
        left = evaluated(plan.left, leaves, rng)
        return [*left, *evaluated(plan.right, leaves, rng)]
    below = evaluated(plan.input, leaves, rng)
    if isinstance(plan, ModelFilter):
        return below
    if isinstance(plan, ModelMap):
        made = [function_of(each, below) for each in plan.attributes]
        if rng is None:
            return made
        signs = [rng.choice([-1.0, 1.0], size=trace.shape) for trace in made]
        return [
            trace + each.tolerance * sign
            for trace, each, sign in zip(made, plan.attributes, signs, strict=True)
        ]
    trace = below[plan.attribute]
    if isinstance(plan, ModelEnvelope):
        return [trace]
    size = plan.size_us // SECOND
    view = np.lib.stride_tricks.sliding_window_view(trace, size, axis=1)
    folds = {"sum": np.sum, "avg": np.mean, "min": np.min, "max": np.max}
    found = folds[plan.function](view, axis=2)  # type: ignore[operator]
    return [np.concatenate([np.repeat(found[:, :1], size - 1, axis=1), found], axis=1)]


def function_of(attribute: MappedAttribute, below: Traces) -> Floats:
    """Evaluate a map at every instant."""
    total: Floats = np.zeros_like(below[0])
    for term in attribute.polynomial.terms:
        product = np.full_like(below[0], term.factor)
        for place, power in enumerate(term.powers):
            product = product * below[place] ** power
        total = total + product
    if attribute.function == "abs":
        return np.abs(total)
    return np.sqrt(np.maximum(total, 0.0)) if attribute.function == "sqrt" else total


@settings(deadline=None, max_examples=250)
@given(plans(), st.sampled_from([0.1, 1.0, 5.0]), st.integers(0, 2**32 - 1), st.booleans())
def test_inputs_inside_give_outputs_inside(
    plan: ModelStage, amount: float, seed: int, gradient: bool
) -> None:
    """Models lie in the range that filters give them; rows lie around them, also outside of it."""
    rng = np.random.default_rng(seed)
    outputs = tuple(f"o{i}" for i in range(width_of(plan)))
    split: SplitMethod = "gradient" if gradient else "equi"
    bounds = [ErrorBound(amount=amount + 1.0)]
    spent = reach(plan, np.zeros(len(leaves_of(plan)))).attributes
    if any(each.offset >= amount + 1.0 for each in spent):
        with pytest.raises(PenstockError, match="MDL-041"):
            inversion(plan, outputs, bounds, split=split)
        return
    found = inversion(plan, outputs, bounds, split=split)
    leaves = leaves_of(plan)
    models = [LIMIT * np.clip(rng.normal(size=(1, INSTANTS)), -1, 1) for _ in leaves]
    rows = []
    for leaf, model in zip(leaves, models, strict=True):
        allowed = 1e6
        for number, pool in enumerate(found.sources[leaf.source].pools):
            members = np.flatnonzero(np.isfinite(pool.amounts))
            if leaf.attribute in members:
                own = np.random.default_rng([seed, leaf.source, number])
                # Any division of what the attributes of a source have together.
                parts = own.dirichlet(np.ones(len(members))) * len(members)
                share = float(parts[members == leaf.attribute][0]) if gradient else 1.0
                allowed = min(allowed, pool.amounts[leaf.attribute] * share)
        rows.append(model + allowed * rng.choice([-1.0, 1.0, 0.3], size=model.shape))
    exact = evaluated(plan, list(rows), None)
    near = evaluated(plan, list(models), rng)
    for one, other in zip(exact, near, strict=True):
        assert float(np.abs(one - other).max()) <= (amount + 1.0) * (1.0 + 1e-9)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=5),
        min_size=1, max_size=5,
    ),
    st.floats(0.0, 1.0), st.floats(-4.0, 0.0), st.floats(0.0, 4.0),
)  # fmt: skip
def test_splits_give_no_more_than_there_is(
    models: list[list[float]], min_share: float, low: float, high: float
) -> None:
    """Parts are two-sided, and together as wide as the whole at most."""
    inputs = [Dependency((k,), 0, np.array(model)) for k, model in enumerate(models)]
    for split in (equi_split, GradientSplit(min_share)):
        parts = split((low, high), inputs, 0.0, 3.0)
        assert len(parts) == len(inputs)
        assert all(one <= 0.0 <= other for one, other in parts)
        assert math.fsum(b - a for a, b in parts) <= (high - low) * (1.0 + 1e-12) + 1e-300


def test_splits_of_the_specification() -> None:
    inputs = [Dependency((key,), a, np.zeros(2)) for key in (1, 2) for a in (0, 1)]
    assert equi_split((-1.0, 1.0), inputs, 0.0, 1.0) == ((-0.25, 0.25),) * 4
    sloped = [Dependency((0,), 0, np.array([5.0, slope])) for slope in (1.0, -3.0, 0.0)]
    plain = GradientSplit(min_share=0.0)((-1.0, 1.0), sloped, 0.0, 10.0)
    assert [high for _, high in plain] == [0.25, 0.75, 0.0]
    blended = GradientSplit()((-1.0, 1.0), sloped, 0.0, 10.0)
    expected = [0.2583, 0.7083, 0.0333]
    assert [high for _, high in blended] == pytest.approx(expected, abs=5e-5)
    flat = [Dependency((0,), 0, np.zeros(1))] * 2
    assert GradientSplit()((-1.0, 1.0), flat, 0.0, 1.0) == ((-0.5, 0.5),) * 2
