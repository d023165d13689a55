"""The dialect: DuckDB's SQL, as sqlglot reads it, plus the words of standing queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parser import Parser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.model_grammar import ModelClauseParser
from penstock.language.nodes import (
    AssumptionNode,
    CreateRelationNode,
    DropRelationNode,
    DropSubscriptionNode,
    ExplainNode,
    ExplainTupleNode,
    ResumeNode,
    SubscribeNode,
    UnknownStatementNode,
    WithinNode,
)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) that a part takes in the text."""

    start: int
    end: int


CLAUSES_AFTER_TABLES = {
    "WITHIN": frozenset({TokenType.NUMBER, TokenType.COLON, TokenType.DASH, TokenType.STRING}),
    "OPTIONS": frozenset({TokenType.L_PAREN}),
    "MEMORY": frozenset({TokenType.NUMBER, TokenType.COLON, TokenType.DASH, TokenType.STRING}),
    "HORIZON": frozenset({TokenType.NUMBER, TokenType.DASH}),
}
"""Words that may follow a table's name, with what follows them; otherwise they are its alias."""
WORDS_AFTER_TABLES = {
    "ADAPT": frozenset({"", "FOR", "INTO", "OPTIONS", "WHAT"}),
    "WHAT": frozenset({"IF"}),
    "MEMORY": frozenset({"ROWS"}),
    "ERROR": frozenset({"WITHIN"}),
    "SAMPLE": frozenset({"EVERY", "RATE"}),
    "SPLIT": frozenset({"EQUI", "GRADIENT"}),
    "HORIZON": frozenset({"ADAPTIVE"}),
}
"""The same, with the words that follow; the empty one is the end of the statement."""


EXTENT = "extent"
"""Where the words of an expression stand: noted in the meta of its node."""
LEVELS = (
    "_parse_disjunction",
    "_parse_conjunction",
    "_parse_equality",
    "_parse_comparison",
    "_parse_range",
    "_parse_bitwise",
    "_parse_term",
    "_parse_factor",
    "_parse_unary",
)
"""What reads expressions, from the loosest binding to the tightest."""


def _noting(parse: Callable[..., exp.Expr | None]) -> Callable[..., exp.Expr | None]:
    """Note where what is read begins and ends, unless a tighter reading has."""

    def read(self: Any, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        node = parse(self, *args, **kwargs)
        before = next((each for each in args if isinstance(each, exp.Expr)), None)
        last = self._prev
        if node is None or not first or not last or EXTENT in node.meta:
            return node
        start = first.start
        if before is not None:
            start = before.meta[EXTENT].start if EXTENT in before.meta else None
        if start is not None and last.end >= start:
            node.meta[EXTENT] = Span(start, last.end + 1)
        return node

    return read


class PenstockParser(ModelClauseParser):
    """Reads our statements itself, and leaves expressions and SELECT to DuckDB's parser."""

    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **DuckDBParser.PLACEHOLDER_PARSERS,
        TokenType.COLON: lambda self: self._parse_named_parameter(),
    }

    def _parse_statement(self) -> exp.Expr | None:
        # A comment after a semicolon makes sqlglot hand over the semicolon as a statement.
        if not self._curr or self._match(TokenType.SEMICOLON):
            return None
        first = self._curr
        node = self._parse_our_statement()
        last = self._prev
        node.update_positions(
            line=first.line, col=first.col, start=first.start, end=last.end if last else first.end
        )
        return node

    def _parse_our_statement(self) -> exp.Expr:
        if self._match_text_seq("CREATE", "VIEW"):
            return self._parse_create_view(self._parse_query)
        for kind in ("stream", "table", "view"):
            if self._match_text_seq("CREATE", kind.upper()):
                return self._parse_create_relation(kind)
            if kind != "view" and self._match_text_seq("CREATE", "OR", "REPLACE", kind.upper()):
                return self._parse_create_relation(kind, replaces=True)
            if self._match_text_seq("DROP", kind.upper()):
                return self._parse_drop_relation(kind)
        if self._match_text_seq("SUBSCRIBE"):
            return self._parse_subscribe()
        for word, parse in (
            ("SUBSCRIPTION", self._parse_drop_subscription),
            ("SINK", self._parse_drop_sink),
        ):
            if self._match_text_seq("DROP", word):
                return parse()
        if self._match_text_seq("RESUME"):
            return self.expression(ResumeNode(this=self._expect_name("the subscription's name")))
        if self._match_text_seq("KEEP"):
            return self._parse_keep()
        if self._match_text_seq("EXPLAIN"):
            return self._parse_explain()
        return self._parse_query()

    def _parse_explain(self) -> exp.Expr:
        if self._match_text_seq("SUBSCRIPTION") or self._match_text_seq("VIEW"):
            name = self._expect_name("its name")
            return self.expression(ExplainNode(this=name, what_if=self._parse_what_if()))
        if self._match_text_seq("TUPLE"):
            return self._parse_explain_tuple()
        query, choices = self._parse_query(), self._parse_choices()
        return self.expression(ExplainNode(this=query, **choices, what_if=self._parse_what_if()))

    def _parse_query(self) -> exp.Expr:
        """Parse a SELECT. Anything else becomes an `UnknownStatementNode`, and is not read on."""
        first = self._curr
        if not first:
            self.raise_error("Expected SELECT")
        if first.token_type is not TokenType.SELECT:
            words = [first.text.upper()]
            if first.token_type in {TokenType.CREATE, TokenType.DROP, TokenType.ALTER}:
                words += [self._next.text.upper()] if self._next else []
            while self._curr:
                self._advance()
            return UnknownStatementNode(this=" ".join(words)).update_positions(first)
        query = self._parse_select()
        if query is None:
            self.raise_error("Expected SELECT")
        memory = self._parse_memory()
        if memory is not None:
            query.set("memory", memory)
        clauses = self._parse_model_clauses(query)
        if clauses:
            query.set("model_clauses", clauses)
        last = self._prev
        return query.update_positions(
            line=first.line, col=first.col, start=first.start, end=last.end if last else first.end
        )

    def _parse_create_relation(self, kind: str, replaces: bool = False) -> exp.Expr:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._expect_name(f"the {kind}'s name")
        columns: list[exp.Expr] = []
        if self._match(TokenType.L_PAREN):
            columns = self._parse_csv(self._parse_declared_column)
            self._match_r_paren()
        if kind == "table" and self._match_text_seq("LOOKUP"):
            return self._parse_create_lookup(name, columns, exists=bool(exists), replaces=replaces)
        self._expect(TokenType.FROM, "FROM")
        source = self._parse_string() or self._expect_name("a source in quotes, or a frame's name")
        return self.expression(
            CreateRelationNode(
                this=name,
                kind=kind,
                source=source,
                expressions=columns,
                options=self._parse_options(),
                exists=exists,
                replaces=replaces,
            )
        )

    def _parse_drop_relation(self, kind: str) -> exp.Expr:
        exists = self._match_text_seq("IF", "EXISTS")
        name = self._expect_name(f"the {kind}'s name")
        return self.expression(DropRelationNode(this=name, kind=kind, exists=exists))

    def _parse_declared_column(self) -> exp.Expr:
        name = self._expect_name("a column's name")
        kind = self._parse_types(allow_identifiers=True)
        if kind is None:
            self.raise_error("Expected a column's type")
        return self.expression(exp.ColumnDef(this=name, kind=kind))

    def _parse_subscribe(self) -> exp.Expr:
        name = self._expect_name("the subscription's name")
        if not self._match_text_seq("TO"):
            self.raise_error("Expected TO")
        query = self._parse_query()
        choices = self._parse_choices()
        sinks = self._parse_sinks()
        choices["options"] = choices["options"] or self._parse_options()
        return self.expression(SubscribeNode(this=name, expression=query, **choices, into=sinks))

    def _parse_choices(self) -> dict[str, Any]:
        """Read `AS MESSAGES FOR EACH ROW OF each KEY key WITH SNAPSHOT ADAPT OPTIONS (…)`.

        All of it may be missing.
        """
        each = key = None
        word = self._curr
        messages = None
        if self._match_text_seq("AS", "MESSAGES"):
            messages = exp.var("messages").update_positions(word)
        snapshot = self._parse_snapshot()
        adapt = self._parse_adapt()
        if self._match_text_seq("FOR", "EACH", "ROW", "OF"):
            each = self._parse_string() or self._expect_name("a file in quotes, or a frame's name")
            if self._match_text_seq("KEY"):
                key = self._expect_name("the key column's name")
        snapshot = snapshot or self._parse_snapshot()
        adapt = adapt or self._parse_adapt()
        words = {"adapt": adapt, "snapshot": snapshot, "messages": messages}
        return {"each": each, "key": key, **words, "options": self._parse_options()}

    def _parse_snapshot(self) -> exp.Expr | None:
        word = self._curr
        asked = self._match_text_seq("WITH", "SNAPSHOT")
        return exp.var("snapshot").update_positions(word) if asked else None

    def _parse_adapt(self) -> exp.Expr | None:
        word = self._curr
        return exp.var("adapt").update_positions(word) if self._match_text_seq("ADAPT") else None

    def _parse_what_if(self) -> list[exp.Expr]:
        if not self._match_text_seq("WHAT", "IF"):
            return []
        self._expect(TokenType.L_PAREN, "(")
        assumed = self._parse_csv(self._parse_assumption)
        self._match_r_paren()
        return assumed

    def _parse_assumption(self) -> exp.Expr:
        """Read `what(name, …) = value`; the value is a text, or a number, `n unit` or `n/unit`."""
        first = self._curr
        what = self._expect_name("what is assumed")
        names: list[exp.Expr] = []
        if self._match(TokenType.L_PAREN):
            names = self._parse_csv(lambda: self._expect_name("an input's name"))
            self._match_r_paren()
        self._expect(TokenType.EQ, "=")
        value = self._parse_unary()
        if value is None:
            self.raise_error("Expected a value")
        per = self._expect_name("a unit of time") if self._match(TokenType.SLASH) else None
        unit = None if per else self._parse_id_var(any_token=False)
        node = AssumptionNode(this=what, expressions=names, value=value, unit=unit, per=per)
        return node.update_positions(first)

    def _parse_explain_tuple(self) -> exp.Expr:
        if not self._match_text_seq("OF"):
            self.raise_error("Expected OF")
        relation = self._expect_name("a stream's or table's name")
        values = self._parse_values("column")
        if not self._match_text_seq("FOR"):
            self.raise_error("Expected FOR")
        name = self._expect_name("the subscription's name")
        return self.expression(ExplainTupleNode(this=relation, options=values, expression=name))

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        comma = self._curr and self._curr.token_type is TokenType.COMMA
        join = super()._parse_join(*args, **kwargs)
        if join is None and comma and self._curr.token_type in self.ID_VAR_TOKENS:
            # After a comma sqlglot swallows what is wrong with a relation: read it once more.
            self._parse_table()
        if join is not None and self._match_text_seq("WITHIN"):
            word = self._prev
            length = self._parse_unary()
            if length is None:
                self.raise_error("Expected a number or a parameter")
            unit = self._expect_name("a unit of time")
            within = WithinNode(this=length, unit=unit)
            join.set("within", within.update_positions(word))
        return join

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        """Read an alias, but not WITHIN, OPTIONS and others where they open a clause."""
        word, follower = self._curr, self._next
        if self._opens_model():
            return None
        if word:
            text = word.text.upper()
            types = CLAUSES_AFTER_TABLES.get(text, frozenset())
            words = WORDS_AFTER_TABLES.get(text, frozenset())
            after = follower.text.upper() if follower else ""
            if (follower and follower.token_type in types) or after in words:
                return None
        return super()._parse_table_alias(*args, **kwargs)

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """Read a relation of FROM; its window and MODEL may also stand after its alias."""
        table = super()._parse_table(*args, **kwargs)
        if isinstance(table, exp.Table):
            return self._parse_model_of(self._parse_window_of(table))
        if isinstance(table, exp.Subquery) and self._opens_size():
            return self._parse_window_of(table)
        return table

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Read a window after a relation's name; elsewhere brackets are DuckDB's."""
        if isinstance(this, exp.Table):
            return self._parse_window_of(this)
        return super()._parse_bracket(this)

    def _parse_drop_subscription(self) -> exp.Expr:
        exists = self._match_text_seq("IF", "EXISTS")
        name = self._expect_name("the subscription's name")
        ids: list[exp.Expr] | None = None
        if self._match(TokenType.WHERE):
            if not (self._match_text_seq("ID") and self._match(TokenType.IN)):
                self.raise_error("Expected ID IN (…)")
            self._expect(TokenType.L_PAREN, "(")
            ids = self._parse_csv(self._parse_unary)
            self._match_r_paren()
        return self.expression(DropSubscriptionNode(this=name, expressions=ids, exists=exists))

    def _parse_expression(self) -> exp.Expr | None:
        """Read `name: expression` as an alias, but not `(:name` or `CASE :name`.

        DuckDB's parser looks at the colon alone, and makes an alias without a name of it.
        """
        curr, colon = self._curr, self._next
        if curr and colon and colon.token_type is TokenType.COLON:
            named = curr.token_type in self.ALIAS_TOKENS or curr.token_type is TokenType.IDENTIFIER
            if not named or colon.start > curr.end + 1:
                return Parser._parse_expression(self)
        return super()._parse_expression()

    def _parse_named_parameter(self) -> exp.Expr | None:
        colon = self._prev
        if not self._match_set(self.COLON_PLACEHOLDER_TOKENS):
            return None
        name = self._prev
        return exp.Placeholder(this=name.text).update_positions(
            line=colon.line, col=colon.col, start=colon.start, end=name.end
        )


for _level in LEVELS:
    setattr(PenstockParser, _level, _noting(getattr(PenstockParser, _level)))


class Penstock(DuckDB):
    """DuckDB's dialect with CREATE STREAM, SUBSCRIBE and the rest of our statements."""

    class Tokenizer(DuckDB.Tokenizer):
        """EXPLAIN opens a statement here; sqlglot would swallow the rest as an opaque command."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: token for word, token in DuckDB.Tokenizer.KEYWORDS.items() if word != "EXPLAIN"
        }

    Parser = PenstockParser


PENSTOCK = Penstock()


def depths(tokens: list[Token]) -> Iterator[tuple[Token, int]]:
    """Pair each token with how many brackets are open around it."""
    depth = 0
    for token in tokens:
        closes = token.token_type in CLOSING
        depth -= closes
        yield token, depth
        depth += token.token_type in OPENING


OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
