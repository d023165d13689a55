"""Parameters of FOR EACH: whatever users have becomes an Arrow table, bad rows set aside."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

TYPED_SHARE_MIN = 0.5
"""A CSV column has the narrowest type that at least this share of its values can be read as."""
LEADING_ZERO = r"^\s*[+-]?0[0-9]"
CSV_READINGS = {
    # DuckDB would round '126.5' to a BIGINT and take 'T' for TRUE.
    "BIGINT": "CASE WHEN regexp_full_match(trim(value), '[+-]?[0-9]+') "
    "THEN TRY_CAST(value AS BIGINT) END",
    "DOUBLE": "TRY_CAST(value AS DOUBLE)",
    "BOOLEAN": "CASE lower(trim(value)) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END",
    "TIMESTAMP": "TRY_CAST(value AS TIMESTAMP)",
}


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


def load_parameters(each: Any, key: str | None = None) -> Parameters:
    """Turn what a user passes as `each` into parameters.

    A pandas, Arrow or Spark frame, a list of dicts, or the path of a parquet or CSV file.

    >>> load_parameters([{"id": "a", "low": 1}, {"id": "b", "low": 2}]).table.num_rows
    2
    """
    if isinstance(each, (str, Path)):
        return _read_file(Path(each), key)
    if isinstance(each, pa.RecordBatch):
        table = pa.Table.from_batches([each])
    elif isinstance(each, pa.Table):
        table = each
    elif isinstance(each, pd.DataFrame):
        table = pa.Table.from_pandas(each, preserve_index=False)
    elif isinstance(each, list):
        table = pa.Table.from_pylist(each)
    elif hasattr(each, "toArrow"):
        table = each.toArrow()
    else:
        raise PenstockError(
            "REG-006",
            f"Parameters cannot be read from a {type(each).__name__}.",
            "Pass a pandas, Arrow or Spark frame, a list of dicts, or a parquet or CSV path.",
        )
    return _parameters(table)


def _parameters(table: pa.Table) -> Parameters:
    names = table.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise PenstockError(
            "REG-007",
            f"The parameters have several columns named {', '.join(repeated)}.",
            "Give every column a name of its own.",
        )
    for number, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            decoded = column.cast(column.type.value_type)
            table = table.set_column(number, table.column_names[number], decoded)
    return Parameters(table, np.arange(table.num_rows, dtype=np.int64))


def _read_file(path: Path, key: str | None) -> Parameters:
    if path.suffix not in {".parquet", ".csv"}:
        raise PenstockError(
            "REG-008",
            f"{path} is neither a .parquet nor a .csv file.",
            "Convert it, or pass a frame.",
        )
    try:
        if path.suffix == ".csv":
            return _read_csv(path, key)
        return _parameters(pq.read_table(path))
    except FileNotFoundError:
        raise PenstockError(
            "REG-009", f"There is no file {path}.", "Check the path; it is relative to here."
        ) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise PenstockError(
            "REG-010",
            f"{path} is not a readable {path.suffix[1:]} file: {str(error).splitlines()[0]}.",
            "Write the file again.",
        ) from None


def _read_csv(path: Path, key: str | None) -> Parameters:
    """Read every column as text, then find each column's type; bad rows are set aside."""
    broken: list[csv.InvalidRow] = []

    def set_aside(row: csv.InvalidRow) -> str:
        broken.append(row)
        return "skip"

    parsing = csv.ParseOptions(invalid_row_handler=set_aside)
    with csv.open_csv(path, parse_options=parsing) as reader:
        names = reader.schema.names
    broken.clear()
    table = csv.read_csv(
        path,
        # Only a single-threaded reader knows the numbers of broken rows.
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=parsing,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
        ),
    )
    gone = np.array([(row.number or 2) - 2 for row in broken], dtype=np.int64)
    parameters = _parameters(table)
    parameters.rows = np.setdiff1d(np.arange(table.num_rows + len(gone)), gone)
    reasons = [
        f"The row has {row.actual_columns} fields instead of {row.expected_columns}: {row.text!r}."
        " Repair the row."
        for row in broken
    ]
    parameters.refused.add(gone, "REG-011", reasons)
    for name in names:
        if name != key:
            _type_column(parameters, name)
    return parameters


def _type_column(parameters: Parameters, name: str) -> None:
    """Give a text column the type that most of its values have; refuse the rows that do not."""
    column = parameters.table[name]
    filled = len(column) - column.null_count
    if not filled:
        return
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", pa.table({"value": column}))
        found = {
            type_: connection.sql(f"SELECT {reading} FROM given").to_arrow_table().column(0)
            for type_, reading in CSV_READINGS.items()
        }
    if pc.any(pc.match_substring_regex(column, LEADING_ZERO)).as_py():
        # '02134' is a code, and so are its neighbours.
        del found["BIGINT"], found["DOUBLE"]
    elif found["BIGINT"].null_count > found["DOUBLE"].null_count:
        # One number that is not whole makes all of them decimal.
        del found["BIGINT"]
    fitting = (
        type_
        for type_, values in found.items()
        if len(values) - values.null_count >= TYPED_SHARE_MIN * filled
    )
    type_ = next(fitting, None)
    if type_ is None:
        return
    typed = found[type_]
    lost = pc.and_(pc.is_null(typed), pc.is_valid(column)).to_numpy()
    bad = np.flatnonzero(lost)
    reasons = [
        f"{value!r} in column {name} is not a {type_}. Repair the value."
        for value in column.take(pa.array(bad)).to_pylist()
    ]
    position = parameters.table.column_names.index(name)
    parameters.table = parameters.table.set_column(position, name, typed)
    parameters.refuse(bad, "REG-005", reasons)
