"""The result log: what every micro-batch found, exactly once.

```
results/000000000/000000000017.json                          the manifest: the batch is committed
results/000000000/000000000017-0-trades-events.parquet       events, each once
results/000000000/000000000017-0-trades-matches.parquet      pairs (query, event)
results/volumes/000000000000-000000000999.volume             the files of older batches
results/kept.json                                            from which batch on results are kept
```
A batch counts when its manifest is there. Running a batch again writes the same names again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.log_files import LogFiles, ResultsExpiredError
from penstock.delivery.row_groups import pairs_of, rows_at
from penstock.storage.disk import make_directory
from penstock.storage.files import write_json
from penstock.storage.seals import is_sealed, sealed
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import Declared, FigureTable, told_figures


def _no_manifest(path: Path, fact: str) -> PenstockError:
    return PenstockError(
        "DEL-003",
        f"{path} is not the manifest of a batch: {fact}.",
        "Restore the home directory from a copy; `penstock check` names all such files.",
    )


@dataclass(frozen=True, slots=True)
class LoggedSection:
    """One section of a committed batch; tables are read when asked for."""

    batch: int
    version: int
    relation: str
    groups: dict[str, tuple[int, int]]
    path: Path
    columns: tuple[str, ...] | None = None
    """What the columns of its events are called, where the file itself has older names."""
    files: LogFiles = field(default_factory=lambda: LogFiles(Path()), compare=False, repr=False)
    _kept: dict[str, pa.Table] | None = field(default=None, compare=False, repr=False)

    def kept(self) -> LoggedSection:
        """Give this section so that every table is read once, for readers of many groups."""
        return replace(self, _kept={})

    def pairs(self, group: str, queries: Ints | None = None) -> tuple[Ints, Ints]:
        """Read the pairs of a group: query numbers, and rows of the events.

        Of ascending `queries`, if they are given, all pairs are among those that are read.
        """
        if queries is None or self._kept is not None:
            matches = self.matches(group)
        else:
            matches = pairs_of(self._opened("matches"), *self.groups.get(group, (0, 0)), queries)
        return matches["query"].to_numpy(), matches["event"].to_numpy()

    def matches(self, group: str | None = None) -> pa.Table:
        """Read the pairs, of one group or of all."""
        table = self._table("matches")
        if group is None:
            return table
        start, stop = self.groups.get(group, (0, 0))
        return table.slice(start, stop - start)

    def events(self) -> pa.Table:
        """Read the events that the pairs count."""
        return self._table("events")

    def events_at(self, rows: Ints) -> pa.Table:
        """Read the events of some pairs, in the order of the pairs."""
        if self._kept is not None:
            return self.events().take(pa.array(rows))
        return self._named(rows_at(self._opened("events"), rows))

    def schema(self) -> pa.Schema:
        """Read what columns the events have."""
        written = pq.read_schema(self._opened("events"))
        if self.columns is None:
            return written
        return pa.schema(list(zip(self.columns, written.types, strict=True)))

    def _table(self, suffix: str) -> pa.Table:
        if self._kept is not None and suffix in self._kept:
            return self._kept[suffix]
        table = pq.read_table(self._opened(suffix))
        if suffix == "events":
            table = self._named(table)
        if self._kept is not None:
            self._kept[suffix] = table
        return table

    def _named(self, events: pa.Table) -> pa.Table:
        return events if self.columns is None else events.rename_columns(list(self.columns))

    def _opened(self, suffix: str) -> pa.BufferReader:
        path = self.path.with_name(f"{self.path.name}-{suffix}.parquet")
        try:
            return pa.BufferReader(self.files.read(path, self.batch))
        except FileNotFoundError:
            if self.batch < (first := self.files.kept().first):
                raise ResultsExpiredError(self.batch, first) from None
            raise PenstockError(
                "DEL-003",
                f"{path} is missing, though batch {self.batch} is committed.",
                "Restore the home directory from a copy; `penstock check` names all such files.",
            ) from None


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """A committed micro-batch."""

    batch: int
    version: int
    rows_in: int
    matches: int
    sections: tuple[LoggedSection, ...]


class ResultLog:
    """The result log of one engine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.files = LogFiles(root)

    def directory(self, batch: int) -> Path:
        """Give the directory of a batch's files, making it if need be."""
        path = self.files.directory(batch)
        make_directory(path)
        return path

    def first(self) -> int:
        """Give the number of the first batch whose results are kept."""
        return self.files.kept().first

    def part_name(self, batch: int, shard: int) -> str:
        """Name a shard's part of a batch: the same name when the batch runs again."""
        return f"{batch:012d}-{shard}"

    def commit(
        self, batch: int, version: int, parts: list[dict[str, Any]], **beside: Any
    ) -> LoggedBatch:
        """Commit a batch: from now on readers see it.

        `beside` is what hosts note in it (JSON); `time_s` is when they did, in seconds since 1970.
        """
        manifest = sealed({"batch": batch, "version": version, "parts": parts, **beside})
        self.directory(batch)  # a batch without parts has not made it
        path = self.manifest(batch)
        write_json(path, manifest)
        return self._logged(path, manifest)

    def note(self, batch: int, **beside: Any) -> None:
        """Note something else in the manifest of the newest batch."""
        write_json(self.manifest(batch), sealed({**(self.noted(batch) or {}), **beside}))

    def read(self, batch: int) -> LoggedBatch | None:
        """Give a committed batch, or None if it is not committed.

        Raises
        ------
        ResultsExpiredError
            If it is no longer kept.
        """
        if batch < (first := self.first()):
            raise ResultsExpiredError(batch, first)
        return self.committed(batch)

    def committed(self, batch: int) -> LoggedBatch | None:
        """Give a committed batch, whether its results are kept or not; None if nothing is known."""
        path, manifest = self.manifest(batch), self.noted(batch)
        try:
            return None if manifest is None else self._logged(path, manifest)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_manifest(path, repr(error)) from None

    def noted(self, batch: int) -> dict[str, Any] | None:
        """Give all that a committed batch's manifest says, as it was written; else None."""
        path = self.manifest(batch)
        try:
            manifest: dict[str, Any] = json.loads(self.files.read(path, batch).to_pybytes())
            if not is_sealed(manifest) or manifest["batch"] != batch:
                raise _no_manifest(path, "it is not as it was written")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_manifest(path, repr(error)) from None
        return manifest

    def time_of(self, batch: int) -> float:
        """Say when a batch was committed, in seconds since 1970: a copy of a file is younger."""
        time_s = (self.noted(batch) or {}).get("time_s")
        return self.manifest(batch).stat().st_mtime if time_s is None else float(time_s)

    def figures(self, batch: int, declared: Declared) -> list[tuple[int, FigureTable]]:
        """Give what every shard, by its number, told of a committed batch; else nothing."""
        manifest = self.noted(batch)
        parts = [] if manifest is None else manifest["parts"]
        return [(part.get("shard", 0), told_figures(part, declared)) for part in parts]

    def newest(self) -> int:
        """Give the number of the newest committed batch, or -1."""
        for directory in sorted(self._root.glob("[0-9]*"), reverse=True):
            stems = (path.stem for path in directory.glob("*.json"))
            batches = [int(stem) for stem in stems if stem.isdecimal()]
            if batches:
                return max(batches)
        return -1

    def manifest(self, batch: int) -> Path:
        """Give where the manifest of a batch is, or will be."""
        return self.files.directory(batch) / f"{batch:012d}.json"

    def _logged(self, path: Path, manifest: dict[str, Any]) -> LoggedBatch:
        parts = manifest["parts"]
        sections = tuple(
            LoggedSection(
                manifest["batch"],
                manifest["version"],
                section["relation"],
                {group: (start, stop) for group, (start, stop) in section["groups"].items()},
                path.parent / section["stem"],
                tuple(section["columns"]) if "columns" in section else None,
                self.files,
            )
            for part in parts
            for section in part["sections"]
        )
        matches = sum(s["matches"] for part in parts for s in part["sections"])
        rows_in = sum(part["rows_in"] for part in parts)
        return LoggedBatch(manifest["batch"], manifest["version"], rows_in, matches, sections)
