"""Rows of parameters: those that are still accepted, and those that are set aside, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.shared.conversion import converted
from penstock.operators.shared.texts import read_texts
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import written

TYPED_SHARE_MIN = 0.5
"""A CSV column has the narrowest type that at least this share of its values can be read as."""
LEADING_ZERO = r"^\s*[+-]?0[0-9]"
GUESSES = (pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us"))
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
SHOWN_MAX = 60
"""Characters of a bad value that are shown."""
Bad = dict[int, str]
"""Rows with a value that is none, and why."""
NOTHING: Mapping[int, str] = {}


@dataclass(slots=True)
class Refused:
    """Rows that were not accepted, by their number in what the user gave."""

    row: list[int] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    reason: list[str] = field(default_factory=list)

    def add(self, rows: Ints, code: str, reasons: list[str]) -> None:
        """Note rows with a reason each."""
        self.row += rows.tolist()
        self.code += [code] * len(rows)
        self.reason += reasons

    def table(self) -> pa.Table:
        """Give all, in row order."""
        table = pa.table(
            {
                "row": pa.array(self.row, pa.int64()),
                "code": pa.array(self.code, pa.string()),
                "reason": pa.array(self.reason, pa.string()),
            }
        )
        return table.sort_by("row")


@dataclass(slots=True)
class Parameters:
    """Rows of parameters that are still accepted, and those that are not.

    `rows` holds each row's number in what the user gave.
    """

    table: pa.Table
    rows: Ints
    refused: Refused = field(default_factory=Refused)

    def refuse(self, bad: Ints, code: str, reasons: list[str]) -> None:
        """Set rows (by their place in `table`) aside."""
        if not len(bad):
            return
        self.refused.add(self.rows[bad], code, reasons)
        keep = np.ones(self.table.num_rows, dtype=np.bool_)
        keep[bad] = False
        self.table, self.rows = self.table.filter(pa.array(keep)), self.rows[keep]


def of_rows(each: list[Any]) -> Parameters:
    """Turn dicts into parameters; what is no dict is a refused row."""
    rows = [row if isinstance(row, Mapping) else {} for row in each]
    # A name that the first row lacks is a column all the same.
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        if not isinstance(name, str):
            raise PenstockError(
                "REG-006",
                f"A column of the parameters is called {name!r}, which is no text.",
                "Give every row as a dict whose keys are the columns' names.",
            )
    columns = {name: [row.get(name) for row in rows] for name in names}
    others = np.flatnonzero([not isinstance(row, Mapping) for row in each])
    if len(others) and len(others) == len(each):
        raise PenstockError(
            "REG-006",
            f"Parameters cannot be read from a list of {type(each[0]).__name__}.",
            "Give every row as a dict of its values.",
        )
    if each and not columns:
        raise PenstockError(
            "REG-006", "No row of the parameters has a value.", "Give rows their values."
        )
    found = of_table(*of_columns(columns))
    places = np.flatnonzero(np.isin(found.rows, others))
    reasons = [f"A {type(each[i]).__name__} is no row. Give a dict." for i in found.rows[places]]
    found.refuse(places, "REG-006", reasons)
    return found


def of_columns(columns: Mapping[str, list[Any]]) -> tuple[pa.Table, Bad]:
    """Give lists of values as a table, and the values that are of no type."""
    fields, arrays, bad = [], [], Bad()
    for name, values in columns.items():
        array, is_text, own = _array(values)
        field_ = pa.field(name, array.type)
        fields.append(written(field_, guess(array)) if is_text else field_)
        arrays.append(array)
        for row, value in own.items():
            shown = repr(value)[:SHOWN_MAX]
            bad[row] = f"{shown} in column {name!r} is a {type(value).__name__}, no plain value."
    return pa.table(arrays, schema=pa.schema(fields)), bad


def _array(values: list[Any]) -> tuple[pa.Array, bool, dict[int, Any]]:
    """Give values as an array; say whether they are texts that mean others, and which are none.

    Numbers of several types are the decimals that they say; values of several kinds are what their
    texts say, as in a CSV file.
    """
    try:
        return pa.array(values, from_pandas=True), False, {}
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    known = [None if _is_missing(value) else value for value in values]
    if all(isinstance(value, int | float | Decimal | None) for value in known):
        try:
            decimals = [None if value is None else Decimal(str(value)) for value in known]
            return pa.array(decimals), False, {}
        except (pa.ArrowException, OverflowError, ArithmeticError, TypeError):
            pass  # Arrow takes no infinite decimal.
    texts = [_text_of(value) for value in known]
    bad = {i: known[i] for i, text in enumerate(texts) if text is None and known[i] is not None}
    return pa.array(texts, pa.string()), True, bad


def _text_of(value: Any) -> str | None:
    """Write a plain value as a CSV file would; None: it is none."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, str):
        # Half a pair of surrogates is no character, and Arrow has none.
        return value if value.encode(errors="ignore").decode() == value else None
    if isinstance(value, date):
        return value.isoformat(*((" ",) if isinstance(value, datetime) else ()))
    return str(value) if isinstance(value, int | float | Decimal | np.number) else None


def _is_missing(value: Any) -> bool:
    gone = value is None or value is pd.NA or value is pd.NaT
    return gone or (isinstance(value, float) and isnan(value))


def refuse_repeated(names: list[str]) -> None:
    """Refuse columns of one name."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise PenstockError(
            "REG-007",
            f"The parameters have several columns named {', '.join(repeated)}.",
            "Give every column a name of its own.",
        )


def of_table(table: pa.Table, bad: Mapping[int, str] = NOTHING) -> Parameters:
    """Give a table as parameters; `bad` says what is wrong with some of its rows."""
    names = table.column_names
    refuse_repeated(names)
    for number, column in enumerate(table.columns):
        plain = _plain_type(column.type)
        if plain != column.type:
            table = table.set_column(number, names[number], _cast(column, plain))
    found = Parameters(table, np.arange(table.num_rows, dtype=np.int64))
    places = np.array(sorted(bad), dtype=np.int64)
    found.refuse(places, "REG-005", [f"{bad[int(row)]} Repair the value." for row in places])
    return found


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    try:
        return column.cast(type_)
    except pa.ArrowInvalid:
        return column  # Decimals of more digits than others have: they are refused row by row.


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """Give the type that stands for all that hold the same values.

    >>> _plain_type(pa.dictionary(pa.int8(), pa.large_string())), _plain_type(pa.date64())
    (DataType(string), DataType(date32[day]))
    """
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_date64(type_):
        return pa.date32()
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_decimal(type_) and not pa.types.is_decimal128(type_):
        return pa.decimal128(min(type_.precision, 38), type_.scale)
    return type_


def guess(column: pa.Array) -> pa.DataType:
    """Guess the type of texts that are compared with no column: what most of them can be."""
    filled = len(column) - column.null_count
    if not filled:
        return pa.string()
    share = {}
    for type_ in GUESSES:
        values, _ = read_texts(column, type_)
        if type_ == pa.int64():
            values = pc.if_else(pc.match_substring_regex(column, WHOLE), values, None)
            values = converted(values, type_).values
        share[type_] = (len(values) - values.null_count) / filled
    if pc.any(pc.match_substring_regex(column, LEADING_ZERO)).as_py():
        # '02134' is a code, and so are its neighbours.
        del share[pa.int64()], share[pa.float64()]
    elif share[pa.int64()] < share[pa.float64()]:
        # One number that is not whole makes all of them decimal.
        del share[pa.int64()]
    fitting = (type_ for type_, own in share.items() if own >= TYPED_SHARE_MIN)
    return next(fitting, pa.string())
