"""Files of parameters: Parquet, CSV and JSON, row by row; what cannot be read is set aside."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from penstock.engine.parameter_rows import Bad, Parameters, guess, of_rows, of_table
from penstock.operators.shared.keys import whole
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import written


def read_file(path: Path, key: str | None) -> Parameters:
    """Read a file of parameters by what its name ends with; `key` names the column of ids."""
    path = path.expanduser()
    kind = path.suffix.lower()
    if kind not in {".parquet", ".csv", ".json", ".jsonl"}:
        raise PenstockError(
            "REG-008",
            f"{path} is no .parquet, .csv, .json or .jsonl file.",
            "Convert it, or pass a frame.",
        )
    try:
        if kind == ".csv":
            return _read_csv(path, key)
        return of_table(pq.read_table(path)) if kind == ".parquet" else _read_json(path)
    except FileNotFoundError:
        raise PenstockError(
            "REG-009", f"There is no file {path}.", "Check the path; it is relative to here."
        ) from None
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise PenstockError(
            "REG-010",
            f"{path} is not a readable {kind[1:]} file: {str(error).splitlines()[0]}.",
            "Write the file again.",
        ) from None


def _read_json(path: Path) -> Parameters:
    """Read a list of objects, or an object per line; a line that does not parse is refused."""
    content = path.read_bytes().removeprefix(BOM_UTF8)
    if path.suffix.lower() == ".json":
        rows = json.loads(content)
        if not isinstance(rows, list):
            raise ValueError("it holds no list of objects")
        return of_rows(rows)
    rows, broken = list[Any](), dict[int, ValueError]()
    for line in filter(bytes.strip, content.split(b"\n")):
        try:
            rows.append(json.loads(line.decode()))
        except ValueError as error:
            broken[len(rows)] = error
            rows.append({})
    if rows and len(broken) == len(rows):
        raise broken[0]
    found = of_rows(rows)
    places = np.flatnonzero(np.isin(found.rows, list(broken)))
    reasons = [
        f"The line cannot be read: {broken[int(row)]}. Repair the row."
        for row in found.rows[places]
    ]
    found.refuse(places, "REG-011", reasons)
    return found


def _read_csv(path: Path, key: str | None) -> Parameters:
    """Read every column as text, then find each column's type; bad rows are set aside."""
    broken: list[csv.InvalidRow] = []

    def set_aside(row: csv.InvalidRow) -> str:
        broken.append(row)
        return "skip"

    parsing = csv.ParseOptions(invalid_row_handler=set_aside)
    with csv.open_csv(path, parse_options=parsing) as reader:
        names = reader.schema.names
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        raise ValueError(f"its columns are separated by commas, and its first line is {names[0]!r}")
    broken.clear()
    table = csv.read_csv(
        path,
        # Only a single-threaded reader knows the numbers of broken rows.
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=parsing,
        # What stands between two commas is a text: NA is one as well, and nothing is NULL.
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    gone = np.array([(row.number or 2) - 2 for row in broken], dtype=np.int64)
    table, bad = _as_texts(table)
    parameters = of_table(table)
    parameters.rows = np.setdiff1d(np.arange(table.num_rows + len(gone)), gone)
    reasons = [
        f"The row has {counted(row.actual_columns, 'field')} instead of {row.expected_columns}: "
        f"{row.text!r}. Repair the row."
        for row in broken
    ]
    parameters.refused.add(gone, "REG-011", reasons)
    parameters.refuse(
        np.array(sorted(bad), dtype=np.int64), "REG-005", [bad[i] for i in sorted(bad)]
    )
    fields = [
        field
        if field.name.lower() == str(key).lower()
        else written(field, guess(whole(parameters.table[field.name])))
        for field in parameters.table.schema
    ]
    parameters.table = parameters.table.cast(pa.schema(fields))
    return parameters


def _as_texts(table: pa.Table) -> tuple[pa.Table, Bad]:
    """Read bytes as texts; those that are none are bad."""
    bad: Bad = {}
    for number, name in enumerate(table.column_names):
        column = table.column(number)
        try:
            texts = column.cast(pa.string())
        except pa.ArrowInvalid:
            values = [_decoded(value) for value in column.to_pylist()]
            known = column.is_valid().to_pylist()
            for row, (value, was) in enumerate(zip(values, known, strict=True)):
                if was and value is None:
                    bad[row] = f"A value in column {name!r} is not UTF-8. Repair the value."
            texts = pa.chunked_array([pa.array(values, pa.string())])
        table = table.set_column(number, name, texts)
    return table, bad


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
