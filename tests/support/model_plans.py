"""Plans of model queries, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.algebra.models import (
    ErrorBound,
    MappedAttribute,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelledAttribute,
    ModelMap,
    ModelSource,
    ModelStage,
    ModelWindow,
    Polynomial,
    StandingModelQuery,
)


def model_lines(plan: StandingModelQuery) -> list[str]:
    """Show what a model query asks; attributes stand by position, as `a0`."""
    shape = plan.shape
    lines = _stage_lines(shape.plan)
    lines.append(f"gives: {_names(name for name, _ in shape.key)} -> {_names(shape.attributes)}")
    for place, parameter in zip(shape.asked.key, plan.key_parameters, strict=True):
        lines.append(f"asked: key {place} = {parameter}")
    for own, parameter in zip(shape.asked.comparisons, plan.number_parameters, strict=True):
        number = f"{parameter} squared" if own.squared else parameter
        lines.append(f"asked: {_polynomial(own.polynomial)} {own.comparator} {number}")
    lines += [f"bound: {_bound(each)}" for each in shape.bounds]
    if shape.sample_us is not None:
        lines.append(f"sampled every {shape.sample_us} us")
    chosen = (shape.split, shape.predicts, shape.fidelity)
    if chosen != ("equi", False, "repaired"):
        lines.append(f"split {shape.split}, predicts {shape.predicts}, {shape.fidelity}")
    if shape.shares:
        said = ", ".join(f"{each.attribute} {each.share:g}" for each in shape.shares)
        lines.append(f"split by shares: {said}")
    return lines


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _bound(bound: ErrorBound) -> str:
    return f"{bound.attribute or 'every output'} {bound.form} {bound.amount:g}"


def _stage_lines(stage: ModelStage, depth: int = 0) -> list[str]:
    said, inputs = _stage(stage)
    lines = ["  " * depth + said]
    for each in inputs:
        lines += _stage_lines(each, depth + 1)
    return lines


def _stage(stage: ModelStage) -> tuple[str, Sequence[ModelStage]]:
    if isinstance(stage, ModelSource):
        return _source(stage), ()
    if isinstance(stage, ModelFilter):
        return f"filter {_condition(stage.condition)}", (stage.input,)
    if isinstance(stage, ModelJoin):
        keys = [f"k{a} = k{b}" for a, b in stage.equal] + [
            f"k{a} <> k{b}" for a, b in stage.unequal
        ]
        window = "" if stage.window_us is None else f" window {stage.window_us} us"
        said = f"join [{', '.join(keys)}] on {_condition(stage.condition)}{window}"
        return said, (stage.left, stage.right)
    if isinstance(stage, ModelMap):
        made = ", ".join(_mapped(each) for each in stage.attributes)
        return f"map keys {list(stage.key)}: {made}", (stage.input,)
    group = f"group {list(stage.group)}"
    if isinstance(stage, ModelEnvelope):
        said = f"envelope {stage.name} = {stage.function}(a{stage.attribute}) {group}"
        return said, (stage.input,)
    assert isinstance(stage, ModelWindow)
    said = f"window {stage.name} = {stage.function}(a{stage.attribute}) {group}"
    size = f"size {stage.size_us} us, slide {stage.slide_us} us, gap {stage.gap}"
    return f"{said}, {size}", (stage.input,)


def _source(source: ModelSource) -> str:
    key = _names(name for name, _ in source.key)
    least = "" if source.horizon_min_us is None else f"{source.horizon_min_us} to "
    said = f"source {source.relation} by {key} for {least}{source.horizon_us} us: "
    said += "; ".join(_modelled(each) for each in source.attributes)
    columns = f" of {list(source.columns)}" if source.columns else ""
    return f"{said}{'' if source.condition is None else f' if [{source.condition}]'}{columns}"


def _modelled(attribute: ModelledAttribute) -> str:
    fit = attribute.fit
    if fit is None:
        return f"{attribute.name} = {list(attribute.coefficients)}"
    rest = "" if (fit.error, fit.buffer) == (None, None) else f" ({fit.error}, {fit.buffer})"
    return f"{attribute.name} {fit.method} of degree {fit.degree}{rest}"


def _mapped(attribute: MappedAttribute) -> str:
    said = _polynomial(attribute.polynomial)
    if attribute.divisor is not None:
        said = f"{said}, {_polynomial(attribute.divisor)}"
    if attribute.function is None:
        return f"{attribute.name} = {said}"
    return f"{attribute.name} = {attribute.function}({said}) within {attribute.tolerance:g}"


def _condition(condition: ModelCondition) -> str:
    if isinstance(condition, ModelComparison):
        return f"{_polynomial(condition.polynomial)} {condition.comparator} 0"
    assert isinstance(condition, ModelConjunction | ModelDisjunction)
    word = " AND " if isinstance(condition, ModelConjunction) else " OR "
    return f"({word.join(_condition(each) for each in condition.terms)})"


def _polynomial(polynomial: Polynomial) -> str:
    terms = []
    for term in polynomial.terms:
        factors = [f"a{n}^{p}" if p > 1 else f"a{n}" for n, p in enumerate(term.powers) if p]
        plain = term.factor == 1 and factors
        terms.append("*".join(factors if plain else [f"{term.factor:g}", *factors]))
    return " + ".join(terms) or "0"
