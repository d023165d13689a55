"""Texts of a view in the SQL of its store, and the types of what they compute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from penstock.algebra.views import StoreDialect, is_kept
from penstock.expressions.quotation import quoted
from penstock.language.comparisons import duck_refusal
from penstock.language.dialect import EXTENT
from penstock.language.duckdb_checks import DuckError, arrow_type, duck_type, type_over
from penstock.language.name_resolution import Names
from penstock.language.own_words import Wording
from penstock.language.postgresql_words import REAL, differing, meant
from penstock.vocabulary.errors import PenstockError

LIFTED = "lifted"
"""Marks a part of a tree that stands in the text under a name of our own: a key, an aggregate."""
SIGNS = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%",
    exp.DPipe: "||",
}  # fmt: skip
OUTPUT = "output"
"""Marks a name in HAVING that stands for an output."""


@dataclass(slots=True)
class ViewTexts:
    """Says parts of a view's query; columns as `"i0"."column"`, keys and aggregates by their names.

    DuckDB is given the user's own words, PostgreSQL what sqlglot makes of them.
    """

    names: Names
    dialect: StoreDialect
    read: dict[str, None] = field(default_factory=dict)
    """The columns that were spoken of, by their names in the joined row."""
    types: dict[str, pa.DataType] = field(default_factory=dict)
    """The types of keys and aggregates, by their names."""

    def say(self, node: exp.Expr) -> str:
        """Give the words of an expression for the store."""
        words = self.words(node)
        if self.dialect == "duckdb":
            return words
        try:
            self._refuse_differing(node)
            turned = meant(node.copy().transform(self._marked))
            if turned.find(exp.TryCast) is not None:
                raise UnsupportedError("a cast there fails or succeeds")
            return str(turned.sql("postgres", unsupported_level=ErrorLevel.RAISE))
        except UnsupportedError as error:
            raise self.names.source.error(
                "VIEW-055",
                f"PostgreSQL has no words for {words}: {error}.",
                "Write it in words that both databases have, or leave the view in DuckDB.",
                at=node,
            ) from None

    def _refuse_differing(self, node: exp.Expr) -> None:
        for each in node.dfs(prune=lambda own: LIFTED in own.meta):
            if LIFTED not in each.meta and (found := differing(each, self._kept_type)) is not None:
                raise UnsupportedError(found)

    def _kept_type(self, node: exp.Expr) -> pa.DataType:
        """Give the type of a part of an expression; NULL, if it is none that a view could keep."""
        words = self._chained(node)
        try:
            return pa.null() if words is None else self.type_of(node, words)
        except PenstockError:
            return pa.null()

    def _chained(self, node: exp.Expr) -> str | None:
        """Give the words of a part of a chain such as `a + b + c`: the whole alone has a place."""
        if EXTENT in node.meta or not isinstance(node, exp.Binary):
            return self.words(node)
        left, right = self._chained(node.this), self._chained(node.expression)
        sign = SIGNS.get(type(node))
        if None in (left, right, sign):
            return None
        return f"({left}) {sign} ({right})"

    def words(self, node: exp.Expr) -> str:
        """Give the user's own words for an expression, as DuckDB reads them."""
        outputs = {}
        for each in node.walk():
            if OUTPUT in each.meta:
                each.meta[LIFTED] = f"{OUTPUT} {each.name}"
                outputs[each.meta[LIFTED]] = f"({self.words(each.meta[OUTPUT].this)})"
        return Wording(
            self.names,
            lambda name, _: self.column(name),
            lambda name, _: outputs.get(name) or quoted(name),
        ).say(node)

    def column(self, name: str) -> str:
        """Name a column of an input."""
        self.read[name] = None
        return f"{quoted(self.names.side(name))}.{quoted(self.names.bare(name))}"

    def _marked(self, node: exp.Expr) -> exp.Expr:
        """Name a node; a number that is taken for one of 32 bits is that under any name."""
        named = self._named(node)
        named.meta.update({REAL: True} if REAL in node.meta else {})
        return named

    def _named(self, node: exp.Expr) -> exp.Expr:
        if OUTPUT in node.meta:
            return exp.paren(node.meta[OUTPUT].this.copy().transform(self._named), copy=False)
        if LIFTED in node.meta:
            return exp.column(node.meta[LIFTED], quoted=True)
        if isinstance(node, exp.Column):
            side, bare = self.names.side(node.name), self.names.bare(node.name)
            return exp.column(bare, table=side, quoted=True)
        return node

    def type_of(self, node: exp.Expr, words: str | None = None) -> pa.DataType:
        """Give the type of an expression's values, by DuckDB's word."""
        said = self.words(node) if words is None else words
        try:
            name = type_over(said, self._rows())
        except DuckError as error:
            raise duck_refusal(error, self.names, node, "SQL-032") from None
        found = pa.int32() if name == '"NULL"' else arrow_type(name)
        if found is None or not is_kept(found):
            raise self.names.source.error(
                "VIEW-056",
                f"What stands here is of type {name}, which a view cannot hold.",
                "Cast it to a number, a text, a date or a time.",
                at=node,
            )
        return found

    def _rows(self) -> str:
        """Give a row of NULLs, as FROM names inputs, keys and aggregates."""
        inputs = [
            _nulls(
                quoted(scope.side),
                [(name, scope.relation.schema.field(name).type) for name in scope.columns],
            )
            for scope in self.names.scopes
        ]
        own = [_nulls('"lifted"', list(self.types.items()))] if self.types else []
        return ", ".join([*inputs, *own])


def _nulls(called: str, columns: Sequence[tuple[str, pa.DataType]]) -> str:
    items = ", ".join(f"NULL::{duck_type(type_)} AS {quoted(name)}" for name, type_ in columns)
    return f"(SELECT {items or '0 AS nothing'}) AS {called}"


def conjuncts(predicates: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Take conditions apart at their ANDs."""
    found: list[exp.Expr] = []
    for each in predicates:
        found += each.flatten() if isinstance(each, exp.And) else [each]
    return found
