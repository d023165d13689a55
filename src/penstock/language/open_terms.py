"""Terms with parameters AS MESSAGES, by their form: what no edge can ask is said as a text is read.

Which columns there are is not known yet, so that all else is said when the text is bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

MESSAGES = "messages"
"""The option that asks for messages; the text says AS MESSAGES."""
ASKED = (exp.Between, exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def check_open_terms(select: exp.Expr, source: ScriptSource) -> None:
    """Refuse a join AS MESSAGES with a parameter in a term that is no comparison."""
    joins = select.args.get("joins") or ()
    where = select.args.get("where")
    predicates = [each.args.get("on") for each in joins]
    predicates += [where.this] if joins and where is not None else []
    for predicate in predicates:
        for term in () if predicate is None else terms_of(predicate):
            parameter = next(iter(term.find_all(exp.Placeholder)), None)
            if parameter is not None and not isinstance(term, ASKED):
                raise unaskable(source, parameter)


def terms_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """Give what the outermost ANDs connect."""
    bare = node.unnest()
    if isinstance(bare, exp.And):
        yield from terms_of(bare.this)
        yield from terms_of(bare.expression)
    else:
        yield bare


def unaskable(source: ScriptSource, at: exp.Expr) -> PenstockError:
    """Say that edges cannot ask a condition of a row."""
    return source.error(
        "SQL-068",
        "Of messages, a parameter is the end of a range of a column, or what a column equals; "
        "edges can ask nothing else of a row.",
        "Write a constant; or compare a column that has an order, not text, with the parameter by "
        "<, <=, >, >=, = or BETWEEN, one parameter for each end.",
        at=at,
    )
