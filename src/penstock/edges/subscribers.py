"""Subscribers of an edge: whose they are, which partition and range each has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from penstock.brokers.message_format import MessageForm, buckets_of, numbers_of
from penstock.brokers.range_summaries import partition_texts, summary_of
from penstock.operators.shared.bounds import floors
from penstock.operators.shared.keys import HIGHEST, LOWEST, whole
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.errors import PenstockError

SLACK = 1e-9
"""So much wider, as a share, ranges are taken when buckets are chosen: numbers of buckets lack
digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeColumns:
    """Which columns of a file say what."""

    id: str = "id"
    low: str = "lo"
    high: str = "hi"


def read_subscribers(path: Path) -> pa.Table:
    """Read a Parquet or CSV file of subscribers."""
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        if path.suffix == ".csv":
            return _read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise PenstockError(
            "EDG-001", f"{path} cannot be read: {error}.", "Correct the file."
        ) from None
    raise PenstockError(
        "EDG-001",
        f"{path} is no .parquet or .csv file.",
        "Write the subscribers as one of these.",
    )


def _read_csv(path: Path) -> pa.Table:
    """Read every column as text, as FOR EACH does: 007 is an id of three signs, NA is a text."""
    with pyarrow.csv.open_csv(path) as reader:
        types = dict.fromkeys(reader.schema.names, pa.string())
    options = pyarrow.csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )  # fmt: skip
    return pyarrow.csv.read_csv(path, convert_options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeEnds:
    """Of which column subscribers have ranges, and which of theirs have the ends."""

    place: str
    type: pa.DataType
    low: str | None
    high: str | None
    low_closed: bool = True
    high_closed: bool = True


class Subscribers:
    """The subscribers of one edge, in the terms of the messages that it reads.

    One whose range is empty, or lacks an end, is silent: no row is ever in it. Of rows of a join,
    subscribers have one range or two, and a column for each parameter of the conditions.
    """

    def __init__(
        self, given: pa.Table, form: MessageForm, columns: RangeColumns | None = None
    ) -> None:
        columns = columns or RangeColumns()
        self.asked, partition = _asked(form, columns)
        ends = [name for each in self.asked for name in (each.low, each.high) if name is not None]
        names = [columns.id, *ends, *partition]
        lacking = [name for name in names if name not in given.column_names]
        if lacking:
            raise PenstockError(
                "EDG-002",
                f"The subscribers have no column {lacking[0]!r}.",
                f"Those that there are: {', '.join(given.column_names)}. Needed are an id, the "
                f"ends of ranges, {' and '.join(dict.fromkeys(ends))}, and the partition: "
                f"{', '.join(partition) or 'nothing'}.",
            )
        self.ids = whole(given[columns.id]).cast(pa.string())
        try:
            for own in self.asked:
                given = _with_values(given, (own.low, own.high), own.type)
            for name, held in zip(partition, form.partition, strict=True):
                given = _with_values(given, (name,), form.schema.field(held).type)
            ranges = [_range(given, each) for each in self.asked]
            self._numbers = [_end_numbers(given, own) for own in self.asked]
            partitions = partition_texts([given[name] for name in partition], form)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise PenstockError(
                "EDG-003",
                f"The ranges or partitions of the subscribers are not of the messages' types: "
                f"{error}.",
                f"The attribute is {form.attribute}; write values that can be compared with it.",
            ) from None
        self.sides = [(low, high) for low, high, _ in ranges]
        """The ends of every range, as keys that are within it."""
        self.x1s, self.x2s = self.sides[0]
        stands = np.logical_and.reduce([own for *_, own in ranges])
        self.partitions, self.codes = _coded(partitions, len(given))
        self.stands: Flags = stands & (self.codes >= 0)

    def __len__(self) -> int:
        return len(self.ids)

    def codes_of(self, columns: Sequence[pa.Array], form: MessageForm, rows: int) -> Ints:
        """Give the codes of partitions of messages; -1 for one that no subscriber has."""
        texts = partition_texts(columns, form)
        if texts is None:
            return np.zeros(rows, dtype=np.int64)
        found = pc.index_in(texts, value_set=self.partitions).fill_null(-1)
        return np.asarray(found, dtype=np.int64)

    def summary(self) -> pa.Table:
        """Give the ranges that stand, as a publisher is told of them."""
        stands = pa.array(self.stands)
        texts = None
        if len(self.partitions):
            texts = self.partitions.take(pa.array(self.codes).filter(stands))
        sides = [(low[self.stands], high[self.stands]) for low, high in self._numbers]
        return summary_of(texts, sides)

    def buckets(self, bounds: Sequence[float]) -> list[int]:
        """Give the buckets of the attribute that any range meets."""
        low, high = (own[self.stands] for own in self._numbers[0])
        with np.errstate(over="ignore"):
            first = buckets_of(low - SLACK * np.abs(low), bounds)
            last = buckets_of(high + SLACK * np.abs(high), bounds)
        changes = np.zeros(len(bounds) + 2, dtype=np.int64)
        np.add.at(changes, first, 1)
        np.add.at(changes, last + 1, -1)
        return [int(bucket) for bucket in np.flatnonzero(np.cumsum(changes)[:-1] > 0)]


def _asked(form: MessageForm, columns: RangeColumns) -> tuple[list[RangeEnds], list[str]]:
    """Say of what subscribers have ranges, and which of their columns are the partition."""
    if form.kind != "row":
        place = RangeEnds(place=form.place, type=form.attribute, low=columns.low, high=columns.high)
        return [place], form.partition
    ranges = [
        RangeEnds(
            place=own.name, type=form.schema.field(own.name).type, low=own.low, high=own.high,
            low_closed=own.low_closed, high_closed=own.high_closed,
        )
        for own in form.conditions if own.is_range
    ]  # fmt: skip
    return ranges, [own.equals for own in form.conditions if own.equals is not None]


def _with_values(given: pa.Table, names: Iterable[str | None], type_: pa.DataType) -> pa.Table:
    """Read columns that are texts, of a CSV file for example, as what they are compared with."""
    for name in names:
        if name is None or pa.types.is_string(type_):
            continue
        texts = whole(given[name])
        if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
            values = _read(texts, type_)
            if values is None:
                wrong = next(each for each in texts if _read(pa.array([each]), type_) is None)
                raise ValueError(f"{wrong.as_py()!r} in column {name!r}")
            given = given.set_column(given.column_names.index(name), name, values)
    return given


def _read(texts: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Read texts as values of a type, or as others that can be placed among them."""
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if pa.types.is_temporal(type_):
        readings = [type_, pa.timestamp("us", "UTC"), pa.timestamp("us")]
    elif pa.types.is_integer(type_) or pa.types.is_decimal(type_):
        readings = [pa.int64(), type_, pa.float64()]
    else:
        readings = [type_]
    for reading in readings:
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(reading)
    return None


def _range(given: pa.Table, asked: RangeEnds) -> tuple[Ints, Ints, Flags]:
    """Give the least and the greatest key in every range, and which ranges have any."""
    low, high = np.full(len(given), LOWEST), np.full(len(given), HIGHEST)
    stands = np.ones(len(given), dtype=np.bool_)
    if asked.low is not None:
        least = floors(whole(given[asked.low]), asked.type)
        low, never = least.low(asked.low_closed)
        stands &= least.valid & ~never
    if asked.high is not None:
        most = floors(whole(given[asked.high]), asked.type)
        high, never = most.high(asked.high_closed)
        stands &= most.valid & ~never
    return low, high, stands & (low <= high)


def _end_numbers(given: pa.Table, asked: RangeEnds) -> tuple[Floats, Floats]:
    """Give both ends of ranges as floats."""
    none = np.full(len(given), np.inf)
    low = -none if asked.low is None else _numbers(whole(given[asked.low]), asked.type)
    return low, none if asked.high is None else _numbers(whole(given[asked.high]), asked.type)


def _numbers(ends: pa.Array, attribute: pa.DataType) -> Floats:
    if pa.types.is_temporal(attribute):
        unit = "us" if pa.types.is_date(attribute) else attribute.unit
        ends = ends.cast(pa.timestamp(unit, getattr(attribute, "tz", None)))
    if pa.types.is_floating(attribute):  # among these, every number lies on the nearest
        ends = ends.cast(attribute, safe=False)
    return np.nan_to_num(
        numbers_of(ends.fill_null(0) if not pa.types.is_temporal(ends.type) else ends)
    )


def _coded(texts: pa.Array | None, rows: int) -> tuple[pa.Array, Ints]:
    """Give the partitions that there are, and the code of each row's; -1 for NULL."""
    if texts is None:
        return pa.array([], pa.string()), np.zeros(rows, dtype=np.int64)
    coded = texts.dictionary_encode()
    return coded.dictionary, np.asarray(coded.indices.fill_null(-1), dtype=np.int64)
