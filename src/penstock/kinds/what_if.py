"""WHAT IF: a model, its resources and its costs with some figures taken for granted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any

from penstock.algebra.trees import inputs_of
from penstock.kinds.input_pairs import paired, stated_pairs
from penstock.kinds.planner_figures import Modelled, Origin, pair_tag
from penstock.language.assumptions import assumptions_of
from penstock.language.statements import Assumption
from penstock.planning.figures import figure, seconds, size
from penstock.planning.model import InputModel, JoinModel
from penstock.vocabulary.errors import PenstockError

MICRO = 1e-6

WhatIf = str | Mapping[str, str | float] | Sequence[Assumption]
"""Assumptions as a script, the command line or Python states them."""

_COMMA = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """A model and options with assumptions in place; `constant_s` is a join's cost per row."""

    model: JoinModel
    tags: dict[str, Origin] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    constant_s: float | None = None


def assumptions(given: WhatIf) -> tuple[Assumption, ...]:
    """Read assumptions: the text between the brackets of WHAT IF, a mapping, or as they are.

    >>> [each.what for each in assumptions("selectivity(a, b) = 0.5, memory = '1 GB'")]
    ['selectivity', 'memory']
    """
    if isinstance(given, str):
        pairs = [part.partition("=") for part in _COMMA.split(given) if part.strip()]
        bare = next((left for left, equals, _ in pairs if not equals), None)
        if bare is not None:
            raise PenstockError(
                "ENG-034",
                f"{bare.strip()!r} does not say what to assume.",
                "Write a figure and its value, such as rate(a) = 500/s.",
            )
        given = {left.strip(): right.strip().strip("'\"") for left, _, right in pairs}
    return assumptions_of(given) if isinstance(given, Mapping) else tuple(given)


def words_of(assumed: Assumption) -> str:
    """Say an assumption as WHAT IF would.

    >>> [words_of(each) for each in assumptions("rate(c) = 30/min, window(b) = 5 s, cores = 4")]
    ['rate(c) = 0.5/s', 'window(b) = 5 s', 'cores = 4']
    """
    value = figure(assumed.value)
    if assumed.unit == "us":
        value = seconds(assumed.value * MICRO)
    elif assumed.unit == "s":
        value = seconds(assumed.value)
    elif assumed.unit == "bytes":
        value = size(assumed.value)
    elif assumed.unit:
        value += assumed.unit if assumed.unit == "/s" else f" {assumed.unit}"
    of = f"({', '.join(assumed.of)})" if assumed.of else ""
    return f"{assumed.what}{of} = {value}"


def assume(
    modelled: Modelled, options: Mapping[str, Any], what_if: Sequence[Assumption]
) -> Assumed:
    """Put assumptions in the place of what is known."""
    found = Assumed(model=modelled.model, tags=dict(modelled.tags), options=dict(options))
    pairs = [each for each in what_if if each.what == "selectivity" and len(each.of) > 1]
    for each in what_if:
        if each not in pairs:
            found = _assume(found, each)
    names = found.model.names
    for stated in stated_pairs([(each.of, each.value, each.place) for each in pairs], names):
        tag = pair_tag(names[number] for number in inputs_of(stated.mask))
        tags: dict[str, Origin] = {**found.tags, tag: "what if"}
        found = replace(found, model=paired(found.model, stated), tags=tags)
    return found


def _assume(before: Assumed, each: Assumption) -> Assumed:
    if each.what == "cost":
        return replace(before, constant_s=each.value)
    if not each.of:
        options = dict(before.options)
        if each.what == "memory":
            options.pop("memory_rows", None)
            options.pop("memory_bytes", None)
            options[f"memory_{each.unit}"] = each.value
        else:
            options["processors" if each.what == "cores" else each.what] = each.value
        return replace(before, options=options)
    by_name = {name.lower(): number for number, name in enumerate(before.model.names)}
    numbers = sorted(by_name[name.lower()] for name in each.of)
    names = ", ".join(before.model.names[number] for number in numbers)
    tags: dict[str, Origin] = {**before.tags, f"{each.what}({names})": "what if"}
    if each.what == "selectivity":
        model = _selected(before.model, numbers[0], each)
    else:
        model = _resized(before.model, numbers[0], each)
    return replace(before, model=model, tags=tags)


def _resized(model: JoinModel, number: int, each: Assumption) -> JoinModel:
    """Change the rate, the window or the rows of an input."""
    own: InputModel = model.inputs[number]
    if each.what == "rate":
        own = replace(own, rate=each.value)
    elif each.unit == "us":
        own = replace(own, rows=None, range_s=each.value * MICRO)
    else:
        own = replace(own, rows=max(float(each.value), 1.0), range_s=None)
    inputs = (*model.inputs[:number], own, *model.inputs[number + 1 :])
    return replace(model, inputs=inputs)


def _selected(model: JoinModel, number: int, each: Assumption) -> JoinModel:
    """Let the first selection of an input have the whole share, any other none of it."""
    if not any(selection.input == number for selection in model.selections):
        raise PenstockError(
            "ENG-035",
            f"The query selects nothing of {model.names[number]!r}.",
            "Assume the selectivity of an input that WHERE compares with a constant.",
            each.place,
        )
    shares = chain([each.value], repeat(1.0))
    selections = tuple(
        replace(selection, selectivity=next(shares)) if selection.input == number else selection
        for selection in model.selections
    )
    return replace(model, selections=selections)
