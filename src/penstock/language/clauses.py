"""How MEMORY, MODEL, LOOKUP and INTO are read, and what all our statements read alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.nodes import (
    CreateLookupNode,
    CreateViewNode,
    DropSinkNode,
    DurationNode,
    KeepNode,
    LawNode,
    MemoryNode,
    OptionNode,
    SharingNode,
    SinkNode,
    WindowNode,
)

AFTER_MODELS = frozenset({"ADAPT", "FOR", "OPTIONS", "WHAT", "MODEL", "USING"})
"""Words that no family is called, as they may follow one."""
BEFORE_MEMORY = frozenset({"WHERE", "WITHIN", "JOIN", "INNER", "ON"})
"""Words of clauses that stand before MEMORY."""


class ClauseParser(DuckDBParser):
    """Reads clauses that queries and declarations share."""

    EXPRESSION_PARSERS: ClassVar[dict[Any, Any]] = {
        **DuckDBParser.EXPRESSION_PARSERS,
        LawNode: lambda self: self._parse_law(),
    }

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise at once, with the offset of the offending token: sqlglot keeps its end only."""
        at = token or self._curr
        prev = self._prev
        after = prev.end + 1 if prev else 0
        start = at.start if at else after
        text = self.sql[at.start : at.end + 1] if at else ""
        previous = self.sql[prev.start : prev.end + 1] if prev else ""
        facts = {"description": message, "start": start, "text": text, "previous": previous}
        raise ParseError(message, [facts])

    def _expect(self, type_: TokenType, text: str) -> None:
        if not self._match(type_):
            self.raise_error(f"Expected {text}")

    def _expect_word(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.raise_error(f"Expected {word}")

    def _expect_name(self, what: str) -> exp.Expr:
        name = self._parse_id_var(any_token=False)
        if not isinstance(name, exp.Identifier):
            self.raise_error(f"Expected {what}")
        return name

    def _parse_create_view(self, parse_query: Callable[[], exp.Expr]) -> exp.Expr:
        """Read what stands behind CREATE VIEW."""
        name = self._expect_name("the view's name")
        for word in ("REFRESH", "WITHIN"):
            self._expect_word(word)
        bound = self._parse_number()
        if bound is None:
            self.raise_error("Expected a number")
        unit = self._expect_name("a unit of time")
        store = None
        if self._match_text_seq("STORE"):
            store = self._parse_string()
            if store is None:
                self.raise_error("Expected the address of a database in quotes")
        self._expect(TokenType.ALIAS, "AS")
        query = parse_query()
        return self.expression(
            CreateViewNode(
                this=name, bound=bound, unit=unit, store=store, expression=query,
                options=self._parse_options(),
            )
        )  # fmt: skip

    def _parse_keep(self) -> exp.Expr:
        """Read what stands behind KEEP, up to the end of the statement."""
        first = self._curr
        if not first or first.token_type is TokenType.SEMICOLON:
            self.raise_error("Expected what to keep, as in 7 DAYS")
        last = first
        while self._curr and self._curr.token_type is not TokenType.SEMICOLON:
            last = self._curr
            self._advance()
        return KeepNode(this=self._find_sql(first, last))

    def _parse_options(self) -> list[exp.Expr]:
        return self._parse_values("option") if self._match_text_seq("OPTIONS") else []

    def _parse_values(self, what: str) -> list[exp.Expr]:
        """Read `(name = value, …)`."""
        self._expect(TokenType.L_PAREN, "(")
        values = self._parse_csv(lambda: self._parse_value_of(what))
        self._match_r_paren()
        return values

    def _parse_value_of(self, what: str) -> exp.Expr:
        key = self._expect_name(f"the {what}'s name")
        self._expect(TokenType.EQ, "=")
        value = self._parse_unary()
        if value is None:
            self.raise_error(f"Expected the {what}'s value")
        return self.expression(OptionNode(this=key, expression=value))

    def _parse_memory(self) -> exp.Expr | None:
        """Read `MEMORY n ROWS SHARED BY … USING policy MODEL name AS family, …`, after a SELECT."""
        if not self._match_text_seq("MEMORY"):
            return None
        word = self._prev
        clauses = self._parse_budget(shared=True)
        laws = self._parse_csv(self._parse_named_law) if self._match_text_seq("MODEL") else []
        follower = self._curr
        if follower and follower.text.upper() in BEFORE_MEMORY:
            self.raise_error("MEMORY stands after FROM, WITHIN and WHERE", word)
        return MemoryNode(**clauses, expressions=laws).update_positions(word)

    def _parse_budget(self, shared: bool = False) -> dict[str, Any]:
        """Read `n ROWS USING policy`; of what may be shared, SHARED BY between them."""
        rows = None if self._match_text_seq("ROWS", advance=False) else self._parse_unary()
        if rows is None:
            self.raise_error("Expected a number of rows")
        self._expect_word("ROWS")
        sharing = []
        if shared and self._match_text_seq("SHARED"):
            self._expect_word("BY")
            sharing = self._parse_csv(self._parse_sharing)
        using = self._expect_name("a policy's name") if self._match(TokenType.USING) else None
        return {"this": rows, "using": using, **({"shared": sharing} if sharing else {})}

    def _parse_sharing(self) -> exp.Expr:
        """Read `relation (key) [RANGE n unit]`."""
        first = self._curr
        table = exp.Table(this=self._expect_name("a stream's name")).update_positions(first)
        self._expect(TokenType.L_PAREN, "(")
        key = self._expect_name("the key column's name")
        self._match_r_paren()
        self._parse_window_of(table)
        return SharingNode(this=table, key=key).update_positions(first)

    def _parse_duration(self) -> exp.Expr:
        """Read `n unit`."""
        first = self._curr
        length = self._parse_unary()
        if length is None:
            self.raise_error("Expected a number")
        unit = self._expect_name("a unit of time")
        return DurationNode(this=length, unit=unit).update_positions(first)

    def _parse_window_of(self, table: exp.Expr) -> exp.Expr:
        """Read windows in brackets behind a relation."""
        while self._match(TokenType.L_BRACKET):
            kind = self._curr
            if not any(self._match_text_seq(word) for word in ("ROWS", "RANGE", "SIZE")):
                self.raise_error("Expected ROWS, RANGE or SIZE")
            size = self._parse_unary()
            if size is None:
                self.raise_error("Expected a number")
            unit = advance = None
            if kind.text.upper() != "ROWS":
                unit = self._expect_name("a unit of time")
            if kind.text.upper() == "SIZE" and self._match_text_seq("ADVANCE"):
                advance = self._parse_duration()
            self._expect(TokenType.R_BRACKET, "]")
            node = WindowNode(this=size, kind=kind.text.lower(), unit=unit, advance=advance)
            table.append("windows", node.update_positions(kind))
        return table

    def _parse_named_law(self) -> exp.Expr:
        first = self._curr
        name = self._expect_name("an input's name")
        self._expect(TokenType.ALIAS, "AS")
        law = self._parse_law()
        law.set("this", name)
        return law.update_positions(first)

    def _parse_law(self) -> exp.Expr:
        """Read `LINEAR TREND (slope = 1)`: a family of one or two words, and its parameters."""
        first = self._curr
        words = [self._expect_name("a law's family").name]
        second, third = self._curr, self._next
        named = bool(third) and third.token_type is TokenType.ALIAS
        if second and second.token_type is TokenType.VAR and not named:
            if second.text.upper() not in AFTER_MODELS:
                self._advance()
                words.append(second.text)
        elif third and third.token_type is TokenType.NUMBER and self._match(TokenType.L_PAREN):
            self._advance()
            words[0] += f"({third.text})"
            self._match_r_paren()
        opened = self._match(TokenType.L_PAREN, advance=False)
        values = self._parse_values("parameter") if opened else []
        return LawNode(family=" ".join(words), expressions=values).update_positions(first)

    def _parse_sinks(self) -> list[exp.Expr]:
        """Read `INTO 'address' AS name, …` behind a subscription."""
        return self._parse_csv(self._parse_sink) if self._match(TokenType.INTO) else []

    def _parse_sink(self) -> exp.Expr:
        first = self._curr
        address = self._parse_string()
        if address is None:
            self.raise_error("Expected an address in quotes")
        name = self._expect_name("the sink's name") if self._match(TokenType.ALIAS) else None
        return SinkNode(this=address, alias=name).update_positions(first)

    def _parse_drop_sink(self) -> exp.Expr:
        exists = self._match_text_seq("IF", "EXISTS")
        name = self._expect_name("the sink's name")
        self._expect_word("OF")
        of = self._expect_name("the subscription's name")
        return self.expression(DropSinkNode(this=name, expression=of, exists=exists))

    def _parse_create_lookup(
        self, name: exp.Expr, columns: list[exp.Expr], *, exists: bool, replaces: bool
    ) -> exp.Expr:
        """Read `FROM source KEY key CACHE n ROWS USING policy MODEL family OPTIONS (…)`."""
        self._expect(TokenType.FROM, "FROM")
        source = self._parse_string()
        if source is None:
            self.raise_error("Expected a source in quotes")
        self._expect_word("KEY")
        key = self._expect_name("the key column's name")
        self._expect_word("CACHE")
        word = self._prev
        cache = MemoryNode(**self._parse_budget()).update_positions(word)
        law = self._parse_law() if self._match_text_seq("MODEL") else None
        return self.expression(
            CreateLookupNode(
                this=name,
                source=source,
                expressions=columns,
                key=key,
                cache=cache,
                law=law,
                options=self._parse_options(),
                exists=exists,
                replaces=replaces,
            )
        )
