"""Quoting: names as DuckDB reads them, whatever they hold.

Users' columns may be called anything, also as ours are. Where both stand in one table, theirs begin
with a dot: none of ours does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import count

import pyarrow as pa


def quoted(name: str) -> str:
    """Quote a name.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def dotted(name: str) -> str:
    """Give the name that a user's column has where ours stand beside it."""
    return f".{name}"


def theirs(name: str) -> str:
    """Quote the name of a user's column where ours stand beside it.

    >>> theirs("_batch")
    '"._batch"'
    """
    return quoted(dotted(name))


def with_dots(table: pa.Table) -> pa.Table:
    """Give a table of users' columns under the names that they have beside ours."""
    return table.rename_columns([dotted(name) for name in table.column_names])


def numbered(name: str, taken: Container[str]) -> str:
    """Number a name that is taken, without regard to case, as DuckDB does.

    >>> numbered("id", {"id", "id_1"})
    'id_2'
    """
    names = (f"{name}_{i}" if i else name for i in count())
    return next(each for each in names if each.lower() not in taken)


def all_numbered(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Number all names that are taken, by others or by each other.

    >>> all_numbered(["n", "_id", "_id_1"], ["_id"])
    ['n', '_id_1', '_id_1_1']
    """
    known = {name.lower() for name in taken}
    found = []
    for name in names:
        found.append(numbered(name, known))
        known.add(found[-1].lower())
    return found
