"""Made-up worlds as a Spark source, `penstock_generated`, for streams and for batch reads.

A source is named `world:stream`: `market:trades`, `market:quotes`, `marketplace:supply`,
`marketplace:demand`, `coast_guard:units`, `coast_guard:targets`, `factory:alarms`, `factory:jobs`,
`factory:readings`. Options, none needed:

- `seed`: another seed, another world
- `rows_per_second`: how fast time passes
- `rows`: where the stream ends; without it, it never does
- `rows_per_batch`: at most so many rows per micro-batch
- `partitions`: into how many tasks a micro-batch is split; the rows are the same
- `pace`: `true` lets rows appear as the wall clock moves, `rows_per_second` of them; a restarted
  query goes on where its checkpoint says, as if no time had passed. Otherwise rows are there at
  once, as fast as `rows_per_batch` admits them. The first load of a table is never paced.
- of the market and the factory: `start`, an ISO timestamp, UTC if it names no zone
- of the market: `symbols`; of the factory: `lines` and `machines`, how many of each there are
- of tables: `stock`, how many rows the table holds; of the marketplace: `products`

Under an available-now trigger everything up to `rows` is there, paced or not; of an endless
stream, one batch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.spark import coast_data, factory_data, market_data, marketplace_data
from penstock.spark.changing import STOCK_MAX
from penstock.vocabulary.errors import PenstockError

FORMAT = "penstock_generated"
ROWS_PER_BATCH = 100_000
CHUNK_ROWS = 65_536
"""Rows per Arrow batch: fits the caches, and no batch grows with the micro-batch."""

Make = Callable[[int, int, "GeneratedOptions"], pa.RecordBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What can be read: streams by name, with schema and maker, and the world's own options.

    `own` gives each option's default, least and largest value, `rates` how many rows per second a
    stream has that nobody asks otherwise.
    """

    streams: Mapping[str, tuple[pa.Schema, Make]]
    own: Mapping[str, tuple[int, int, int]]
    rates: Mapping[str, int] = field(default_factory=dict)


def _maker(make: Callable[..., pa.RecordBatch], *own: str) -> Make:
    """Let a maker read its world's options off the source's."""
    return lambda first, last, options: make(
        first, last, options.seed, *(options.own[name] for name in own)
    )


def _timed(make: Callable[..., pa.RecordBatch], *own: str) -> Make:
    return lambda first, last, options: make(
        first,
        last,
        options.seed,
        options.rows_per_second,
        start_us=options.own["start"],
        **{name: options.own[name] for name in own},
    )


def _trader(make: Callable[..., pa.RecordBatch]) -> Make:
    return lambda first, last, options: make(
        first,
        last,
        options.seed,
        options.own["symbols"],
        options.rows_per_second,
        options.own["start"],
    )


WORLDS = {
    "market": World(
        streams={
            name: (schema, _trader(make)) for name, (schema, make) in market_data.STREAMS.items()
        },
        own={
            "symbols": (market_data.SYMBOLS_DEFAULT, 1, market_data.SYMBOLS_MAX),
            "start": (market_data.START_US, 0, 2**62),
        },
    ),
    "marketplace": World(
        streams={
            name: (marketplace_data.SCHEMA, _maker(make, "stock", "products"))
            for name, make in marketplace_data.TABLES.items()
        },
        own={
            "stock": (marketplace_data.STOCK, 1, STOCK_MAX),
            "products": (marketplace_data.PRODUCTS, 1, marketplace_data.PRODUCTS_MAX),
        },
    ),
    "coast_guard": World(
        streams={
            name: (schema, _maker(make, "stock"))
            for name, (schema, make) in coast_data.TABLES.items()
        },
        own={"stock": (coast_data.STOCK, 1, STOCK_MAX)},
    ),
    "factory": World(
        streams={
            name: (schema, _timed(make, *factory_data.KEYS[name]))
            for name, (schema, make) in factory_data.STREAMS.items()
        },
        own={
            "lines": (factory_data.LINES, 1, factory_data.KEYS_MAX),
            "machines": (factory_data.MACHINES, 1, factory_data.KEYS_MAX),
            "start": (market_data.START_US, 0, 2**62),
        },
        rates=factory_data.RATES,
    ),
}
"""All worlds, by name."""

COMMON = frozenset(
    {"world", "stream", "seed", "rows_per_second", "rows", "rows_per_batch", "partitions", "pace"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedOptions:
    """The options of one source, checked; `own` are those of its world.

    >>> GeneratedOptions.parse({"world": "market", "stream": "trades", "rows": "500"}).rows
    500
    """

    world: str
    stream: str
    seed: int = market_data.SEED
    rows_per_second: int = market_data.RATE_ROWS_PER_S
    rows: int | None = None
    rows_per_batch: int = ROWS_PER_BATCH
    partitions: int = 1
    pace: bool = False
    own: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> GeneratedOptions:
        """Read options as Spark hands them over: names in any case, values as text."""
        given = {name.lower(): str(value).strip() for name, value in options.items()}
        name = given.get("world", "")
        if name not in WORLDS:
            raise _refusal(name, f"there is no world {name!r}", f"Choose from: {_listed(WORLDS)}.")
        world, stream = WORLDS[name], given.get("stream", "")
        known = COMMON | world.own.keys()
        for option in given.keys() - known:
            remedy = f"Choose from: {_listed(known - {'world', 'stream'})}."
            raise _refusal(name, f"{option!r} is not an option", remedy, option)
        if stream not in world.streams:
            remedy = f"Choose from: {_listed(world.streams)}."
            raise _refusal(name, f"it has no stream {stream!r}", remedy)
        pace = given.get("pace", "false").lower()
        if pace not in {"true", "false"}:
            raise _refusal(name, f"pace = {pace!r} is not a choice", "Say true or false.", "pace")
        if "start" in given:
            given["start"] = str(_start_us(name, given["start"]))
        rate = world.rates.get(stream, market_data.RATE_ROWS_PER_S)
        return cls(
            world=name,
            stream=stream,
            seed=_whole(given, "seed", market_data.SEED, 0, 2**31 - 1),
            rows_per_second=_whole(given, "rows_per_second", rate, 1, 1_000_000_000),
            rows=_whole(given, "rows", 0, 0, 10**12) if "rows" in given else None,
            rows_per_batch=_whole(given, "rows_per_batch", ROWS_PER_BATCH, 1, 10**9),
            partitions=_whole(given, "partitions", 1, 1, 1_000),
            pace=pace == "true",
            own={option: _whole(given, option, *limits) for option, limits in world.own.items()},
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream."""
        return WORLDS[self.world].streams[self.stream][0]

    @property
    def loaded(self) -> int:
        """How many rows are there from the beginning: a table's first load."""
        return self.own.get("stock", 0)

    def make(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Make the rows of offsets `first` up to, not including, `last`, chunk by chunk."""
        _, maker = WORLDS[self.world].streams[self.stream]
        for low in range(first, last, CHUNK_ROWS):
            yield maker(low, min(low + CHUNK_ROWS, last), self)

    def split(self, first: int, last: int) -> list[OffsetRange]:
        """Cut a range of offsets into at most `partitions` parts of even size, none empty."""
        rows = last - first
        parts = min(self.partitions, rows)
        cuts = [first + rows * part // max(parts, 1) for part in range(parts + 1)]
        return [OffsetRange(low, high) for low, high in pairwise(cuts)]


class OffsetRange(InputPartition):
    """The rows that one task makes: offsets `first` up to, not including, `last`."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last


class GeneratedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream; an offset is the number of rows before it."""

    def __init__(self, options: GeneratedOptions) -> None:
        self._options = options
        self._available_now = False
        self._target: int | None = None
        self._anchor: tuple[float, int] | None = None

    def initialOffset(self) -> dict[str, int]:
        """Start at the first row."""
        return {"offset": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """Admit `rows_per_batch` rows."""
        return ReadMaxRows(self._options.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix where this run ends, as soon as it is known where it begins."""
        self._available_now = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Say up to where rows are there, within the limit; never before `start`."""
        options, first = self._options, start["offset"]
        endless = first + options.rows_per_batch
        if self._available_now:
            if self._target is None:
                self._target = endless if options.rows is None else options.rows
            last = self._target
        elif options.pace:
            last = self._paced(first)
        else:
            last = endless if options.rows is None else options.rows
        if options.rows is not None:
            last = min(last, options.rows)
        if isinstance(limit, ReadMaxRows):
            last = min(last, first + limit.max_rows)
        elif not isinstance(limit, ReadAllAvailable):
            last = min(last, endless)
        return {"offset": max(first, last)}

    def _paced(self, first: int) -> int:
        """Count the rows that the wall clock has let through since this reader was born."""
        now_s = time.monotonic()
        if self._anchor is None:
            self._anchor = (now_s, max(first, self._options.loaded))
        since_s, base = self._anchor
        return base + int((now_s - since_s) * self._options.rows_per_second)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[OffsetRange]:
        """Split a micro-batch into tasks."""
        return self._options.split(start["offset"], end["offset"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make one task's rows."""
        assert isinstance(partition, OffsetRange)
        return self._options.make(partition.first, partition.last)

    def stop(self) -> None:
        """Go quietly.

        Spark runs this reader in a process of its own, hangs up when the query stops, and would
        then print the process's surprise. Real errors travel over the wire, not over stderr.
        """
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # open until the process ends


class GeneratedReader(DataSourceReader):
    """Reads a stream, up to `rows`, as a batch: what it will have given in the end."""

    def __init__(self, options: GeneratedOptions) -> None:
        self._options = options

    def partitions(self) -> list[OffsetRange]:
        """Split all rows into tasks."""
        rows = self._options.rows
        if rows is None:
            fact = "a batch read of an endless stream would never end"
            raise _refusal(self._options.world, fact, "Set rows.")
        return self._options.split(0, rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make one task's rows."""
        assert isinstance(partition, OffsetRange)
        return self._options.make(partition.first, partition.last)


class GeneratedSource(DataSource):
    """The format `penstock_generated`; register it with `spark.dataSource.register`."""

    @classmethod
    def name(cls) -> str:
        """Name the format."""
        return FORMAT

    def schema(self) -> str:
        """Give the columns of the chosen stream."""
        return ", ".join(f"`{f.name}` {_DDL[f.type]}" for f in self._parsed().schema)

    def reader(self, schema: StructType) -> GeneratedReader:
        """Read as a batch."""
        return GeneratedReader(self._parsed())

    def streamReader(self, schema: StructType) -> GeneratedStreamReader:
        """Read as a stream."""
        return GeneratedStreamReader(self._parsed())

    def _parsed(self) -> GeneratedOptions:
        return GeneratedOptions.parse(self.options)


_DDL = {
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    market_data.TIMESTAMP: "timestamp",
}


def _refusal(world: str, fact: str, remedy: str, option: str | None = None) -> PenstockError:
    fact = f"The {world} source cannot be opened: {fact}."
    return PenstockError("SRC-010", fact, remedy, option=option)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _whole(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = given.get(name, str(default)).replace("_", "")
    if not text.isdecimal() or not low <= int(text) <= high:
        fact = f"{name} = {given[name]!r} is out of bounds"
        remedy = f"Give a whole number from {low:,} to {high:,}."
        raise _refusal(given["world"], fact, remedy, name)
    return int(text)


def _start_us(world: str, text: str) -> int:
    try:
        start = datetime.fromisoformat(text)
    except ValueError as error:
        fact = f"start = {text!r} is not a timestamp"
        raise _refusal(world, fact, "Write it like 2026-01-02T14:30:00.", "start") from error
    aware = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
    elapsed = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
