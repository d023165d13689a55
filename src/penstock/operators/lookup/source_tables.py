"""Opening: the source that a lookup names, what it says of its table, and rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import Lookup
from penstock.operators.bounded.law_families import declared_law
from penstock.operators.bounded.policies_named import check_policy
from penstock.operators.lookup.fetches import settings_of
from penstock.operators.lookup.source_rows import asked, conformed
from penstock.operators.lookup.sources import (
    DUCKDB,
    POSTGRESQL,
    LookupSource,
    masked,
    no_column,
    spelt,
    unknown_source,
)
from penstock.operators.lookup.sources_duckdb import DuckdbSource
from penstock.operators.lookup.sources_postgresql import PostgresqlSource
from penstock.operators.shared.keys import whole
from penstock.vocabulary.errors import PenstockError, resolved_text


def open_source(lookup: Lookup, names: Sequence[str] | None = None) -> LookupSource:
    """Give the source that a lookup names; `names` are the columns to fetch, all if not given.

    What stands in the environment is looked up now, and is in no plan.
    """
    whose = f"The lookup in {masked(lookup.source)!r}"
    lookup = replace(lookup, source=resolved_text(lookup.source, whose))
    if lookup.source.startswith(DUCKDB) and lookup.source != DUCKDB:
        return DuckdbSource(lookup, names)
    if lookup.source.startswith(POSTGRESQL):
        return PostgresqlSource(lookup, names)
    raise unknown_source(lookup.source)


def describe(lookup: Lookup, columns: pa.Schema | None = None) -> pa.Schema:
    """Give the columns of a looked-up table, having checked that the source is there.

    Declared columns must be there by name; their types are what rows are read in, so that a row
    whose values do not fit is a broken row.
    """
    source = open_source(lookup)
    try:
        found = source.columns(settings_of(lookup).timeout_s)
    finally:
        source.close()
    for name in (lookup.key, *(columns.names if columns is not None else ())):
        if spelt(name, found.names) is None:
            raise no_column(lookup, name, found.names)
    return found if columns is None else columns


def rows(lookup: Lookup, schema: pa.Schema, keys: pa.Array) -> pa.Table:
    """Give the rows of some keys as a lookup join sees them; broken rows are left out."""
    settings = settings_of(lookup)
    source = open_source(lookup, schema.names)
    key = spelt(lookup.key, schema.names)
    distinct = keys.unique().drop_null()
    parts = [schema.empty_table()]
    try:
        for start in range(0, len(distinct), settings.batch):
            ask = partial(source.fetch, timeout_s=settings.timeout_s)
            raw = asked(ask, distinct.slice(start, settings.batch), schema, {})
            assert raw is not None
            table, reasons = conformed(raw, schema)
            codes = whole(table[key]).dictionary_encode("encode").indices.to_numpy()
            kept = np.bincount(codes)[codes] == 1
            kept[list(reasons)] = False
            parts.append(table.filter(pa.array(kept)))
    finally:
        source.close()
    return pa.concat_tables(parts)


def check(step: LookupJoinStep) -> None:
    """Refuse a join that its lookup's options do not fit, and what is not there or does not work.

    That may be a law or a policy.
    """
    check_policy(step.lookup.memory, streams=1)
    declared_law(step.lookup.memory.laws[0])
    stream = step.stream
    if settings_of(step.lookup).max_age_us is not None and stream.event_time is None:
        raise PenstockError(
            "LKP-007",
            f"Rows of {step.table.relation!r} grow old by the event time of "
            f"{stream.relation!r}, which has none.",
            "Declare its event_time, or leave max_age out.",
        )
