"""The user's own words for a part of a query, with only names replaced.

DuckDB reads what the user wrote, never how sqlglot would print it: another library's names for
functions and its rules for arguments are not DuckDB's. What our own rewrites made (a negated
comparison, a list of equalities) is put together of such words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.expressions.quotation import quoted
from penstock.language.dialect import EXTENT, Span, depths
from penstock.language.name_resolution import Names
from penstock.language.splices import splice

SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
NEGATION = "negation"
"""Where the words of `x NOT IN …` stand, noted at the part without NOT, which has none."""
TIGHT = frozenset(
    {
        TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.DOT,
        TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD,
        TokenType.L_PAREN, TokenType.R_PAREN, TokenType.TRUE, TokenType.FALSE, TokenType.NULL,
        TokenType.COLON,
    }
)  # fmt: skip
"""What binds tighter than a comparison; words with anything else are put in brackets."""

Naming = Callable[[str, Span | None], str]


@dataclass(frozen=True, slots=True)
class Wording:
    """Says parts of a query; the names of columns, parameters and lifted constants are the asker's.

    Names are asked for in the order in which they stand.
    """

    names: Names
    column: Naming
    parameter: Naming

    def say(self, node: exp.Expr) -> str:
        """Give the words of an expression."""
        lifted = node.meta.get("lifted")
        if lifted is not None:
            return self.parameter(lifted, None)
        extent = node.meta.get(EXTENT)
        if extent is not None:
            return self._spliced(node, extent)
        if isinstance(node, exp.Column | exp.Placeholder):
            named = self.column if isinstance(node, exp.Column) else self.parameter
            return named(node.name, node.meta.get("span"))
        return self._composed(node)

    def _composed(self, node: exp.Expr) -> str:
        """Put together the words of what no single place in the text says."""
        if NEGATION in node.meta:
            return f"NOT ({self._spliced(node, node.meta[NEGATION])})"
        if isinstance(node, exp.Not):
            inner = node.this.unnest()
            if NEGATION in inner.meta and EXTENT not in inner.meta:
                return self._spliced(inner, inner.meta[NEGATION])
            return f"NOT ({self.say(inner)})"
        if isinstance(node, exp.Paren):
            return f"({self.say(node.this)})"
        if isinstance(node, exp.And | exp.Or):
            word = " AND " if isinstance(node, exp.And) else " OR "
            return word.join(self.say_beside(part) for part in node.flatten())
        if isinstance(node, exp.In):
            items = ", ".join(self.say(item) for item in node.expressions)
            return f"{self._operand(node.this)} IN ({items})"
        if type(node) in SIGNS:
            left, right = self._operand(node.this), self._operand(node.expression)
            return f"{left} {SIGNS[type(node)]} {right}"
        # A number of our own, such as the zero that a difference is compared with.
        assert isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Neg), repr(node)
        return node.sql("duckdb")

    def say_beside(self, node: exp.Expr) -> str:
        """Give the words of an expression that stands between ANDs."""
        said = self.say(node)
        return f"({said})" if isinstance(node, exp.Connector) else said

    def _operand(self, node: exp.Expr) -> str:
        said = self.say(node)
        extent = node.meta.get(EXTENT)
        if extent is None or "lifted" in node.meta:
            return said
        within = depths(self.names.tokens_in(extent))
        is_tight = all(token.token_type in TIGHT for token, depth in within if depth == 0)
        called = isinstance(node, exp.Column | exp.Func | exp.Paren) and said.endswith(")")
        return said if is_tight or called or isinstance(node, exp.Column) else f"({said})"

    def _spliced(self, node: exp.Expr, extent: Span) -> str:
        """Cut the words out of the text, and replace names and lifted constants."""
        lifted = {
            part.meta[EXTENT]: part.meta["lifted"]
            for part in node.walk()
            if "lifted" in part.meta and EXTENT in part.meta
        }
        found: dict[Span, str] = {}
        own = [(span, name, True) for span, name in self.names.named_in(extent)]
        own += [(span, name, False) for span, name in lifted.items()]
        for span, name, is_named in sorted(own, key=lambda one: one[0].start):
            if extent.start <= span.start and span.end <= extent.end:
                column = is_named and span in self.names.columns
                said = self.column if column else self.parameter
                found[span] = said(name, span if is_named else None)
        return splice(self.names.tokens_in(extent), self.names.source.text, found)


def plain_wording(names: Names) -> Wording:
    """Say columns by their full names, and parameters as `:name`; both in quotes."""
    return Wording(names, lambda name, _: quoted(name), lambda name, _: quoted(f":{name}"))
