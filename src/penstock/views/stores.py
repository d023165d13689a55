"""Stores of views by their addresses."""

from __future__ import annotations

from penstock.algebra.views import ViewDefinition
from penstock.views.duckdb_store import DuckdbViewStore
from penstock.views.owners import Owner
from penstock.views.postgresql_store import PostgresqlViewStore
from penstock.views.protocol import ViewStore

POSTGRESQL = ("postgresql://", "postgres://")


def open_store(definition: ViewDefinition, address: str, owner: Owner | None = None) -> ViewStore:
    """Open the store of a view: PostgreSQL if the address is a URL of it, else a DuckDB file.

    In PostgreSQL a view that is made belongs to `owner`, and that of another owner is refused.
    """
    if address.startswith(POSTGRESQL):
        return PostgresqlViewStore(definition, address, owner)
    return DuckdbViewStore(definition, address)
