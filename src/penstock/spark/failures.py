"""Failures: what Spark says in a page of Java, said again with a code, a fact and a remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.vocabulary.errors import PenstockError

_OURS = re.compile(r"PenstockError: \[([A-Z]+-\d{3})\] ([^\n]+)")
_PYTHON = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception): [^\n]+", re.MULTILINE)
_DEPTH_MAX = 20
_FACT_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class FailureRule:
    """What to say if Spark's text matches; named groups of the pattern may appear in the fact."""

    code: str
    pattern: str
    fact: str
    remedy: str


RULES: tuple[FailureRule, ...] = (
    FailureRule(
        "SRC-001",
        r"DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (?P<what>[^\s,]+?)\.? ",
        "Spark knows no source {what!r}.",
        "Correct the name, or start Spark with the package that brings it (spark.jars).",
    ),
    FailureRule(
        "SRC-001",
        r"Failed to find data source: (?P<what>[^\s]+?)\. ",
        "Spark was started without the package for the source {what!r}.",
        "Start Spark with the package that brings it (spark.jars) and pass that session.",
    ),
    FailureRule(
        "SRC-002",
        r"PATH_NOT_FOUND\] Path does not exist: (?P<what>\S+?)\.? ",
        "There is nothing at {what}.",
        "Create the directory, or correct the path.",
    ),
    FailureRule(
        "SRC-005",
        r"(?P<what>(?:\w+://|/)\S+?) is not a Parquet file",
        "{what} is named or opened as Parquet, but is not a Parquet file.",
        "Move it out of the directory, or open the directory as what it is.",
    ),
    FailureRule(
        "SRC-006",
        r"PARQUET_COLUMN_DATA_TYPE_MISMATCH\].*?file (?P<what>\S+?)\.? "
        r".*?Parquet column \[?(?P<column>.+?)\]?\. "
        r"Expected Spark type (?P<want>.+?), actual Parquet type (?P<have>\w+)",
        "{what} holds {have} in the column {column!r}, which this stream has as {want}.",
        "Write the file again under its name, with the column's type, and start again: nothing is "
        "lost. A column whose type should be another needs a new home.",
    ),
    FailureRule(
        "SRC-006",
        r"PARQUET_TYPE_(?:ILLEGAL|NOT_SUPPORTED|NOT_RECOGNIZED)\S*\] (?P<what>[^\n]+?)\s*(?:\n|$)",
        "A Parquet file holds a type that Spark cannot read: {what}",
        "Write timestamps in microseconds and plain numbers, strings, booleans or dates.",
    ),
    FailureRule(
        "SRC-007",
        r"FAILED_READ_FILE\.FILE_NOT_EXIST\].*?(?:file|File) (?P<what>\S+?)\.? ",
        "The file {what} was seen and then was gone.",
        "Files must stay until they are read: put it back, or start from a new directory.",
    ),
    FailureRule(
        "SRC-005",
        r"(?:CANNOT_READ_FILE_FOOTER|FAILED_READ_FILE\.CANNOT_READ_FILE_FOOTER)\]"
        r".*?file:? (?P<what>\S+?)\.? ",
        "{what} is not of the format under which it is opened, or is incomplete.",
        "Move it out of the directory; move files in only when they are complete.",
    ),
    FailureRule(
        "SRC-005",
        r"MALFORMED_RECORD_IN_PARSING\S*\](?P<what>[^\n]*)",
        "A line does not parse, and mode = FAILFAST stops at the first.{what}",
        "Correct the file, or leave the mode out: bad lines then arrive in the column _corrupt.",
    ),
    FailureRule(
        "SRC-009",
        r"CSV header does not conform to the schema\.\s*"
        r"Header: (?P<what>[^\n]*)\s*Schema: (?P<want>[^\n]*)",
        "A CSV file begins with the columns {what}, but {want} were declared.",
        "Declare the columns as the file names them, in its order; blanks around names go with "
        "ignoreLeadingWhiteSpace = true.",
    ),
    FailureRule(
        "SRC-009",
        r"Number of column in CSV header is not equal to number of fields in the schema:\s*"
        r"Header length: (?P<what>\d+), schema size: (?P<want>\d+)\s*CSV file: (?P<file>[^\n]*)",
        "{file} begins with a line of {what} names, but {want} columns were declared.",
        "Declare the columns that the file has; if there is one name, say what separates them: "
        "sep = ';'.",
    ),
    FailureRule(
        "CAT-013",
        r"COLUMN_ALREADY_EXISTS\] The column `(?P<what>[^`]+)`",
        "There are two columns {what!r}, and names are matched without regard to case.",
        "Rename one of them.",
    ),
    FailureRule(
        "SRC-009",
        r"UNRESOLVED_COLUMN\S*\].*?(?:name|parameter) `(?P<what>[^`]+)`",
        "There is no column {what!r}.",
        "Correct its name, or declare it.",
    ),
    FailureRule(
        "SRC-005",
        r"FAILED_READ_FILE\S*\].*?file (?P<what>\S+?)\.? ",
        "{what} cannot be read as what it was opened as.",
        "Move it out of the directory; move files in only when they are complete.",
    ),
    FailureRule(
        "SRC-008",
        r"(?:[Dd]ata source |UNSUPPORTED_STREAMING_SOURCE\S*\] )(?P<what>\S+) does not support "
        r"(?:streamed|streaming|micro-batch)\w*",
        "The source {what!r} cannot be read as a stream.",
        "Write its rows to a directory of Parquet files and open that.",
    ),
    FailureRule(
        "SRC-008",
        r"STREAMING_OUTPUT_MODE\S*\] (?P<what>[^\n]*)",
        "Spark cannot bring a DataFrame row by row, since it aggregates: {what}",
        "Give it a watermark (withWatermark), or bring its rows and aggregate them in a view: "
        "CREATE VIEW … REFRESH WITHIN ….",
    ),
    FailureRule(
        "SRC-012",
        r"(?P<what>(?:Invalid value '[^']*' for option|Option '[^']*' must"
        r"|The value of parameter\(s\) `\w+` in `\w+` is invalid|\w+ flag can be)[^\n]*?)\s*\n",
        "Spark refuses an option: {what}.",
        "Correct the option.",
    ),
    FailureRule(
        "RUN-002",
        r"(?P<what>Python worker exited unexpectedly|PYTHON_WORKER_\w+|Python planner process)",
        "Python workers of Spark died, several times in a row ({what}).",
        "Start again: the query goes on from its checkpoint. If it happens again, give the machine"
        " more memory or take smaller batches.",
    ),
    FailureRule(
        "RUN-007",
        r"(?P<what>Python worker failed to connect back)",
        "Python processes of Spark took more than ten seconds to begin, several times ({what}).",
        "Start again when the machine has less to do: the query goes on from its checkpoint.",
    ),
    FailureRule(
        "ENG-002",
        r"PYTHON_VERSION_MISMATCH\](?P<what>[^\n]*)",
        "Spark's workers run another Python than this process.{what}",
        "Set PYSPARK_PYTHON to this Python before Spark starts.",
    ),
    FailureRule(
        "RUN-003",
        r"(?P<what>java\.lang\.OutOfMemoryError[^\n]*)",
        "Spark ran out of memory ({what}).",
        "Take smaller batches (rows_per_batch, maxFilesPerTrigger) or start Spark with more.",
    ),
    FailureRule(
        "RUN-015",
        r"(?P<what>No space left on device|Disk quota exceeded)",
        "The disk is full ({what}).",
        "Make room and start again: the batch in hand is run again, whole.",
    ),
    FailureRule(
        "RUN-016",
        r"CANNOT_LOAD_STATE_STORE.*?(?P<what>/\S+?/checkpoint/state/[^\s,;:]+)",
        "Spark cannot read the state of a shard: {what} is missing, or not as it was written.",
        "`penstock check` names all such files: restore the home from a copy.",
    ),
    FailureRule(
        "RUN-016",
        r"(?P<what>CANNOT_LOAD_STATE_STORE\S*?(?=\])|RocksDBException: Corruption[^\n]*)",
        "Spark cannot read the state of a shard ({what}).",
        "`penstock check` names files that are missing or damaged: restore the home from a copy.",
    ),
    FailureRule(
        "RUN-004",
        r"(?P<what>There are \[?\d+\]? sources in the checkpoint[^\n]*"
        r"|STREAMING_CHECKPOINT_\w+|CANNOT_LOAD_CHECKPOINT\S*"
        r"|[Cc]oncurrent update to the log[^\n]*|CONCURRENT_STREAM_LOG_UPDATE)",
        "The checkpoint does not fit this query, or another run is using it: {what}.",
        "Start with the streams that the engine had, stop the other run, or take a new directory.",
    ),
)
"""First match wins: the special before the general."""


def explain_failure(exception: BaseException) -> PenstockError:
    """Turn what Spark raised into an error with a code, a fact and a remedy.

    A PenstockError that went through Spark, raised in a micro-batch or a worker, comes back.

    >>> print(explain_failure(RuntimeError("boom")))
    [RUN-001] Spark failed: boom. Set PENSTOCK_SPARK_LOG=info to see what Spark did.
    """
    if isinstance(exception, PenstockError):
        return exception
    text = _plain("\n".join(_texts(exception)))
    if match := _OURS.search(text):
        fact, stop, remedy = match[2].partition(". ")
        return PenstockError(match[1], fact + stop.strip(), remedy)
    for rule in RULES:
        if found := re.search(rule.pattern, text + " ", re.DOTALL):
            return PenstockError(rule.code, rule.fact.format(**found.groupdict()), rule.remedy)
    return PenstockError(
        "RUN-001",
        f"Spark failed: {_headline(text)}.",
        "Set PENSTOCK_SPARK_LOG=info to see what Spark did.",
    )


def _texts(exception: BaseException) -> list[str]:
    """Collect what an exception and its causes say, the outermost first."""
    texts: list[str] = []
    seen: BaseException | None = exception
    while seen is not None and len(texts) < _DEPTH_MAX:
        texts.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return texts


def _plain(text: str) -> str:
    """Take out what only Spark's makers read, and write local files as people do."""
    text = re.sub(r"\s*SQLSTATE: \w+", " ", text)
    text = re.sub(r"Query \[id = \S+ runId = \S+\] terminated with exception: ", "", text)
    return re.sub(r"\bfile:/+", "/", text)


def _headline(text: str) -> str:
    """Cut the line that says most: Python's own last word, or the first line."""
    python = _PYTHON.findall(text)
    lines = (re.sub(r"^(\[[A-Z_.]+\]\s*)+", "", line).strip() for line in text.split("\n"))
    line = python[0] if python else next((line for line in lines if line), "it did not say why")
    return line[:_FACT_CHARACTERS_MAX].rstrip(" .:")
