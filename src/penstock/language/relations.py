"""From CREATE STREAM and CREATE TABLE to a relation of the catalogue."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import LATENESS_US, Relation
from penstock.language.name_resolution import exact
from penstock.language.statements import CreateRelation
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError


def relation_of(statement: CreateRelation, schema: pa.Schema | None = None) -> Relation:
    """Make the relation that a statement declares.

    `schema` is what the source brings; the statement's own column list goes before it.
    """
    columns = statement.columns if statement.columns is not None else schema
    if columns is None:
        raise PenstockError(
            "CAT-004",
            f"The columns of {statement.name!r} are not known.",
            f"List them: CREATE {statement.kind.upper()} {statement.name} (column type, …).",
            statement.source.place,
        )
    lateness = statement.options.get("lateness")
    try:
        return Relation(
            name=statement.name,
            kind=statement.kind,
            schema=columns,
            event_time=_column(statement, "event_time", columns),
            change_column=_column(statement, "changes", columns),
            key=named_columns(statement.options.get("key"), columns),
            sequence=named_columns(statement.options.get("sequence"), columns),
            lateness_us=LATENESS_US if lateness is None else microseconds(str(lateness)),
        )
    except PenstockError as error:
        place, option = statement.source.place, error.option
        raise PenstockError(error.code, error.fact, error.remedy, place, option) from None


def named_columns(names: Any, columns: pa.Schema) -> tuple[str, ...]:
    """Give the columns that an option names, separated by commas, spelt as the schema spells them.

    >>> named_columns("ID, region", pa.schema([("id", pa.int64()), ("Region", pa.string())]))
    ('id', 'Region')
    """
    if names is None:
        return ()
    listed = (
        [str(name) for name in names] if isinstance(names, list | tuple) else str(names).split(",")
    )
    return tuple(exact(name.strip(), columns.names) or name.strip() for name in listed)


def _column(statement: CreateRelation, option: str, columns: pa.Schema) -> str | None:
    """Give a column that an option names, spelt as the schema spells it."""
    name = statement.options.get(option)
    if name is None:
        return None
    return exact(str(name), columns.names) or str(name)
