"""Made-up worlds as a Spark source, `penstock_generated`, for streams and for batch reads.

What there is to read, and with which options, says `penstock.worlds.catalogue`. Under an
available-now trigger everything up to `rows` is there, paced or not; of an endless stream, one
batch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
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

from penstock.worlds.catalogue import GeneratedOptions, refusal
from penstock.worlds.market import TIMESTAMP

FORMAT = "penstock_generated"


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
        return _ranges(self._options, start["offset"], end["offset"])

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
            raise refusal(self._options.world, fact, "Set rows.")
        return _ranges(self._options, 0, rows)

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


def _ranges(options: GeneratedOptions, first: int, last: int) -> list[OffsetRange]:
    return [OffsetRange(low, high) for low, high in options.split(first, last)]


_DDL = {
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    TIMESTAMP: "timestamp",
}
