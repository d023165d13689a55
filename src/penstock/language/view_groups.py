"""Groups of views: keys and aggregates, and what outputs and HAVING say in terms of them."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.views import Aggregate, AggregateFunction, ViewColumn
from penstock.expressions.quotation import numbered, quoted
from penstock.language.dialect import EXTENT
from penstock.language.name_resolution import Names
from penstock.language.outputs import starred
from penstock.language.splices import splice
from penstock.language.view_shapes import aggregate_of, check_aggregate
from penstock.language.view_texts import LIFTED, OUTPUT, ViewTexts
from penstock.vocabulary.types import ColumnKind, kind_of

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
"""Several groupings in one."""


class ViewGrouping:
    """The groups of a view: its keys and aggregates, and what is said in terms of these."""

    def __init__(self, select: exp.Select, texts: ViewTexts) -> None:
        self._select, self._texts, self._source = select, texts, texts.names.source
        group, distinct = select.args.get("group"), select.args.get("distinct")
        self._having: exp.Expr | None = getattr(select.args.get("having"), "this", None)
        parts = [*select.expressions, *([self._having] if self._having is not None else ())]
        aggregated = any(aggregate_of(node) for part in parts for node in part.walk())
        self.is_grouped = bool(group or distinct or self._having is not None or aggregated)
        self.keys: list[ViewColumn] = []
        self.aggregates: list[Aggregate] = []
        self._trees: list[exp.Expr] = []
        self._counted: list[exp.Expr] = []
        if distinct is not None and (group is not None or aggregated or distinct.args.get("on")):
            fact = "DISTINCT over groups, or ON some columns, is not maintained."
            raise self._source.error("VIEW-050", fact, "Leave it out of the view.", at=select)
        for tree in self._key_trees(group, distinct):
            refuse_aggregates(tree, texts.names, "GROUP BY")
            if tree not in self._trees:
                name = f"g{len(self.keys)}"
                type_ = texts.type_of(tree)
                self.keys.append(ViewColumn(name=name, sql=texts.say(tree), type=type_))
                self._trees.append(tree)
        for key in self.keys:
            texts.types[key.name] = key.type

    def _key_trees(self, group: exp.Expr | None, distinct: exp.Expr | None) -> list[exp.Expr]:
        outputs = [each.unalias() for each in self._select.expressions]
        starry = next((each for each in outputs if each.find(exp.Star) and not _counts(each)), None)
        if self.is_grouped and starry is not None:
            fact = "A star stands among the outputs of groups."
            raise self._source.error("VIEW-059", fact, "List the outputs one by one.", at=starry)
        if distinct is not None:
            return [each.copy() for each in outputs]
        if group is None:
            return []
        several = {type(each).__name__: True for each in group.find_all(*SETS)}
        for name, value in {**group.args, **several}.items():
            if value and name not in {"expressions", "all"}:
                fact = f"GROUP BY {name.replace('_', ' ').upper()} is not maintained."
                raise self._source.error("VIEW-050", fact, "Name plain expressions.", at=group)
        if group.args.get("all"):
            return [
                each.copy()
                for each in outputs
                if not any(aggregate_of(node) for node in each.walk())
            ]
        return [each.copy() for each in group.expressions]

    def outputs(self) -> tuple[ViewColumn, ...]:
        """Give the columns of the view."""
        found: dict[str, ViewColumn] = {}
        names = self._texts.names
        for expression in self._select.expressions:
            stars = None if self.is_grouped else starred(expression, names)
            several = stars is not None and len(names.scopes) > 1
            for name, sql, type_ in (
                [self._output(expression)] if stars is None else map(self._starred, stars)
            ):
                own = numbered(name, found) if several else name
                if own.lower() in found:
                    fact = f"Two outputs are named {own!r}."
                    raise self._source.error(
                        "SQL-024", fact, "Add AS and a new name.", at=expression
                    )
                found[own.lower()] = ViewColumn(name=own, sql=sql, type=type_)
        return tuple(found.values())

    def _starred(self, output: Any) -> tuple[str, str, pa.DataType]:
        names = self._texts.names
        homes = {
            quoted(scope.named(name)): scope.named(name)
            for scope in names.scopes
            for name in scope.columns
        }
        name = homes[output.sql]
        return output.name, self._texts.column(name), names.column_type(name)

    def _output(self, expression: exp.Expr) -> tuple[str, str, pa.DataType]:
        bare, names = expression.unalias(), self._texts.names
        name = expression.alias_or_name if isinstance(expression, exp.Alias | exp.Dot) else ""
        if isinstance(expression, exp.Column):
            name = names.bare(expression.name)
        name = name or self._plain(bare)
        if self.is_grouped:
            self._lift(bare)
        return name, self._texts.say(bare), self._texts.type_of(bare)

    def _plain(self, node: exp.Expr) -> str:
        """Name an output as its user wrote it."""
        names = self._texts.names
        extent = node.meta.get(EXTENT)
        if extent is None:
            return str(node.sql("duckdb"))
        return splice(names.tokens_in(extent), names.source.text, {})

    def having(self) -> str | None:
        """Give the condition on groups."""
        if self._having is None:
            return None
        self._lift(self._having)
        check_condition(self._having, self._texts)
        return self._texts.say(self._having)

    def _lift(self, tree: exp.Expr) -> None:
        """Mark keys and aggregates in an expression; refuse columns that are neither."""
        pending = [tree]
        while pending:
            node = pending.pop()
            if OUTPUT in node.meta:
                pending.append(node.meta[OUTPUT].this)
            elif node in self._trees:
                node.meta[LIFTED] = self.keys[self._trees.index(node)].name
            elif aggregate_of(node) is not None:
                node.meta[LIFTED] = self._aggregate(node)
            elif isinstance(node, exp.Column):
                shown = self._texts.names.shown(node.name)
                raise self._source.error(
                    "VIEW-059",
                    f"{shown} is neither grouped by nor aggregated.",
                    f"Add GROUP BY {shown}, or take its MIN or MAX.",
                    at=node,
                )
            else:
                pending.extend(node.iter_expressions())

    def _aggregate(self, node: exp.Expr) -> str:
        """Give the name of an aggregate; the same one twice is one."""
        if node in self._counted:
            return self.aggregates[self._counted.index(node)].name
        check_aggregate(node, self._source)
        asked = aggregate_of(node)
        assert asked is not None
        function, argument, condition = asked
        texts = self._texts
        for part in (argument, condition):
            if part is not None:
                refuse_aggregates(part, texts.names, "an aggregate")
        text, type_ = None, None
        if argument is not None:
            text, type_ = texts.say(argument), texts.type_of(argument)
        if condition is not None:
            check_condition(condition, texts)
            text = f"CASE WHEN {texts.say(condition)} THEN {text or '1'} END"
            type_ = type_ or pa.int32()
        made = Aggregate(
            name=f"a{len(self.aggregates)}",
            function=cast(AggregateFunction, function),
            argument=text,
            argument_type=type_,
            type=self._result(function, type_, node),
        )
        self.aggregates.append(made)
        self._counted.append(node.copy())
        texts.types[made.name] = made.type
        return made.name

    def _result(self, function: str, type_: pa.DataType | None, node: exp.Expr) -> pa.DataType:
        """Give the type of an aggregate over values of a type."""
        if function in {"count", "count_distinct"}:
            return pa.int64()
        assert type_ is not None
        if function in {"min", "max"}:
            return type_
        kind = kind_of(type_)
        if kind in {ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT}:
            if function == "avg" or kind is ColumnKind.FLOAT:
                return pa.float64()
            whole = kind is ColumnKind.INTEGER
            return pa.int64() if whole else pa.decimal128(38, type_.scale)
        raise self._source.error(
            "VIEW-053",
            f"{function.upper()} adds numbers, and {self._plain(node)} has values of type {type_}.",
            "Cast its argument to a number.",
            at=node,
        )


def _counts(node: exp.Expr) -> bool:
    """Say whether the only star of an expression is that of COUNT(*)."""
    return all(isinstance(star.parent, exp.Count) for star in node.find_all(exp.Star))


def refuse_aggregates(tree: exp.Expr, names: Names, where: str) -> None:
    """Refuse an aggregate where there are no groups."""
    for node in tree.walk():
        if aggregate_of(node) is not None:
            fact = f"An aggregate stands inside {where}."
            raise names.source.error("VIEW-053", fact, "Ask for it in HAVING.", at=node)


def check_condition(term: exp.Expr, texts: ViewTexts) -> None:
    """Refuse a condition that is neither true nor false."""
    type_ = texts.type_of(term)
    if not pa.types.is_boolean(type_) and not isinstance(term, exp.Null):
        raise texts.names.source.error(
            "SQL-034",
            f"The condition is of type {type_}, not BOOLEAN.",
            "Compare it with something, such as <> 0.",
            at=term,
        )
