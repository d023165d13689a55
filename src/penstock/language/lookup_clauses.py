"""CREATE TABLE … LOOKUP: a table of another database, as a text or Python declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.memories import (
    AUTO,
    LOOKUP_POLICIES,
    NUMERIC_FAMILIES,
    Lookup,
    Memory,
    StreamLaw,
    is_numeric,
)
from penstock.language.join_keys import key_kind
from penstock.language.memory_checks import (
    MEMORY_OPTIONS,
    ROWS_MAX,
    Refuse,
    check_takes_law,
    checked_law,
    checked_number,
    checked_options,
    checked_policy,
    checked_rows,
    refused,
    shown_family,
    whole,
)
from penstock.language.memory_clauses import law_named
from penstock.language.name_resolution import exact
from penstock.language.places import listing, suggestion
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError

SCHEMES = ("duckdb:", "postgresql://", "postgres://")
"""How the sources of lookups begin."""
WAIT_US_MAX = 3_600_000_000
"""How long an answer, or a pause before the next question, may take."""
DURATIONS = ("timeout", "backoff", "cooldown", "max_age")
WHOLES = {
    "retries": whole(0, 1_000),
    "batch": whole(1, 1_000_000),
    "waiting": whole(1, ROWS_MAX),
}
NAMES = ("table", *DURATIONS, *WHOLES, *MEMORY_OPTIONS)


def lookup_of(
    name: str,
    source: str,
    key: str,
    cache: int,
    using: str = "HEEB",
    law: StreamLaw | str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    refuse: Refuse = refused,
) -> Lookup:
    """Say where rows are looked up and how many are cached, or refuse what makes no sense.

    Options that are lengths of time become seconds; those that are not given keep no entry.

    >>> given = {"table": "public.prices", "timeout": "1.5 seconds", "seed": 3}
    >>> lookup = lookup_of("prices", "duckdb:prices.duckdb", "id", 5000, options=given)
    >>> lookup.table, lookup.options, lookup.memory.options
    ('public.prices', {'timeout': 1.5}, {'seed': 3})
    """
    _check_source(source, refuse)
    rows = checked_rows(cache, "CACHE", refuse)
    policy = checked_policy(using, LOOKUP_POLICIES, "lookup", refuse)
    said = law_named(law) if isinstance(law, str) else law
    if said is not None:
        said = checked_law(said.family, said.parameters, refuse)
        check_takes_law(policy, said, refuse)
    given = {written.lower(): value for written, value in (options or {}).items()}
    asking = {each: given.pop(each) for each in list(given) if each in {*DURATIONS, *WHOLES}}
    table = given.pop("table", name)
    if not isinstance(table, str) or not table.strip():
        fact = f"Option 'table' cannot be {table!r}."
        raise refuse("SQL-071", fact, "Write the table's name in the source, in quotes.", "table")
    tuning = checked_options(given, policy, MEMORY_OPTIONS, "lookup", refuse, NAMES)
    return Lookup(
        source=source.strip(),
        table=table.strip(),
        key=key,
        memory=Memory(rows=rows, policy=policy, laws=(said or AUTO,), options=tuning),
        options={each: _asked(each, value, refuse) for each, value in asking.items()},
    )


def lookup_relation(
    name: str, schema: pa.Schema, lookup: Lookup, refuse: Refuse = refused
) -> Relation:
    """Make the relation that is looked up, once its columns are known."""
    key = exact(lookup.key, schema.names)
    if key is None:
        fact = f"The key {lookup.key!r} is not a column of {name!r}."
        remedy = suggestion(lookup.key, schema.names, f"Choose one of: {listing(schema.names)}.")
        raise refuse("CAT-010", fact, remedy, "KEY")
    type_ = schema.field(key).type
    if key_kind(type_) is None:
        fact = f"The key {key!r} of {name!r} is {type_}, by which no row can be looked up."
        remedy = "Choose a column of whole numbers, decimals, texts, dates, times or booleans."
        raise refuse("CAT-011", fact, remedy, "KEY")
    (law,) = lookup.memory.laws
    if law.family in NUMERIC_FAMILIES and not is_numeric(type_):
        fact = f"{shown_family(law.family)} counts with keys, and {key!r} is {type_}."
        remedy = "Say MODEL AUTO or STATIONARY, or take a key of whole numbers, dates or times."
        raise refuse("SQL-119", fact, remedy, "MODEL")
    if law.family == "offline" and "column" not in law.parameters:
        law = replace(law, parameters={**law.parameters, "column": key})
    memory = replace(lookup.memory, laws=(law,))
    return Relation(
        name=name, kind="lookup", schema=schema, lookup=replace(lookup, key=key, memory=memory)
    )


def _check_source(source: str, refuse: Refuse) -> None:
    scheme = next((each for each in SCHEMES if source.strip().lower().startswith(each)), None)
    if scheme is None or not source.strip()[len(scheme) :]:
        fact = f"{source!r} is no source of lookups."
        remedy = "Write 'duckdb:<file>', or 'postgresql://<user>@<host>:<port>/<database>'."
        raise refuse("SQL-130", fact, remedy, "FROM")


def _asked(name: str, value: Any, refuse: Refuse) -> int | float:
    """Check an option that says how the source is asked."""
    fact = f"Option {name!r} cannot be {value!r}."
    if name in WHOLES:
        return checked_number(value, WHOLES[name], refuse, ("SQL-071", fact, name))
    try:
        length_us = microseconds(value) if isinstance(value, str | timedelta) else None
    except PenstockError:
        length_us = None
    if length_us is None or (length_us == 0 and name != "backoff"):
        remedy = "Write a number above zero and a unit, as in '2 seconds'."
        raise refuse("SQL-071", fact, remedy, name)
    if length_us > WAIT_US_MAX and name != "max_age":
        raise refuse("SQL-071", fact, "No batch waits for more than an hour: write less.", name)
    return length_us / 1_000_000
