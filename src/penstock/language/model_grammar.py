"""How MODEL is read behind a relation, and the clauses that only model queries have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.language.clauses import ClauseParser
from penstock.language.nodes import (
    BoundNode,
    ErrorNode,
    FitNode,
    HorizonNode,
    ModelledNode,
    ModelNode,
    SampleNode,
    ShareNode,
    SplitNode,
)

MODEL_CLAUSES = ("ERROR", "SAMPLE", "SPLIT", "HORIZON", "FIT")
"""The words that open clauses of model queries."""
FOREIGN_WORD = "No clause of a model query begins with "
"""How the message about a word begins that opens nothing."""
AFTER_QUERIES = frozenset({"ADAPT", "FOR", "INTO", "MEMORY", "OPTIONS", "WHAT", "WITH"})
"""Words that may follow a query."""
AFTER_ALIASES = frozenset({*AFTER_QUERIES, *MODEL_CLAUSES, "WITHIN"})
"""Words before which MODEL is the alias of a relation, as it opens no clause there."""


class ModelClauseParser(ClauseParser):
    """Reads `MODEL …` behind relations, and `ERROR WITHIN …` and others behind a query."""

    def _opens_model(self) -> bool:
        """Say whether MODEL is the next word, and opens a clause."""
        word, follower = self._curr, self._next
        if not word or not follower or word.text.upper() != "MODEL":
            return False
        named = follower.token_type in self.TABLE_ALIAS_TOKENS or (
            follower.token_type is TokenType.IDENTIFIER
        )
        is_word = word.token_type is not TokenType.IDENTIFIER
        return is_word and named and follower.text.upper() not in AFTER_ALIASES

    def _opens_size(self) -> bool:
        """Say whether a window of a model query follows."""
        opened = self._curr and self._curr.token_type is TokenType.L_BRACKET
        return bool(opened and self._next and self._next.text.upper() == "SIZE")

    def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> Any:
        """Read what stands behind a query in brackets; its window may stand before its alias."""
        windows: list[exp.Expr] = []
        if this is not None and self._opens_size():
            windows = self._parse_window_of(exp.Subquery()).args["windows"]
        subquery = super()._parse_subquery(this, parse_alias=parse_alias)
        if windows and subquery is not None:
            subquery.set("windows", windows)
        return subquery

    def _parse_model_of(self, table: exp.Expr) -> exp.Expr:
        """Read `MODEL a = …, b KEY (columns)` behind a relation, and windows around it."""
        while self._opens_model():
            word = self._curr
            self._advance()
            modelled = self._parse_csv(self._parse_modelled)
            node = ModelNode(expressions=modelled, key=self._parse_model_key())
            table.append("models", node.update_positions(word))
            self._parse_window_of(table)
        return table

    def _parse_modelled(self) -> exp.Expr:
        first = self._curr
        table, name = self._parse_attribute("the modelled column's name")
        law = None
        if self._match(TokenType.EQ):
            law = self._parse_bitwise()
            if law is None:
                self.raise_error("Expected an expression of columns and t")
        return ModelledNode(this=name, table=table, expression=law).update_positions(first)

    def _parse_attribute(self, what: str) -> tuple[exp.Expr | None, exp.Expr]:
        """Read `name` or `relation.name`."""
        name = self._expect_name(what)
        if self._match(TokenType.DOT):
            return name, self._expect_name(what)
        return None, name

    def _parse_model_key(self) -> list[exp.Expr]:
        if not self._match_text_seq("KEY"):
            return []
        if not self._match(TokenType.L_PAREN):
            return [self._expect_name("the key column's name")]
        columns = self._parse_csv(lambda: self._expect_name("a key column's name"))
        self._match_r_paren()
        return columns

    def _parse_model_clauses(self, query: exp.Expr) -> list[exp.Expr]:
        """Read the clauses behind a query, in any order."""
        readers: tuple[tuple[str, Callable[[], exp.Expr]], ...] = (
            ("ERROR", self._parse_error_bounds),
            ("SAMPLE", self._parse_sampling),
            ("SPLIT", self._parse_split),
            ("HORIZON", self._parse_horizon),
            ("FIT", self._parse_fit),
        )
        found: list[exp.Expr] = []
        while True:
            word = self._curr
            read = next((read for name, read in readers if self._match_text_seq(name)), None)
            if read is None:
                break
            found.append(read().update_positions(word))
        self._refuse_foreign_word(query)
        return found

    def _refuse_foreign_word(self, query: exp.Expr) -> None:
        """Refuse a word behind a model query that opens no clause."""
        word = self._curr
        is_foreign = word and word.token_type is TokenType.VAR
        if is_foreign and word.text.upper() not in AFTER_QUERIES and query.find(ModelNode):
            self.raise_error(f"{FOREIGN_WORD}{word.text}")

    def _parse_error_bounds(self) -> exp.Expr:
        self._expect_word("WITHIN")
        return ErrorNode(expressions=self._parse_csv(self._parse_bound))

    def _parse_bound(self) -> exp.Expr:
        first = self._curr
        named = bool(first) and first.token_type in {TokenType.VAR, TokenType.IDENTIFIER}
        attribute = self._expect_name("an attribute's name") if named else None
        amount = self._parse_unary()
        if amount is None:
            self.raise_error("Expected a number")
        percent = self._match(TokenType.MOD)
        forms = ("absolute", "relative")
        form = next((form for form in forms if self._match_text_seq(form.upper())), None)
        node = BoundNode(this=amount, attribute=attribute, percent=bool(percent), form=form)
        return node.update_positions(first)

    def _parse_sampling(self) -> exp.Expr:
        if self._match_text_seq("EVERY"):
            return SampleNode(every=self._parse_duration())
        if not self._match_text_seq("RATE"):
            self.raise_error("Expected EVERY or RATE")
        rate = self._parse_unary()
        if rate is None:
            self.raise_error("Expected a number")
        return SampleNode(rate=rate)

    def _parse_split(self) -> exp.Expr:
        if self._match(TokenType.L_PAREN):
            shares = self._parse_csv(self._parse_share)
            self._match_r_paren()
            return SplitNode(expressions=shares)
        return SplitNode(this=self._expect_name("EQUI, GRADIENT or shares in brackets"))

    def _parse_share(self) -> exp.Expr:
        first = self._curr
        name = self._expect_name("the modelled column's name")
        amount = self._parse_unary()
        if amount is None:
            self.raise_error("Expected a number")
        return ShareNode(this=amount, attribute=name).update_positions(first)

    def _parse_horizon(self) -> exp.Expr:
        if not self._match_text_seq("ADAPTIVE"):
            return HorizonNode(this=self._parse_duration())
        self._expect(TokenType.L_PAREN, "(")
        least = self._parse_duration()
        self._expect(TokenType.COMMA, "a comma and the longest horizon")
        most = self._parse_duration()
        self._match_r_paren()
        return HorizonNode(this=most, least=least)

    def _parse_fit(self) -> exp.Expr:
        table, name = self._parse_attribute("the modelled column's name")
        self._expect(TokenType.USING, "USING")
        method = self._expect_name("SLIDING, BOTTOMUP or SWAB")
        values: list[exp.Expr] = []
        if self._match(TokenType.L_PAREN):
            values = self._parse_csv(self._parse_unary)
            self._match_r_paren()
        degree = self._parse_unary() if self._match_text_seq("DEGREE") else None
        return FitNode(this=name, table=table, method=method, expressions=values, degree=degree)
