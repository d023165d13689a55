"""Columns of every type that a stream may have, with the values at which answers go wrong."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

NULL_SHARE = 0.12
EXTREME_SHARE = 0.5
UTC = datetime.UTC

Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column: its Arrow type, values that are extreme or awkward, and a way to draw others."""

    name: str
    type: pa.DataType
    extremes: tuple[Any, ...]
    draw: Draw

    def value(self, chance: np.random.Generator) -> Any:
        """Draw a value, None now and then."""
        if chance.random() < NULL_SHARE:
            return None
        if chance.random() < EXTREME_SHARE:
            return self.extremes[int(chance.integers(len(self.extremes)))]
        return self.draw(chance)


def _whole(bits: int, signed: bool) -> tuple[int, ...]:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return tuple(v for v in (low, low + 1, -1, 0, 1, 2, high - 1, high) if low <= v <= high)


def _near(low: int, high: int) -> Draw:
    return lambda chance: int(chance.integers(low, high + 1))


def _decimal(digits: int, scale: int) -> tuple[Decimal, ...]:
    # From text: arithmetic rounds to 28 digits.
    nines, last = f"{'9' * digits}E-{scale}", f"1E-{scale}"
    return tuple(map(Decimal, (nines, f"-{nines}", last, f"-{last}", "0", "1", "-1")))


def _cents(scale: int) -> Draw:
    return lambda chance: Decimal(int(chance.integers(-300, 301))).scaleb(-min(scale, 2))


def _moment(chance: np.random.Generator) -> datetime.datetime:
    start = datetime.datetime.fromisoformat("2024-02-28 22:00")
    return start + datetime.timedelta(seconds=int(chance.integers(0, 20)) * 1800)


MOMENTS = tuple(
    datetime.datetime.fromisoformat(text)
    for text in (
        "0001-01-01", "1582-10-15", "1969-12-31 23:59:59.999999", "1970-01-01",
        "2024-02-29", "2024-02-29 10:00:00.000001", "2024-03-10 02:30",
        "9999-12-31 23:59:59.999999",
    )
)  # fmt: skip
TEXTS = (
    "", " ", "a", "A", "ab", "aB", "abc", "b", "z", "it's", 'q"q', "%", "_", "a%", "a_c", "\\",
    "ä", "a\u0308", "ß", "SS", "İ", "日本", "\U0001f600", "nan", "NULL", "1", "01", "-1", "1.10",
    "2024-02-29", "x" * 100, "a\nb", "tab\t",
)  # fmt: skip
FLOATS = (
    0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, -5e-324, 1.7976931348623157e308,
    0.1, 1.1, 2.005, -0.25, 1.0, 2.0, 9007199254740992.0, 9007199254740994.0,
    9.223372036854775807e18,
)  # fmt: skip
SINGLES = tuple(
    float(np.float32(v))
    for v in (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38, 0.1, 1.1, 16777216.0, -0.25)
)

COLUMNS = (
    DrawnColumn("i8", pa.int8(), _whole(8, True), _near(-3, 4)),
    DrawnColumn("i16", pa.int16(), _whole(16, True), _near(-3, 4)),
    DrawnColumn("i32", pa.int32(), _whole(32, True), _near(-3, 4)),
    DrawnColumn("i64", pa.int64(), _whole(64, True), _near(-3, 4)),
    DrawnColumn("u8", pa.uint8(), _whole(8, False), _near(0, 4)),
    DrawnColumn("u16", pa.uint16(), _whole(16, False), _near(0, 4)),
    DrawnColumn("u32", pa.uint32(), _whole(32, False), _near(0, 4)),
    DrawnColumn("u64", pa.uint64(), _whole(64, False), _near(0, 4)),
    DrawnColumn(
        "f", pa.float32(), SINGLES, lambda chance: float(np.float32(chance.integers(-8, 9) / 4))
    ),
    DrawnColumn("d", pa.float64(), FLOATS, lambda chance: float(chance.integers(-8, 9) / 4)),
    DrawnColumn("m", pa.decimal128(8, 2), _decimal(8, 2), _cents(2)),
    DrawnColumn("m18", pa.decimal128(18, 0), _decimal(18, 0), _cents(0)),
    DrawnColumn("m4", pa.decimal128(18, 4), _decimal(18, 4), _cents(4)),
    DrawnColumn("m38", pa.decimal128(38, 10), _decimal(38, 10), _cents(10)),
    DrawnColumn("s", pa.string(), TEXTS, lambda chance: "ab"[int(chance.integers(2))]),
    DrawnColumn("s2", pa.string(), TEXTS, lambda chance: "ab"[int(chance.integers(2))]),
    DrawnColumn("b", pa.bool_(), (True, False), lambda chance: bool(chance.integers(2))),
    DrawnColumn("y", pa.date32(), tuple(m.date() for m in MOMENTS), lambda c: _moment(c).date()),
    DrawnColumn("n", pa.timestamp("us"), MOMENTS, _moment),
    DrawnColumn(
        "t",
        pa.timestamp("us", "UTC"),
        tuple(m.replace(tzinfo=UTC) for m in MOMENTS),
        lambda chance: _moment(chance).replace(tzinfo=UTC),
    ),
    DrawnColumn(
        "x",
        pa.binary(),
        (b"", b"\x00", b"a", b"\xff"),
        lambda chance: bytes([97 + int(chance.integers(2))]),
    ),
    DrawnColumn(
        "l",
        pa.list_(pa.int32()),
        ((), (1,), (1, 2, 3), (None,)),
        lambda chance: [int(chance.integers(0, 5)) for _ in range(int(chance.integers(0, 4)))],
    ),
    DrawnColumn(
        "w",
        pa.struct([("a", pa.int32()), ("c", pa.string())]),
        ({"a": 1, "c": "a"}, {"a": None, "c": None}),
        lambda chance: {"a": int(chance.integers(0, 4)), "c": "ab"[int(chance.integers(2))]},
    ),
)
"""Of all types that Spark reads; few values are near each other, so that predicates hold now and
then."""
SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])


def draw_events(chance: np.random.Generator, rows: int) -> pa.Table:
    """Draw rows of all columns."""
    arrays = [
        pa.array([column.value(chance) for _ in range(rows)], column.type) for column in COLUMNS
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
