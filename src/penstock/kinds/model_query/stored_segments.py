"""Stored segments: what the models of past rows were, kept as Parquet for whoever asks again.

A file has a row for each segment as `penstock.models.storage` writes it: key columns, `reference`,
`low` and `high`, a list of coefficients for each attribute, `sign` and `serial`. Beside it stands,
as JSON, what it was made of, and its seal. It is taken again while the rows, the source with its
models and the tolerances are the same, and among those that were used last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.models import ModelQueryStep, ModelSource
from penstock.expressions.connections import connect
from penstock.expressions.quotation import numbered
from penstock.kinds.arrivals import arrive
from penstock.kinds.drop_boxes import passing
from penstock.kinds.model_query.recorded_models import inputs_of, rows_sql, source_rows, valued
from penstock.kinds.sweeps import PastRows
from penstock.models.inversion import step_inversion
from penstock.models.netting import netted
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource
from penstock.models.storage import OWN, read_table, to_table, write_table
from penstock.models.tolerances import SourceTolerances
from penstock.storage.disk import make_directory, remove
from penstock.storage.files import read_json, write_file, write_json
from penstock.storage.seals import seal_of_file, sealed, unsealed
from penstock.vocabulary.counts import counted
from penstock.vocabulary.findings import Finding

FORMAT = 2
DIGEST_BYTES = 10
AFTER_ALL_US = 1 << 60
FILES_MAX, BYTES_MAX = 256, 1 << 30
"""What a directory keeps; what was not used for longest goes first, never what was made now."""
_OURS = re.compile(rf".+-[0-9a-f]{{{2 * DIGEST_BYTES}}}\.parquet")
"""Whoever names a directory of their own may have other files there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSegments:
    """The segments of one source, as a table, and how they came to be there."""

    source: ModelSource
    table: pa.Table
    attributes: tuple[str, ...]
    """What the columns of the attributes are called."""
    facts: dict[str, Any]
    """`rows`, `late`, `segments`, `first_us` and `last_us`, the times of the first and last row."""
    path: Path
    is_reused: bool
    was_damaged: bool = False

    def words(self) -> str:
        """Say what is there, and whether it was there before."""
        facts = self.facts
        segments, rows = counted(facts["segments"], "segment"), counted(facts["rows"], "row")
        counts = f"{segments} of {rows} of {facts['relation']}"
        if facts["late"]:
            counts += f" ({counted(facts['late'], 'more was', 'more were')} late)"
        if self.is_reused:
            return f"{counts}, taken from {self.path}: rows, models and bounds are unchanged."
        was = " was damaged and is" if self.was_damaged else ","
        return f"{counts}; {self.path}{was} made{' again' if self.was_damaged else ''} now."


class SegmentShelf:
    """A directory of stored segments."""

    def __init__(self, directory: Path, past: PastRows, catalog: Catalog) -> None:
        self._directory, self._past, self._catalog = directory, past, catalog
        self._digests: dict[str, str] = {}
        self._given: dict[Path, StoredSegments] = {}
        self._removed = self._removed_bytes = 0

    def words(self) -> Iterator[str]:
        """Say what had to go, if anything."""
        if self._removed:
            yield (
                f"Files of segments that were not used for longest were removed from "
                f"{self._directory}: {self._removed:,}, of {self._removed_bytes / 1e6:,.1f} MB. "
                f"It keeps {FILES_MAX:,}, of {BYTES_MAX / 1e6:,.0f} MB together."
            )

    def of(self, step: ModelQueryStep) -> list[StoredSegments]:
        """Give the segments of every source of a step; those that are not there are made."""
        inversion = step_inversion(step)
        return [
            self._of_source(source, own, step.predicts)
            for source, own in zip(step.sources, inversion.sources, strict=True)
        ]

    def _of_source(
        self, source: ModelSource, tolerances: SourceTolerances, predicts: bool
    ) -> StoredSegments:
        made_of = {
            "format": FORMAT,
            "rows": self._digest(source.relation),
            "source": source.to_json(),
            "tolerances": repr(tolerances),
            "predicts": predicts,
        }
        words = json.dumps(made_of, sort_keys=True, default=str).encode()
        name = f"{source.relation}-{blake2b(words, digest_size=DIGEST_BYTES).hexdigest()}"
        path = self._directory / f"{name}.parquet"
        if path not in self._given:
            self._given[path] = self._stored(source, tolerances, predicts, path, made_of)
        return self._given[path]

    def _stored(
        self, source: ModelSource, tolerances: SourceTolerances, predicts: bool, path: Path,
        made_of: dict[str, Any],
    ) -> StoredSegments:  # fmt: skip
        """Take the segments that are there, or make them."""
        note = path.with_suffix(".json")
        names = _names(source)
        is_damaged = False
        if path.is_file() and note.is_file():
            with suppress(FileNotFoundError):  # another sweep made room this moment
                facts = _noted(note)
                if facts is not None and facts["file"] == seal_of_file(path):
                    table = read_table(path)
                    with suppress(OSError):  # a directory that can only be read never grows
                        os.utime(path)
                    return StoredSegments(
                        source=source, table=table, attributes=names, facts=facts, path=path,
                        is_reused=True,
                    )  # fmt: skip
                is_damaged = True
        table, facts = self._made(source, tolerances, predicts, names)
        make_directory(self._directory)
        write_file(path, lambda beside: write_table(table, beside))
        facts = {**facts, "made_of": made_of, "file": seal_of_file(path)}
        write_json(note, sealed(json.loads(json.dumps(facts, default=str))))
        self._make_room(path)
        return StoredSegments(
            source=source, table=table, attributes=names, facts=facts, path=path, is_reused=False,
            was_damaged=is_damaged,
        )  # fmt: skip

    def _make_room(self, made: Path) -> None:
        """Remove what was not used for longest, where there is more than a directory keeps."""
        kept = kept_bytes = 0
        for file, size in sorted(_used(self._directory), key=lambda each: each[0] != made):
            if file != made and (kept >= FILES_MAX or kept_bytes + size > BYTES_MAX):
                remove(file.with_suffix(".json"))
                remove(file)
                self._removed, self._removed_bytes = self._removed + 1, self._removed_bytes + size
            else:
                kept, kept_bytes = kept + 1, kept_bytes + size

    def _digest(self, relation: str) -> str:
        """Give a digest of a relation's rows, and of the batches in which they came."""
        if relation not in self._digests:
            rows, batch = self._past.read(relation)
            found = blake2b(digest_size=DIGEST_BYTES)
            found.update(batch.tobytes())
            with pa.ipc.new_stream(_Digested(found), rows.schema) as stream:
                stream.write_table(rows.combine_chunks(), max_chunksize=1 << 20)
            self._digests[relation] = found.hexdigest()
        return self._digests[relation]

    def _made(
        self, source: ModelSource, tolerances: SourceTolerances, predicts: bool,
        names: tuple[str, ...],
    ) -> tuple[pa.Table, dict[str, Any]]:  # fmt: skip
        """Make the segments of a source of all its rows that were in time."""
        inputs = inputs_of((source,), self._catalog)
        batches = self._past.batches
        found = arrive(inputs, self._past.read, batches, 0, (), passing, WAITING_ROWS)[0]
        arrived = found.rows.append_column("_time", pa.array(found.time))
        arrived = arrived.append_column("_place", pa.array(range(found.rows.num_rows), pa.int64()))
        with connect() as db:
            db.register("arrived", arrived)
            rows = db.sql(f"{rows_sql(source)} ORDER BY _time, _place").to_arrow_table()
        taken, values = source_rows(rows, source)
        made = SegmentSource(source, tolerances, predicts=predicts)
        segments = netted(Segments.joined([made.process(taken), made.advance(AFTER_ALL_US)]))
        key = pa.table(
            {
                name: valued(segments.key[:, n], own).cast(type_, safe=False)
                for n, ((name, type_), own) in enumerate(zip(source.made_key, values, strict=True))
            }
        )
        facts = {
            "relation": source.relation,
            "rows": rows.num_rows,
            "late": found.late,
            "segments": len(segments),
            "first_us": int(found.time.min()) if len(found.time) else None,
            "last_us": int(found.time.max()) if len(found.time) else None,
        }
        return to_table(segments, key, names), facts


class _Digested:
    """A file to write to that keeps nothing but a digest."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def damaged_segments(directory: Path) -> Iterator[tuple[Finding, str]]:
    """Say which files of a directory are not as they were written, each with a remedy.

    One that is missing is made again, as after a crash.
    """
    remedy = "Remove it: a sweep that needs it makes it again."
    for path in sorted(each for each in directory.glob("*.parquet") if _OURS.fullmatch(each.name)):
        note = path.with_suffix(".json")
        if not note.is_file():
            continue
        facts = _noted(note)
        if facts is None:
            yield Finding("SWP-011", note, "is not as it was written"), remedy
        elif facts["file"] != seal_of_file(path):
            yield Finding("SWP-011", path, "is not as it was written"), remedy


def _used(directory: Path) -> list[tuple[Path, int]]:
    """Give files of segments and their bytes, those that were used last first."""
    found = []
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name):
            with suppress(FileNotFoundError):
                own = path.stat()
                found.append((-own.st_mtime_ns, path, own.st_size))
    return [(path, size) for _, path, size in sorted(found)]


def _names(source: ModelSource) -> tuple[str, ...]:
    """Name the columns of attributes so that no other column has their names."""
    taken = {name.lower() for name in (*OWN, *(name for name, _ in source.made_key))}
    names: list[str] = []
    for each in source.attributes:
        names.append(numbered(each.name, taken))
        taken.add(names[-1].lower())
    return tuple(names)


def _noted(path: Path) -> dict[str, Any] | None:
    """Read what stands beside a file of segments; None if that is no note."""
    try:
        facts = unsealed(read_json(path))
    except (ValueError, TypeError, AttributeError):
        return None
    return facts if "file" in facts else None
