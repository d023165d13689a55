"""Range aggregates: from SELECT MIN(y) … WHERE x BETWEEN … to a shape and a range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import Output
from penstock.algebra.predicates import Branch
from penstock.algebra.range_aggregates import (
    AnswerForm,
    RangeAggregateStep,
    RangeFunction,
    RangeMeasure,
    StandingRangeAggregate,
    message_columns,
)
from penstock.expressions.quotation import numbered, quoted
from penstock.language.comparisons import Types, duck_refusal
from penstock.language.conditions import check_condition, never_matches
from penstock.language.dialect import EXTENT, Span
from penstock.language.duckdb_checks import DuckError, types_of
from penstock.language.name_resolution import Names, names_of, relation_of, tables_of
from penstock.language.normal_forms import conjuncts_of
from penstock.language.open_terms import MESSAGES
from penstock.language.outputs import unaliased
from penstock.language.parameters import QueryParameters
from penstock.language.places import suggestion
from penstock.language.queries import Query
from penstock.language.range_shapes import (
    RangeConditions,
    open_parameters,
    row_condition,
)
from penstock.language.refusals import check_functions, check_shape
from penstock.language.splices import cut, splice
from penstock.language.terms import make_branch, named_in, without_constants
from penstock.language.view_shapes import AGGREGATES, aggregate_of
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, is_ordered, kind_of

MEASURES_MAX = 16
"""Aggregates of one query."""
VALUES_MAX = 64
"""Values that MIN(x, n) and MAX(x, n) may give."""
MAINTAINED = (
    "COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and "
    f"MIN(x, n), MAX(x, n) with a constant n of 1 to {VALUES_MAX}"
)


def bind_range_aggregate(query: Query) -> StandingRangeAggregate:
    """Say what a range aggregate asks."""
    form = _form(query.options)
    select = check_shape(query.tree, query.source)
    check_functions(query.tokens, query.source, may=frozenset(AGGREGATES.values()))
    names = _names(select, query, form)
    pieces = cut(query.tokens)
    relation = names.scopes[0].relation
    names.resolve(select)
    _refuse_change_column(select, names, relation)
    measures = RangeMeasures(names)
    outputs = measures.outputs(select.expressions, pieces.items)
    where = select.args["where"].this
    types = Types(names)
    types.check(where)
    parameters = QueryParameters(types=types.parameters)
    where_sql = splice(pieces.where, names.source.text, names.qualified())
    measures.refuse_inside(where)
    check_condition(where_sql, where, types, parameters)
    atoms = without_constants(conjuncts_of(where, types.uniform), types)
    if atoms is None:
        raise never_matches(names, pieces.where[0].start)
    asked = RangeConditions.of(atoms, names, is_open=form == "messages")
    attribute, *further = asked.choose(names, where)
    if further:
        _check_box(measures, asked.bounds[further[0]][0], names, form)
    condition, columns, condition_sql = row_condition(asked.rest, types)
    branch = _branch(asked, (attribute, *further), types, parameters)
    shape = RangeAggregateStep(
        relation=relation.name,
        attribute=attribute,
        attribute_type=names.column_type(attribute),
        partition=tuple((name, names.column_type(name)) for name in sorted(asked.keys)),
        measures=tuple(measures.found),
        condition=condition,
        condition_columns=columns,
        change_column=relation.change_column,
        form=form,
        further=tuple((name, names.column_type(name)) for name in further),
    )
    if form == "messages":
        return StandingRangeAggregate(
            shape=shape,
            branch=branch,
            outputs=_message_outputs(shape, query),
            where_sql=where_sql,
            condition_sql=" AND ".join(condition_sql) or "TRUE",
        )
    return StandingRangeAggregate(
        shape=shape,
        branch=branch,
        outputs=outputs,
        parameters=parameters.types,
        constants=parameters.constants,
        where_sql=where_sql,
        condition_sql=" AND ".join(condition_sql) or "TRUE",
    )


def _form(options: Mapping[str, Any]) -> AnswerForm:
    for written, value in options.items():
        name = written.lower()
        if name != MESSAGES:
            fact = f"A range aggregate has no option {name!r}."
            remedy = suggestion(name, [MESSAGES], f"Known is: {MESSAGES}.")
            raise PenstockError("SQL-070", fact, remedy, option=name)
        if not isinstance(value, bool):
            fact = f"Option {name!r} cannot be {value!r}."
            raise PenstockError("SQL-071", fact, "Write TRUE or FALSE.", option=name)
        if value:
            return "messages"
    return "values"


def _names(select: exp.Select, query: Query, form: AnswerForm) -> Names:
    (table,) = tables_of(select)
    relation = relation_of(table, query.source, query.catalog)
    if relation.is_asked:
        raise query.source.error(
            "AGG-008",
            f"{relation.name!r} is looked up in another database, which does not tell when its "
            "rows change.",
            "Read it as a table with its changes.",
            at=table,
        )
    if not relation.keeps:
        raise query.source.error(
            "AGG-008",
            f"{relation.name!r} is a stream: its rows are not kept, so that an answer would hang "
            "on when other queries were registered.",
            "Keep what is asked for in a view, CREATE VIEW … AS SELECT … FROM "
            f"{relation.name}, and ask that; or declare a table with its changes.",
            at=table,
        )
    each = query.each
    if form == "messages":
        if each is not None:
            fact = "Messages are of all ranges at once, and the query brings rows of its own."
            remedy = "Leave FOR EACH out, or leave AS MESSAGES out."
            raise PenstockError("AGG-007", fact, remedy, option=MESSAGES)
        each = open_parameters(query, relation)
    names = names_of(select, query.source, query.catalog, each)
    names.tokens = query.tokens
    return names


def _refuse_change_column(select: exp.Select, names: Names, relation: Relation) -> None:
    """Refuse the column that tells what changes do: the rows of a table do not have it."""
    for column in select.find_all(exp.Column):
        if relation.change_column is not None and column.name == relation.change_column:
            raise names.source.error(
                "AGG-008",
                f"{column.name!r} tells how rows of {relation.name!r} change, and is no part of "
                "the rows that are aggregated.",
                "Leave it out.",
                at=column,
            )


def _check_box(measures: RangeMeasures, at: exp.Expr, names: Names, form: AnswerForm) -> None:
    """Refuse what is not maintained over ranges of two columns."""
    if form == "messages":
        raise names.source.error(
            "AGG-007",
            "Messages are rectangles of ranges of one column, and the query has ranges of two.",
            "Leave AS MESSAGES out, or write one of the ranges with constants.",
            at=at,
        )
    if any(each.is_set or each.most is not None for each in measures.found):
        raise names.source.error(
            "AGG-004",
            "COUNT(DISTINCT x), MIN(x, n) and MAX(x, n) are not maintained over ranges of two "
            "columns.",
            "Write one of the ranges with constants.",
            at=at,
        )


def _branch(
    asked: RangeConditions, attributes: Sequence[str], types: Types, parameters: QueryParameters
) -> Branch:
    """Give the ranges and the equalities, with their constants lifted."""
    bounds = [atom for name in attributes for atom in asked.bounds[name]]
    chosen = (*bounds, *(atom for own in asked.keys.values() for atom in own))
    branch = make_branch(chosen, types, parameters)
    if branch.residual is not None:
        names = types.names
        raise names.source.error(
            "AGG-005",
            f"A bound of {' or '.join(map(names.shown, attributes))}, or a value that another "
            "column equals, is of a type that the column cannot be compared with exactly.",
            "Cast it to the type of the column: "
            + ", ".join(f"{names.shown(each)} is {names.column_type(each)}" for each in attributes)
            + ".",
            at=chosen[0],
        )
    parameters.keep(named_in(branch))
    return branch


def _message_outputs(shape: RangeAggregateStep, query: Query) -> tuple[Output, ...]:
    if len(shape.measures) != 1:
        fact = f"Messages are of one aggregate, and the query has {len(shape.measures)}."
        remedy = "Subscribe to the messages of each by themselves."
        raise PenstockError("AGG-007", fact, remedy, option=MESSAGES)
    if shape.measures[0].most is not None:
        fact = "Messages have one value of a range, and the query asks for a list of them."
        remedy = "Leave AS MESSAGES out, or ask for MIN(x) or MAX(x)."
        raise PenstockError("AGG-007", fact, remedy, option=MESSAGES)
    del query
    said = [name for name, _ in message_columns(shape.measures[0], shape.attribute_type)]
    outputs: dict[str, Output] = {}
    wished = [*(name for name, _ in shape.partition), *said]
    for name, (made, _) in zip(wished, shape.made, strict=True):
        own = numbered(name, outputs)
        outputs[own.lower()] = Output(name=own, sql=quoted(made))
    return tuple(outputs.values())


def _most(node: exp.Expr) -> int | None:
    """Say how many values MIN(x, n) or MAX(x, n) asks for, if that is a number that it may be."""
    asked = node.args.get("count")
    if not isinstance(node, exp.Min | exp.Max) or not isinstance(asked, exp.Literal):
        return None
    if not asked.is_int or not 1 <= int(asked.this) <= VALUES_MAX:
        return None
    return int(asked.this)


class RangeMeasures:
    """The aggregates of a SELECT list, each once, and what outputs say in terms of them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._trees: list[exp.Expr] = []
        self.found: list[RangeMeasure] = []

    def outputs(self, expressions: list[exp.Expr], items: list[list[Token]]) -> tuple[Output, ...]:
        """Name and print each output; refuse what is no aggregate."""
        names, outputs = self._names, dict[str, Output]()
        computed: list[tuple[exp.Expr, str]] = []
        for expression, tokens in zip(expressions, items, strict=True):
            words = unaliased(expression, tokens)
            sql = splice(words, names.source.text, self._lifted(expression.unalias()))
            plain = splice(words, names.source.text, {})
            name = expression.alias if isinstance(expression, exp.Alias) else plain
            if name.lower() in outputs:
                fact = f"Two outputs are named {name!r}."
                raise names.source.error("SQL-024", fact, "Add AS and a new name.", at=expression)
            outputs[name.lower()] = Output(name=name, sql=sql)
            computed.append((expression, sql))
        types = {each.name: each.type for each in self.found}
        for expression, sql in computed:
            try:
                types_of([sql], types)
            except DuckError as error:
                raise duck_refusal(error, names, expression, "SQL-032") from None
        return tuple(outputs.values())

    def refuse_inside(self, where: exp.Expr) -> None:
        """Refuse an aggregate in a condition on rows."""
        for node in where.walk():
            if aggregate_of(node) is not None:
                fact = "An aggregate stands in a condition on rows."
                remedy = "Ask for it in SELECT, and compare what is delivered."
                raise self._names.source.error("AGG-004", fact, remedy, at=node)

    def _lifted(self, tree: exp.Expr) -> dict[Span, str]:
        """Say what stands for each aggregate of an output."""
        found: dict[Span, str] = {}
        pending = [tree]
        while pending:
            node = pending.pop()
            if aggregate_of(node) is not None:
                found[node.meta[EXTENT]] = quoted(self._measure(node))
            elif isinstance(node, exp.Column | exp.Star):
                shown = "*" if isinstance(node, exp.Star) else self._names.shown(node.name)
                raise self._names.source.error(
                    "AGG-006",
                    f"{shown} stands beside aggregates, and is not aggregated.",
                    "Aggregate it, as in MIN(x), or ask for the rows by a query of their own.",
                    at=node,
                )
            else:
                pending.extend(reversed(list(node.iter_expressions())))
        return found

    def _measure(self, node: exp.Expr) -> str:
        """Give the name of an aggregate; the same one twice is one."""
        if node in self._trees:
            return self.found[self._trees.index(node)].name
        asked = aggregate_of(node)
        assert asked is not None
        function, argument, condition = asked
        bare = node.this if isinstance(node, exp.Filter) else node
        column = argument.unnest() if argument is not None else None
        most, known = _most(bare), {"this", "big_int"}
        known |= {"count"} if most is not None else set()
        further = any(value for name, value in bare.args.items() if name not in known)
        plain = column is None or isinstance(column, exp.Column)
        distinct = isinstance(bare.this, exp.Distinct) and function != "count_distinct"
        bare_call = column is None and function != "count"
        if condition is not None or distinct or further or not plain or bare_call:
            shown = splice(self._names.tokens_in(node.meta[EXTENT]), self._names.source.text, {})
            raise self._names.source.error(
                "AGG-004",
                f"{shown} is not maintained: over ranges there are {MAINTAINED}.",
                "Use one of these; compute x in the source, or in a view, and write what FILTER "
                "says into WHERE.",
                at=node,
            )
        if len(self.found) == MEASURES_MAX:
            fact = f"The query has more than {MEASURES_MAX} aggregates."
            remedy = "Ask for some of them by a query of their own."
            raise self._names.source.error("AGG-004", fact, remedy, at=node)
        name = None if column is None else column.name
        type_ = None if name is None else self._names.column_type(name)
        made = RangeMeasure(
            name=f"a{len(self.found)}",
            function=cast(RangeFunction, function),
            column=name,
            column_type=type_,
            type=self._type(function, type_, node),
            most=most,
        )
        if most is not None:
            made = replace(made, type=pa.list_(made.type))
        self.found.append(made)
        self._trees.append(node.copy())
        return made.name

    def _type(self, function: str, type_: pa.DataType | None, node: exp.Expr) -> pa.DataType:
        """Give the type of an aggregate, or refuse a column that cannot be so aggregated."""
        if function == "count":
            return pa.int64()
        assert type_ is not None
        kind = kind_of(type_)
        compares = function in {"min", "max", "count_distinct"}
        if not is_ordered(type_) or (not compares and kind not in NUMBERS):
            what = "compares numbers, dates and times" if compares else "adds numbers"
            raise self._names.source.error(
                "AGG-005",
                f"{node.sql('duckdb')} {what} of up to 18 digits, and the column is {type_}.",
                "Cast the column to one of these in the source.",
                at=node,
            )
        if function == "count_distinct":
            return pa.int64()
        if compares:
            return type_
        if function == "avg" or kind is ColumnKind.FLOAT:
            return pa.float64()
        return pa.int64() if kind is ColumnKind.INTEGER else pa.decimal128(38, type_.scale)
