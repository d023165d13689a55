"""MEMORY and CACHE: budgets of rows, as a text says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from penstock.algebra.memories import PolicyName, StreamLaw
from penstock.language.constants import exact_number, is_constant
from penstock.language.dialect import PENSTOCK
from penstock.language.memory_checks import Refuse, checked_law, checked_policy, checked_rows
from penstock.language.nodes import LawNode
from penstock.language.places import ScriptSource
from penstock.language.plain_values import named_values
from penstock.vocabulary.errors import PenstockError


def take_memory(tree: exp.Expr, tokens: list[Token]) -> tuple[exp.Expr | None, list[Token]]:
    """Take MEMORY out of a query's tree and of its tokens."""
    memory: exp.Expr | None = tree.args.pop("memory", None)
    if memory is None:
        return None, tokens
    start = memory.meta["start"]
    return memory, [token for token in tokens if token.start < start]


def refusing(
    source: ScriptSource,
    at: exp.Expr,
    parts: Iterable[exp.Expr] = (),
    words: Mapping[str, exp.Expr | None] | None = None,
) -> Refuse:
    """Point with errors at the option, parameter or clause that they are about, or else at `at`."""
    places = {part.name.lower(): part for part in parts}
    places |= {word: node for word, node in (words or {}).items() if node is not None}

    def refuse(code: str, fact: str, remedy: str, of: str = "", /) -> PenstockError:
        return source.error(code, fact, remedy, at=places.get(of, at))

    return refuse


def rows_in(node: exp.Expr, what: str, source: ScriptSource) -> int:
    """Give the budget of MEMORY or CACHE, `what` being that word."""
    size = node.this.unnest()
    if not is_constant(size):
        raise source.error(
            "SQL-110",
            f"The rows of {what} are a constant: they stand for all queries of a group.",
            f"Write a number, such as {what} 10000 ROWS.",
            at=size,
        )
    value = exact_number(size)
    is_whole = value is not None and value.denominator == 1
    shown = int(value) if value is not None and is_whole else size.sql("duckdb")
    return checked_rows(shown, what, refusing(source, size))


def policy_in(
    node: exp.Expr, known: Sequence[PolicyName], what: str, source: ScriptSource
) -> PolicyName:
    """Give the policy that USING names beside MEMORY or CACHE; HEEB, if there is none."""
    using = node.args.get("using")
    if using is None:
        return "HEEB"
    return checked_policy(using.name, known, what, refusing(source, using))


def law_in(node: exp.Expr, source: ScriptSource) -> StreamLaw:
    """Give the law that a family and its parameters say."""
    parameters = named_values(node.expressions, "parameter", source)
    refuse = refusing(source, node, node.expressions)
    return checked_law(node.args["family"], parameters, refuse)


def law_named(text: str) -> StreamLaw:
    """Give the law that a text says.

    >>> law_named("Linear Trend (slope = 2)")
    StreamLaw(family='linear trend', parameters={'slope': 2.0})
    """
    try:
        (node,) = PENSTOCK.parser().parse_into(LawNode, PENSTOCK.tokenize(text), text)
    except (ParseError, TokenError, ValueError):
        node = None
    if node is None:
        remedy = "Write a family and its parameters, such as 'LINEAR TREND (slope = 1)'."
        raise PenstockError("SQL-116", f"{text!r} is no law.", remedy)
    try:
        return law_in(node, ScriptSource.whole(text))
    except PenstockError as error:
        raise PenstockError(error.code, error.fact, error.remedy) from None
