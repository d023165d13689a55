"""Entries: the rows of a port while they are made from rows of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.predicates import Equality, Residual
from penstock.operators.shared.common_keys import text_hashes
from penstock.operators.shared.keys import validity
from penstock.operators.shared.ranges import Parameters
from penstock.vocabulary.batches import Flags

PORT = "queries"
"""The port of everything that has one entry per query."""


class Entries:
    """The columns of the entries while they are made; rows that can never match are not alive."""

    def __init__(self, values: Parameters, rows: int) -> None:
        self.values = values
        self.rows = rows
        self.alive: Flags = np.ones(rows, dtype=np.bool_)
        self.columns: dict[str, pa.Array] = {}

    def put(self, name: str, column: Any, alive: npt.ArrayLike = True) -> None:
        """Take a column (one value stands for all rows), and where it can match at all."""
        array = column if isinstance(column, pa.Array) else pa.array(np.asarray(column))
        if len(array) == 1 and self.rows != 1:
            array = array.take(pa.array(np.zeros(self.rows, dtype=np.int64)))
        self.columns[name] = array
        self.alive = self.alive & np.asarray(alive)

    def table(self, first: int) -> tuple[pa.Table, Flags]:
        """Give the entries of rows that are accepted, and which of those are silent."""
        accepted = ~self.values.refusing.refused
        stands = accepted & self.alive
        table = pa.table({"query": pa.array(first + np.arange(self.rows)), **self.columns})
        if not stands.all():
            table = table.filter(pa.array(stands))
        return table.combine_chunks(), accepted & ~self.alive


def put_equality(
    entries: Entries, equality: Equality, type_: pa.DataType, low: str, high: str, text: str | None
) -> None:  # fmt: skip
    """Put an equality as a range of one key; of a text, its hash and the text itself."""
    (name,) = equality.parameters
    if text is None:
        place = entries.values.places(name, type_)
        keys, alive = place.key, place.valid & place.exact & (place.side == 0)
    else:
        texts = entries.values.values(name, type_).cast(pa.string())
        alive = validity(texts)
        keys = text_hashes(texts)
        entries.put(text, texts)
    entries.put(low, keys, alive)
    if high != low:
        entries.put(high, keys)


def put_residual(
    entries: Entries, names: tuple[str, ...], residual: Residual | None,
    types: tuple[pa.DataType, ...],
) -> None:  # fmt: skip
    """Put the parameters of a residual."""
    if residual is None:
        return
    for name, parameter, type_ in zip(names, residual.parameters, types, strict=True):
        entries.put(name, entries.values.values(parameter, type_))
