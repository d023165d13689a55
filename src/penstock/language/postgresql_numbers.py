"""Numbers in PostgreSQL as DuckDB reckons with them.

DuckDB divides by zero and takes roots of what is negative as floats do, and gives infinities and
NaN; PostgreSQL fails. So these are said there in words that give the same, each part once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from sqlglot import exp, parse_one

FLOAT = "DOUBLE PRECISION"
GIVEN = "(SELECT {0} FROM (VALUES ({1})) AS _given({2}))"
"""What is said of values that are worked out once."""
NAMES = ("_a", "_b")
NAN, INFINITE, NEGATIVE = (
    f"CAST('{word}' AS {FLOAT})" for word in ("NaN", "Infinity", "-Infinity")
)
QUOTIENT = (
    f"CASE WHEN _b = 0 THEN _a * CASE CAST(_b AS TEXT) WHEN '-0' THEN {NEGATIVE} ELSE {INFINITE} "
    "END ELSE _a / _b END"
)
LOGARITHM = f"CASE WHEN _a < 0 THEN {NAN} WHEN _a = 0 THEN {NEGATIVE} ELSE {{0}}(_a) END"
BETWEEN = f"CASE WHEN _a < -1 OR _a > 1 THEN {NAN} ELSE {{0}}(_a) END"
POWER = (
    f"CASE WHEN _a = 0 AND _b < 0 THEN {INFINITE} "
    f"WHEN _a = {NEGATIVE} AND _b <> FLOOR(_b) THEN POWER(-_a, _b) "
    f"WHEN _a < 0 AND _b <> FLOOR(_b) THEN {NAN} ELSE POWER(_a, _b) END"
)
EXPONENTIAL = (
    f"CASE WHEN _a > 709.782712893384 THEN {INFINITE} WHEN _a < -745.1332191019412 THEN 0 "
    "ELSE EXP(_a) END"
)
WORDS: dict[type[exp.Expr], str] = {
    exp.Div: QUOTIENT,
    exp.Exp: EXPONENTIAL,
    exp.Ln: LOGARITHM.format("LN"),
    exp.Log: LOGARITHM.format("LOG"),
    exp.Sqrt: f"CASE WHEN _a < 0 THEN {NAN} ELSE SQRT(_a) END",
    exp.Acos: BETWEEN.format("ACOS"),
    exp.Asin: BETWEEN.format("ASIN"),
    exp.Pow: POWER,
}
ROUNDED = (
    "CAST(TRUNC(_a) + CASE WHEN ABS(_a - TRUNC(_a)) >= 0.5 THEN SIGN(_a) ELSE 0 END AS BIGINT)"
)
"""Halves away from zero, as DuckDB makes decimals of floats."""
DIGITS_MAX = 18
"""Of decimals that are made of floats: so many fit a whole number."""
DECIMAL = "decimal"
"""Marks a cast of a float to a decimal."""


def digits_of(cast: exp.Cast) -> tuple[int, int]:
    """Give the digits of a decimal type, and how many of them are behind the point."""
    listed = [int(each.name) for each in cast.to.expressions]
    precision, scale = (*listed, 0)[:2] if listed else (DIGITS_MAX, 3)
    return precision, scale


def other_base(node: exp.Expr) -> bool:
    """Say whether a logarithm is to another base than ten."""
    return isinstance(node, exp.Log) and len(_arguments(node)) != 1


def reckoned(root: exp.Expr) -> None:
    """Replace, below a root, what PostgreSQL would reckon otherwise, or fail over."""
    for node in reversed(list(root.find_all(exp.Cast, *WORDS))):
        if isinstance(node, exp.Cast):
            if node.meta.get(DECIMAL):
                _, scale = digits_of(node)
                scaled = exp.Mul(
                    this=_float(node.this), expression=exp.Literal.number(f"1e{scale}")
                )
                whole = _given(ROUNDED, [scaled])
                unit = exp.Literal.number(f"{10**-scale:.{scale}f}")
                node.this.replace(exp.Mul(this=whole, expression=unit))
        elif not (isinstance(node, exp.Div) and _is_number(node.expression)):
            node.replace(_given(WORDS[type(node)], map(_float, _arguments(node))))


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    given = [each for each in (node.this, node.args.get("expression")) if each is not None]
    if isinstance(node, exp.Log) and len(given) == 2 and given[0].name == "10":
        return given[1:]
    return given


def _is_number(node: exp.Expr) -> bool:
    """Say whether a divisor is a number that is written down, and not zero."""
    own = node.unnest()
    return isinstance(own, exp.Literal) and not own.is_string and float(own.name) != 0


def _float(node: exp.Expr) -> exp.Expr:
    return exp.cast(node.copy(), FLOAT)


def _given(words: str, arguments: Iterator[exp.Expr] | list[exp.Expr]) -> exp.Expr:
    """Say something of arguments, which take the places of the names."""
    given = list(arguments)
    names = NAMES[: len(given)]
    marks = ", ".join(f":{name}" for name in names)
    made = parse_one(GIVEN.format(words, marks, ", ".join(names)), read="postgres")
    values = dict(zip(names, given, strict=True))
    for mark in list(made.find_all(exp.Placeholder)):
        mark.replace(values[mark.name])
    return made


def is_whole(*types: pa.DataType) -> bool:
    """Say whether all types are of whole numbers."""
    return all(pa.types.is_integer(each) for each in types)
