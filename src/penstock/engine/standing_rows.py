"""Rows of a script's file, held against the standing queries that they once became."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from penstock.engine.parameters import load_parameters
from penstock.engine.registration import DEFAULT_KEY, keyed
from penstock.registry.store import Registry
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

REMEDY = (
    "What stands was left as it is. Change it by `add`, `alter` and `drop` of the subscription in "
    "Python, or drop it and run the script again."
)


def told_apart(registry: Registry, name: str, path: str) -> PenstockError | None:
    """Say how the rows of a file differ from what stands of a subscription; None: they do not.

    A script that is run again changes nothing that stands, so whoever edited the file in between
    must hear of it. A file that is gone, or cannot be read any more, is told too.
    """
    key = registry.subscriptions[name].key or DEFAULT_KEY
    blocks = registry.blocks.get(name, [])
    try:
        given = keyed(load_parameters(path, key), key).table
    except PenstockError as error:
        fact = f"The rows of {name!r} cannot be compared with their file. {error.fact}"
        return PenstockError("REG-028", fact, REMEDY)
    columns = {"id": key} if key in given.column_names else {}
    own = {each for block in blocks for each in block.table.column_names if each[:2] == "p_"}
    columns |= {each: each[2:] for each in sorted(own)}
    lost = [each for each in columns.values() if each not in given.column_names]
    if lost:
        fact = f"{path} has no column {', '.join(lost)} any more, which {name!r} was made of."
        return PenstockError("REG-028", fact, REMEDY)
    asked = _texts(given.select(list(columns.values())), list(columns))
    kept = [
        _texts(block.table.filter(pa.array(block.alive)).select(list(columns)), list(columns))
        for block in blocks
        if columns.keys() <= set(block.table.column_names)
    ]
    stands = pd.concat([asked.iloc[:0], *kept]).drop_duplicates()
    found = asked.drop_duplicates().merge(stands, how="outer", indicator=True)["_merge"]
    new, gone = int((found == "left_only").sum()), int((found == "right_only").sum())
    if not new and not gone:
        return None
    fact = (
        f"{path} has {counted(new, 'row that does not stand', 'rows that do not stand')} as "
        f"queries of {name!r}, and {counted(gone, 'that stands is', 'that stand are')} not in it."
    )
    return PenstockError("REG-028", fact, REMEDY)


def _texts(table: pa.Table, names: list[str]) -> pd.DataFrame:
    """Give values as texts, which compare whatever types they were read as."""
    columns = zip(names, table.columns, strict=True)
    return pd.DataFrame({name: _written(column) for name, column in columns}, dtype=object)


def _written(column: pa.ChunkedArray) -> list[str | None]:
    try:
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        return [None if value is None else str(value) for value in column.to_pylist()]
    return texts
