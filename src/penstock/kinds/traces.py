"""Traces: files of rows that came once, as keys for replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import WindowLength
from penstock.algebra.memories import is_numeric
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.kernels.fingerprints import prints_mix
from penstock.language.places import listing, suggestion
from penstock.operators.bounded.advice_replays import JoinReplay, LookupReplay, join_replay
from penstock.operators.shared.common_keys import canonical, common_type, text_hashes
from penstock.operators.shared.keys import ordered_keys
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, is_ordered, kind_of

READERS = {".parquet": "read_parquet", ".csv": "read_csv"}
TIMES = frozenset({ColumnKind.DATE, ColumnKind.TIMESTAMP})
MICROSECONDS = pa.timestamp("us")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The first rows of a file: its key columns, and event times in microseconds if asked for.

    Rows without an event time are left out, as joins leave them out.
    """

    path: Path
    keys: list[pa.Array]
    names: tuple[str, ...]
    times: Ints | None

    def __len__(self) -> int:
        return len(self.keys[0])


def read_trace(path: Path, keys: Sequence[str], time: str | None, rows_max: int) -> Trace:
    """Read the key columns, and the event time, of a file's first rows."""
    if not path.is_file():
        raise PenstockError(
            "ADV-001", f"There is no file {path}.", "Check the path; it is relative to here."
        )
    if path.suffix.lower() not in READERS:
        fact = f"{path} is neither a .parquet nor a .csv file."
        raise PenstockError("ADV-002", fact, "Convert it, or rename it.")
    source = f"{READERS[path.suffix.lower()]}(?)"
    try:
        with connect(threads=1, files=True) as db:
            known = (
                db.sql(f"FROM {source} LIMIT 0", params=[str(path)]).to_arrow_table().schema.names
            )
            names = [_column(name, known, path) for name in (*keys, *([time] if time else ()))]
            columns = ", ".join(quoted(name) for name in names)
            rows = f"SELECT {columns} FROM {source} LIMIT {rows_max}"
            table = db.sql(rows, params=[str(path)]).to_arrow_table()
    except duckdb.Error as error:
        raise PenstockError(
            "ADV-002", f"{path} cannot be read: {str(error).splitlines()[0]}.", "Write it again."
        ) from None
    arrays = [table.column(place).combine_chunks() for place in range(table.num_columns)]
    times = None
    if time is not None:
        times, present = _times(arrays.pop(), path, names[-1])
        times, arrays = times[present], [each.filter(pa.array(present)) for each in arrays]
    if not len(arrays[0]):
        fact = f"{path} has no rows" + (f" with a {names[-1]}." if time else ".")
        raise PenstockError("ADV-005", fact, "Name a file with rows that came once.")
    return Trace(path=path, keys=arrays, names=tuple(names[: len(keys)]), times=times)


def join_of(traces: Sequence[Trace], window: WindowLength | None) -> JoinReplay:
    """Give the replay of a join of two traces."""
    one, other = traces
    for left, right in zip(
        zip(one.names, one.keys, strict=True), zip(other.names, other.keys, strict=True),
        strict=True,
    ):  # fmt: skip
        if not _can_be_equal(left[1].type, right[1].type):
            raise PenstockError(
                "ADV-004",
                f"{one.path}'s {left[0]} is {left[1].type}, {other.path}'s {right[0]} is "
                f"{right[1].type}: they cannot be compared.",
                "Name columns of one type, or convert one.",
            )
    commons = [_common(a.type, b.type) for a, b in zip(one.keys, other.keys, strict=True)]
    numeric = _is_numeric(commons, [*one.keys, *other.keys])
    read = [_keys(trace.keys, commons, numeric) for trace in traces]
    times = None
    if one.times is not None and other.times is not None:
        times = (one.times, other.times)
    found = join_replay(
        (read[0][0], read[1][0]), (read[0][1], read[1][1]), numeric=numeric, times=times,
        window=window,
    )  # fmt: skip
    if not found.count:
        raise _no_keys(one)
    return found


def lookup_of(trace: Trace) -> LookupReplay:
    """Give the replay of lookups by a trace's key, in the order of time if that is known."""
    if len(trace.keys) > 1:
        fact = "A table is looked up by one key."
        raise PenstockError("ADV-004", fact, "Name one --key, or two files to be joined.")
    type_ = trace.keys[0].type
    if kind_of(type_) is ColumnKind.OTHER:
        fact = f"{trace.path}'s {trace.names[0]} is {type_}, which is no key."
        raise PenstockError("ADV-004", fact, "Name another column.")
    commons = [_common(type_, type_)]
    numeric = _is_numeric(commons, trace.keys)
    keys, present = _keys(trace.keys, commons, numeric)
    if trace.times is not None:
        order = np.argsort(trace.times, kind="stable")
        keys, present = keys[order], present[order]
    if not present.any():
        raise _no_keys(trace)
    return LookupReplay(keys=keys[present], numeric=numeric)


def _keys(columns: list[pa.Array], commons: list[pa.DataType], numeric: bool) -> tuple[Ints, Flags]:
    """Give every row's key as joins read it, and which rows have one."""
    prints = np.zeros(len(columns[0]), dtype=np.int64)
    present = np.ones(len(columns[0]), dtype=np.bool_)
    for column, common in zip(columns, commons, strict=True):
        values, valid = canonical(column, column.type, common)
        present &= valid
        if numeric:
            return np.array(values.to_numpy()), present
        words = values.to_numpy() if is_ordered(common) else text_hashes(values)
        prints_mix(prints, np.array(words), np.ones(len(words), dtype=np.bool_))
    return prints, present


def _times(column: pa.Array, path: Path, name: str) -> tuple[Ints, Flags]:
    if kind_of(column.type) not in TIMES:
        fact = f"{path}'s {name} is {column.type}, which is no event time."
        raise PenstockError("ADV-008", fact, "Name a column of dates or timestamps.")
    times = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    return ordered_keys(times, times.type)


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Give the type in which keys are compared; times are counted in microseconds."""
    common = common_type(left, right)
    return MICROSECONDS if kind_of(common) is ColumnKind.TIMESTAMP else common


def _is_numeric(commons: list[pa.DataType], columns: list[pa.Array]) -> bool:
    """Say whether laws can count with keys, as joins say it."""
    types = (*commons, *(column.type for column in columns))
    return len(commons) == 1 and all(map(is_numeric, types))


def _can_be_equal(left: pa.DataType, right: pa.DataType) -> bool:
    kinds = {kind_of(left), kind_of(right)}
    return ColumnKind.OTHER not in kinds and (len(kinds) == 1 or kinds <= NUMBERS or kinds <= TIMES)


def _column(name: str, known: list[str], path: Path) -> str:
    for each in known:
        if each.lower() == name.lower():
            return each
    otherwise = f"Its columns are {listing(known)}."
    fact = f"{path} has no column {name!r}."
    raise PenstockError("ADV-003", fact, suggestion(name, known, otherwise))


def _no_keys(trace: Trace) -> PenstockError:
    fact = f"No row of {trace.path} has a value in {', '.join(trace.names)}."
    return PenstockError("ADV-005", fact, "Name another column as --key.")
