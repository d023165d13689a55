"""Modelling: a multi-way join as the planner sees it, from measured, declared and assumed figures.

A measured figure is better than a declared one, a declared one better than a guess. `tags` say of
every figure where it is from, under the names that WHAT IF gives them: `rate(a)`, `rows(t)`,
`selectivity(a)`, `selectivity(a, b)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any, Literal

import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.crossings import key_classes
from penstock.algebra.inputs import JoinInput, Place
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.trees import inputs_of
from penstock.kinds.input_pairs import Stated, has_ways, is_of_key, paired, stated_pairs
from penstock.kinds.statistics import Figures, Statistics
from penstock.planning.constants import PlanConstants
from penstock.planning.model import (
    ClassModel,
    InputModel,
    JoinModel,
    PredicateModel,
    SelectionModel,
)

RATE = 1_000.0
ROWS = 1_000.0
DISTINCT = 100
EQUALITY, RANGE, RESIDUAL = 0.1, 0.3, 0.3
COMPARISON, DIFFERENCE = 0.3, 0.1
"""What is assumed of a relation or a predicate that nobody spoke of."""
MINIMUM = 0.02
"""The least share of a stream that shedding leaves, if nobody says: a window that no row enters any
more stands still, and goes on answering with what it held."""
TEXT_BYTES = 24
SECOND_US = 1e6
NANO = 1e-9

Origin = Literal["measured", "declared", "assumed", "what if"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Modelled:
    """A model, and where its figures are from."""

    model: JoinModel
    tags: dict[str, Origin] = field(default_factory=dict)


def model_of(
    logical: MultiJoin,
    catalog: Catalog,
    group: str,
    queries: int,
    statistics: Statistics,
    constants: PlanConstants,
) -> Modelled:
    """Build the model of a join whose group has, or will have, so many standing queries."""
    figures = statistics.group(group)
    tags: dict[str, Origin] = {}
    inputs = tuple(
        _input(each, catalog[each.relation.lower()], logical.options, statistics, tags)
        for each in logical.inputs
    )
    model = JoinModel(
        inputs=inputs,
        predicates=_predicates(logical, tags),
        classes=_classes(logical, catalog, tags),
        selections=tuple(_selections(logical, queries, figures, constants, tags)),
    )
    for stated in stated_pairs(_declared(logical), model.names):
        model = paired(model, stated)
        tags[pair_tag(model.names[number] for number in inputs_of(stated.mask))] = "declared"
    return _with_joins(_with_ways(Modelled(model=model, tags=tags), figures), figures)


def _with_ways(modelled: Modelled, figures: Figures) -> Modelled:
    """Let two inputs have the shares that rows of either were seen to meet.

    Where those are the same, they are what the joins say; a declaration that says otherwise goes.
    """
    model, tags = modelled.model, dict(modelled.tags)
    for text, (forth, back) in figures.ways.items():
        first, second = inputs_of(int(text))
        declared = any(each.mask == int(text) and each.ways for each in model.predicates)
        if has_ways(model, int(text)) and (forth != back or declared):
            model = paired(model, Stated(first=first, second=second, forth=forth, back=back))
            tags[pair_tag((model.names[second], model.names[first]))] = "measured"
    return Modelled(model=model, tags=tags)


def _declared(logical: MultiJoin) -> Iterable[tuple[tuple[str, str], float, None]]:
    """Give the shares of pairs that the options state."""
    for one, other in permutations([each.name for each in logical.inputs], 2):
        share = logical.options.get(pair_tag((one, other)))
        if share is not None:
            yield (one, other), share, None


def _input(
    each: JoinInput,
    relation: Relation,
    options: Mapping[str, Any],
    statistics: Statistics,
    tags: dict[str, Origin],
) -> InputModel:
    row_bytes = float(sum(_width(type_) for _, type_ in each.columns))
    minimum = float(options.get(f"minimum_{each.name}", MINIMUM))
    weight = float(options.get(f"weight_{each.name}", 1.0))
    if each.window is None:
        measured = statistics.rows.get(each.relation)
        rows, tags[f"rows({each.name})"] = best_figure(measured, relation.size, ROWS)
        return InputModel(
            name=each.name,
            rate=0.0,
            rows=max(rows, 1.0),
            row_bytes=row_bytes,
            is_table=True,
            minimum=minimum,
            weight=weight,
        )
    rate, tags[f"rate({each.name})"] = best_figure(
        statistics.rates.get(each.relation), relation.rate, RATE
    )
    is_rows = each.window.kind == "rows"
    return InputModel(
        name=each.name,
        rate=rate,
        rows=float(each.window.size) if is_rows else None,
        range_s=None if is_rows else each.window.size / SECOND_US,
        row_bytes=row_bytes,
        minimum=minimum,
        weight=weight,
    )


def best_figure(
    measured: float | None, declared: float | None, assumed: float
) -> tuple[float, Origin]:
    """Take what is measured before what is declared, and that before a guess."""
    if measured is not None:
        return measured, "measured"
    return (declared, "declared") if declared is not None else (assumed, "assumed")


def _width(type_: pa.DataType) -> float:
    try:
        return max(float(type_.bit_width) / 8, 1.0)
    except ValueError:
        return TEXT_BYTES


def pair_tag(names: Iterable[str]) -> str:
    """Name the share of pairs of two inputs that match, as WHAT IF does."""
    return f"selectivity({', '.join(names)})"


def _predicates(logical: MultiJoin, tags: dict[str, Origin]) -> tuple[PredicateModel, ...]:
    found = []
    crossing = logical.crossing
    for left, right, selectivity in (
        *((each.left, each.right, COMPARISON) for each in crossing.comparisons),
        *((each.left, each.right, DIFFERENCE) for each in crossing.differences),
    ):
        places = sorted({left[0], right[0]})
        tags[pair_tag(logical.inputs[number].name for number in places)] = "assumed"
        mask = sum(1 << number for number in places)
        found.append(PredicateModel(mask=mask, selectivity=selectivity, is_equality=False))
    return tuple(found)


def _classes(
    logical: MultiJoin, catalog: Catalog, tags: dict[str, Origin]
) -> tuple[ClassModel, ...]:
    found = []
    for places in key_classes(logical.crossing.equalities):
        numbers = sorted({number for number, _ in places})
        if len(numbers) > 1:
            values, origin = _values(logical, catalog, places)
            for pair in combinations(numbers, 2):
                name = pair_tag(logical.inputs[number].name for number in pair)
                tags[name] = origin if tags.get(name, origin) == origin else "assumed"
            mask = sum(1 << number for number in numbers)
            found.append(ClassModel(mask=mask, selectivity=1.0 / values))
    return tuple(found)


def _values(
    logical: MultiJoin, catalog: Catalog, places: tuple[Place, ...]
) -> tuple[float, Origin]:
    """Give how many values the columns of a key have: those of the one that has most."""
    declared = [
        count
        for number, column in places
        if (count := catalog[logical.inputs[number].relation.lower()].distinct.get(column))
    ]
    return (float(max(declared)), "declared") if declared else (float(DISTINCT), "assumed")


def _selections(
    logical: MultiJoin,
    queries: int,
    figures: Figures,
    constants: PlanConstants,
    tags: dict[str, Origin],
) -> Iterable[SelectionModel]:
    for number, each in enumerate(logical.inputs):
        branch = each.branch
        parts: list[tuple[Literal["terms", "residual"], float, float]] = []
        if branch.equalities or branch.ranges:
            share = EQUALITY ** len(branch.equalities) * RANGE ** len(branch.ranges)
            parts.append(("terms", share, constants.terms))
        if branch.residual is not None:
            parts.append(("residual", RESIDUAL, constants.residual))
        for part, assumed, cost in parts:
            # A row goes on if any of the queries wants it.
            guess = 1.0 - (1.0 - assumed) ** max(queries, 1)
            name = f"selectivity({each.name})"
            # What is declared is the share of all of them: the first has it, the other none of it.
            declared = logical.options.get(name) if part == parts[0][0] else 1.0
            declared = declared if name in logical.options else None
            share, origin = best_figure(figures.selections.get(f"{number} {part}"), declared, guess)
            tags[name] = origin if tags.get(name, origin) == origin else "assumed"
            yield SelectionModel(input=number, part=part, selectivity=share, cost_s=cost * NANO)


def _with_joins(modelled: Modelled, figures: Figures) -> Modelled:
    """Let the predicates that two parts meet by explain how many rows their join was seen to make.

    Where several do, each takes the same part of the correction.
    """
    model = modelled.model
    tags = dict(modelled.tags)
    predicates: dict[int, list[float]] = {}
    classes: dict[int, list[float]] = {}
    for text, measured in figures.joins.items():
        mask, left = int(text), figures.sides[text]
        right = mask & ~left
        crossed = [
            place
            for place, each in enumerate(model.predicates)
            if each.mask & mask == each.mask and each.mask & left and each.mask & right
        ]
        told = {
            model.predicates[place].mask
            for place in crossed
            if is_of_key(model.predicates[place], model)
        }
        keyed = [
            p
            for p, each in enumerate(model.classes)
            if each.mask & left and each.mask & right and each.mask not in told
        ]
        expected = model.crossing(left, right)
        if not (crossed or keyed) or not expected:
            continue
        ratio = (measured / expected) ** (1.0 / len(crossed + keyed))
        for place in crossed:
            predicates.setdefault(place, []).append(ratio)
        for place in keyed:
            classes.setdefault(place, []).append(ratio)
    for place, each in enumerate(model.predicates):
        if place in predicates:
            _tag(model, each.mask, tags)
    for place, key in enumerate(model.classes):
        if place in classes:
            _tag(model, key.mask, tags)
    corrected = replace(
        model,
        predicates=tuple(
            replace(
                each,
                selectivity=_corrected(each.selectivity, predicates.get(place, [])),
                reverse=None
                if each.reverse is None
                else _corrected(each.reverse, predicates.get(place, [])),
            )
            for place, each in enumerate(model.predicates)
        ),
        classes=tuple(
            replace(each, selectivity=_corrected(each.selectivity, classes.get(place, [])))
            for place, each in enumerate(model.classes)
        ),
    )
    return Modelled(model=corrected, tags=tags)


def _tag(model: JoinModel, mask: int, tags: dict[str, Origin]) -> None:
    for pair in combinations(inputs_of(mask), 2):
        tags[pair_tag(model.names[number] for number in pair)] = "measured"


def _corrected(selectivity: float, ratios: list[float]) -> float:
    """Correct a selectivity by the geometric mean of what its joins say."""
    for ratio in ratios:
        selectivity *= ratio ** (1.0 / len(ratios))
    return min(selectivity, 1.0)
