"""What Spark does for an engine, without Spark: plans of batches, lists of files and commits.

As Spark does, it writes every file beside its place and renames it, with Hadoop's checksums, and
flushes nothing. A relation has one file for a batch; announcements are taken all at once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.spark.checkpoints import committed_batches, planned_batches
from penstock.spark.provenance import VERSION, parsed_offsets, steps_read, sums_file
from penstock.spark.restoration import COMMIT, COMPACT_EVERY_STEPS
from penstock.storage import disk

CHUNK = 512
"""Hadoop sums up so many bytes at a time."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch: its number, its rows by relation and the newest version that it announces."""

    number: int
    tables: Mapping[str, pa.Table]
    version: int


class PlannedBatches:
    """Plans batches over the files of relations; `files[n]` comes in batch n."""

    def __init__(
        self,
        checkpoint: Path,
        announcements: Path,
        files: Sequence[Mapping[str, pa.Table]],
        names: Sequence[str],
    ) -> None:
        self._root, self._announcements = checkpoint, announcements
        self._files, self._names = files, names

    def next(self) -> int:
        """Give the batch that is to be run: the newest that is planned, unless it is committed."""
        planned, committed = planned_batches(self._root), committed_batches(self._root)
        newest = max(planned, default=-1)
        return newest + 1 if newest == max(committed, default=-1) else newest

    def plan(self, batch: int) -> PlannedBatch:
        """Plan a batch, or read how it was planned before."""
        if not (self._root / "metadata").exists():
            self._write(self._root / "metadata", '{"id":"1"}')
        if batch not in planned_batches(self._root):
            self._plan(batch)
        offsets = self._offsets(batch)
        before = steps_read(self._offsets(batch - 1)) if batch else {}
        tables, version = {}, 0
        for source, step in steps_read(offsets).items():
            for number in range(before.get(source, -1) + 1, step + 1):
                for path in self._listed(source, number):
                    if source == "0":
                        version = max(version, int(Path(path).stem))
                    else:
                        name = self._names[int(source) - 1]
                        tables[name] = self._files[int(Path(path).name)][name]
        return PlannedBatch(batch, tables, version)

    def commit(self, batch: int) -> None:
        """Say that a batch is done."""
        self._write(self._root / "commits" / str(batch), f"{VERSION}\n{COMMIT}")

    def _plan(self, batch: int) -> None:
        last = steps_read(self._offsets(batch - 1)) if batch else {}
        lines = ["-" if str(n) not in last else _offset(last[str(n)]) for n in self._sources()]
        for number in self._sources():
            source, known = str(number), self._known(str(number))
            found = [path for path in self._there(number, batch) if path not in known]
            if found:
                step = max(self._steps(source), default=-1) + 1
                self._list(source, step, found)
            newest = max(self._steps(source), default=-1)
            if newest > last.get(source, -1):
                lines[number] = _offset(newest)
        text = "\n".join([VERSION, '{"batchWatermarkMs":0,"conf":{}}', *lines])
        self._write(self._root / "offsets" / str(batch), text)

    def _sources(self) -> range:
        return range(len(self._names) + 1)

    def _offsets(self, batch: int) -> list[object]:
        return parsed_offsets((self._root / "offsets" / str(batch)).read_text(encoding="utf-8"))

    def _there(self, number: int, batch: int) -> list[str]:
        """List the files of a source that a batch may take."""
        if number == 0:
            return sorted(str(path) for path in self._announcements.glob("[0-9]*.txt"))
        name = self._names[number - 1]
        return [f"in/{name}/{batch}"] if name in self._files[batch] else []

    def _steps(self, source: str) -> dict[int, Path]:
        directory = self._root / "sources" / source
        found = directory.iterdir() if directory.is_dir() else ()
        shown = [path for path in found if not path.name.startswith(".")]
        return {int(path.name.removesuffix(".compact")): path for path in shown}

    def _known(self, source: str) -> set[str]:
        steps = self._steps(source)
        return {path for step in steps for path in self._listed(source, step)}

    def _listed(self, source: str, step: int) -> list[str]:
        return [each["path"] for each in self._entries(source, step) if each["batchId"] == step]

    def _entries(self, source: str, step: int) -> list[dict[str, Any]]:
        _version, *lines = self._steps(source)[step].read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines]

    def _list(self, source: str, step: int, paths: list[str]) -> None:
        entries = [{"path": path, "timestamp": 0, "batchId": step} for path in paths]
        name = str(step)
        if (step + 1) % COMPACT_EVERY_STEPS == 0:
            name = f"{step}.compact"
            entries = [*self._before(source, step), *entries]
        lines = [json.dumps(entry, separators=(",", ":")) for entry in entries]
        self._write(self._root / "sources" / source / name, "\n".join([VERSION, *lines]))

    def _before(self, source: str, step: int) -> list[dict[str, Any]]:
        each = (self._entries(source, number) for number in range(step))
        unique = {str(entry["path"]): entry for entries in each for entry in entries}
        return list(unique.values())

    def _write(self, file: Path, text: str) -> None:
        disk.make_directory(file.parent, named=False)
        beside = file.with_name(f".{file.name}.tmp")
        data = text.encode()
        disk.write(sums_file(beside), _sums(data))
        disk.write(beside, data)
        disk.rename(beside, file)
        disk.rename(sums_file(beside), sums_file(file))


def _offset(step: int) -> str:
    return json.dumps({"logOffset": step}, separators=(",", ":"))


def _sums(data: bytes) -> bytes:
    sums = (zlib.crc32(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))
    return b"crc\0" + CHUNK.to_bytes(4, "big") + b"".join(s.to_bytes(4, "big") for s in sums)
