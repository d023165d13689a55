"""Texts of sources: what they say, and what is wrong with them, as far as that shows without Spark.

Spark takes seconds to start, and a path that is misspelt need not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.spark.columns import PLAIN
from penstock.spark.paths import is_pattern, local_path
from penstock.spark.source_options import refuse_unknown_options
from penstock.vocabulary.broken import MARK
from penstock.vocabulary.errors import PenstockError, resolved_text
from penstock.worlds.catalogue import WORLDS, GeneratedOptions

CORRUPT = "_corrupt"
"""The column of CSV and JSON sources that holds a line which does not parse, else NULL."""

FILES = frozenset({"parquet", "orc", "csv", "json", "text"})
LINES = frozenset({"csv", "json"})
_HARMLESS = {"maxfilespertrigger", "maxbytespertrigger", "maxfileage", "latestfirst"}
"""Options that do not decide which files tell their columns."""
_LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """What a source is called: a format, a path behind it, and options as texts.

    >>> SourceText.of("CSV:/in", {"header": True})
    SourceText(format='csv', path='/in', options={'header': 'true'})
    """

    format: str
    path: str
    options: dict[str, str]

    @classmethod
    def of(cls, source: str, options: Mapping[str, object] | None = None) -> SourceText:
        """Read a source, with variables of the environment in their places."""
        text = resolved_text(source.strip(), f"The source {source!r}")
        name, _, path = text.partition(":")
        if name[:1] in {"/", ".", "~"} or (path.startswith("//") and name.lower() not in FILES):
            raise PenstockError(
                "SRC-001",
                f"{source.strip()!r} does not say what its files are.",
                "Write it before the path: 'csv:/data/trades', 'parquet:s3://bucket/trades'.",
            )
        name = name.strip().lower()
        given = {
            key: resolved_text(_text(value), f"The option {key} of the source {source!r}")
            for key, value in (options or {}).items()
        }
        if name in FILES and not path:
            path = given.pop("path", "")
        return cls(format=name, path=path, options=given)

    @property
    def generated(self) -> dict[str, str]:
        """The options of a made-up world."""
        return {**self.options, "world": self.format, "stream": self.path}

    def check(self, is_declared: bool) -> None:
        """Refuse what cannot be opened; `is_declared` says that columns are.

        It raises SRC-001 to SRC-004, SRC-010 and SRC-015.
        """
        if self.format in WORLDS:
            GeneratedOptions.parse(self.generated)
        elif self.format in FILES:
            self._check_files(is_declared)
        elif not self.format:
            raise PenstockError(
                "SRC-001", "The source has no name.", "Write for example 'parquet:/data/trades'."
            )
        else:
            refuse_unknown_options(self.format, self.options)

    def _check_files(self, is_declared: bool) -> None:
        home = self.directory()
        refuse_unknown_options(self.format, self.options)
        if is_declared or self.format == "text":
            return
        if self.format in LINES:
            raise PenstockError(
                "SRC-004",
                f"The {self.format.upper()} files in {self.path} do not tell the types of their "
                "columns.",
                "Declare the columns of the stream.",
            )
        if home is not None and next(data_files(home), None) is None:
            raise PenstockError(
                "SRC-003",
                f"The directory {self.path} has no files yet, so the columns are not known.",
                "Declare the columns of the stream, or put the first file there.",
            )

    def directory(self) -> Path | None:
        """Check a directory on this machine; None for remote paths and patterns: Spark does."""
        if not self.path:
            raise PenstockError(
                "SRC-002",
                f"The source {self.format!r} names no directory.",
                f"Write '{self.format}:/directory'.",
            )
        home = local_path(self.path)
        if home is None or (not home.exists() and is_pattern(self.path)):
            return None
        if not home.exists():
            beside = [each.name for each in home.parent.glob("*/")] if home.parent.is_dir() else []
            close = get_close_matches(home.name, beside, n=1)
            remedy = f"Did you mean {home.parent / close[0]}?" if close else "Correct the path."
            raise PenstockError(
                "SRC-002", f"There is no directory {home}.", f"{remedy} Or create it."
            )
        if not home.is_dir():
            raise PenstockError(
                "SRC-002", f"{home} is a file; a stream reads a directory.", f"Name {home.parent}."
            )
        return home

    def columns(self, declared: pa.Schema | None) -> pa.Schema | None:
        """Give the columns that Spark will find; None where only Spark can tell."""
        if self.format in WORLDS:
            return GeneratedOptions.parse(self.generated).schema
        if self.format not in FILES:
            return None
        found = self._stored() if declared is None else _plain(declared, "UTC")
        if found is None or self.format not in LINES:
            return found
        asked = {name.lower(): value.upper() for name, value in self.options.items()}
        if asked.get("mode", "PERMISSIVE") != "PERMISSIVE" or CORRUPT in found.names:
            return found
        return found.append(pa.field(CORRUPT, pa.string(), metadata=MARK))

    def _stored(self) -> pa.Schema | None:
        """Give the columns of Parquet files that lie side by side: those of the first, as Spark."""
        is_plain = all(name.lower() in _HARMLESS for name in self.options)
        home = self.directory() if self.format == "parquet" and is_plain else None
        found = [] if home is None else [path for path in home.iterdir() if _is_data(path)]
        if not found or any(path.is_dir() for path in found):
            return None
        try:
            return _plain(pq.read_schema(min(found)))
        except (pa.ArrowException, OSError):
            return None


def _plain(schema: pa.Schema, zone: str | None = None) -> pa.Schema | None:
    """Give columns as Spark hands them on; None if it might hand on others.

    `zone` is that of timestamps without one: declared ones are moments to Spark.
    """
    types = [_plain_type(field.type, zone) for field in schema]
    if any(each not in PLAIN and not pa.types.is_decimal128(each) for each in types):
        return None
    return pa.schema(list(zip(schema.names, types, strict=True)))


def _plain_type(type_: pa.DataType, zone: str | None) -> pa.DataType:
    if pa.types.is_timestamp(type_) and type_.unit != "ns":
        return pa.timestamp("us", zone if type_.tz is None else "UTC")
    return _LARGE.get(type_, type_)


def data_files(home: Path) -> Iterator[Path]:
    """Give files as Spark does: names that begin with `_` or `.` are not data."""
    return (path for path in home.rglob("*") if path.is_file() and _is_data(path))


def _is_data(path: Path) -> bool:
    return path.name[0] not in "_."


def reads_files(source: str) -> bool:
    """Say whether a source, by its text, is a directory of files."""
    return source.partition(":")[0].strip().lower() in FILES


def settled_source(source: str) -> str:
    """Give the text of a source that means the same wherever a later process stands.

    >>> settled_source("market:trades"), settled_source("csv:/data/[1]")
    ('market:trades', 'csv:/data/[1]')
    """
    name, _, path = source.strip().partition(":")
    found = local_path(path) if reads_files(source) and path else None
    if found is None or (str(found) == path and found.is_absolute()):
        return source
    return f"{name}:{found.absolute()}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
