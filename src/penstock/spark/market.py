"""The made-up market as a Spark source, `penstock_market`, for streams and for batch reads.

Options, all optional but `stream`:

- `stream`: `trades` or `quotes`
- `seed`, `symbols`, `rows_per_second`, `start`: what `penstock.spark.market_data` takes;
  `start` is an ISO timestamp, UTC if it names no zone
- `rows`: where the stream ends; without it, it never does
- `rows_per_batch`: at most so many rows per micro-batch
- `partitions`: into how many tasks a micro-batch is split; the rows are the same
- `pace`: `true` lets rows appear as the wall clock moves, `rows_per_second` of them; a restarted
  query goes on where its checkpoint says, as if no time had passed. Otherwise rows are there at
  once, as fast as `rows_per_batch` admits them.

Under an available-now trigger everything up to `rows` is there, paced or not; of an endless
stream, one batch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

from penstock.spark import market_data
from penstock.vocabulary.errors import PenstockError

FORMAT = "penstock_market"
ROWS_PER_BATCH = 100_000
CHUNK_ROWS = 65_536
"""Rows per Arrow batch: fits the caches, and no batch grows with the micro-batch."""

OPTIONS = frozenset(
    [
        "stream",
        "seed",
        "symbols",
        "rows_per_second",
        "start",
        "rows",
        "rows_per_batch",
        "partitions",
        "pace",
    ]
)
_DDL = {
    "trades": "ts timestamp, symbol string, price double, size bigint, venue string, "
    "trade_id bigint",
    "quotes": "ts timestamp, symbol string, bid double, ask double, bid_size bigint, "
    "ask_size bigint, quote_id bigint",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketOptions:
    """The options of one market source, checked.

    >>> MarketOptions.parse({"stream": "trades", "rows": "500"}).rows
    500
    """

    stream: str
    seed: int = market_data.SEED
    symbols: int = market_data.SYMBOLS_DEFAULT
    rows_per_second: int = market_data.RATE_ROWS_PER_S
    start_us: int = market_data.START_US
    rows: int | None = None
    rows_per_batch: int = ROWS_PER_BATCH
    partitions: int = 1
    pace: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> MarketOptions:
        """Read options as Spark hands them over: names in any case, values as text."""
        given = {name.lower(): str(value).strip() for name, value in options.items()}
        for name in given.keys() - OPTIONS:
            raise _refusal(f"{name!r} is not an option", f"Choose from: {_listed(OPTIONS)}.")
        stream = given.get("stream", "")
        if stream not in market_data.STREAMS:
            raise _refusal(
                f"it has no stream {stream!r}", f"Choose from: {_listed(market_data.STREAMS)}."
            )
        pace = given.get("pace", "false").lower()
        if pace not in {"true", "false"}:
            raise _refusal(f"pace = {pace!r} is not a choice", "Say true or false.")
        return cls(
            stream=stream,
            seed=_whole(given, "seed", market_data.SEED, 0, 2**31 - 1),
            symbols=_whole(
                given, "symbols", market_data.SYMBOLS_DEFAULT, 1, market_data.SYMBOLS_MAX
            ),
            rows_per_second=_whole(
                given, "rows_per_second", market_data.RATE_ROWS_PER_S, 1, 1_000_000_000
            ),
            start_us=_start_us(given["start"]) if "start" in given else market_data.START_US,
            rows=_whole(given, "rows", 0, 0, 10**12) if "rows" in given else None,
            rows_per_batch=_whole(given, "rows_per_batch", ROWS_PER_BATCH, 1, 10**9),
            partitions=_whole(given, "partitions", 1, 1, 1_000),
            pace=pace == "true",
        )

    def make(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Make the rows of offsets `first` up to, not including, `last`, chunk by chunk."""
        _, maker = market_data.STREAMS[self.stream]
        for low in range(first, last, CHUNK_ROWS):
            high = min(low + CHUNK_ROWS, last)
            yield maker(low, high, self.seed, self.symbols, self.rows_per_second, self.start_us)

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


class MarketStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the market as a stream; an offset is the number of rows before it."""

    def __init__(self, options: MarketOptions) -> None:
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
            self._anchor = (now_s, first)
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


class MarketReader(DataSourceReader):
    """Reads the market, up to `rows`, as a batch: what a stream will have given in the end."""

    def __init__(self, options: MarketOptions) -> None:
        self._options = options

    def partitions(self) -> list[OffsetRange]:
        """Split all rows into tasks."""
        rows = self._options.rows
        if rows is None:
            raise _refusal("a batch read of an endless stream would never end", "Set rows.")
        return self._options.split(0, rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make one task's rows."""
        assert isinstance(partition, OffsetRange)
        return self._options.make(partition.first, partition.last)


class MarketSource(DataSource):
    """The format `penstock_market`; register it with `spark.dataSource.register`."""

    @classmethod
    def name(cls) -> str:
        """Name the format."""
        return FORMAT

    def schema(self) -> str:
        """Give the columns of the chosen stream."""
        return _DDL[self._parsed().stream]

    def reader(self, schema: StructType) -> MarketReader:
        """Read as a batch."""
        return MarketReader(self._parsed())

    def streamReader(self, schema: StructType) -> MarketStreamReader:
        """Read as a stream."""
        return MarketStreamReader(self._parsed())

    def _parsed(self) -> MarketOptions:
        return MarketOptions.parse(self.options)


def _refusal(fact: str, remedy: str) -> PenstockError:
    return PenstockError("SRC-010", f"The market source cannot be opened: {fact}.", remedy)


def _listed(names: object) -> str:
    assert isinstance(names, Mapping | frozenset)
    return ", ".join(sorted(names))


def _whole(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = given.get(name, str(default)).replace("_", "")
    if not text.isdecimal() or not low <= int(text) <= high:
        raise _refusal(
            f"{name} = {given[name]!r} is out of bounds",
            f"Give a whole number from {low:,} to {high:,}.",
        )
    return int(text)


def _start_us(text: str) -> int:
    try:
        start = datetime.fromisoformat(text)
    except ValueError as error:
        raise _refusal(
            f"start = {text!r} is not a timestamp", "Write it like 2026-01-02T14:30:00."
        ) from error
    aware = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
    elapsed = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
