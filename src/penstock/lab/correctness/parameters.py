"""Parameters as users have them: the same numbers, times and texts from every kind of source."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS: dict[str, pa.DataType] = {
    "tiny": pa.int8(),
    "small": pa.int32(),
    "big": pa.int64(),
    "unsigned": pa.uint64(),
    "double": pa.float64(),
    "single": pa.float32(),
    "money": pa.decimal128(10, 2),
    "exact": pa.decimal128(18, 6),
    "long": pa.decimal128(30, 4),
    "name": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
}
"""A column of every kind that a stream may have."""

WHOLE = ["0", "1", "-1", "7", "100", "-128", "127"]
BIG = [*WHOLE, "9223372036854775807", "-9223372036854775808", "9007199254740993"]
PLACES = ["0", "0.1", "-0.1", "0.3", "12.34", "12.345", "99999999.99", "0.07", "1.1", "2.675"]
TIMES = [
    "1970-01-01 00:00:00",
    "2024-02-29 00:00:00",
    "2024-02-29 12:30:00.000001",
    "1969-12-31 23:59:59.999999",
]
TEXTS: dict[str, list[str]] = {
    "tiny": WHOLE,
    "small": [*WHOLE, "2147483647", "-2147483648", "2.5"],
    "big": [*BIG, "2.5"],
    "unsigned": ["0", "1", "7", "18446744073709551615", "9223372036854775808", "-1", "2.5"],
    "double": [*PLACES, "1e300", "-1e-300", "5e-324", "9007199254740993", "inf", "-inf"],
    "single": [*PLACES, "16777217", "1e30"],
    "money": PLACES,
    "exact": [*PLACES, "0.000001", "0.0000001", "999999999999.999999"],
    "long": [*PLACES, "12345678901234567890.1234"],
    "name": ["NA", "null", "nan", "007", "1.50", "x", "ünï", " a "],
    "flag": ["true", "false"],
    "day": ["1970-01-01", "2024-02-29", "1969-12-31", "9999-12-31"],
    "at": TIMES,
    "local": TIMES,
}
"""Values of each column, as texts: those that it holds, and some that lie between."""


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of parameters from one kind of source; `texts` are what the rows mean."""

    source: str
    texts: list[str | None]
    each: Any


def number_of(text: str) -> int | float | Decimal:
    """Read a number as an int if it is one, else as a float."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def value_of(text: str, type_: pa.DataType) -> Any:
    """Read a text as the Python value that a user would have for a column."""
    if pa.types.is_date32(type_):
        return date.fromisoformat(text[:10])
    if pa.types.is_timestamp(type_):
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if type_.tz else found
    if pa.types.is_boolean(type_):
        return text == "true"
    return text if pa.types.is_string(type_) else number_of(text)


def sources(
    column: str, texts: list[str | None], directory: Path
) -> Mapping[str, Callable[[], Given]]:
    """Give the same values as every kind of source has them; `id` counts the rows.

    A source that rounds its values (floats) or cannot have one of them leaves that row out.
    """
    type_ = COLUMNS[column]

    def rows(take: Callable[[str], Any], name: str, kind: pa.DataType | None = None) -> Given:
        kept, values = [], []
        for text in texts:
            try:
                value = None if text is None else take(text)
                pa.scalar(value, kind)
            except (pa.ArrowException, ValueError, OverflowError, ArithmeticError):
                continue
            kept.append(text)
            values.append(value)
        table = pa.table({"id": list(range(len(kept))), "p": pa.array(values, kind)})
        return Given(name, kept, table)

    found: dict[str, Callable[[], Given]] = {"csv": lambda: _csv(texts, directory)}
    if pa.types.is_string(type_) or pa.types.is_boolean(type_):
        found["list"] = lambda: _listed(rows(lambda t: value_of(t, type_), "list", type_))
        if pa.types.is_string(type_):
            wide = pa.large_string()
            found["large"] = lambda: rows(str, "large", wide)
            found["dictionary"] = lambda: _encoded(rows(str, "dictionary", pa.string()))
        return found
    if pa.types.is_date32(type_) or pa.types.is_timestamp(type_):
        found["text"] = lambda: rows(str, "text", pa.string())
        found["list"] = lambda: _listed(rows(lambda t: value_of(t, type_), "list", type_))
        found["pandas"] = lambda: _framed(rows(lambda t: value_of(t, type_), "pandas", type_))
        for unit in ("ms", "us", "ns"):
            for zone in (None, "UTC", "America/New_York"):
                kind = pa.timestamp(unit, zone)
                found[f"{unit} {zone}"] = lambda kind=kind: rows(  # type: ignore[misc]
                    lambda t: _moment(t, kind), str(kind), kind
                )
        return found
    found["list"] = lambda: _listed(rows(_plain, "list", pa.float64()))
    found["whole"] = lambda: _listed(
        rows(int, "whole", pa.uint64() if column == "unsigned" else pa.int64())
    )
    found["pandas"] = lambda: _framed(rows(_plain, "pandas", pa.float64()))
    found["parquet"] = lambda: _filed(rows(_plain, "parquet", pa.float64()), directory)
    for kind in (pa.int64(), pa.uint64()):
        found[str(kind)] = lambda kind=kind: rows(int, str(kind), kind)  # type: ignore[misc]
    # Beside doubles, a float of four bytes is the number that it is, as in DuckDB.
    single = _exact if column == "double" else _single
    found["float"] = lambda: rows(single, "float", pa.float32())
    for kind in (pa.decimal128(18, 2), pa.decimal256(50, 8)):
        found[str(kind)] = lambda kind=kind: rows(Decimal, str(kind), kind)  # type: ignore[misc]
    return found


def _plain(text: str) -> float:
    """Read a number as a float, if the float says no other number."""
    value = float(text)
    if value.is_integer() and Decimal(value) != Decimal(text):
        raise ValueError
    if np.isfinite(value) and Decimal(repr(value)) != Decimal(text):
        raise ValueError
    return value


def _single(text: str) -> float:
    """Read a number as a float of four bytes, if that says no other number."""
    with np.errstate(over="ignore"):
        value = np.float32(text)
    if not np.isfinite(value) or Decimal(str(value)) != Decimal(text):
        raise ValueError
    if float(value).is_integer() and Decimal(float(value)) != Decimal(text):
        raise ValueError
    return float(value)


def _exact(text: str) -> float:
    """Read a number as a float of four bytes, if it is the number itself."""
    value = _single(text)
    if Decimal(value) != Decimal(text):
        raise ValueError
    return value


def _moment(text: str, kind: pa.DataType) -> datetime:
    found = datetime.fromisoformat(text)
    if kind.unit == "ms" and found.microsecond % 1000:
        raise ValueError
    if kind.unit == "ns" and not 1700 < found.year < 2200:
        raise ValueError
    return found.replace(tzinfo=UTC) if kind.tz else found


def _listed(given: Given) -> Given:
    return Given(given.source, given.texts, given.each.to_pylist())


def _framed(given: Given) -> Given:
    return Given(given.source, given.texts, pd.DataFrame(given.each.to_pydict()))


def _encoded(given: Given) -> Given:
    each = given.each
    return Given(given.source, given.texts, each.set_column(1, "p", each["p"].dictionary_encode()))


def _filed(given: Given, directory: Path) -> Given:
    path = directory / "parameters.parquet"
    pq.write_table(given.each, path)
    return Given(given.source, given.texts, str(path))


def _csv(texts: list[str | None], directory: Path) -> Given:
    path = directory / "parameters.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "p"])
        writer.writerows([i, "" if text is None else text] for i, text in enumerate(texts))
    return Given("csv", texts, str(path))
