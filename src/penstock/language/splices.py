"""The user's own words, with only names replaced.

What `verify` asks DuckDB is cut from the text, token by token. It goes through neither sqlglot's
printer nor our branches, so that it can accuse both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.dialect import Span, depths


@dataclass(frozen=True, slots=True)
class SplicedPieces:
    """The tokens of a query's output expressions, of its joins' ON, and of its WHERE."""

    items: list[list[Token]]
    ons: list[list[Token]]
    where: list[Token]


ENDS_OF_ON = frozenset({TokenType.COMMA, TokenType.INNER, TokenType.JOIN})
"""What follows the condition of a join, if another relation does."""


def cut(tokens: Sequence[Token], within: int | None = None) -> SplicedPieces:
    """Find the pieces of `SELECT item, … FROM … ON …, … WITHIN … WHERE …`, a text that has parsed.

    `within` is where WITHIN stands, which is a word like any other.
    """
    items: list[list[Token]] = [[]]
    ons: list[list[Token]] = []
    where: list[Token] = []
    clause = "select"
    previous: TokenType | None = None
    for token, depth in depths(list(tokens)[1:]):
        type_ = token.token_type
        # IS DISTINCT FROM has the only FROM outside brackets that opens no clause.
        opens_from = type_ is TokenType.FROM and previous is not TokenType.DISTINCT
        previous = type_
        if depth == 0 and clause == "select" and opens_from:
            clause = "from"
        elif depth == 0 and clause == "from" and type_ is TokenType.ON:
            clause = "on"
            ons.append([])
        elif token.start == within or (depth == 0 and clause == "on" and type_ in ENDS_OF_ON):
            clause = "from"
        elif depth == 0 and clause in {"from", "on"} and type_ is TokenType.WHERE:
            clause = "where"
        elif depth == 0 and clause == "select" and type_ is TokenType.COMMA:
            items.append([])
        elif type_ is not TokenType.SEMICOLON and clause != "from":
            piece = items[-1] if clause == "select" else where if clause == "where" else ons[-1]
            piece.append(token)
    return SplicedPieces(items=[item for item in items if item], ons=ons, where=where)


def splice(tokens: Sequence[Token], text: str, names: Mapping[Span, str]) -> str:
    """Print tokens as they stand in the text, names replaced, comments and line ends gone."""
    by_start = {span.start: (span.end, sql) for span, sql in names.items()}
    parts: list[str] = []
    end = skip_to = tokens[0].start if tokens else 0
    for token in tokens:
        if token.start < skip_to:
            continue
        if token.start > end:
            parts.append(" ")
        end, sql = by_start.get(token.start, (token.end + 1, text[token.start : token.end + 1]))
        skip_to = end
        parts.append(sql)
    return "".join(parts)
