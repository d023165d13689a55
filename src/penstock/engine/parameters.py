"""Parameters of FOR EACH: whatever users have becomes an Arrow table, bad rows set aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from penstock.engine.parameter_files import read_file
from penstock.engine.parameter_rows import (
    Bad,
    Parameters,
    of_columns,
    of_rows,
    of_table,
    refuse_repeated,
)
from penstock.vocabulary.errors import PenstockError


def load_parameters(each: Any, key: str | None = None) -> Parameters:
    """Turn what a user passes as `each` into parameters.

    A pandas, Arrow or Spark frame, a list of dicts, the path of a parquet, CSV or JSON file, or
    anything that hands out Arrow data by itself: a frame of polars, a relation of DuckDB, a table
    of ibis. A value that its column cannot have is one refused row, whatever it came in.

    >>> load_parameters([{"id": "a", "low": 1}, {"id": "b", "low": 2}]).table.num_rows
    2
    """
    if isinstance(each, (str, Path)):
        return read_file(Path(each), key)
    try:
        return of_rows(each) if isinstance(each, list) else of_table(*_frame(each))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise PenstockError(
            "REG-006",
            f"The parameters are no table: {str(error).splitlines()[0].rstrip('.')}.",
            "Give every column values of one type, or NULL.",
        ) from None


def _frame(each: Any) -> tuple[pa.Table, Bad]:
    """Turn a frame into a table, and say which of its values are none."""
    if isinstance(each, pa.RecordBatch):
        return pa.Table.from_batches([each]), {}
    if isinstance(each, pa.Table):
        return each, {}
    if isinstance(each, pd.DataFrame):
        each = _with_index(each)
        try:
            return pa.Table.from_pandas(each, preserve_index=False), {}
        except (pa.ArrowException, OverflowError):
            names = [str(name) for name in each.columns]
            listed = [each.iloc[:, i].to_list() for i in range(len(names))]
            return of_columns(dict(zip(names, listed, strict=True)))
    if hasattr(each, "toArrow"):
        return each.toArrow(), {}
    if hasattr(each, "__arrow_c_stream__") or hasattr(each, "__arrow_c_array__"):
        return pa.table(each), {}
    raise PenstockError(
        "REG-006",
        f"Parameters cannot be read from a {type(each).__name__}.",
        "Pass a frame (pandas, Arrow, Spark, polars, DuckDB), a list of dicts, or the path of a "
        "parquet, CSV or JSON file.",
    )


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Give a frame whose index, where it has a name, is columns like the others."""
    named = [name for name in frame.index.names if name is not None]
    refuse_repeated([str(name) for name in (*named, *frame.columns)])
    return frame.reset_index(level=named) if named else frame
