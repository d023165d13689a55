"""All worlds by name, and the options of a source that reads one.

A source is named `world:stream`: `market:trades`, `market:quotes`, `marketplace:supply`,
`marketplace:demand`, `coast_guard:units`, `coast_guard:targets`, `factory:alarms`, `factory:jobs`,
`factory:readings`, `harbour:positions`; and `aircraft:positions`, which is real and comes with
the package traffic. Options, none needed:

- `seed`: another seed, another world
- `rows_per_second`: how fast time passes
- `rows`: where the stream ends; without it, it never does, or with the last row that is real
- `rows_per_batch`: at most so many rows per micro-batch
- `partitions`: into how many tasks a micro-batch is split; the rows are the same
- `pace`: `true` lets rows appear as the wall clock moves, `rows_per_second` of them; a restarted
  query goes on where its checkpoint says, as if no time had passed. Otherwise rows are there at
  once, as fast as `rows_per_batch` admits them. The first load of a table is never paced.
- of the market, the factory and the harbour: `start`, an ISO timestamp, UTC if it names no zone
- of the market: `symbols`; of the factory: `lines` and `machines`, of the harbour: `vessels`,
  how many of each there are
- of tables: `stock`, how many rows the table holds; of the marketplace: `products`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa

from penstock.vocabulary.errors import PenstockError
from penstock.worlds import aircraft, coast_guard, factory, harbour, market, marketplace
from penstock.worlds.turnover import STOCK_MAX

ROWS_PER_BATCH = 100_000
CHUNK_ROWS = 65_536
"""Rows per Arrow batch: fits the caches, and no batch grows with the micro-batch."""

Make = Callable[[int, int, "GeneratedOptions"], pa.RecordBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What can be read: streams by name, with schema and maker, and the world's own options.

    `own` gives each option's default, least and largest value, `rates` how many rows per second a
    stream has that nobody asks otherwise. `ends` counts the rows of a stream, if they are limited.
    """

    streams: Mapping[str, tuple[pa.Schema, Make]]
    own: Mapping[str, tuple[int, int, int]]
    rates: Mapping[str, int] = field(default_factory=dict)
    ends: Callable[[str], int] | None = None


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


def _kept(make: Callable[[int, int], pa.RecordBatch]) -> Make:
    return lambda first, last, _options: make(first, last)


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
        streams={name: (schema, _trader(make)) for name, (schema, make) in market.STREAMS.items()},
        own={
            "symbols": (market.SYMBOLS_DEFAULT, 1, market.SYMBOLS_MAX),
            "start": (market.START_US, 0, 2**62),
        },
    ),
    "marketplace": World(
        streams={
            name: (marketplace.SCHEMA, _maker(make, "stock", "products"))
            for name, make in marketplace.TABLES.items()
        },
        own={
            "stock": (marketplace.STOCK, 1, STOCK_MAX),
            "products": (marketplace.PRODUCTS, 1, marketplace.PRODUCTS_MAX),
        },
    ),
    "coast_guard": World(
        streams={
            name: (schema, _maker(make, "stock"))
            for name, (schema, make) in coast_guard.TABLES.items()
        },
        own={"stock": (coast_guard.STOCK, 1, STOCK_MAX)},
    ),
    "factory": World(
        streams={
            name: (schema, _timed(make, *factory.KEYS[name]))
            for name, (schema, make) in factory.STREAMS.items()
        },
        own={
            "lines": (factory.LINES, 1, factory.KEYS_MAX),
            "machines": (factory.MACHINES, 1, factory.KEYS_MAX),
            "start": (market.START_US, 0, 2**62),
        },
        rates=factory.RATES,
    ),
    "harbour": World(
        streams={
            name: (schema, _timed(make, "vessels"))
            for name, (schema, make) in harbour.STREAMS.items()
        },
        own={
            "vessels": (harbour.VESSELS, 1, harbour.VESSELS_MAX),
            "start": (market.START_US, 0, 2**62),
        },
        rates=harbour.RATES,
    ),
    "aircraft": World(
        streams={name: (schema, _kept(make)) for name, (schema, make) in aircraft.STREAMS.items()},
        own={},
        rates=aircraft.RATES,
        ends=aircraft.rows,
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
    seed: int = market.SEED
    rows_per_second: int = market.RATE_ROWS_PER_S
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
            raise refusal(name, f"there is no world {name!r}", f"Choose from: {_listed(WORLDS)}.")
        world, stream = WORLDS[name], given.get("stream", "")
        known = COMMON | world.own.keys()
        for option in given.keys() - known:
            remedy = f"Choose from: {_listed(known - {'world', 'stream'})}."
            raise refusal(name, f"{option!r} is not an option", remedy, option)
        if stream not in world.streams:
            remedy = f"Choose from: {_listed(world.streams)}."
            raise refusal(name, f"it has no stream {stream!r}", remedy)
        pace = given.get("pace", "false").lower()
        if pace not in {"true", "false"}:
            raise refusal(name, f"pace = {pace!r} is not a choice", "Say true or false.", "pace")
        if "start" in given:
            given["start"] = str(_start_us(name, given["start"]))
        rate = world.rates.get(stream, market.RATE_ROWS_PER_S)
        rows = _whole(given, "rows", 0, 0, 10**12) if "rows" in given else None
        if world.ends is not None:
            end = world.ends(stream)
            rows = end if rows is None else min(rows, end)
        return cls(
            world=name,
            stream=stream,
            seed=_whole(given, "seed", market.SEED, 0, 2**31 - 1),
            rows_per_second=_whole(given, "rows_per_second", rate, 1, 1_000_000_000),
            rows=rows,
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

    def split(self, first: int, last: int) -> list[tuple[int, int]]:
        """Cut a range of offsets into at most `partitions` parts of even size, none empty."""
        rows = last - first
        parts = min(self.partitions, rows)
        cuts = [first + rows * part // max(parts, 1) for part in range(parts + 1)]
        return list(pairwise(cuts))


def refusal(world: str, fact: str, remedy: str, option: str | None = None) -> PenstockError:
    """Say why a world's source cannot be opened."""
    fact = f"The {world} source cannot be opened: {fact}."
    return PenstockError("SRC-010", fact, remedy, option=option)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _whole(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = given.get(name, str(default)).replace("_", "")
    if not text.isdecimal() or not low <= int(text) <= high:
        fact = f"{name} = {given[name]!r} is out of bounds"
        remedy = f"Give a whole number from {low:,} to {high:,}."
        raise refusal(given["world"], fact, remedy, name)
    return int(text)


def _start_us(world: str, text: str) -> int:
    try:
        start = datetime.fromisoformat(text)
    except ValueError as error:
        fact = f"start = {text!r} is not a timestamp"
        raise refusal(world, fact, "Write it like 2026-01-02T14:30:00.", "start") from error
    aware = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
    elapsed = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
