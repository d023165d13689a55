"""Connections to DuckDB, all alike: what a text means must not hang on who asks.

This is the one door through which users' texts reach DuckDB. Behind it there are neither files nor
network nor extensions, nothing can be set, and functions that could make values of any size are
bounded: `penstock.expressions.guards`.
"""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

import duckdb

from penstock.expressions.guards import GUARDS

ROWS_MEMORY = "1GB"
"""Memory of a connection that evaluates rows."""
UNSOUND = "statistics_propagation"
"""What DuckDB must not do: where it knows all texts of a column for NULL, it fails over
`CASE WHEN x IS NOT NULL THEN 'yes' END <> 'no'` and `split_part(x, ',', 1) = 'a'`."""
LATER = ["disabled_optimizers"]
"""What our own code sets when it finds that it must."""


def connect(
    path: str | Path = ":memory:",
    *,
    threads: int | None = None,
    files: bool = False,
    memory: str | None = None,
    spill: str | None = None,
    read_only: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Open a database of our own, in memory or as a scratch file.

    The time zone is UTC, wherever the machine stands. What stands in a user's text reaches neither
    files nor network nor our own variables, unless `files` says that no such text will come. A
    database in memory spills nothing to disk; a file does, beside itself, as much as `spill` says.

    >>> with connect() as db:
    ...     db.sql("SELECT current_setting('TimeZone'), len(repeat('x', 5))").fetchall()
    [('UTC', 5)]
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
    }
    if threads is not None:
        config["threads"] = threads
    if memory is not None:
        config["memory_limit"] = memory
    if str(path) == ":memory:" and not files:
        config["temp_directory"] = ""
    connection = duckdb.connect(str(path), read_only=read_only, config=config)
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    if spill is not None:  # in the configuration DuckDB passes over it
        connection.execute(f"SET max_temp_directory_size = '{spill}'")
    if not files:
        for statement in _walls():
            connection.execute(statement)
    return connection


@cache
def _walls() -> list[duckdb.Statement]:
    """Parse what walls a connection in: to parse takes four times as long as to carry it out."""
    settings = (
        f"SET disabled_optimizers = '{UNSOUND}'", "SET enable_external_access = false",
        f"SET allowed_configs = {LATER}", "SET lock_configuration = true",
    )  # fmt: skip
    with duckdb.connect(":memory:") as parser:
        return parser.extract_statements(";".join((*GUARDS.values(), *settings)))


# What outlives the interpreter is told on standard error.
atexit.register(_walls.cache_clear)
