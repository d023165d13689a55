"""Constants of a query: what they are worth, and whether a column's type can hold them.

A constant may take part in an index only if, converted to the column's type, it compares with
every value of the column as DuckDB would compare the two. Otherwise the term stays residual.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.language.duckdb_checks import DuckError, duck_type, evaluate
from penstock.vocabulary.types import NUMBERS, ColumnKind, kind_of

EXACT_FLOAT = 2**53
"""Below it every whole number is a float64, so that rounding moves nothing across it."""
PLAIN_DIGITS = 15
"""Decimals of so many digits become the same float64 in Python and in DuckDB."""

PLAIN_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
"""Numbers that need no DuckDB: whole ones and decimals, never its DOUBLE."""

KINDS: tuple[tuple[type, ColumnKind], ...] = (
    (bool, ColumnKind.BOOLEAN),
    (int, ColumnKind.INTEGER),
    (Decimal, ColumnKind.DECIMAL),
    (float, ColumnKind.FLOAT),
    (str, ColumnKind.STRING),
    (datetime.datetime, ColumnKind.TIMESTAMP),
    (datetime.date, ColumnKind.DATE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedConstant:
    """A constant expression's value; `kind` is None for NULL.

    `bare` marks a string that stands in the text itself: DuckDB reads such a string as whatever
    type it is compared with.
    """

    sql: str
    value: Any
    kind: ColumnKind | None
    bare: bool = False

    @property
    def is_nan(self) -> bool:
        """Say whether the value is a float that is not a number."""
        return isinstance(self.value, float) and math.isnan(self.value)


def is_constant(node: exp.Expr) -> bool:
    """Say whether an expression names no column and no parameter."""
    if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        return True
    # A collation says how to compare, which no value does.
    varying = (
        exp.Column, exp.Placeholder, exp.Star, exp.Lambda, exp.Comprehension, exp.Collate
    )  # fmt: skip
    return not any(isinstance(child, varying) for child in node.walk())


def constant_of(node: exp.Expr, say: Callable[[exp.Expr], str]) -> LiftedConstant | None:
    """Evaluate a constant expression; None if it is not constant. May raise `DuckError`.

    `say` gives the words of an expression.
    """
    bare = node.unnest()
    if not is_constant(bare):
        return None
    if isinstance(bare, exp.Null):
        return LiftedConstant(sql="NULL", value=None, kind=None)
    sql = say(bare)
    if isinstance(bare, exp.Boolean):
        return LiftedConstant(sql=sql, value=bool(bare.this), kind=ColumnKind.BOOLEAN)
    if isinstance(bare, exp.Literal) and bare.is_string and sql == bare.sql("duckdb"):
        return LiftedConstant(sql=sql, value=bare.this, kind=ColumnKind.STRING, bare=True)
    number = PLAIN_NUMBER.fullmatch(sql)
    value = evaluate(sql)[0][0] if number is None else (Decimal if number[1] else int)(sql)
    kind = next((kind for type_, kind in KINDS if isinstance(value, type_)), ColumnKind.OTHER)
    text = (
        isinstance(bare, exp.Literal | exp.RawString | exp.ByteString) and kind is ColumnKind.STRING
    )
    return LiftedConstant(sql=sql, value=value, kind=None if value is None else kind, bare=text)


def exact_number(node: exp.Expr) -> Fraction | None:
    """Give the number that a constant is worth, exactly; None where it is none, or not finite."""
    try:
        found = constant_of(node, lambda each: each.sql("duckdb"))
    except DuckError:
        return None
    if found is None or found.kind not in NUMBERS or not math.isfinite(found.value):
        return None
    return Fraction(found.value)


@dataclass(frozen=True, slots=True)
class ConstantFit:
    """A constant as a value of a column's type."""

    value: Any


def fit(constant: LiftedConstant, type_: pa.DataType) -> ConstantFit | None:
    """Convert a constant to a type, or say None: only a residual compares them right.

    >>> fit(LiftedConstant(sql="5.0", value=Decimal("5.0"), kind=ColumnKind.DECIMAL), pa.int32())
    ConstantFit(value=5)
    >>> fit(LiftedConstant(sql="5.5", value=Decimal("5.5"), kind=ColumnKind.DECIMAL), pa.int32())
    """
    if constant.kind is None:
        return ConstantFit(None)
    kind = kind_of(type_)
    if kind in NUMBERS and constant.kind in NUMBERS:
        return _fit_number(constant, type_, kind)
    if kind is ColumnKind.TIMESTAMP and (
        constant.bare or constant.kind in {ColumnKind.TIMESTAMP, ColumnKind.DATE}
    ):
        return _fit_time(constant, type_)
    if kind is ColumnKind.DATE and (constant.bare or constant.kind is ColumnKind.DATE):
        return _fit_time(constant, type_)
    return ConstantFit(constant.value) if kind is constant.kind else None


def _fit_number(
    constant: LiftedConstant, type_: pa.DataType, kind: ColumnKind
) -> ConstantFit | None:
    value = constant.value
    if kind is ColumnKind.INTEGER:
        return _fit_integer(value, type_)
    if kind is ColumnKind.DECIMAL:
        return _fit_decimal(value, type_)
    if pa.types.is_float64(type_):
        return ConstantFit(_float64(constant))
    if not pa.types.is_float32(type_):
        return None
    single = evaluate(f"CAST({constant.sql} AS FLOAT)")[0][0]
    # DuckDB compares a FLOAT with a DOUBLE as DOUBLE, with any other number as FLOAT.
    return None if constant.kind is ColumnKind.FLOAT and single != value else ConstantFit(single)


def _fit_integer(value: int | Decimal | float, type_: pa.DataType) -> ConstantFit | None:
    if not math.isfinite(value) or value != int(value):
        return None
    if isinstance(value, float) and abs(value) >= EXACT_FLOAT:
        return None
    whole = int(value)
    signed = pa.types.is_signed_integer(type_)
    low = -(2 ** (type_.bit_width - 1)) if signed else 0
    high = 2 ** (type_.bit_width - signed) - 1
    return ConstantFit(whole) if low <= whole <= high else None


def _fit_decimal(value: int | Decimal | float, type_: pa.DataType) -> ConstantFit | None:
    if not math.isfinite(value):
        return None
    unscaled = Decimal(value).scaleb(type_.scale)
    limit = min(10**type_.precision, EXACT_FLOAT if isinstance(value, float) else 10**38)
    if abs(unscaled) >= limit or unscaled != int(unscaled):
        return None
    return ConstantFit(Decimal(int(unscaled)).scaleb(-type_.scale))


def _float64(constant: LiftedConstant) -> float:
    value = constant.value
    if isinstance(value, Decimal) and len(value.as_tuple().digits) > PLAIN_DIGITS:
        return float(evaluate(f"CAST({constant.sql} AS DOUBLE)")[0][0])
    return float(value)


def _fit_time(constant: LiftedConstant, type_: pa.DataType) -> ConstantFit | None:
    """Convert to a time of the column's unit and zone; None if Python's times cannot hold it."""
    target = duck_type(type_)
    cast = f"CAST({constant.sql} AS {target})"
    # Strings take the column's type whatever they lose, times only if they lose nothing.
    same = "TRUE" if constant.bare else f"{cast} = {constant.sql}"
    microseconds = f"CAST(CAST({cast} AS TIMESTAMP) AS {target}) = {cast}"
    values, _ = evaluate(f"{cast}, {same}, isfinite({cast}) AND {microseconds}")
    value, unchanged, representable = values
    if not (unchanged and representable) or not isinstance(value, datetime.date):
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return ConstantFit(value)
