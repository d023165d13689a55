"""Words of PostgreSQL that look like DuckDB's and mean something else: said otherwise, or refused.

sqlglot turns one dialect into the other by their words. A view must not hold other rows because of
where it lives; what fails there for want of a word is refused by PostgreSQL itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pyarrow as pa
from sqlglot import exp

from penstock.language.postgresql_numbers import (
    DECIMAL,
    DIGITS_MAX,
    digits_of,
    is_whole,
    other_base,
    reckoned,
)
from penstock.vocabulary.types import ColumnKind, kind_of

TypeOf = Callable[[exp.Expr], pa.DataType]
LETTERS = "C.utf8"
"""By which letters beyond ASCII have upper and lower case, as in DuckDB; by texts' own order they
have none."""
SHARP_S = ("ß", "ẞ")
"""The one letter whose upper case DuckDB knows and that order does not."""
TRUNCATED = ("SECOND", "MILLISECOND", "MICROSECOND")
"""What these words begin with is a whole number in DuckDB, and has a fraction in PostgreSQL."""
REAL = "real"
"""Marks a number that is compared with, or added to, one of 32 bits: DuckDB takes it for such."""
DAY = "day"
"""Marks a part or the beginning of a date: PostgreSQL knows nothing of its seconds, and makes a
time of it that has a zone."""
OF_TIMES = (exp.Extract, exp.DateTrunc, exp.TimestampTrunc)
WHOLE = "whole"
"""Marks a whole number that is rounded: PostgreSQL makes a float of it, which has fewer digits."""
ROUNDINGS = (exp.Floor, exp.Ceil, exp.Trunc, exp.Round)
TEXTS = (exp.Concat, exp.ConcatWs, exp.DPipe)
PAIRS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Add, exp.Sub, exp.Mul, exp.Div)
EXACT = {ColumnKind.INTEGER, ColumnKind.DECIMAL}
_PLAIN = re.compile(r"(?!\*\*\*)(?:[^.\\{?(\[]|\[(?!\^|:)[^\\\[\]]*\])*")
"""Patterns that mean the same in both."""


def differing(node: exp.Expr, type_of: TypeOf) -> str | None:
    """Say what of a node means something else in PostgreSQL; None if nothing does.

    Numbers that are taken for 32 bits are marked.
    """
    if isinstance(node, PAIRS):
        _mark(node.this, node.expression, type_of)
    elif isinstance(node, exp.Between):
        for bound in (node.args["low"], node.args["high"]):
            _mark(node.this, bound, type_of)
    if isinstance(node, OF_TIMES) and pa.types.is_date(type_of(_moment(node))):
        node.meta[DAY] = True
    if isinstance(node, ROUNDINGS) and is_whole(type_of(node.this)):
        node.meta[WHOLE] = True
    if isinstance(node, exp.Div) and type_of(node) == pa.float32():
        node.meta[REAL] = True
    if _is_decimal(node) and _is_float(node.this, type_of):
        node.meta[DECIMAL] = True
    return next(_differences(node, type_of), None)


def _differences(node: exp.Expr, type_of: TypeOf) -> Iterator[str]:
    if isinstance(node, exp.SimilarTo):
        yield "SIMILAR TO has patterns of another kind there"
    if isinstance(node, exp.RegexpLike | exp.RegexpReplace) and not _is_plain(node.expression):
        yield "patterns with these characters mean something else there"
    if isinstance(node, exp.Substring) and not _is_place(node.args.get("start")):
        yield "a text has no places before the first there, so say a place of 1 or more"
    if isinstance(node, exp.Unicode):
        yield "the empty text has another number there"
    if isinstance(node, exp.Format):
        yield "format has other marks there"
    if isinstance(node, exp.Tuple):
        yield "rows with NULL compare otherwise there"
    if isinstance(node, exp.Round) and _is_float(node.this, type_of):
        yield "halves of floats are rounded otherwise there, so cast to DECIMAL first"
    if isinstance(node, exp.IntDiv) and not is_whole(*map(type_of, (node.this, node.expression))):
        yield "// of other than whole numbers leaves no fraction there"
    if other_base(node):
        yield "logarithms have another base there, so say ln(x) or log10(x)"
    if isinstance(node, exp.Cast) and node.meta.get(DECIMAL) and digits_of(node)[0] > DIGITS_MAX:
        yield f"a float becomes a decimal of at most {DIGITS_MAX} digits there"
    if isinstance(node, exp.Anonymous) and not isinstance(
        _part(node), exp.Literal | exp.Var | None
    ):
        yield "parts of times are asked for by their names there"
    is_text = isinstance(node, exp.Cast) and node.is_type(*exp.DataType.TEXT_TYPES)
    if is_text and _is_float(node.this, type_of):
        yield "floats are written otherwise there"
    if isinstance(node, TEXTS):
        parts = node.expressions or [node.this, node.expression]
        if any(_is_float(each, type_of) for each in parts):
            yield "floats are written otherwise there"
        if not isinstance(node, exp.DPipe) and any(
            pa.types.is_boolean(type_of(each)) for each in parts
        ):
            yield "booleans are written otherwise there, so cast to VARCHAR first"


def _mark(one: exp.Expr, other: exp.Expr, type_of: TypeOf) -> None:
    for wide, narrow in ((one, other), (other, one)):
        if type_of(narrow) == pa.float32() and kind_of(type_of(wide)) in EXACT:
            wide.meta[REAL] = True


def _is_float(node: exp.Expr, type_of: TypeOf) -> bool:
    return bool(pa.types.is_floating(type_of(node)))


def _is_decimal(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and bool(node.is_type(exp.DType.DECIMAL))


def _is_plain(pattern: exp.Expr) -> bool:
    return pattern.is_string and _PLAIN.fullmatch(str(pattern.this)) is not None


def _is_place(start: exp.Expr | None) -> bool:
    return start is None or (start.is_int and not isinstance(start, exp.Neg))


def meant(tree: exp.Expr) -> exp.Expr:
    """Give a tree that PostgreSQL reads as DuckDB reads the one that is given."""
    held = exp.Paren(this=tree)
    # What lies within goes first: whoever holds it takes a copy.
    for node in reversed(list(held.this.walk())):
        if node.meta.get(WHOLE):
            _cast(node.this, "NUMERIC")
        if node.meta.get(DAY):
            _cast(_moment(node), "TIMESTAMP")
        if node.meta.get(REAL):
            _cast(node, "FLOAT")
        elif (part := _part(node)) is not None and part.name.upper().startswith(TRUNCATED):
            node.replace(exp.Floor(this=node.copy()))
    for node in reversed(list(held.this.find_all(exp.Upper, exp.Lower))):
        if isinstance(node, exp.Upper):
            node.this.replace(
                exp.func("REPLACE", node.this.copy(), *map(exp.Literal.string, SHARP_S))
            )
        node.this.replace(_collated(node.this, LETTERS))
        node.replace(_collated(node, "C"))
    for node in reversed(list(held.this.find_all(exp.Like, exp.ILike))):
        if isinstance(node, exp.ILike):
            node.this.replace(_collated(node.this, LETTERS))
        if not isinstance(node.parent, exp.Escape):
            node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("")))
    reckoned(held)
    found: exp.Expr = held.this
    return found


def _moment(node: exp.Expr) -> exp.Expr:
    """Give the time of which something is asked."""
    found: exp.Expr = node.expression if isinstance(node, exp.Extract) else node.this
    return found


def _part(node: exp.Expr) -> exp.Expr | None:
    """Give what names the part of a time that is asked for."""
    if isinstance(node, exp.Extract):
        found: exp.Expr = node.this
        return found
    is_called = isinstance(node, exp.Anonymous) and node.name.lower() == "date_part"
    return node.expressions[0] if is_called and node.expressions else None


def _cast(node: exp.Expr, type_: str) -> None:
    node.replace(exp.cast(node.copy(), exp.DataType.build(type_)))


def _collated(node: exp.Expr, collation: str) -> exp.Expr:
    return exp.paren(
        exp.Collate(
            this=exp.paren(node.copy(), copy=False),
            expression=exp.to_identifier(collation, quoted=True),
        ),
        copy=False,
    )
