"""Options of sources of files: those that Spark does not know and would pass over are refused."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from pyspark.sql import SparkSession

from penstock.vocabulary.errors import PenstockError

_CLASSES = {
    "csv": "catalyst.csv.CSVOptions",
    "json": "catalyst.json.JSONOptions",
    "orc": "execution.datasources.orc.OrcOptions",
    "parquet": "execution.datasources.parquet.ParquetOptions",
    "text": "execution.datasources.text.TextOptions",
}
_OF_STREAMS = (
    "maxFilesPerTrigger", "maxBytesPerTrigger", "maxFileAge", "maxCachedFiles", "latestFirst",
    "fileNameOnly", "discardCachedInputRatio", "cleanSource", "sourceArchiveDir",
    "path", "pathGlobFilter", "recursiveFileLookup", "basePath", "modifiedBefore", "modifiedAfter",
    "ignoreCorruptFiles", "ignoreMissingFiles", "mergeSchema", "timeZone", "enforceSchema",
    "columnNameOfCorruptRecord",
)  # fmt: skip
"""Spark keeps no list of these: FileStreamOptions, PartitioningAwareFileIndex, PathFilters."""
OWN = ("event_time", "lateness", "changes", "key", "sequence")
"""Options of a stream or table that no reader is told; one that is misspelt comes here."""


def refuse_unknown_options(spark: SparkSession, source: str, options: Iterable[str]) -> None:
    """Refuse options that Spark's reader of such files does not have.

    Raises
    ------
    PenstockError
        SRC-015, with the option that was probably meant.
    """
    if not options:
        return
    jvm: Any = spark._jvm
    known = {name.lower(): name for name in _OF_STREAMS}
    listed = attrgetter(_CLASSES[source])(jvm.org.apache.spark.sql).getAllOptions().mkString(",")
    known |= {name.lower(): name for name in str(listed).split(",")}
    for option in options:
        if option.lower() not in known:
            close = get_close_matches(option.lower(), [*known, *OWN], n=1)
            meant = f"Did you mean {known.get(close[0], close[0])}?" if close else "Leave it out."
            raise PenstockError(
                "SRC-015",
                f"Files of {source.upper()} have no option {option!r}.",
                f"{meant} Spark's guide to {source} files lists all of them.",
                option=option.lower(),
            )
