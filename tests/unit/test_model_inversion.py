"""Error bounds are led back to sources: gains, shares, and what is refused."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

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
    ModelQueryStep,
    ModelSource,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
    SplitShare,
)
from penstock.models.inversion import inversion, step_inversion
from penstock.operators.model_query.explanation import explain
from penstock.vocabulary.errors import PenstockError

SECOND = 1_000_000
ALWAYS = ModelConjunction(terms=())


def polynomial(*terms: tuple[float, tuple[int, ...]]) -> Polynomial:
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in terms))


def source(*names: str, keys: tuple[str, ...] = ("k",)) -> ModelSource:
    return ModelSource(
        relation="s", event_time="t", key=tuple((name, pa.int64()) for name in keys),
        attributes=tuple(
            ModelledAttribute(name=name, observed=name, coefficients=("c0", "c1")) for name in names
        ),
        horizon_us=10 * SECOND,
    )  # fmt: skip


def mapped(
    below: ModelStage, *attributes: MappedAttribute, key: tuple[int, ...] = (0,)
) -> ModelMap:
    return ModelMap(input=below, attributes=attributes, key=key)


def window(below: ModelStage, function: str, seconds: int, group: tuple[int, ...]) -> ModelWindow:
    return ModelWindow(
        input=below, function=function, attribute=0, name="w", size_us=seconds * SECOND,  # type: ignore[arg-type]
        slide_us=SECOND, group=group,
    )  # fmt: skip


def amounts(plan: ModelStage, outputs: tuple[str, ...], *bounds: ErrorBound) -> list[list[float]]:
    found = inversion(plan, outputs, bounds).sources
    return [
        [min(column) for column in zip(*(pool.amounts for pool in each.pools), strict=True)]
        for each in found
    ]


def bound(amount: float, attribute: str | None = None) -> ErrorBound:
    return ErrorBound(amount=amount, attribute=attribute)


def share(amount: float, attribute: str | None = None) -> ErrorBound:
    return ErrorBound(amount=amount, form="relative", attribute=attribute)


POSITIVE = ModelConjunction(
    terms=tuple(
        ModelComparison(polynomial=polynomial((-1.0, (0, 0)), (1.0, own)), comparator=">=")
        for own in ((1, 0), (0, 1))
    )
)
BELOW_5 = ModelComparison(polynomial=polynomial((-5.0, (0, 0)), (1.0, (0, 1))), comparator="<")


def test_what_is_passed_on_has_the_bound_of_its_output() -> None:
    assert amounts(source("x", "y"), ("x", "y"), bound(1.0, "x"), bound(3.0, "y")) == [[1.0, 3.0]]


def test_what_only_a_condition_speaks_of_takes_a_share() -> None:
    below = ModelFilter(input=source("x", "y"), condition=BELOW_5)
    keeps_x = mapped(below, MappedAttribute(name="x", polynomial=polynomial((1.0, (1, 0)))))
    assert amounts(keeps_x, ("x",), bound(1.0)) == [[0.5, 0.5]]
    assert amounts(below, ("x", "y"), bound(1.0)) == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("bounds", "untold", "asked", "expected"),
    [
        ([bound(3.0, "d")], (1,), (1,), [1.0, 1.0, 1.0]),
        ([bound(3.0, "d")], (1,), (), [1.5, 1.5, math.inf]),
        ([bound(3.0, "d")], (), (1,), [1.5, 1.5, 0.0]),
        ([bound(3.0)], (1,), (1,), [1.5, 1.5, 3.0]),
        ([bound(3.0, "d"), bound(2.0, "v")], (1,), (1,), [1.5, 1.5, 2.0]),
        ([bound(3.0, "v")], (1,), (1,), [0.0, 0.0, 3.0]),
        ([bound(3.0, "x"), bound(4.0, "y")], (1,), (1,), [3.0, 4.0, 0.0]),
        ([bound(3.0, "x"), bound(4.0, "y")], (0, 1), (1,), [3.0, 4.0, 0.0]),
    ],
)
def test_what_only_queries_compare_takes_a_share_unless_a_bound_is_of_it(
    bounds: list[ErrorBound],
    untold: tuple[int, ...],
    asked: tuple[int, ...],
    expected: list[float],
) -> None:
    """A difference of x and y is told; v is compared by each query with its own number, or not."""
    plan = mapped(
        source("x", "y", "v"),
        MappedAttribute(name="d", polynomial=polynomial((1.0, (1, 0, 0)), (-1.0, (0, 1, 0)))),
        MappedAttribute(name="v", polynomial=polynomial((1.0, (0, 0, 1)))),
    )
    found = inversion(plan, ("d", "v"), bounds, untold=untold, asked=asked)
    (own,) = found.sources
    assert [min(p.amounts[n] for p in own.pools) for n in range(3)] == pytest.approx(expected)
    inferred = untold and asked and not {None, "v"} & {each.attribute for each in bounds}
    assert [leaf.name for leaf in found.inferred] == (["v"] if inferred else [])


def test_linear_maps_divide_by_their_factors() -> None:
    plan = mapped(
        source("x", "y"),
        MappedAttribute(name="d", polynomial=polynomial((2.0, (1, 0)), (-4.0, (0, 1)))),
    )
    assert amounts(plan, ("d",), bound(1.0)) == [[0.25, 0.125]]


def test_a_difference_of_averages_gives_half_to_each() -> None:
    average_s = window(source("price"), "avg", 10, (0,))
    average_l = window(source("price"), "avg", 60, (0,))
    above = ModelComparison(polynomial=polynomial((1.0, (1, 0)), (-1.0, (0, 1))), comparator=">")
    pairs = ModelJoin(left=average_s, right=average_l, condition=above, equal=((0, 0),))
    plan = mapped(
        pairs,
        MappedAttribute(name="diff", polynomial=polynomial((1.0, (1, 0)), (-1.0, (0, 1)))),
    )
    assert amounts(plan, ("diff",), bound(1.0)) == [[0.5], [0.5]]
    with pytest.raises(PenstockError, match="MDL-045"):
        amounts(plan, ("diff",), share(0.01))
    assert amounts(plan, ("diff",), share(0.01, "price")) == [[0.01], [0.01]]


def test_a_bound_by_name_is_of_both_sides_of_a_join() -> None:
    pairs = ModelJoin(left=source("x"), right=source("x"), condition=ALWAYS, unequal=((0, 0),))
    assert amounts(pairs, ("x", "x_1"), bound(1.0, "x")) == [[1.0], [1.0]]
    assert amounts(pairs, ("x", "x_1"), bound(1.0, "x_1")) == [[0.0], [1.0]]


def test_distance_gives_a_quarter_to_each_coordinate() -> None:
    pairs = ModelJoin(
        left=source("x", "y"), right=source("x", "y"), condition=ALWAYS, unequal=((0, 0),)
    )
    squares = polynomial(
        (1.0, (2, 0, 0, 0)), (1.0, (0, 0, 2, 0)), (-2.0, (1, 0, 1, 0)),
        (1.0, (0, 2, 0, 0)), (1.0, (0, 0, 0, 2)), (-2.0, (0, 1, 0, 1)),
    )  # fmt: skip
    distance = MappedAttribute(name="dist", polynomial=squares, function="sqrt", tolerance=0.2)
    plan = window(mapped(pairs, distance, key=(0, 1)), "avg", 600, (0, 1))
    assert amounts(plan, ("w",), bound(1.0)) == [[0.2, 0.2], [0.2, 0.2]]
    with pytest.raises(PenstockError, match="MDL-041"):
        amounts(plan, ("w",), bound(0.1))


def test_sums_are_off_by_their_window_and_not_over_keys_without_number() -> None:
    assert amounts(window(source("x"), "sum", 10, (0,)), ("w",), bound(1.0)) == [[0.1]]
    with pytest.raises(PenstockError, match=r"MDL-040.*as many keys as come"):
        amounts(window(source("x"), "sum", 10, ()), ("w",), bound(1.0))
    assert amounts(window(source("x"), "avg", 10, ()), ("w",), bound(1.0)) == [[1.0]]
    pairs = ModelJoin(left=source("x"), right=source("y"), condition=ALWAYS, equal=((0, 0),))
    assert amounts(window(pairs, "sum", 10, (0,)), ("w",), bound(1.0))[0] == [0.1]
    loose = ModelJoin(left=source("x"), right=source("y"), condition=ALWAYS)
    with pytest.raises(PenstockError, match="MDL-040"):
        amounts(window(loose, "sum", 10, (0,)), ("w",), bound(1.0))


def test_products_need_ranges() -> None:
    product = MappedAttribute(name="p", polynomial=polynomial((1.0, (1, 1))))
    with pytest.raises(PenstockError, match=r"MDL-040.*steep without limit"):
        amounts(mapped(source("x", "y"), product), ("p",), bound(1.0))
    sides = ModelConjunction(
        terms=tuple(
            ModelComparison(polynomial=polynomial((-edge, (0, 0)), (1.0, powers)), comparator=sign)  # type: ignore[arg-type]
            for powers in ((1, 0), (0, 1))
            for edge, sign in ((0.0, ">="), (10.0, "<="))
        )
    )
    held = ModelFilter(input=source("x", "y"), condition=sides)
    ((x, y),) = amounts(mapped(held, product), ("p",), bound(1.0))
    assert 0.01 < x == y <= 0.05
    assert (10.0 + x) * y + (10.0 + y) * x <= 1.0
    assert amounts(mapped(source("x", "y"), product), ("p",), share(0.21)) == [
        [pytest.approx(0.1), pytest.approx(0.1)]
    ]


def test_roots_and_ratios_need_to_stay_away_from_zero() -> None:
    root = MappedAttribute(name="r", polynomial=polynomial((1.0, (1,))), function="sqrt")
    with pytest.raises(PenstockError, match="MDL-040"):
        amounts(mapped(source("x"), root), ("r",), bound(1.0))
    from_4 = ModelComparison(polynomial=polynomial((-4.0, (0,)), (1.0, (1,))), comparator=">=")
    held = ModelFilter(input=source("x"), condition=from_4)
    ((x,),) = amounts(mapped(held, root), ("r",), bound(0.1))
    assert 0.1 < x <= 0.4
    assert math.sqrt(4.0) - math.sqrt(4.0 - x) <= 0.1
    assert amounts(mapped(source("x"), root), ("r",), share(0.1)) == [[pytest.approx(0.19)]]
    ratio = MappedAttribute(
        name="q", polynomial=polynomial((1.0, (1, 0))), divisor=polynomial((1.0, (0, 1))),
        function="ratio",
    )  # fmt: skip
    with pytest.raises(PenstockError, match="MDL-040"):
        amounts(mapped(source("x", "y"), ratio), ("q",), bound(1.0))
    ((x, y),) = amounts(mapped(source("x", "y"), ratio), ("q",), share(0.1))
    assert (1.0 + x) / (1.0 - y) == pytest.approx(1.1)


def test_aggregates_of_shares_say_what_they_assume() -> None:
    least = ModelEnvelope(input=source("x"), function="min", attribute=0, name="m")
    found = inversion(least, ("m",), [share(0.01)])
    assert [pool.amounts for pool in found.sources[0].pools] == [(0.01,)]
    assert found.assumptions == ("The relative bound of m holds where m is of values of one sign.",)


def test_without_a_bound_nothing_may_be_off() -> None:
    assert amounts(source("x", "y"), ("x", "y")) == [[0.0, 0.0]]
    assert amounts(source("x", "y"), ("x", "y"), bound(1.0, "x")) == [[1.0, 0.0]]
    assert inversion(source("x"), ("x",), []).sources[0].allows_nothing


def test_bounds_that_say_nothing_are_refused() -> None:
    with pytest.raises(PenstockError, match="MDL-043"):
        amounts(source("x"), ("x",), bound(-1.0))
    with pytest.raises(PenstockError, match="MDL-044"):
        amounts(source("x"), ("x",), bound(1.0, "z"))


def test_a_split_of_ones_own_is_held_to_its_promise() -> None:
    plan = mapped(
        source("x", "y"),
        MappedAttribute(name="d", polynomial=polynomial((1.0, (1, 0)), (1.0, (0, 1)))),
    )
    found = inversion(plan, ("d",), [bound(1.0)], own_split=lambda leaves: [0.9, 0.1])
    assert found.sources[0].pools[0].amounts == (0.9, 0.1)
    for shares in ([0.9], [0.9, 0.2], [1.0, -0.1], [math.nan, 0.0]):
        with pytest.raises(PenstockError, match="MDL-042"):
            inversion(plan, ("d",), [bound(1.0)], own_split=lambda leaves, s=shares: s)


def test_shares_divide_bounds_by_the_text() -> None:
    """What has no share has 1; gains are taken off each part, and a named bound is whole."""
    plan = mapped(
        source("x", "y", "z"),
        MappedAttribute(
            name="d",
            polynomial=polynomial((2.0, (1, 0, 0)), (1.0, (0, 1, 0)), (1.0, (0, 0, 1))),
        ),
    )
    shares = SplitShare(attribute="x", share=3.0), SplitShare(attribute="z", share=0.5)

    def step(*bounds: ErrorBound) -> ModelQueryStep:
        own = ModelQueryStep(plan=plan, key=(), attributes=("d",), bounds=bounds, shares=shares)
        read = ModelQueryStep.from_json(own.to_json())
        assert read == own
        return read

    x, y, z = step_inversion(step(bound(9.0, "d"))).sources[0].equal
    assert (2 * x, y, z) == pytest.approx((6.0, 2.0, 1.0))
    x, y, z = step_inversion(step(bound(9.0, "d"), bound(0.25, "y"))).sources[0].equal
    assert (2 * x, y, z) == pytest.approx((6.0, 0.25, 1.0))
    said = explain(step(bound(9.0)), {})["split"]
    assert said == "x 3, z 0.5; 1 for what has no share"


def test_shares_divide_what_factors_have_together_of_a_relative_bound() -> None:
    """Of a sum each may have all of it: parts that are off by 10 % have a sum that is, too."""

    def allowed(
        inner: Polynomial, shares: list[float], divisor: Polynomial | None = None
    ) -> list[float]:
        function = None if divisor is None else "ratio"
        made = MappedAttribute(name="d", polynomial=inner, divisor=divisor, function=function)  # type: ignore[arg-type]
        plan = mapped(ModelFilter(input=source("x", "y"), condition=POSITIVE), made)
        found = inversion(plan, ("d",), [share(0.1)], own_split=lambda leaves: shares)
        return list(found.sources[0].pools[0].amounts)

    x, y = (1.0, (1, 0)), (1.0, (0, 1))
    assert allowed(polynomial(x, y), [0.75, 0.25]) == pytest.approx([0.1, 0.1])
    a, b = allowed(polynomial((2.0, (1, 1))), [0.75, 0.25])
    assert (1 + a) * (1 + b) == pytest.approx(1.1)
    assert math.log1p(a) == pytest.approx(3 * math.log1p(b))
    a, b = allowed(polynomial((1.0, (2, 1))), [0.75, 0.25])
    assert (1 + a) ** 2 * (1 + b) == pytest.approx(1.1)
    a, b = allowed(polynomial(x), [0.75, 0.25], polynomial(y))
    assert (1 + a) / (1 - b) == pytest.approx(1.1)
    assert (1 - a) / (1 + b) >= 0.9
    assert a > 2.5 * b
    assert allowed(polynomial((1.0, (1, 1))), [1.0, 0.0]) == pytest.approx([0.1, 0.0])
    assert allowed(polynomial((1.0, (1, 1))), [0.5, 0.0]) == pytest.approx([0.05, 0.0])
    # What only a condition speaks of takes its part of all.
    keeps_x = mapped(
        ModelFilter(input=source("x", "y"), condition=POSITIVE),
        MappedAttribute(name="x", polynomial=polynomial(x)),
    )
    found = inversion(keeps_x, ("x",), [share(0.1)], own_split=lambda leaves: [0.75, 0.25])
    assert found.sources[0].pools[0].amounts == pytest.approx((0.075, 0.025))


def test_conditions_of_one_source_alone_are_its_own() -> None:
    below = ModelFilter(input=source("x", "y"), condition=BELOW_5)
    step = ModelQueryStep(plan=below, key=(), attributes=("x", "y"), bounds=(bound(1.0),))
    assert step_inversion(step).sources[0].condition == BELOW_5
    both = ModelComparison(
        polynomial=polynomial((1.0, (1, 0, -0)), (-1.0, (0, 0, 1))), comparator="<"
    )
    right = ModelComparison(
        polynomial=polynomial((-5.0, (0, 0, 0)), (1.0, (0, 0, 1))), comparator="<"
    )
    pairs = ModelJoin(
        left=below, right=source("z"), condition=ModelConjunction(terms=(both, right))
    )
    found = inversion(pairs, ("x", "y", "z"), [bound(1.0)]).sources
    assert found[0].condition == BELOW_5
    moved = polynomial((-5.0, (0,)), (1.0, (1,)))
    assert found[1].condition == ModelComparison(polynomial=moved, comparator="<")
    squared = ModelComparison(polynomial=polynomial((-5.0, (0,)), (1.0, (2,))), comparator="<")
    assert (
        inversion(ModelFilter(input=source("x"), condition=squared), ("x",), [bound(1.0)])
        .sources[0]
        .condition
        is None
    )
