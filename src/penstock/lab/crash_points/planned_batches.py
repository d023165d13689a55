"""What Spark does for an engine, without Spark: plans of batches, lists of files and commits.

As Spark does, it writes every file beside its place and renames it, with Hadoop's checksums, and
flushes nothing. A relation has one file for a batch; announcements are taken all at once. And it
forgets as Spark does: old plans and commits, files of lists that a later one repeats, and in memory
the files that are so much older than the newest that they are not looked at any more.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.spark.checkpoints import committed_batches, planned_batches
from penstock.spark.provenance import VERSION, parsed_offsets, steps_read, sums_file
from penstock.spark.restoration import COMMIT, COMPACT_EVERY_STEPS
from penstock.spark.sessions import BATCHES_TO_RETAIN
from penstock.storage import disk

CHUNK = 512
"""Hadoop sums up so many bytes at a time."""
FILE_AGE_MS_MAX = 7 * 86_400_000
"""Spark's own default: files that are older than the newest by this are not looked at."""

Files = Callable[[int], Mapping[str, pa.Table]]
"""Gives what comes in a batch, by relation."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch: its number, its rows by relation and the newest version that it announces."""

    number: int
    tables: Mapping[str, pa.Table]
    version: int


class PlannedBatches:
    """Plans batches over the files of relations, by their names; keeps the last `retained` plans.

    `clock` gives the time of files in seconds since 1970.
    """

    def __init__(
        self,
        checkpoint: Path,
        announcements: Path,
        files: Files,
        names: Sequence[str],
        retained: int = BATCHES_TO_RETAIN,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._root, self._announcements = checkpoint, announcements
        self._files, self._names = files, names
        self._retained, self._clock = retained, clock
        self._seen: dict[str, dict[str, int]] = {}

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
                        tables[name] = self._files(int(Path(path).name))[name]
        return PlannedBatch(batch, tables, version)

    def commit(self, batch: int) -> None:
        """Say that a batch is done."""
        self._write(self._root / "commits" / str(batch), f"{VERSION}\n{COMMIT}")
        for place in ("offsets", "commits"):
            self._remove(self._root / place / str(batch - self._retained))

    def _plan(self, batch: int) -> None:
        last = steps_read(self._offsets(batch - 1)) if batch else {}
        lines = ["-" if str(n) not in last else _offset(last[str(n)]) for n in self._sources()]
        for number in self._sources():
            source, known = str(number), self._known(str(number))
            found = [path for path in self._there(number, batch) if path not in known]
            if found:
                step = max(self._steps(source), default=-1) + 1
                self._list(source, step, found)
                self._forget(source, step)
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
        return [f"in/{name}/{batch}"] if name in self._files(batch) else []

    def _steps(self, source: str) -> dict[int, Path]:
        directory = self._root / "sources" / source
        found = directory.iterdir() if directory.is_dir() else ()
        shown = [path for path in found if not path.name.startswith(".")]
        return {int(path.name.removesuffix(".compact")): path for path in shown}

    def _known(self, source: str) -> dict[str, int]:
        """Give the files that were seen with their times: in memory, read when it starts."""
        if source not in self._seen:
            self._seen[source] = {
                str(entry["path"]): int(entry["timestamp"])
                for entry in self._before(source, max(self._steps(source), default=-1) + 1)
            }
        return self._seen[source]

    def _forget(self, source: str, step: int) -> None:
        """Forget what is too old, and after a file that repeats all before what it repeats."""
        known = self._known(source)
        first_ms = max(known.values()) - FILE_AGE_MS_MAX
        for path in [path for path, time_ms in known.items() if time_ms < first_ms]:
            del known[path]
        first = step + 1 - self._retained
        if _repeats_all(step) and first > 0:
            repeated = first - first % COMPACT_EVERY_STEPS - 1
            for number, file in self._steps(source).items():
                if number < repeated:
                    self._remove(file)

    def _listed(self, source: str, step: int) -> list[str]:
        return [each["path"] for each in self._entries(source, step) if each["batchId"] == step]

    def _entries(self, source: str, step: int) -> list[dict[str, Any]]:
        _version, *lines = self._steps(source)[step].read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines]

    def _list(self, source: str, step: int, paths: list[str]) -> None:
        time_ms = int(self._clock() * 1000)
        entries = [{"path": path, "timestamp": time_ms, "batchId": step} for path in paths]
        self._known(source).update(dict.fromkeys(paths, time_ms))
        name = str(step)
        if _repeats_all(step):
            name = f"{step}.compact"
            entries = [*self._before(source, step), *entries]
        lines = [json.dumps(entry, separators=(",", ":")) for entry in entries]
        self._write(self._root / "sources" / source / name, "\n".join([VERSION, *lines]))

    def _before(self, source: str, step: int) -> list[dict[str, Any]]:
        """Give all entries before a step, from the last file that repeats all before on."""
        first = max(step // COMPACT_EVERY_STEPS * COMPACT_EVERY_STEPS - 1, 0)
        each = (self._entries(source, number) for number in range(first, step))
        unique = {str(entry["path"]): entry for entries in each for entry in entries}
        return list(unique.values())

    @staticmethod
    def _remove(file: Path) -> None:
        disk.remove(file)
        disk.remove(sums_file(file))

    def _write(self, file: Path, text: str) -> None:
        disk.make_directory(file.parent, named=False)
        beside = file.with_name(f".{file.name}.tmp")
        data = text.encode()
        disk.write(sums_file(beside), _sums(data))
        disk.write(beside, data)
        disk.rename(beside, file)
        disk.rename(sums_file(beside), sums_file(file))


def _repeats_all(step: int) -> bool:
    return (step + 1) % COMPACT_EVERY_STEPS == 0


def _offset(step: int) -> str:
    return json.dumps({"logOffset": step}, separators=(",", ":"))


def _sums(data: bytes) -> bytes:
    sums = (zlib.crc32(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))
    return b"crc\0" + CHUNK.to_bytes(4, "big") + b"".join(s.to_bytes(4, "big") for s in sums)
