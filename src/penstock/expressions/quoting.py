"""Quoting: names as DuckDB reads them, whatever they hold."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Quote a name.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'
