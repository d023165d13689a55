"""Explaining: the equations of a group, its bounds and what they allow its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.models import (
    ErrorBound,
    ModelFilter,
    ModelledAttribute,
    ModelQueryStep,
    stages,
)
from penstock.models.gains import reach
from penstock.models.inversion import Inversion, step_inversion
from penstock.models.near_joins import nearness
from penstock.models.plans import SegmentPlan
from penstock.models.tolerances import SourceTolerances
from penstock.operators.model_query.equations import (
    StageWords,
    duration_text,
    polynomial_text,
)
from penstock.operators.shared.entries import PORT


def explain(step: ModelQueryStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Say what a group asks of models, and how near these are to rows."""
    queries = entries.get(PORT)
    words = StageWords(step.plan)
    inverted = step_inversion(step)
    facts: dict[str, Any] = {
        "branches": [],
        "class": "model query",
        "tells": _tells(step),
        "sources": [
            {"stream": name, "key": ", ".join(key for key, _ in each.key) or None,
             "carried": ", ".join(name for name, _ in each.carried) or None,
             "models": ", ".join(_model(own) for own in each.attributes),
             "rows_with": each.condition,
             "horizon": duration_text(each.horizon_us),
             "within": _allowed(tolerances, each.attributes)}
            for (name, each), tolerances in zip(words.sources, inverted.sources, strict=True)
        ],
        "equations": [f"{kind}: {text}" for kind, text in words.lines()],
        "pairs": _near_pairs(step),
        "each_query_asks": _asked(step),
        "bounds": [_bound(each) for each in step.bounds] or ["none: every row changes its model"],
        "bound_at": _stage_bounds(inverted, words),
        "bound_led_back": _shares(inverted, words),
        "by_conditions": _by_conditions(inverted, words),
        "without_tolerance": _untolerated(step, inverted, words),
        "assumed": list(inverted.assumptions),
        "split": _split(step) if len(inverted.allocations) > 1 else None,
        "shards": ", ".join(step.shard_key) or "one",
        "queries": 0 if queries is None else queries.num_rows,
    }  # fmt: skip
    facts["sources"] = [
        {name: fact for name, fact in own.items() if fact is not None} for own in facts["sources"]
    ]
    return {name: fact for name, fact in facts.items() if fact or name in {"branches", "queries"}}


def _near_pairs(step: ModelQueryStep) -> str | None:
    """Say which pairs of a join are looked at, if a limit on their distance spares the others."""
    filters = (each for each in stages(step.plan) if isinstance(each, ModelFilter))
    limits = [near.limit for near in map(nearness, filters) if near is not None]
    if not limits or not SegmentPlan(step.plan).meets_near:
        return None
    return f"only those that come within {max(limits):g} of each other, around that time"


def _tells(step: ModelQueryStep) -> str:
    form = "segments" if step.sample_us is None else f"values every {duration_text(step.sample_us)}"
    return f"{form}, expected and then confirmed or withdrawn" if step.predicts else form


def _model(attribute: ModelledAttribute) -> str:
    """Say the model of an attribute."""
    fit = attribute.fit
    if fit is None:
        powers = len(attribute.coefficients) - 1
        return f"{attribute.name} of degree {powers} from columns"
    error = "" if fit.error is None else f" within {fit.error:g}"
    return f"{attribute.name} of degree {fit.degree} by {fit.method.replace('_', ' ')}{error}"


def _allowed(tolerances: SourceTolerances, attributes: tuple[ModelledAttribute, ...]) -> str:
    """Say how far rows may be from models."""
    words = []
    for place, attribute in enumerate(attributes):
        own = [
            _amount(pool.form, pool.amounts[place])
            for pool in tolerances.pools
            if pool.amounts[place] != float("inf")
        ]
        words.append(f"{attribute.name} {' and '.join(own) or 'anything'}")
    slack = "" if tolerances.condition is None else ", more while no answer is near"
    return ", ".join(words) + slack


def _amount(form: str, amount: float) -> str:
    return f"{amount:g}" if form == "absolute" else f"{100 * amount:g} %"


def _bound(bound: ErrorBound) -> str:
    return f"{bound.attribute or 'every output'} {_amount(bound.form, bound.amount)}"


def _split(step: ModelQueryStep) -> str:
    """Say how bounds are divided."""
    if not step.shares:
        return step.split
    said = ", ".join(f"{each.attribute} {each.share:g}" for each in step.shares)
    return f"{said}; 1 for what has no share"


def _shares(inverted: Inversion, words: StageWords) -> list[str]:
    """Say what each bound allows each attribute that an output depends on."""
    return [
        f"{own.output}: {words.sources[own.leaf.source][0]}.{own.leaf.name} "
        f"{_amount(own.form, own.amount)}, gain {own.gain:g}"
        for own in inverted.allocations
    ]


def _by_conditions(inverted: Inversion, words: StageWords) -> list[str]:
    """Say what columns are allowed that only conditions speak of, and whose bounds they share."""
    found = []
    for leaf in inverted.inferred:
        own = [each for each in inverted.allocations if each.leaf == leaf]
        if not own or any(each.amount == 0.0 for each in own):
            continue
        shared = " and ".join(dict.fromkeys(each.output for each in own))
        amount = " and ".join(dict.fromkeys(_amount(each.form, each.amount) for each in own))
        name = words.sources[leaf.source][0]
        found.append(
            f"{name}.{leaf.name} {amount}, its share of the bound of {shared}: conditions hold as "
            "they would of rows, but for values so near to what they ask; say another by ERROR "
            f"WITHIN …, {leaf.name} …"
        )
    return found


def _untolerated(step: ModelQueryStep, inverted: Inversion, words: StageWords) -> list[str]:
    """Say which columns no bound speaks of, though there is one: their models hold no row."""
    if not step.bounds:
        return []
    named = ", ".join(_bound(each) for each in step.bounds if each.attribute is not None)
    return [
        f"{name}.{attribute.name}: every row that is off at all makes its model anew; say how far "
        f"it may be off, ERROR WITHIN {named}, {attribute.name} …, or leave it out of MODEL"
        for (name, source), own in zip(words.sources, inverted.sources, strict=True)
        for place, attribute in enumerate(source.attributes)
        if any(pool.amounts[place] == 0.0 for pool in own.pools)
    ]


def _stage_bounds(inverted: Inversion, words: StageWords) -> list[str]:
    """Say how far the attributes of every stage may be off, as far as amounts bound them."""
    found = []
    for stage, first, count, names in words.stages():
        amounts = np.array(
            [amount for own in inverted.sources[first : first + count] for amount in _amounts(own)]
        )
        if not np.isfinite(amounts).all():
            continue
        for name, own in zip(names, reach(stage, amounts).attributes, strict=True):
            counts = (own.gain != 0.0) & (amounts != 0.0)
            off = own.offset + float((own.gain[counts] * amounts[counts]).sum())
            if np.isfinite(off):
                found.append(f"{stage.kind}: {name} ± {off:g}")
    return found


def _amounts(tolerances: SourceTolerances) -> tuple[float, ...]:
    """Give what amounts allow every attribute of a source; infinity where only shares do."""
    return tolerances.equal or (float("inf"),) * max(
        (len(pool.amounts) for pool in tolerances.pools), default=0
    )


def _asked(step: ModelQueryStep) -> str | None:
    names = list(step.attributes)
    keys = [f"{step.key[place][0]} = its own" for place in step.asked.key]
    numbers = [
        f"{polynomial_text(own.polynomial, names)} {own.comparator} its own"
        + (" squared" if own.squared else "")
        for own in step.asked.comparisons
    ]
    return " AND ".join([*keys, *numbers]) or None
