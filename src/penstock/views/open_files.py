"""Open files: one connection to a DuckDB file in a process, however many ask for it.

DuckDB gives a file to one process, and within it every connection the same settings, which are
locked. An operator that is left behind may hold the file when the next one comes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import duckdb

from penstock.expressions.connections import connect

STORE_MEMORY = "2GB"
"""What the store of one view may take of memory; beyond it DuckDB spills beside the file."""


@dataclass(slots=True)
class OpenFile:
    """A connection, and how many use it."""

    connection: duckdb.DuckDBPyConnection
    users: int = 0


_LOCK = threading.Lock()
_OPEN: dict[str, OpenFile] = {}


def open_file(path: str | Path) -> duckdb.DuckDBPyConnection:
    """Give the connection to a file; close it by `close_file`."""
    with _LOCK:
        name = str(path)
        if name not in _OPEN:
            _OPEN[name] = OpenFile(connect(name, memory=STORE_MEMORY))
        _OPEN[name].users += 1
        return _OPEN[name].connection


def close_file(path: str | Path) -> None:
    """Let go of a file; the last one closes it."""
    with _LOCK:
        found = _OPEN.get(str(path))
        if found is not None:
            found.users -= 1
            if found.users == 0:
                del _OPEN[str(path)]
                found.connection.close()
