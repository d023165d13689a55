"""Examination of a view's file: whether it can be read from end to end, and is of its home's turn.

DuckDB keeps a checksum of every block, and says so when one does not fit. The file is only read.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from penstock.algebra.views import ViewDefinition
from penstock.expressions.connections import connect
from penstock.views.layout import ViewLayout


def flaw_of(path: Path, definition: ViewDefinition, turn: int | None) -> str | None:
    """Say what is wrong with the file of a view whose home knows of so many turns, if anything.

    A home that was left in the midst of a batch may not know of the last turn yet.
    """
    if not path.exists():
        return "is missing, though the view has been maintained"
    try:
        with connect(path, read_only=True) as db:
            taken = _read_through(db, definition)
    except duckdb.Error as error:
        return f"cannot be read: {' '.join(str(error).split())}".rstrip(".")
    if turn is not None and taken not in {turn, turn + 1}:
        return f"is of turn {taken:,} of the view {definition.name!r}, and its home of {turn:,}"
    return None


def _read_through(db: duckdb.DuckDBPyConnection, definition: ViewDefinition) -> int:
    """Read every value of every table; give the number of the last turn."""
    layout = ViewLayout(definition)
    listed = db.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
    for schema, table in listed:
        name = ".".join('"' + each.replace('"', '""') + '"' for each in (schema, table))
        db.execute(f"SELECT bit_xor(hash(t)) FROM {name} AS t").fetchall()
    ((taken,),) = db.execute(f"SELECT taken FROM {layout.table('meta')}").fetchall()
    return int(taken)
