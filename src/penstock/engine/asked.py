"""Parameters as `verify` asks DuckDB with them: the documented rule, written a second time.

It shares nothing with the conversion that registration uses, so that it can accuse it. Distinct
values of another type than their parameter's go one by one, as Python's exact numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.connections import connect
from penstock.vocabulary.types import ColumnKind, is_written, kind_of

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
BEYOND = 10**36
"""A bound that lies so many steps away lies beyond all values of its column."""


def asked(given: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Give the parameters in the types that they have in their query.

    A value that its type does not hold was registered as a bound alone. It keeps its place between
    two values of the type: then the whole column is of a type that is one step finer.

    >>> table = asked(pa.table({"low": [0.1, 12.345]}), {"low": pa.decimal128(10, 2)})
    >>> [str(value) for value in table["low"].to_pylist()]
    ['0.100', '12.345']
    """
    for number, field in enumerate(given.schema):
        type_ = types.get(field.name.removeprefix("."))
        if type_ is None or (field.type == type_ and not is_written(field)):
            continue
        given = given.set_column(number, field.name, _column(given.column(number), type_))
    return given


def _column(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    kind = kind_of(type_)
    if pa.types.is_null(column.type) or kind is ColumnKind.STRING:
        return column.cast(type_)
    if kind in {ColumnKind.INTEGER, ColumnKind.DECIMAL}:
        return _steps(column, type_)
    if kind in {ColumnKind.FLOAT, ColumnKind.BOOLEAN} or pa.types.is_string(column.type):
        return _read(column, type_)
    if kind in {ColumnKind.DATE, ColumnKind.TIMESTAMP}:
        return _times(column, type_)
    return column


def _mapped(column: pa.ChunkedArray, values: list[Any], type_: pa.DataType) -> pa.ChunkedArray:
    """Put a value in the place of each distinct one."""
    found = pa.array([*values, None], type_)
    at = pc.index_in(column, value_set=column.unique(), skip_nulls=True)
    return found.take(at.fill_null(len(values)))


def _number(value: Any) -> Fraction | float | None:
    """Give the number that a value's text says; an infinity stays, NaN is None."""
    if isinstance(value, float) and value.is_integer():
        return Fraction(value)
    text = (value if isinstance(value, str) else repr(value)).strip()
    if isinstance(value, Decimal):
        text = str(value)
    if not NUMBER.fullmatch(text):
        return float(text) if text.lower().lstrip("+-") in {"inf", "infinity"} else None
    return Fraction(text)


def _steps(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Read numbers as whole steps of a type; one that lies between two is put half-way."""
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    single = column.type == pa.float32()
    doubled: list[int | None] = []
    for value in column.unique():
        text = value.cast(pa.string()).as_py() if single else None  # 0.1, not a double near it.
        given = value.as_py()
        shown = text if text is not None and not given.is_integer() else given
        number = None if given is None else _number(shown)
        if number is None:
            doubled.append(None)
        elif isinstance(number, float):
            doubled.append(2 * BEYOND if number > 0 else -2 * BEYOND)
        else:
            steps = number * 10**scale
            floor = steps.numerator // steps.denominator
            twice = 2 * floor + (steps.denominator != 1)
            doubled.append(max(-2 * BEYOND, min(2 * BEYOND, twice)))
    halves = any(twice is not None and twice % 2 for twice in doubled)
    low, high = _ends(type_)
    if not halves and all(twice is None or low <= twice // 2 <= high for twice in doubled):
        whole = [None if twice is None else twice // 2 for twice in doubled]
        values = [_decimal(each, scale) for each in whole] if pa.types.is_decimal(type_) else whole
        return _mapped(column, values, type_)
    finer = [None if twice is None else _decimal(twice * 5, scale + 1) for twice in doubled]
    return _mapped(column, finer, pa.decimal128(38, scale + 1))


def _ends(type_: pa.DataType) -> tuple[int, int]:
    """Give the least and the greatest value of a type, in steps."""
    if pa.types.is_decimal(type_):
        high = int(10**type_.precision) - 1
        return -high, high
    if pa.types.is_unsigned_integer(type_):
        return 0, int(2**type_.bit_width) - 1
    return -int(2 ** (type_.bit_width - 1)), int(2 ** (type_.bit_width - 1)) - 1


def _decimal(steps: int | None, scale: int) -> Decimal | None:
    return None if steps is None else Decimal((steps < 0, tuple(map(int, str(abs(steps)))), -scale))


def _read(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Let DuckDB read texts, and numbers as floats; a DOUBLE beyond all FLOATs stays one."""
    kind = kind_of(type_)
    names = {
        ColumnKind.FLOAT: "FLOAT" if type_ == pa.float32() else "DOUBLE",
        ColumnKind.BOOLEAN: "BOOLEAN",
        ColumnKind.DATE: "DATE",
    }
    name = names.get(kind, "TIMESTAMPTZ" if getattr(type_, "tz", None) else "TIMESTAMP")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    texts = "trim(v)" if pa.types.is_string(column.type) else "CAST(v AS VARCHAR)"
    value = "v" if pa.types.is_floating(column.type) else f"nullif({texts}, '')"
    with connect() as db:
        db.register("given", pa.table({"v": column}))
        held = f"TRY_CAST({value} AS {name})"
        lost = f"CASE WHEN {held} IS NULL THEN TRY_CAST({value} AS DOUBLE) ELSE {held} END"
        found = db.sql(f"SELECT {held} AS v FROM given").to_arrow_table()["v"]
        if name == "FLOAT" and found.null_count > column.null_count:
            return db.sql(f"SELECT {lost} AS v FROM given").to_arrow_table()["v"]
    return found.cast(type_) if kind is not ColumnKind.FLOAT else found


def _times(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Give times in a type's unit; if one lies between two dates, all as the times they are."""
    if kind_of(column.type) is ColumnKind.DATE:
        return column.cast(pa.timestamp("us")).cast(type_)
    plain = column.cast(pa.timestamp(column.type.unit))
    if kind_of(type_) is not ColumnKind.DATE:
        return plain.cast(pa.timestamp(type_.unit)).cast(type_)
    days = plain.cast(pa.date32(), safe=False)
    return days if pc.all(pc.equal(days.cast(plain.type), plain)).as_py() is not False else plain
