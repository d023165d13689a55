"""Tables of other databases: what is declared of one that queries look up."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.memories import PolicyName, StreamLaw
from penstock.language.lookup_clauses import lookup_of, lookup_relation


def foreign_table(
    catalog: Catalog,
    name: str,
    source: str,
    key: str,
    cache: int,
    columns: pa.Schema | None = None,
    using: PolicyName = "HEEB",
    law: StreamLaw | str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Relation:
    """Give a table of another database; without `columns` they are read from it, now."""
    # Imported where it is needed: an engine without such tables starts the sooner.
    asking = importlib.import_module("penstock.operators.lookup")
    lookup = lookup_of(name, asking.resolved(source), key, cache, using, law, options)
    known = catalog.get(name.lower())
    if known is None or not known.is_asked or columns not in (None, known.schema):
        return lookup_relation(name, asking.describe(lookup, columns), lookup)
    # What is known already needs no database that answers.
    return lookup_relation(name, known.schema, lookup)
