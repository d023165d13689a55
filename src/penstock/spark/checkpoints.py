"""Spark's checkpoint, read without Spark: which batches it committed, and how many rows they had.

Spark writes `offsets/17` before batch 17 and `commits/17` after it, and forgets old ones. A file of
offsets has a line for each source of the engine's union: the announcements, then the relations. A
source of files keeps in `sources/<number>/` which files it has read, in steps; from step to step
the list grows, and now and then a `.compact` file repeats all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from penstock.worlds.catalogue import WORLDS

_FALSE = frozenset({"", "false"})
_LINES_UNKNOWN = ("multiline", "linesep", "encoding", "charset", "comment", "wholetext")
"""Options under which a line need not be a row."""


class UncountableError(Exception):
    """The rows that a source gave cannot be counted again; the text says why."""


def committed_batches(checkpoint: Path) -> list[int]:
    """List the batches that Spark committed and still remembers, in order."""
    return _numbers(checkpoint / "commits")


def planned_batches(checkpoint: Path) -> list[int]:
    """List the batches whose offsets Spark still remembers, in order."""
    return _numbers(checkpoint / "offsets")


def source_offsets(checkpoint: Path, batch: int) -> list[Any]:
    """Give how far each source had been read after a batch, the announcements first.

    None stands for a source that had nothing yet.
    """
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
        # The version of the format and the query's own settings come before the sources.
        return [None if line == "-" else json.loads(line) for line in lines[2:]]
    except (OSError, ValueError) as error:
        raise UncountableError(f"Spark's offsets of batch {batch} cannot be read") from error


def rows_read(
    checkpoint: Path, number: int, offset: Any, source: str | None, options: Mapping[str, str]
) -> int:
    """Count the rows that a source gave up to an offset, from the source as it is now."""
    name, _, _ = (source or "").strip().partition(":")
    name = name.strip().lower()
    if name in WORLDS and isinstance(offset, dict) and "offset" in offset:
        return int(offset["offset"])
    if name not in _COUNTED:
        raise UncountableError(f"rows of {name or 'a DataFrame'} cannot be counted again")
    asked = {key.lower(): str(value).lower() for key, value in options.items()}
    if asked.get("mode") == "dropmalformed" or any(
        asked.get(option, "") not in _FALSE for option in _LINES_UNKNOWN
    ):
        raise UncountableError("its options say that a line need not be a row")
    files = _files(checkpoint / "sources" / str(number), int(offset["logOffset"]))
    for file in files:
        if not file.exists():
            raise UncountableError(f"{file} is no longer there")
    try:
        return sum(_COUNTED[name](file, asked) for file in files)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UncountableError(f"its files cannot be read: {error}") from error


def _numbers(directory: Path) -> list[int]:
    if not directory.is_dir():
        return []
    return sorted(int(path.name) for path in directory.iterdir() if path.name.isdecimal())


def _files(directory: Path, upto: int) -> list[Path]:
    """List the files that a source had read up to a step."""
    compacts = [
        int(path.name.removesuffix(".compact"))
        for path in directory.glob("*.compact")
        if path.name.removesuffix(".compact").isdecimal()
    ]
    first = max((number for number in compacts if number <= upto), default=None)
    names = [] if first is None else [f"{first}.compact"]
    names += [str(number) for number in range(0 if first is None else first + 1, upto + 1)]
    found: dict[str, None] = {}
    for name in names:
        try:
            lines = (directory / name).read_text(encoding="utf-8").splitlines()[1:]
            found |= dict.fromkeys(json.loads(line)["path"] for line in lines)
        except (OSError, ValueError, KeyError) as error:
            raise UncountableError("Spark's list of its files is not whole") from error
    return [_local(path) for path in found]


def _local(path: str) -> Path:
    parts = urlsplit(path)
    if parts.scheme not in {"", "file"}:
        raise UncountableError("its files lie elsewhere")
    return Path(unquote(parts.path))


def _lines(file: Path) -> list[bytes]:
    if file.suffix in {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".xz", ".deflate"}:
        raise UncountableError("its files are compressed")
    return file.read_bytes().splitlines()


def _parquet_rows(file: Path, _options: Mapping[str, str]) -> int:
    return int(pq.read_metadata(file).num_rows)


def _orc_rows(file: Path, _options: Mapping[str, str]) -> int:
    return int(orc.ORCFile(str(file)).nrows)


def _csv_rows(file: Path, options: Mapping[str, str]) -> int:
    rows = sum(1 for line in _lines(file) if line.strip())
    return max(rows - 1, 0) if options.get("header", "false") == "true" else rows


def _json_rows(file: Path, _options: Mapping[str, str]) -> int:
    lines = [line for line in _lines(file) if line.strip()]
    if any(line.lstrip().startswith(b"[") for line in lines):
        raise UncountableError("its files have several rows in a line")
    return len(lines)


def _text_rows(file: Path, _options: Mapping[str, str]) -> int:
    return len(_lines(file))


_COUNTED: dict[str, Callable[[Path, Mapping[str, str]], int]] = {
    "parquet": _parquet_rows,
    "orc": _orc_rows,
    "csv": _csv_rows,
    "json": _json_rows,
    "text": _text_rows,
}
