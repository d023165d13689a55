"""Declaring: a relation with its source, and what its owner says of its rows beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import RELATION_KINDS, Catalog, Relation
from penstock.algebra.physical import signature
from penstock.engine.home import Home
from penstock.engine.registration import draft_declaration
from penstock.language.statements import CreateRelation
from penstock.registry.records import Declaration, Draft, Source
from penstock.registry.store import Registry
from penstock.spark.source_texts import settled_source
from penstock.spark.sources import open_source, with_position
from penstock.spark.types import DataFrame, SparkSession
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.worlds.catalogue import WORLDS

USERS_SHOWN = 5
OWN_OPTIONS, KEY_OPTIONS = ("event_time", "changes", "lateness"), ("key", "sequence")
"""Options of a CREATE statement that say what columns mean; the second of tables alone."""
DISTINCT = "distinct_"
"""An option `distinct_<column>` says how many values a column has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What is said of a relation's rows: rows per second, values by column, a table's rows.

    The planner of multi-way joins takes these until it has measured.
    """

    rate: float | None = None
    distinct: Mapping[str, int] = field(default_factory=dict)
    rows: int | None = None

    @classmethod
    def of_options(cls, options: dict[str, Any], is_table: bool, source: str) -> Declared:
        """Take what is said of the rows out of the OPTIONS of a CREATE statement.

        A source that makes its rows up wants to know itself how many `rows` to make.

        >>> options = {"rate": 70, "distinct_x": 5, "maxFilesPerTrigger": 1}
        >>> Declared.of_options(options, False, "parquet:/in"), options
        (Declared(rate=70, distinct={'x': 5}, rows=None), {'maxFilesPerTrigger': 1})
        """
        names = [name for name in options if name.startswith(DISTINCT)]
        rows = None
        if is_table:
            rows = options.get("rows") if makes_rows(source) else options.pop("rows", None)
        return cls(
            distinct={name.removeprefix(DISTINCT): options.pop(name) for name in names},
            rate=options.pop("rate", None),
            rows=rows,
        )

    def told(self, relation: Relation) -> Relation:
        """Give the relation with all this said of it; refuse what cannot be."""
        where = f"of {relation.name!r}"
        if self.rate is not None:
            of = "rows per second, above zero"
            _check(f"The rate {where}", self.rate, of, "rate")
        if self.rows is not None:
            _check(f"The number of rows {where}", self.rows, "rows, above zero", "rows")
        if (self.rate if relation.keeps else self.rows) is not None:
            word = "rate" if relation.keeps else "number of rows"
            raise PenstockError(
                "ENG-032",
                f"A {relation.kind} has no {word}, and {relation.name!r} is one.",
                "Say rate = n of a stream, rows = n of a table.",
                option="rate" if relation.keeps else "rows",
            )
        own = {name.lower(): name for name in relation.schema.names}
        distinct = {}
        for name, count in self.distinct.items():
            if name.lower() not in own:
                raise PenstockError(
                    "ENG-033",
                    f"{relation.name!r} has no column {name!r} that could have distinct values.",
                    f"Its columns are: {', '.join(relation.schema.names)}.",
                    option=f"{DISTINCT}{name}".lower(),
                )
            what = f"The number of distinct values of {relation.name}.{name}"
            _check(what, count, "values, above zero", f"{DISTINCT}{name}".lower())
            distinct[own[name.lower()]] = int(count)
        return replace(
            relation,
            rate=None if self.rate is None else float(self.rate),
            distinct=distinct,
            size=None if self.rows is None else int(self.rows),
        )


def source_options(statement: CreateRelation) -> tuple[dict[str, Any], Declared]:
    """Give the options of a CREATE statement that its source is told, and what is said of rows."""
    keeps = RELATION_KINDS[statement.kind].keeps
    own = (*OWN_OPTIONS, *(KEY_OPTIONS if keeps else ()))
    options = {name: value for name, value in statement.options.items() if name not in own}
    text = "" if statement.from_.kind == "frame" else str(statement.from_)
    declared = Declared.of_options(options, keeps, text)
    return options, declared


def makes_rows(source: str) -> bool:
    """Say whether a source, by its text, makes its rows up."""
    return source.partition(":")[0].strip().lower() in WORLDS


def _check(what: str, value: object, of: str, option: str) -> None:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not isfinite(number) or number <= 0:
        remedy = f"Give a number of {of}."
        raise PenstockError("ENG-031", f"{what} is {value!r}.", remedy, option=option)


def undeclare_relation(registry: Registry, home: Path, name: str) -> None:
    """Take a declaration back, as long as no query names it and Spark does not read it.

    Raises
    ------
    PenstockError
        ENG-061 if it is used, with whoever uses it; ENG-062 if nothing of the name is declared.
    """
    with registry.reserve():
        known = registry.declarations.get(name.lower())
        if known is None:
            declared = ", ".join(each.relation.name for each in registry.declarations.values())
            raise PenstockError(
                "ENG-062",
                f"There is no stream or table {name!r}.",
                f"Those declared are: {declared or 'none'}.",
            )
        refuse_used(registry, known.relation)
        if (home / "checkpoint").exists():
            raise PenstockError(
                "ENG-061",
                f"{name!r} cannot be dropped: this home has run, and Spark reads all sources that "
                "it began with.",
                "Leave it, nobody is told of its rows; or begin another home directory.",
            )
        attendant = known.relation.attendant()
        registry.undeclare(name, [] if attendant is None else [signature(attendant)])


def refuse_used(registry: Registry, relation: Relation) -> None:
    """Refuse to change a relation that queries name."""
    name = relation.name.lower()
    users = [
        record.name
        for record in registry.subscriptions.values()
        if name in (each.lower() for each in record.relations)
    ]
    if users:
        shown = ", ".join(users[:USERS_SHOWN]) + (", …" if len(users) > USERS_SHOWN else "")
        raise PenstockError(
            "ENG-061",
            f"{relation.name!r} is used by {counted(len(users), 'subscription')}: {shown}.",
            "Drop them first, or declare another stream or table beside it.",
        )


def declare_relation(
    registry: Registry,
    home: Home,
    relation: Relation,
    source: Source,
    *,
    replaces: bool = False,
    is_running: bool = False,
) -> None:
    """Register a relation, or check that the one that is known by its name is the same.

    What is said of its rows, and the options of its source, may be said anew at any time: what
    this process reads with, later ones read with. With `replaces`, another declaration takes the
    place of one that is not used yet.
    """
    with registry.reserve():
        refuse_timeless(relation, registry.catalog)
        declaration = Declaration(relation=relation, source=source)
        known = registry.catalog.get(relation.name.lower())
        if replaces and known is not None:
            if registry.declarations[relation.name.lower()] == declaration:
                return
            if not relation.flows and not known.flows:
                refuse_used(registry, known)
                registry.publish(Draft(declarations=[declaration]))
                return
            undeclare_relation(registry, home.path, relation.name)
            known = None
        if known is None:
            if relation.flows:
                _refuse_late_relation(relation, is_running)
            registry.publish(draft_declaration(declaration))
            return
        if not known.schema.equals(relation.schema) or known.kind != relation.kind:
            raise PenstockError(
                "CAT-005",
                f"{relation.name!r} is known with the columns {_columns(known.schema)}; "
                f"this source has {_columns(relation.schema)}.",
                "Bring a source with the same columns; correct the declaration by CREATE OR "
                "REPLACE until the first run; or begin another home.",
            )
        if _reading(known) != _reading(relation):
            raise PenstockError(
                "ENG-049",
                f"{relation.name!r} is known with {_words(known)}; this declaration says "
                f"{_words(relation)}.",
                "Declare it as it stands; correct it by CREATE OR REPLACE until the first run; or "
                "choose another name.",
            )
        if known.lookup != relation.lookup:
            raise PenstockError(
                "ENG-041",
                f"{relation.name!r} is known with another source, key, cache or options.",
                "Declare it as it stands, or choose another name.",
            )
        standing = registry.declarations[relation.name.lower()]
        _refuse_other_source(relation.name, standing, source)
        news = standing
        if source.name is not None and standing.source.name is not None:
            news = replace(news, source=source)
        told = (relation.rate, relation.distinct, relation.size)
        if told != (None, {}, None):
            rate, distinct, size = told
            news = replace(news, relation=replace(known, rate=rate, distinct=distinct, size=size))
        if news != standing:
            registry.publish(Draft(declarations=[news]))


def refuse_timeless(relation: Relation, catalog: Catalog) -> None:
    """Refuse an event time that holds no times; one that a home knows already may stay."""
    column = relation.event_time
    known = catalog.get(relation.name.lower())
    if column is None or (known is not None and known.event_time == column):
        return
    times = [each.name for each in relation.schema if pa.types.is_timestamp(each.type)]
    if column in times:
        return
    remedy = (
        "Make it a TIMESTAMP or TIMESTAMPTZ, in the list of columns or in the DataFrame; or leave "
        "event_time out."
    )
    raise PenstockError(
        "CAT-017",
        f"The event time {column!r} of {relation.name!r} is {relation.schema.field(column).type}, "
        "which is no point in time.",
        f"Choose one of: {', '.join(times)}." if times else remedy,
        option="event_time",
    )


def _refuse_other_source(name: str, known: Declaration, source: Source) -> None:
    """Refuse another source for a known relation; two DataFrames cannot be told apart."""
    here, there = source.name, known.source.name
    if here is None or there is None or settled_source(there) == here:
        return
    raise PenstockError(
        "ENG-041",
        f"{name!r} is known with the source {there!r}, and this declaration says {here!r}.",
        "Declare it as it stands; correct it by CREATE OR REPLACE until the first run; or choose "
        "another name.",
    )


def reopen(spark: SparkSession, item: Declaration) -> DataFrame:
    """Open the source of a relation that this home knows already."""
    if item.source.name is None:
        raise PenstockError(
            "ENG-012",
            f"The source of {item.relation.name!r} is a DataFrame that only you can make.",
            f"Call engine.stream({item.relation.name!r}, …) before start.",
        )
    frame = open_source(spark, item.source.name, item.source.options, item.relation.schema)
    if not item.relation.positioned:
        return frame
    placed = with_position(frame)
    assert placed is not None, "files tell where their rows stand"
    return placed


def _reading(relation: Relation) -> tuple[object, ...]:
    """Say how a relation's rows are read: by which time, as which changes."""
    changes = relation.change_column, relation.key, relation.sequence, relation.positioned
    # Without an event time nothing is late.
    return *changes, relation.event_time, relation.event_time and relation.lateness_us


def _words(relation: Relation) -> str:
    """Say the same in words."""
    said = []
    if relation.change_column is not None:
        said.append(f"changes {relation.change_column}")
    if relation.key:
        order = ", ".join(relation.sequence) or ("files" if relation.positioned else "arrival")
        said.append(f"key {', '.join(relation.key)}, order by {order}")
    if relation.event_time is not None:
        late = f"{relation.lateness_us / 1e6:g} seconds"
        said.append(f"event time {relation.event_time}, lateness {late}")
    return ", ".join(said) or "no event time"


def _refuse_late_relation(relation: Relation, is_running: bool) -> None:
    """Refuse a new source where Spark could not take it up."""
    if is_running:
        raise PenstockError(
            "ENG-008",
            f"{relation.name!r} cannot be added while the engine runs: Spark fixes the sources of "
            "a query at its start.",
            "Stop the engine, declare it, and start again: everything goes on where it was.",
        )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
