"""SELECTs of model queries, the outermost and those in brackets, bound to stages of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog
from penstock.algebra.models import ModelStage
from penstock.language.model_aggregates import (
    AskedAggregate,
    aggregated,
    aggregates_of,
    attribute_names,
    beside,
)
from penstock.language.model_answers import AnswerItem, AnswerLevel, AnswerReader
from penstock.language.model_clauses import ModelSettings
from penstock.language.model_conditions import ConditionReader
from penstock.language.model_expressions import ExpressionReader
from penstock.language.model_joins import (
    AGGREGATES,
    JoinedInputs,
    conjuncts,
    filtered,
)
from penstock.language.model_maps import MapBuilder, WantedFunction, is_difference
from penstock.language.model_scopes import (
    KeyColumn,
    ModelNames,
    ModelScope,
    NameReference,
    TimedAttribute,
)
from penstock.language.model_shapes import check_select, windows_of
from penstock.language.model_sources import SourceDraft, degree_of, source_draft
from penstock.language.model_thresholds import AskedThresholds
from penstock.language.places import ScriptSource
from penstock.models.near_joins import is_mean_distance
from penstock.models.plans import SegmentPlan
from penstock.vocabulary.errors import PenstockError

SOURCES_MAX = 8
"""Relations that one query reads, queries in brackets included."""
OWN = ("starts", "ends", "at", "status")
"""The columns of answers beside keys and functions of time."""


@dataclass(slots=True)
class ModelReading:
    """What all SELECTs of a query are read with."""

    source: ScriptSource
    catalog: Catalog
    each: pa.Schema | None
    tokens: Sequence[Token]
    settings: ModelSettings
    drafts: list[SourceDraft] = field(default_factory=list)


@dataclass(slots=True)
class BoundSelect:
    """A SELECT, as far as it is bound: what stands below its SELECT list, and the list itself."""

    names: ModelNames
    inputs: JoinedInputs
    level: AnswerLevel
    aggregates: list[AskedAggregate]
    reader: AnswerReader
    items: list[AnswerItem]
    stage: ModelStage
    asked: AskedThresholds | None


def bind_select(
    select: exp.Select,
    reading: ModelReading,
    own: Sequence[str] = (),
    asked: AskedThresholds | None = None,
) -> BoundSelect:
    """Bind all of a SELECT but its maps; `asked` takes what differs from query to query."""
    check_select(select, reading.source)
    scopes = _carrying(select, _scopes(select, reading), reading.source, own)
    names = ModelNames(reading.source, scopes, own)
    aggregates = aggregates_of(select, names)
    group = aggregates[0].group if aggregates else ()
    if not aggregates and len(scopes) == 1 and scopes[0].window is not None:
        fact = "A window says what an aggregate or a join is over, and the query has neither."
        remedy = "Leave the window out, or ask for min, max, sum or avg."
        raise reading.source.error("MDL-008", fact, remedy, at=scopes[0].window)
    inputs = JoinedInputs(
        names,
        asked,
        lifts_numbers=not aggregates,
        lifts=lambda position: not aggregates or position in group,
    )
    _add_conditions(select, inputs)
    level = _level(inputs, aggregates)
    reader = AnswerReader(names, level, reading.tokens, grouped=bool(aggregates))
    items = reader.read(select.expressions)
    having: list[exp.Expr] = []
    if not aggregates:
        stage = inputs.stage()
    else:
        made = [
            aggregated(each, inputs, inputs.stage(), _named(place, each, items), reading.settings)
            for place, each in enumerate(aggregates)
        ]
        _refuse_many(select, len(made), reading)
        stage, attributes = beside(made, len(group))
        level = AnswerLevel(level.key, attributes, level.key_of, level.reader)
        having = [select.args["having"].this] if select.args.get("having") else []
    bound = BoundSelect(names, inputs, level, aggregates, reader, items, stage, asked)
    for condition in having:
        _add_having(condition, bound)
    return bound


def _add_conditions(select: exp.Select, inputs: JoinedInputs) -> None:
    """Read ON, which stays in the plan, and WHERE."""
    names = inputs.names
    for number, join in enumerate(select.args.get("joins") or (), start=1):
        if join.args.get("on") is not None:
            inputs.add(join.args["on"], lifted=False)
        for column in join.args.get("using") or ():
            left = _using(column, names, range(number))
            right = _using(column, names, range(number, number + 1))
            inputs.add_pair(left, right, column, is_equal=True)
            names.merged.add(column.name.lower())
    where = select.args.get("where")
    if where is not None:
        inputs.add(where.this, lifted=True)


def _using(column: exp.Expr, names: ModelNames, scopes: range) -> NameReference:
    for number in scopes:
        written = exp.column(column.name, table=names.scopes[number].qualifier)
        known = [key.name.lower() for key in names.scopes[number].key if key.name is not None]
        if column.name.lower() in known:
            return names.find(written)
    fact = f"{column.name!r} is no key column of both relations."
    remedy = "Name key columns in USING, or write ON."
    raise names.source.error("MDL-013", fact, remedy, at=column)


def _refuse_many(select: exp.Select, aggregates: int, reading: ModelReading) -> None:
    """Refuse aggregates that would read more relations than a query may."""
    if aggregates > 1 and aggregates * len(reading.drafts) > SOURCES_MAX:
        fact = (
            f"{aggregates} aggregates of {len(reading.drafts)} relations read more than "
            f"{SOURCES_MAX}: each reads them by itself."
        )
        remedy = "Ask for some of them by a query of their own."
        raise reading.source.error("MDL-016", fact, remedy, at=select.expressions[0])


def _level(inputs: JoinedInputs, aggregates: Sequence[AskedAggregate]) -> AnswerLevel:
    """Say what the SELECT list speaks of."""
    names = inputs.names
    if not aggregates:
        reader = inputs.reader.expressions
        return AnswerLevel(names.key, names.attributes, lambda each, _: each.position, reader)

    group = aggregates[0].group

    def key_of(reference: NameReference, at: exp.Expr) -> int:
        if reference.position in group:
            return group.index(reference.position)
        raise _not_grouped(reference.name, names.source, at)

    def variable(node: exp.Expr) -> int | None:
        for place, each in enumerate(aggregates):
            if each.is_same(node):
                return place
        if isinstance(node, exp.Column):
            raise _not_grouped(names.find(node).name, names.source, node)
        return None

    key = tuple(names.key[position] for position in group)
    return AnswerLevel(key, (), key_of, ExpressionReader(names.source, variable))


def _not_grouped(name: str, source: ScriptSource, at: exp.Expr) -> PenstockError:
    fact = f"{name!r} stands beside an aggregate, and is neither aggregated nor grouped by."
    remedy = f"Add GROUP BY {name}, if it is a key column; or aggregate it."
    return source.error("MDL-015", fact, remedy, at=at)


def _named(place: int, aggregate: AskedAggregate, items: Sequence[AnswerItem]) -> str:
    """Name an aggregate as the SELECT list does, or by its own words."""
    alone = [
        each.name for each in items if each.polynomial is not None and each.polynomial.bare == place
    ]
    return alone[0] if alone else aggregate.node.sql("duckdb").lower()


def _add_having(condition: exp.Expr, bound: BoundSelect) -> None:
    """Filter what an aggregate gives; the outermost SELECT's numbers differ from query to query."""
    level, names = bound.level, bound.names
    over = JoinedInputs(
        ModelNames(names.source, names.scopes, names.own),
        bound.asked,
        lifts_numbers=True,
        lifts=lambda _: False,
    )
    over.reader = ConditionReader(level.reader, made=bound.inputs.reader.made)
    for conjunct in conjuncts(condition):
        if conjunct.find(*AGGREGATES) is None:
            _add_having_key(conjunct, bound)
        else:
            degrees = [each.degree for each in level.attributes]
            over.add_timed(conjunct, degrees, lifted=not _is_near(conjunct, bound))
    if over.conditions:
        bound.stage = filtered(bound.stage, over.conditions, len(level.attributes))


def _is_near(conjunct: exp.Expr, bound: BoundSelect) -> bool:
    """Say whether a limit of the text, in the plan, spares it the pairs that never come near.

    Lifted it would be one of many that share a plan, which then makes the averages of all pairs.
    """
    if conjunct.find(exp.Placeholder) is not None or not is_mean_distance(bound.stage):
        return False
    reader = ConditionReader(bound.level.reader, made=bound.inputs.reader.made)
    found = filtered(bound.stage, [reader.read(conjunct)], len(bound.level.attributes))
    return SegmentPlan(found).meets_near


def _add_having_key(conjunct: exp.Expr, bound: BoundSelect) -> None:
    """Take a condition of HAVING on key columns of the groups: it chooses rows as well."""
    for reference in bound.names.references(conjunct):
        if reference.kind != "key":
            fact = f"{reference.name!r} stands in HAVING, and is not aggregated."
            remedy = "Aggregate it; or write the condition into WHERE."
            raise bound.names.source.error("MDL-015", fact, remedy, at=conjunct)
    fact = "HAVING has a condition without an aggregate."
    raise bound.names.source.error("MDL-009", fact, "Write it into WHERE.", at=conjunct)


def _scopes(select: exp.Select, reading: ModelReading) -> list[ModelScope]:
    tables = [select.args["from_"].this, *(j.this for j in select.args.get("joins") or ())]
    found: list[ModelScope] = []
    for table in tables:
        scope = _scope(table, reading)
        if any(each.is_called(scope.qualifier) for each in found):
            fact = f"Two relations of the query are called {scope.qualifier!r}."
            remedy = "Give each its own name: FROM a AS x MODEL … JOIN a AS y MODEL …."
            raise reading.source.error("SQL-026", fact, remedy, at=table)
        found.append(scope)
    return found


def _carrying(
    select: exp.Select, scopes: list[ModelScope], source: ScriptSource, own: Sequence[str]
) -> list[ModelScope]:
    """Let scopes carry the columns of rows that the SELECT list asks for by themselves."""
    names = ModelNames(source, scopes, own)
    if any(each.find(*AGGREGATES) is not None for each in select.expressions):
        return scopes
    for expression in select.expressions:
        with suppress(PenstockError):  # what cannot be found is refused where it is read
            found = names.references(expression)
            if "attribute" in {each.kind for each in found}:
                continue
            for each in found:
                draft = scopes[each.scope].draft
                if each.kind == "row" and draft is not None:
                    draft.carry(each.name)
    return [each if each.draft is None else _carries(each, each.draft) for each in scopes]


def _carries(scope: ModelScope, draft: SourceDraft) -> ModelScope:
    schema = draft.relation.schema
    columns = (KeyColumn(n, schema.field(n).type, is_carried=True) for n in draft.carried)
    return replace(scope, key=(*scope.key, *columns))


def _scope(table: exp.Expr, reading: ModelReading) -> ModelScope:
    window = windows_of(table, reading.source)
    if isinstance(table, exp.Table):
        draft = source_draft(
            table, reading.source, reading.catalog, reading.tokens, reading.settings
        )
        reading.drafts.append(draft)
        if len(reading.drafts) > SOURCES_MAX:
            fact = f"The query reads more than {SOURCES_MAX} relations."
            remedy = "Ask for a part of it by a query of its own."
            raise reading.source.error("MDL-016", fact, remedy, at=table)
        schema = draft.relation.schema
        return ModelScope(
            qualifier=draft.qualifier,
            key=tuple(KeyColumn(name, schema.field(name).type) for name in draft.key),
            attributes=tuple(TimedAttribute(a.name, degree_of(a)) for a in draft.attributes),
            make=draft.finish,
            node=table,
            draft=draft,
            window=window,
        )
    bound = bind_select(table.this, reading)
    stage, key, attributes = exported(bound, reading)
    return ModelScope(
        qualifier=table.alias or "query",
        key=key,
        attributes=attributes,
        make=lambda: stage,
        node=table,
        window=window,
    )


def exported(
    bound: BoundSelect, reading: ModelReading
) -> tuple[ModelStage, tuple[KeyColumn, ...], tuple[TimedAttribute, ...]]:
    """Give what a SELECT in brackets is to the one around it; key columns stay, named or not."""
    keys: dict[int, str] = {}
    for item in bound.items:
        if item.is_computed or item.own is not None:
            fact = f"{item.name!r} is neither a key column nor a function of time."
            remedy = "Ask for it in the outermost SELECT."
            raise reading.source.error("MDL-015", fact, remedy, at=item.node)
        if item.key is not None:
            if item.key in keys:
                fact = f"{item.name!r} is a key column that {keys[item.key]!r} is, too."
                raise reading.source.error("MDL-015", fact, "Keep one of them.", at=item.node)
            keys[item.key] = item.name
    key = tuple(KeyColumn(keys.get(n), each.type) for n, each in enumerate(bound.level.key))
    wanted = [i for i in bound.items if i.polynomial is not None]
    stage, attributes = mapped(bound, reading.settings, wanted)
    return stage, key, attributes


def mapped(
    bound: BoundSelect, settings: ModelSettings, wanted: Sequence[AnswerItem]
) -> tuple[ModelStage, tuple[TimedAttribute, ...]]:
    """Give a stage with what is wanted among its attributes, mapped if it is not there."""
    level = bound.level
    places = [item.polynomial.bare for item in wanted if item.polynomial is not None]
    plain = all(place is not None and place >= 0 for place in places)
    if plain and len(set(places)) == len(places):
        names: dict[int | None, str] = dict(zip(places, (i.name for i in wanted), strict=True))
        attributes = tuple(
            TimedAttribute(names.get(n), each.degree, each.is_difference)
            for n, each in enumerate(level.attributes)
        )
        return bound.stage, attributes
    functions = [
        WantedFunction(item.name, item.polynomial, item.node)
        for item in wanted
        if item.polynomial is not None
    ]
    builder = MapBuilder(
        stage=bound.stage,
        names=attribute_names(level.attributes),
        degrees=[each.degree for each in level.attributes],
        keys=len(level.key),
        atoms=dict(level.reader.atoms),
        settings=settings,
        source=bound.names.source,
        wanted=functions,
    )
    degrees = builder.build()
    attributes = tuple(
        TimedAttribute(each.name, degree, is_difference(each.polynomial, level.attributes))
        for each, degree in zip(functions, degrees, strict=True)
    )
    return builder.stage, attributes
