"""Options of sources: those that Spark would pass over without a word are refused.

They are told without Spark, which takes seconds to start. A test holds the lists of files against
those that Spark gives. Of other formats only what looks misspelt is refused: their connectors come
in versions of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from penstock.vocabulary.errors import PenstockError

_LINES = ("dateFormat timestampFormat timestampNTZFormat timeFormat enableDateTimeParsingFallback "
    "multiLine lineSep samplingRatio locale mode compression encoding charset "
    "columnNameOfCorruptRecord timeZone singleVariantColumn ")  # fmt: skip
LISTED = {
    "csv": f"{_LINES} header inferSchema ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace "
    "preferDate escapeQuotes quoteAll enforceSchema quote escape comment maxColumns "
    "maxCharsPerColumn charToEscapeQuoteEscaping emptyValue inputBufferSize nullValue nanValue "
    "positiveInf negativeInf unescapedQuoteHandling extension codec sep delimiter columnPruning",
    "json": f"{_LINES} primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames "
    "allowSingleQuotes allowNumericLeadingZeros allowNonNumericNumbers "
    "allowBackslashEscapingAnyCharacter allowUnquotedControlChars dropFieldIfAllNull "
    "ignoreNullFields pretty sortKeys inferTimestamp writeNonAsciiCharacterAsCodePoint "
    "useUnsafeRow explodeEmbeddedArray",
    "orc": "mergeSchema compression orc.compress",
    "parquet": "mergeSchema parquet.compression compression datetimeRebaseMode int96RebaseMode",
    "text": "compression wholetext encoding lineSep",
}
"""What Spark's readers of such files list themselves."""
OF_FILES = (
    "maxFilesPerTrigger maxBytesPerTrigger maxFileAge maxCachedFiles latestFirst fileNameOnly "
    "discardCachedInputRatio cleanSource sourceArchiveDir path pathGlobFilter recursiveFileLookup "
    "basePath modifiedBefore modifiedAfter ignoreCorruptFiles ignoreMissingFiles mergeSchema "
    "timeZone enforceSchema columnNameOfCorruptRecord"
)
"""Spark keeps no list of these: FileStreamOptions, PartitioningAwareFileIndex, PathFilters."""
OF_FORMATS = {
    "kafka": "assign subscribe subscribePattern kafka.bootstrap.servers kafka.group.id "
    "startingOffsets startingOffsetsByTimestamp startingOffsetsByTimestampStrategy "
    "startingTimestamp endingOffsets endingOffsetsByTimestamp endingTimestamp failOnDataLoss "
    "kafkaConsumer.pollTimeoutMs fetchOffset.numRetries fetchOffset.retryIntervalMs "
    "maxOffsetsPerTrigger minOffsetsPerTrigger maxTriggerDelay minPartitions "
    "maxRecordsPerPartition groupIdPrefix includeHeaders",
    "delta": "maxFilesPerTrigger maxBytesPerTrigger ignoreDeletes ignoreChanges skipChangeCommits "
    "startingVersion startingTimestamp readChangeFeed readChangeData failOnDataLoss "
    "schemaTrackingLocation withEventTimeOrder excludeRegex path",
    "rate": "rowsPerSecond rampUpTime numPartitions",
    "rate-micro-batch": "rowsPerBatch numPartitions startTimestamp advanceMillisPerBatch",
    "socket": "host port includeTimestamp",
}
OWN = ("event_time", "lateness", "changes", "key", "sequence")
"""Options of a stream or table that no reader is told; one that is misspelt comes here."""


def refuse_unknown_options(source: str, options: Iterable[str]) -> None:
    """Refuse options that Spark's reader of such files does not have, or that look misspelt.

    Raises
    ------
    PenstockError
        SRC-015, with the option that was probably meant.
    """
    is_listed = source in LISTED
    if not is_listed and source not in OF_FORMATS:
        return
    listed = f"{LISTED[source]} {OF_FILES}" if is_listed else OF_FORMATS[source]
    known = {name.lower(): name for name in listed.split()}
    for option in options:
        close = get_close_matches(option.lower(), [*known, *OWN], n=1)
        if option.lower() in known or not (is_listed or close):
            continue
        if option.lower().startswith("kafka.") and source == "kafka":
            continue  # Kafka's own, of which there are hundreds
        meant = f"Did you mean {known.get(close[0], close[0])}?" if close else "Leave it out."
        meant = "Only a table has it." if option.lower() in OWN else meant
        reader = f"Files of {source.upper()}" if is_listed else f"Sources of {source!r}"
        guide = f"Spark's guide to {source} {'files' if is_listed else 'sources'} lists all."
        raise PenstockError(
            "SRC-015", f"{reader} have no option {option!r}.", f"{meant} {guide}",
            option=option.lower(),
        )  # fmt: skip
