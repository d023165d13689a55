"""Relations of an engine: streams and tables with their Spark sources, and tables looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import LATENESS_US, Relation
from penstock.engine.declarations import (
    Declared,
    declare_relation,
    refuse_timeless,
    reopen,
    undeclare_relation,
)
from penstock.engine.desk import Desk
from penstock.language.column_lists import Columns, columns_of
from penstock.language.name_resolution import exact
from penstock.language.relations import named_columns
from penstock.registry.records import Source
from penstock.spark.columns import arrow_schema
from penstock.spark.sessions import local_session, prepared
from penstock.spark.source_texts import SourceText, reads_files, settled_source
from penstock.spark.sources import open_source, with_position
from penstock.spark.types import DataFrame, SparkSession
from penstock.vocabulary.durations import Duration, microseconds
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.names import check_names


class Relations:
    """The relations of a desk, with a Spark session that opens the sources of what is declared."""

    def __init__(self, desk: Desk, spark: SparkSession | None = None) -> None:
        self._desk, self._registry = desk, desk.registry
        self._given = spark
        self._session: SparkSession | None = None
        self._frames: dict[str, DataFrame] = {}

    @property
    def spark(self) -> SparkSession:
        """The session that the engine runs on."""
        if self._session is None:
            # A session of the engine's own: two engines in one process do not share settings.
            self._session = prepared(self._given or local_session())
        return self._session

    def declare(
        self,
        kind: str,
        name: str,
        source: DataFrame | str,
        event_time: str | None = None,
        changes: str | None = None,
        options: dict[str, Any] | None = None,
        columns: Columns | None = None,
        lateness: Duration | None = None,
        declared: Declared | None = None,
        key: str | Sequence[str] | None = None,
        sequence: str | Sequence[str] | None = None,
        replaces: bool = False,
    ) -> Relation:
        """Declare a relation, or bring the source of one that this home knows already."""
        lateness_us = LATENESS_US if lateness is None else _lateness_us(lateness)
        texts = {key: str(value) for key, value in (options or {}).items()}
        listed = None if columns is None else columns_of(columns)
        check_names(name, listed.names if listed is not None else ())

        def of(schema: pa.Schema) -> Relation:
            relation = Relation(
                name=name,
                kind=kind,
                schema=schema,
                event_time=event_time and (exact(event_time, schema.names) or event_time),
                change_column=changes and (exact(changes, schema.names) or changes),
                lateness_us=lateness_us,
                key=named_columns(key, schema),
                sequence=named_columns(sequence, schema),
            )
            return (declared or Declared()).told(relation)

        if isinstance(source, str):
            source = settled_source(source)
            if self._session is None:
                self._check_early(source, texts, listed, of)
            frame = open_source(self.spark, source, texts, listed)
            where = Source(name=source, options=texts)
        else:
            frame, where = source, Source()
        _refuse_still(name, frame)
        relation = of(arrow_schema(frame))
        if (
            relation.key
            and not relation.sequence
            and (where.name is None or reads_files(where.name))
        ):
            placed = with_position(frame)
            relation = replace(relation, positioned=placed is not None)
            frame = placed or frame
        self._register(relation, where, replaces)
        self._frames[name.lower()] = frame
        return relation

    def _check_early(
        self,
        source: str,
        options: dict[str, str],
        listed: pa.Schema | None,
        of: Callable[[pa.Schema], Relation],
    ) -> None:
        """Refuse what shows without Spark, which takes seconds to start."""
        text = SourceText.of(source, options)
        text.check(listed is not None)
        columns = text.columns(listed)
        if columns is not None:
            refuse_timeless(of(columns), self._registry.catalog)

    def declare_asked(self, relation: Relation, replaces: bool = False) -> Relation:
        """Declare a relation whose rows are asked for where they are: Spark knows nothing of it."""
        self._register(relation, Source(), replaces)
        return relation

    def _register(self, relation: Relation, source: Source, replaces: bool) -> None:
        is_running = self._desk.run.running
        declare_relation(
            self._registry, self._desk.home, relation, source,
            replaces=replaces, is_running=is_running,
        )  # fmt: skip

    def undeclare(self, name: str) -> None:
        """Take a declaration back that nobody uses yet."""
        undeclare_relation(self._registry, self._desk.home.path, name)
        self._frames.pop(name.lower(), None)

    def frames(self) -> dict[str, DataFrame]:
        """Give the frame of every stream and table; open those that this run has not brought."""
        found = {}
        for name, item in self._registry.declarations.items():
            if not item.relation.flows:
                continue
            if name not in self._frames:
                self._frames[name] = reopen(self.spark, item)
            found[item.relation.name] = self._frames[name]
        if not found:
            raise PenstockError("ENG-010", "There is no stream.", "Declare one with `stream`.")
        return found


def _refuse_still(name: str, frame: object) -> None:
    """Refuse what is no streaming DataFrame of Spark: frames of others, and those that end."""
    if getattr(frame, "isStreaming", False):
        return
    fact = f"The frame for {name!r} is not a streaming frame."
    remedy = "Read it with spark.readStream, or use penstock.sources.replay."
    if not hasattr(frame, "isStreaming"):
        fact = f"The source of {name!r} is a {type(frame).__name__}."
        remedy = (
            "Give a streaming DataFrame of Spark, or a text such as 'csv:/data/trades'; a table of "
            "Arrow or pandas becomes a stream by penstock.sources.replay."
        )
    raise PenstockError("SRC-013", fact, remedy)


def _lateness_us(lateness: Duration) -> int:
    try:
        return microseconds(lateness)
    except PenstockError as error:
        error.option = "lateness"
        raise
