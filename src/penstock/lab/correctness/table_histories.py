"""Histories of tables: changes in the order in which they happened, cut into files.

A history is drawn from a seed. `net` is what stands in the end, and does not depend on the order
in which files are read: so much every reader must end with. `orders` draws in which batches, and in
which order inside a batch, files are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.vocabulary.changes import POSITION

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("k", pa.int64()),
        ("x", pa.float64()),
        ("note", pa.string()),
        ("lsn", pa.int64()),
        ("op", pa.string()),
    ]
)
CHANGE, KEY, SEQUENCE = "op", "id", "lsn"
COLUMNS = tuple(name for name in SCHEMA.names if name != CHANGE)

PAIRED: tuple[dict[str, str], ...] = (
    {"in": "insert", "out": "delete", "before": "update_before", "after": "update_after"},
    {"in": "insert", "out": "delete", "before": "update_preimage", "after": "update_postimage"},
    {"in": "+I", "out": "-D", "before": "-U", "after": "+U"},
)
"""The words of dialects that tell an update by two rows: Penstock's and Flink's, Delta's, Flink's
in short."""
SINGLE: tuple[dict[str, str], ...] = (
    {"in": "c", "out": "d", "after": "u"},
    {"in": "I", "out": "D", "after": "U"},
)
"""Those of dialects that tell it by one: Debezium's, Hudi's."""
BLANKS = ("", "", " ", "\t", "\u00a0")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableHistory:
    """Changes by file, in the order in which files were written, and what stands in the end."""

    files: tuple[pa.Table, ...]
    net: pa.Table

    def file(self, number: int, positioned: bool = False) -> pa.Table:
        """Give a file's changes, with where they stood if that is asked for."""
        table = self.files[number]
        if positioned:
            rows = table.num_rows
            values = (BEGIN + timedelta(seconds=number), f"file-{number:05}", 0)
            for (name, type_), value in zip(POSITION, values, strict=True):
                table = table.append_column(name, pa.array([value] * rows, type_))
        return table

    def batch(self, numbers: list[int], positioned: bool = False) -> pa.Table:
        """Give the changes of several files as one batch reads them, in this order."""
        fields = [pa.field(*own) for own in POSITION] if positioned else []
        empty = pa.schema([*SCHEMA, *fields]).empty_table()
        return pa.concat_tables([empty, *(self.file(n, positioned) for n in numbers)])


def history(
    seed: int, changes: int = 60, files: int = 6, keyed: bool = False, keys: int = 4
) -> TableHistory:
    """Draw a history of so many changes.

    `keyed`: deletes name the key alone, and updates may tell the new row alone, so that changes
    mean something only by the key. Otherwise rows may be there several times.

    >>> history(1).net.num_rows == history(1).net.num_rows
    True
    """
    chance = np.random.default_rng([seed, changes, files, keyed, keys])
    dialects = PAIRED + SINGLE if keyed else PAIRED
    words = dialects[chance.integers(len(dialects))]
    standing: list[Row] = []
    told: list[Row] = []
    for number in range(changes):
        what = chance.random()
        if not standing or what < 0.45:
            row = _row(chance, number if keyed else int(chance.integers(0, 8)), keys, number)
            if not keyed:
                row[SEQUENCE] = 0
            standing.append(row)
            told.append({**row, CHANGE: _word(chance, words["in"])})
            continue
        old = standing.pop(int(chance.integers(len(standing))))
        if what < 0.7:
            gone = {**dict.fromkeys(COLUMNS), KEY: old[KEY]} if keyed else old
            told.append({**gone, CHANGE: _word(chance, words["out"]), SEQUENCE: old[SEQUENCE]})
            if keyed:
                told[-1][SEQUENCE] = number
            continue
        row = _row(chance, old[KEY], keys, number)
        if not keyed:
            row[SEQUENCE] = 0
        if "before" in words:
            told.append({**old, CHANGE: _word(chance, words["before"])})
        standing.append(row)
        told.append({**row, CHANGE: _word(chance, words["after"])})
    cuts = np.sort(chance.integers(0, len(told) + 1, files - 1))
    parts = np.split(np.arange(len(told)), cuts)
    net = pa.Table.from_pylist(standing, schema=pa.schema([SCHEMA.field(n) for n in COLUMNS]))
    return TableHistory(tuple(_table([told[i] for i in part]) for part in parts), net)


def orders(seed: int, files: int, batches: int, across: bool = True) -> list[list[int]]:
    """Draw which files each batch reads, in which order.

    `across`: also newer files may come in earlier batches; otherwise only inside a batch.

    >>> sorted(sum(orders(3, 5, 2), []))
    [0, 1, 2, 3, 4]
    """
    chance = np.random.default_rng([seed, files, batches, across])
    numbers = chance.permutation(files) if across else np.arange(files)
    cuts = np.sort(chance.integers(0, files + 1, batches - 1))
    return [chance.permutation(part).tolist() for part in np.split(numbers, cuts)]


def _row(chance: np.random.Generator, key: int, keys: int, number: int) -> Row:
    x = [None, float("nan"), -0.0, 0.0, 1.5, 2.0, 3.5][chance.integers(7)]
    note = [None, "", "a", "\u00e9"][chance.integers(4)]
    k = None if chance.random() < 0.05 else int(chance.integers(keys))
    return {"id": key, "k": k, "x": x, "note": note, "lsn": number}


def _word(chance: np.random.Generator, word: str) -> str:
    word = [word, word.upper(), word.lower()][chance.integers(3)]
    before, behind = (BLANKS[chance.integers(len(BLANKS))] for _ in range(2))
    return f"{before}{word}{behind}"


def _table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)
