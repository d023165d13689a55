"""Views: from CREATE VIEW … AS SELECT … to a definition that a store maintains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.inputs import numbered_inputs
from penstock.algebra.views import (
    FlushRule,
    StandingView,
    StoreDialect,
    ViewDefinition,
    ViewInput,
    is_kept,
)
from penstock.language.dialect import EXTENT
from penstock.language.join_terms import merge_using
from penstock.language.name_resolution import (
    Names,
    Scope,
    check_called,
    exact,
    relation_of,
    tables_of,
)
from penstock.language.queries import Query
from penstock.language.view_groups import ViewGrouping, check_condition, refuse_aggregates
from penstock.language.view_shapes import checked_view
from penstock.language.view_texts import OUTPUT, ViewTexts, conjuncts
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, kind_of

VIEW, REFRESH, STORE, POLICY = "view", "refresh", "store", "policy"
OPTIONS = (VIEW, REFRESH, STORE, POLICY)
"""What a view is registered with beside its text: its name, its bound, its store, its policy."""


def is_view(options: Mapping[str, Any]) -> bool:
    """Say whether a text is that of a view."""
    return VIEW in options


def bind_view(query: Query) -> StandingView:
    """Say what a view asks, in the words of its store."""
    options = _options(query.options)
    store = str(options.get(STORE, ""))
    dialect: StoreDialect = "postgresql" if store else "duckdb"
    select = checked_view(query)
    names = _names(select, query)
    joins = select.args.get("joins") or []
    merged = merge_using(select, names) if joins else []
    _take_aliases(select, names)
    names.resolve(select)
    texts = ViewTexts(names, dialect)
    where = select.args.get("where")
    asked = [on for join in joins if (on := join.args.get("on")) is not None]
    asked += [*merged, *([where.this] if where is not None else ())]
    terms = conjuncts(asked)
    for term in terms:
        refuse_aggregates(term, names, "a condition on rows")
        check_condition(term, texts)
    group = ViewGrouping(select, texts)
    outputs = group.outputs()
    having = group.having()
    definition = ViewDefinition(
        name=str(options[VIEW]),
        dialect=dialect,
        conditions=tuple(texts.say(term) for term in terms),
        is_grouped=group.is_grouped,
        keys=tuple(group.keys),
        aggregates=tuple(group.aggregates),
        having=having,
        outputs=outputs,
        inputs=_inputs(names, texts),
    )
    words = tuple(scope.relation.change_column for scope in names.scopes)
    return StandingView(
        definition=definition,
        words=words,
        bound_us=microseconds(options[REFRESH]),
        store=store,
        policy=cast(FlushRule, options.get(POLICY, "online")),
    )


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in OPTIONS]
    if unknown:
        raise PenstockError(
            "VIEW-057",
            f"A view has no option {unknown[0]!r}.",
            "Its options are: policy = 'online', 'naive' or 'immediate'.",
            option=unknown[0],
        )
    policy = given.get(POLICY, "online")
    if policy not in get_args(FlushRule):
        raise PenstockError(
            "VIEW-057",
            f"There is no policy {policy!r}.",
            f"Choose one of: {', '.join(get_args(FlushRule))}.",
            option=POLICY,
        )
    bound = microseconds(given[REFRESH])
    if bound <= 0:
        raise PenstockError(
            "VIEW-058",
            "A view cannot be refreshed within no time.",
            "Write REFRESH WITHIN and how long a refresh may take, such as 500 MILLISECONDS.",
        )
    return dict(given)


def _names(select: exp.Select, query: Query) -> Names:
    tables = tables_of(select)
    relations = [relation_of(table, query.source, query.catalog) for table in tables]
    if len(tables) > 1:
        check_called(tables, relations, query.source)
    for table, relation in zip(tables, relations, strict=True):
        if relation.is_asked:
            raise query.source.error(
                "VIEW-054",
                f"{relation.name!r} is looked up in another database, which does not tell when "
                "its rows change.",
                "Read it as a table with its changes, or join it where the view is read.",
                at=table,
            )
    called = [table.alias_or_name for table in tables]
    names = Names(
        query.source,
        tuple(map(Scope, relations, called, numbered_inputs(len(tables)))),
        None,
    )
    names.tokens = query.tokens
    return names


def _take_aliases(select: exp.Select, names: Names) -> None:
    """Put outputs in the place of their numbers and aliases in GROUP BY and HAVING."""
    group, having = select.args.get("group"), select.args.get("having")
    outputs = select.expressions
    aliases = {each.alias.lower(): each for each in outputs if isinstance(each, exp.Alias)}
    for key in list(group.expressions) if group is not None else ():
        if isinstance(key, exp.Literal) and not key.is_string:
            place = int(key.this) if str(key.this).isdigit() else 0
            if not 0 < place <= len(outputs):
                fact = f"GROUP BY {key.this} names none of the {len(outputs)} outputs."
                raise names.source.error("VIEW-059", fact, "Name an expression.", at=key)
            key.replace(outputs[place - 1].unalias().copy())
        elif (named := _aliased(key, aliases, names)) is not None:
            key.replace(named.this.copy())
    for column in list(having.find_all(exp.Column)) if having is not None else ():
        if (named := _aliased(column, aliases, names)) is not None:
            stands = exp.Var(this=column.name)
            stands.meta.update({EXTENT: column.meta[EXTENT], OUTPUT: named})
            column.replace(stands)


def _aliased(node: exp.Expr, aliases: Mapping[str, exp.Alias], names: Names) -> exp.Alias | None:
    """Give the output that a name stands for, if it is none of a column."""
    bare = isinstance(node, exp.Column) and len(node.parts) == 1
    if not bare or any(exact(node.name, scope.columns) for scope in names.scopes):
        return None
    return aliases.get(node.name.lower())


def _inputs(names: Names, texts: ViewTexts) -> tuple[ViewInput, ...]:
    """Give the inputs with the columns that the view reads; of each at least one."""
    found = []
    for scope in names.scopes:
        read = [each for each in scope.columns if scope.named(each) in texts.read]
        schema = scope.relation.schema
        columns = tuple((name, schema.field(name).type) for name in read or scope.columns[:1])
        _check_types(columns, scope, texts)
        found.append(ViewInput(relation=scope.relation.name, alias=scope.side, columns=columns))
    return tuple(found)


def _check_types(
    columns: Sequence[tuple[str, pa.DataType]], scope: Scope, texts: ViewTexts
) -> None:
    """Refuse columns that a store has no type for."""
    for name, type_ in columns:
        is_here = texts.dialect == "duckdb"
        if not is_kept(type_) or (not is_here and kind_of(type_) is ColumnKind.OTHER):
            where = "a view" if is_here else "a view in PostgreSQL"
            raise texts.names.source.error(
                "VIEW-056",
                f"Column {name!r} of {scope.relation.name!r} is {type_}, which {where} cannot "
                "hold.",
                "Leave it out, or make a column of numbers, texts, dates or times of it where "
                "it comes from."
                if is_here
                else "Leave it out, or leave the view in DuckDB.",
            )
