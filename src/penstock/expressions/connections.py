"""Connections to DuckDB, all alike: what a text means must not hang on who asks."""

from __future__ import annotations

from pathlib import Path

import duckdb


def connect(
    path: str | Path = ":memory:", *, threads: int | None = None, files: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open a database of our own, in memory or as a scratch file.

    The time zone is UTC, wherever the machine stands. What stands in a user's text reaches neither
    files nor network nor our own variables, unless `files` says that no such text will come.

    >>> with connect() as db:
    ...     db.sql("SELECT current_setting('TimeZone')").fetchall()
    [('UTC',)]
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,
    }
    if threads is not None:
        config["threads"] = threads
    connection = duckdb.connect(str(path), config=config)
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    if not files:
        connection.execute("SET enable_external_access = false")
    return connection
