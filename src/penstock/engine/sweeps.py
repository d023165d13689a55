"""Sweeps: a script's query in all combinations of values, asked of rows that have come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.engine.desk import Desk
from penstock.engine.past_rows import RecordedRows, ScriptRows
from penstock.kinds.binder import bind
from penstock.kinds.sweeps import Sweep, SweepOutcome, SweepProgress, Variants
from penstock.kinds.table import kind_of
from penstock.language.parser import parse
from penstock.language.places import listing, suggestion
from penstock.language.statements import CreateRelation, Subscribe
from penstock.language.substitution import named_parameters, named_relations, with_values
from penstock.vocabulary.errors import PenstockError

COMBINATIONS_MAX = 100_000
COMBINATION = "_combination"

Values = Sequence[int] | Sequence[float] | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """What is asked: a script, values of parameters by name, and where rows and segments are."""

    script: str
    settings: Mapping[str, Values]
    directory: Path
    subscription: str | None = None
    rows_max: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What was found: the subscription, and a row for every combination."""

    subscription: str
    table: pa.Table
    notes: tuple[str, ...]


def sweep(request: SweepRequest, desk: Desk | None, progress: SweepProgress) -> SweepReport:
    """Ask one query of a script in all combinations of values.

    Rows are those that the home of `desk` recorded, or those that the script's sources have now.
    """
    statements = parse(request.script)
    subscribed = _chosen([each for each in statements if isinstance(each, Subscribe)], request)
    combinations = _combinations(request.settings)
    if desk is not None:
        past: RecordedRows | ScriptRows = RecordedRows(desk)
    else:
        names = named_relations(subscribed.select.text)
        streams = [each for each in statements if isinstance(each, CreateRelation)]
        read = {each.name: each for each in streams if each.name.lower() in names}
        past = ScriptRows(read, request.rows_max)
    variants = _variants(subscribed, past.catalog, combinations)
    asked = Sweep(
        subscription=subscribed.name,
        catalog=past.catalog,
        variants=variants,
        combinations=combinations.num_rows,
        past=past,
        directory=request.directory,
        progress=progress,
    )
    outcome: SweepOutcome = kind_of(variants[0].logical.step()).sweep(asked)
    table = combinations
    for field in outcome.answers.schema:
        name = field.name if field.name not in table.column_names else f"_{field.name}"
        table = table.append_column(name, outcome.answers.column(field.name))
    cut = getattr(past, "cut", [])
    notes = tuple(
        f"Of {name}, the first {request.rows_max:,} rows were read; say --rows for more."
        for name in cut
    )
    return SweepReport(subscription=subscribed.name, table=table, notes=(*outcome.notes, *notes))


def _chosen(subscribed: Sequence[Subscribe], request: SweepRequest) -> Subscribe:
    """Choose the subscription that has the parameters: the one that is named, or the only one."""
    parameters = {each.name: named_parameters(each.select.text) for each in subscribed}
    if request.subscription is not None:
        subscribed = [each for each in subscribed if each.name == request.subscription]
        if not subscribed:
            known = f"There are: {listing(parameters) or 'none'}."
            fact = f"The script has no subscription {request.subscription!r}."
            raise PenstockError(
                "SWP-002", fact, suggestion(request.subscription, parameters, known)
            )
    fits = [each for each in subscribed if set(request.settings) <= set(parameters[each.name])]
    if not fits:
        all_names = list(dict.fromkeys(p for each in subscribed for p in parameters[each.name]))
        lacking = next((p for p in request.settings if p not in all_names), None)
        if lacking is None:
            fact = f"No subscription has all of the parameters {listing(request.settings)}."
            raise PenstockError("SWP-003", fact, "Sweep those of one subscription at a time.")
        known = f"Its parameters are: {listing(f':{p}' for p in all_names) or 'none'}."
        fact = f"No subscription of the script has a parameter :{lacking}."
        raise PenstockError("SWP-003", fact, suggestion(lacking, all_names, known))
    if len(fits) > 1:
        fact = f"Several subscriptions have these parameters: {listing(e.name for e in fits)}."
        raise PenstockError("SWP-007", fact, "Name one: --subscription NAME.")
    unset = [p for p in parameters[fits[0].name] if p not in request.settings]
    if unset:
        fact = f"The parameter :{unset[0]} of {fits[0].name!r} has no value."
        raise PenstockError("SWP-003", fact, f"Give it one or more: --set {unset[0]}=….")
    return fits[0]


def _combinations(settings: Mapping[str, Values]) -> pa.Table:
    """Give a row for every combination; the last parameter changes fastest."""
    count = prod(len(values) for values in settings.values())
    if count > COMBINATIONS_MAX:
        raise PenstockError(
            "SWP-005",
            f"These are {count:,} combinations; {COMBINATIONS_MAX:,} are the most.",
            "Take larger steps, or fewer parameters at a time.",
        )
    rows = list(product(*settings.values()))
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in settings]
    return pa.table({name: pa.array(own) for name, own in zip(settings, columns, strict=True)})


def _variants(
    subscribed: Subscribe, catalog: Catalog, combinations: pa.Table
) -> tuple[Variants, ...]:
    """Bind all combinations together; or one by one, where the plan itself depends on a value."""
    text, places = subscribed.select.text, np.arange(combinations.num_rows)
    try:
        logical = bind(text, catalog, combinations.schema, subscribed.options)
    except PenstockError:
        return tuple(
            Variants(
                logical=bind(with_values(text, row), catalog, None, subscribed.options),
                parameters=pa.table({COMBINATION: [place]}),
                places=places[place : place + 1],
            )
            for place, row in enumerate(combinations.to_pylist())
        )
    return (Variants(logical=logical, parameters=combinations, places=places),)
