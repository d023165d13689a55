"""SELECT lists of model queries: names, positions and texts of what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.expressions.quotation import quoted
from penstock.language.dialect import EXTENT, Span
from penstock.language.model_expressions import ExpressionReader
from penstock.language.model_joins import AGGREGATES
from penstock.language.model_polynomials import SymbolicPolynomial
from penstock.language.model_scopes import (
    KeyColumn,
    ModelNames,
    NameReference,
    TimedAttribute,
    columns_in,
)
from penstock.language.splices import splice
from penstock.vocabulary.errors import PenstockError

ITEMS_MAX = 64
"""Outputs of one SELECT."""
KEPT = frozenset({"key", "carried"})
"""What stands among the key columns of segments."""


@dataclass(frozen=True, slots=True)
class AnswerLevel:
    """What a SELECT list speaks of: the inputs, or an aggregate of them.

    `key_of` gives the position of a key column here, by that among the inputs.
    """

    key: tuple[KeyColumn, ...]
    attributes: tuple[TimedAttribute, ...]
    key_of: Callable[[NameReference, exp.Expr], int]
    reader: ExpressionReader


@dataclass(frozen=True, slots=True)
class AnswerItem:
    """A column that is asked for: a key column, a function of time, or a text over others.

    The text of a key column or a function is made once the plan's names are known.
    """

    name: str
    node: exp.Expr
    key: int | None = None
    polynomial: SymbolicPolynomial | None = None
    own: str | None = None
    is_computed: bool = False


class AnswerReader:
    """Reads a SELECT list."""

    def __init__(
        self, names: ModelNames, level: AnswerLevel, tokens: Sequence[Token], grouped: bool
    ) -> None:
        self._names = names
        self._level = level
        self._tokens = tokens
        self._grouped = grouped

    def read(self, expressions: Sequence[exp.Expr]) -> list[AnswerItem]:
        """Give what is asked for, stars expanded; refuse two of one name."""
        found: dict[str, AnswerItem] = {}
        if len(expressions) > ITEMS_MAX:
            fact = f"The query has {len(expressions)} outputs, {ITEMS_MAX} may be."
            remedy = "Ask for some of them by a query of their own."
            raise self._names.source.error("MDL-016", fact, remedy, at=expressions[ITEMS_MAX])
        for expression in expressions:
            placeholder = expression.find(exp.Placeholder)
            if placeholder is not None:
                raise self._names.source.error(
                    "SQL-043",
                    f"The parameter :{placeholder.name} stands among the outputs.",
                    "Use parameters in WHERE only; results carry the standing query's id.",
                    at=placeholder,
                )
            starred = self._starred(expression)
            for item in starred if starred is not None else [self._item(expression)]:
                name, number = item.name, 0
                while starred is not None and name.lower() in found:
                    number += 1
                    name = f"{item.name}_{number}"
                if name.lower() in found:
                    fact = f"Two outputs are named {name!r}."
                    remedy = "Add AS and a new name."
                    raise self._names.source.error("SQL-024", fact, remedy, at=expression)
                found[name.lower()] = AnswerItem(
                    name, item.node, item.key, item.polynomial, item.own, item.is_computed
                )
        return list(found.values())

    def _starred(self, expression: exp.Expr) -> list[AnswerItem] | None:
        is_column = isinstance(expression, exp.Column)
        star = expression.this if is_column else expression
        if not isinstance(star, exp.Star):
            return None
        if any(star.args.values()):
            fact = "* with EXCLUDE, REPLACE or RENAME is not supported in a model query."
            raise self._names.source.error(
                "SQL-015", fact, "List the outputs one by one.", at=expression
            )
        if self._grouped:
            fact = "* stands beside an aggregate, and is not aggregated."
            remedy = "List the columns of GROUP BY, and the aggregate."
            raise self._names.source.error("MDL-015", fact, remedy, at=expression)
        qualifier = expression.text("table") if is_column else ""
        scopes = [
            number
            for number, scope in enumerate(self._names.scopes)
            if not qualifier or scope.is_called(qualifier)
        ]
        if not scopes:
            remedy = " or ".join(f"{scope.qualifier}.*" for scope in self._names.scopes)
            fact = f"{qualifier!r} is no relation of this query."
            raise self._names.source.error("SQL-021", fact, f"Write {remedy}.", at=expression)
        found = []
        for place, key in enumerate(self._level.key):
            if key.name is not None and self._names.scope_of_key(place)[0] in scopes:
                found.append(AnswerItem(key.name, expression, key=place))
        for place, each in enumerate(self._level.attributes):
            if each.name is not None and self._names.scope_of_attribute(place) in scopes:
                polynomial = SymbolicPolynomial.variable(place)
                found.append(AnswerItem(each.name, expression, polynomial=polynomial))
        if not qualifier:
            found += [AnswerItem(own, expression, own=own) for own in self._names.own]
        return found

    def _item(self, expression: exp.Expr) -> AnswerItem:
        bare = expression.unalias().unnest()
        if bare.find(exp.Star) is not None:
            fact = "* stands inside an expression, or has a name."
            remedy = "List the outputs one by one."
            raise self._names.source.error("SQL-015", fact, remedy, at=bare)
        name = expression.alias if isinstance(expression, exp.Alias) else self._words(bare)
        if bare.find(*AGGREGATES) is not None:
            return AnswerItem(name, bare, polynomial=self._level.reader.read(bare))
        found = [(column, self._names.find(column)) for column in columns_in(bare)]
        for column, reference in found:
            if reference.kind == "row":
                raise self._row_column(reference, column)
        if isinstance(bare, exp.Column):
            return self._column(expression, bare, found[0][1])
        if any(reference.kind == "attribute" for _, reference in found):
            return AnswerItem(name, bare, polynomial=self._level.reader.read(bare))
        return AnswerItem(name, bare, is_computed=True)

    def _column(
        self, expression: exp.Expr, column: exp.Column, reference: NameReference
    ) -> AnswerItem:
        name = expression.alias if isinstance(expression, exp.Alias) else reference.name
        if reference.kind == "own":
            return AnswerItem(name, column, own=reference.name)
        if reference.kind in KEPT:
            return AnswerItem(name, column, key=self._level.key_of(reference, column))
        return AnswerItem(name, column, polynomial=self._level.reader.read(column))

    def text(self, item: AnswerItem, keys: Sequence[str]) -> str:
        """Say a computed column to DuckDB; `keys` are the plan's names of key columns."""
        spans: dict[Span, str] = {}
        for column in columns_in(item.node):
            reference = self._names.find(column)
            made = reference.name
            if reference.kind in KEPT:
                made = keys[self._level.key_of(reference, column)]
            parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
            spans[Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)] = quoted(made)
        return self._words(item.node, spans)

    def _words(self, node: exp.Expr, spans: dict[Span, str] | None = None) -> str:
        extent = node.meta.get(EXTENT)
        if extent is None:
            return node.sql("duckdb")
        tokens = [each for each in self._tokens if extent.start <= each.start < extent.end]
        return splice(tokens, self._names.source.text, spans or {})

    def _row_column(self, reference: NameReference, at: exp.Expr) -> PenstockError:
        fact = f"{reference.name!r} is neither a key column nor a function of time."
        remedy = (
            f"Add it to KEY; or, if it is a number, write MODEL {reference.name} = "
            f"{reference.name}."
        )
        return self._names.source.error("MDL-015", fact, remedy, at=at)
