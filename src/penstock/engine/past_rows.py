"""Past rows: what has come already, read without Spark from a home or from a script's sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from penstock.algebra.catalog import LATENESS_US, Catalog, Relation
from penstock.engine.declarations import source_options
from penstock.engine.desk import Desk
from penstock.expressions.quotation import with_dots
from penstock.kinds.arrivals import rows_of
from penstock.language.name_resolution import exact
from penstock.language.statements import CreateRelation
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError, resolved_text
from penstock.worlds.catalogue import WORLDS, GeneratedOptions

FILES = ("parquet", "csv")
"""Kinds of files that are read without Spark."""

CSV_OPTIONS = frozenset(
    {"header", "sep", "delimiter", "latestfirst", "maxfileage"}
    | {"maxbytespertrigger", "maxfilespertrigger"}
)
"""Options of CSV files that change nothing here, or whose meaning is known."""


class RecordedRows:
    """The rows that a home has recorded and still keeps, in the batches in which they came."""

    def __init__(self, desk: Desk) -> None:
        if not desk.home.facts.get("record"):
            raise PenstockError(
                "SWP-010",
                f"{desk.home.path} was not recorded, so its rows cannot be asked again.",
                "Run the script with --record in a new home, or leave --home out to read the "
                "script's sources.",
            )
        log = desk.log
        self.catalog: Catalog = desk.registry.catalog
        self._first = log.first()
        found = (log.read(number) for number in range(self._first, log.newest() + 1))
        self._batches = [each for each in found if each is not None]
        self.batches = log.newest() + 1 - self._first
        self._read: dict[str, tuple[pa.Table, Ints]] = {}

    def read(self, relation: str) -> tuple[pa.Table, Ints]:
        """Give a relation's rows in the order in which they came, and the batch of each."""
        if relation not in self._read:
            schema = self.catalog[relation.lower()].recorded
            rows, batch = rows_of(self._batches, relation, schema)
            self._read[relation] = rows, batch - self._first
        return self._read[relation]


class ScriptRows:
    """The rows that a script's sources have now: of made-up worlds, Parquet and CSV files.

    They are one batch, so none of them is late.
    """

    batches = 1

    def __init__(self, streams: Mapping[str, CreateRelation], rows_max: int) -> None:
        self._streams, self._rows_max = streams, rows_max
        self._read: dict[str, pa.Table] = {}
        self.catalog: Catalog = {
            name.lower(): self._relation(each) for name, each in streams.items()
        }
        self.cut: list[str] = []
        """Relations that have more rows than were read."""

    def read(self, relation: str) -> tuple[pa.Table, Ints]:
        """Give a relation's rows in their order, all of them in one batch."""
        if relation not in self._read:
            stream = next(
                each for name, each in self._streams.items() if name.lower() == relation.lower()
            )
            # One more says whether there are more.
            rows = _rows(stream, self._rows_max + 1)
            if rows.num_rows > self._rows_max:
                self.cut.append(relation)
            self._read[relation] = with_dots(rows.slice(0, self._rows_max))
        found = self._read[relation]
        return found, np.zeros(found.num_rows, dtype=np.int64)

    def _relation(self, stream: CreateRelation) -> Relation:
        options = dict(stream.options)
        lateness = options.get("lateness")
        event_time, schema = options.get("event_time"), _schema(stream)
        named = None if event_time is None else str(event_time)
        return Relation(
            name=stream.name,
            kind=stream.kind,
            schema=schema,
            event_time=named and (exact(named, schema.names) or named),
            lateness_us=LATENESS_US if lateness is None else microseconds(str(lateness)),
        )


def _options(stream: CreateRelation) -> dict[str, str]:
    """Give the options of a source, without what is said of its rows."""
    where = f"The source of {stream.name!r}"
    options, _ = source_options(stream)
    return {name: resolved_text(_text(value), where) for name, value in options.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _schema(stream: CreateRelation) -> pa.Schema:
    """Give the columns of a source."""
    if stream.from_.kind in WORLDS:
        return _generated(stream).schema
    if stream.columns is not None:
        return stream.columns
    if stream.from_.kind == "parquet":
        found = pq.read_schema(_files(stream)[0])
        return pa.schema([pa.field(own.name, _plain(own.type)) for own in found])
    raise _unreadable(stream, "its columns are not declared" if stream.from_.kind in FILES else "")


def _plain(type_: pa.DataType) -> pa.DataType:
    """Give the type that values of a file's column have here: times are microseconds, as Spark's.

    >>> _plain(pa.timestamp("ns")), _plain(pa.int32())
    (TimestampType(timestamp[us]), DataType(int32))
    """
    return pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else type_


def _rows(stream: CreateRelation, rows_max: int) -> pa.Table:
    """Read the first rows of a source."""
    schema = _schema(stream)
    if stream.from_.kind in WORLDS:
        world = _generated(stream)
        rows = rows_max if world.rows is None else min(world.rows, rows_max)
        return pa.Table.from_batches(world.make(0, rows), schema=schema)
    parts, count = [schema.empty_table()], 0
    for path in _files(stream):
        try:
            part = _read_file(stream, path, schema)
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise _unreadable(stream, f"{path} cannot be read: {reason}") from None
        parts.append(part.slice(0, rows_max - count))
        count += parts[-1].num_rows
        if count >= rows_max:
            break
    return pa.concat_tables(parts)


def _read_file(stream: CreateRelation, path: Path, schema: pa.Schema) -> pa.Table:
    if stream.from_.kind == "parquet":
        return pq.read_table(path, columns=schema.names).cast(schema, safe=False)
    options = {name.lower(): value for name, value in _options(stream).items()}
    if odd := sorted(set(options) - CSV_OPTIONS):
        raise _unreadable(stream, f"what {odd[0]} means is known to Spark's reader")
    header = options.get("header", "false").lower() == "true"
    sep = options.get("sep", options.get("delimiter", ",")).replace("\\t", "\t")
    parse = csv.ParseOptions(delimiter=sep)
    if header:
        with csv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        if [name.lower() for name in names] != [name.lower() for name in schema.names]:
            raise ValueError(f"its first line is {', '.join(names)}, and not the columns declared")
    read = csv.ReadOptions(column_names=schema.names, skip_rows=int(header))
    # NA and null are texts, as to Spark, and what is no number among numbers is refused.
    convert = csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True)
    return csv.read_csv(path, read_options=read, parse_options=parse, convert_options=convert)


def _generated(stream: CreateRelation) -> GeneratedOptions:
    named = {"world": stream.from_.kind, "stream": stream.from_.rest}
    return GeneratedOptions.parse({**_options(stream), **named})


def _files(stream: CreateRelation) -> list[Path]:
    """List the files of a source: one, or those of a directory in the order of their names."""
    if stream.from_.kind not in FILES:
        raise _unreadable(stream, "")
    path = Path(resolved_text(stream.from_.rest, f"The source of {stream.name!r}"))
    if path.is_file():
        return [path]
    found = sorted(
        each
        for each in (path.iterdir() if path.is_dir() else ())
        if each.is_file() and not each.name.startswith((".", "_"))
    )
    if not found:
        raise _unreadable(stream, f"there is no file at {path}")
    return found


def _unreadable(stream: CreateRelation, why: str) -> PenstockError:
    fact = f"The source {str(stream.from_)!r} of {stream.name!r} cannot be read without Spark"
    return PenstockError(
        "SWP-006",
        f"{fact}: {why}." if why else f"{fact}.",
        "Read a made-up world, or Parquet or CSV files with declared columns; or run the script "
        "with --record and sweep its home: --home DIR.",
    )
