"""Retention: which results are kept, and the upkeep of a result log in small steps.

What is no longer kept goes oldest first, and in an order that survives a crash anywhere: first
`kept.json` says durably where results begin, then files before that go. The files of many old
batches become one volume: first the volume is durable, then they go.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from penstock.delivery.log import ResultLog
from penstock.delivery.log_files import VOLUMES, KeptSpan, manifest_facts
from penstock.delivery.volumes import VolumeWriter
from penstock.storage import disk
from penstock.storage.files import write_file
from penstock.vocabulary.durations import UNITS_US
from penstock.vocabulary.errors import PenstockError

SPARE_BATCHES = 200
"""The manifests of so many newest batches stay as they are: a restart may ask for them.

No restart goes back further than the last snapshot; hosts take one far more often than this.
"""
VOLUME_BATCHES = 1_000
VOLUME_FILES = 4_096
"""Older batches become a volume when they are so many, or have so many files."""
VOLUME_BYTES = 32 << 20
"""No volume is made of more; it is put together in memory."""
LARGE_BYTES = 1 << 20
"""A file of so many bytes stays by itself: it is not one of many small ones."""
STEP_FILES = 64
KINDS = (".json", "-matches.parquet", "-events.parquet")
"""The files of a batch, by how their names end; in a volume those of a kind lie side by side."""

_SIZES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_COUNTS = {"row": "rows", "batch": "batches", "batches": "batches"}
_AGES_S = {unit: us / 1_000_000 for unit, us in UNITS_US.items()} | {"week": 604_800.0}
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLimits:
    """What KEEP says: results beyond any of the limits go. Without any, everything is kept.

    With `until_read` nothing goes before all sinks have taken it.
    """

    age_s: float | None = None
    size_bytes: int | None = None
    rows: int | None = None
    batches: int | None = None
    until_read: bool = False

    @classmethod
    def of_text(cls, text: str) -> KeepLimits:
        """Read what follows KEEP.

        >>> KeepLimits.of_text("7 days, 10 GB until read").words()
        '604800 seconds, 10000000000 bytes, until read'
        >>> KeepLimits.of_text("all") == KeepLimits()
        True
        """
        said = " ".join(text.split()).casefold()
        if said == "all":
            return cls()
        limits = said.removesuffix("until read").strip()
        found: dict[str, Any] = {"until_read": limits != said}
        for each in limits.split(",") if limits or not found["until_read"] else ():
            written = _LIMIT.fullmatch(each.strip())
            name, value = _limit(written) if written else ("", 0)
            if not name or name in found or value <= 0:
                raise PenstockError(
                    "DEL-010",
                    f"{each.strip() or text!r} is not what KEEP takes.",
                    "Write KEEP 7 DAYS, KEEP 10 GB, KEEP 1000000 ROWS, KEEP UNTIL READ, several "
                    "of these as in KEEP 7 DAYS, 10 GB UNTIL READ, or KEEP ALL.",
                )
            found[name] = value
        return cls(**found)

    @property
    def is_all(self) -> bool:
        """Whether everything is kept."""
        return self == KeepLimits()

    def words(self) -> str:
        """Say it."""
        units = {"age_s": "seconds", "size_bytes": "bytes", "rows": "rows", "batches": "batches"}
        limits = [(getattr(self, name), unit) for name, unit in units.items()]
        told = [f"{value:.15g} {unit}" for value, unit in limits if value is not None]
        return ", ".join([*told, *(["until read"] if self.until_read else [])]) or "all"

    def to_json(self) -> dict[str, Any]:
        """Describe it for a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> KeepLimits:
        """Give back what `to_json` described."""
        return cls(**{each.name: data[each.name] for each in fields(cls)})


def _limit(written: re.Match[str]) -> tuple[str, float]:
    number, unit = float(written[1]), written[2]
    one = unit.removesuffix("s")
    if one in _AGES_S:
        return "age_s", number * _AGES_S[one]
    if unit in _SIZES:
        return "size_bytes", int(number * _SIZES[unit])
    name = _COUNTS.get(unit) or _COUNTS.get(one)
    return (name, int(number)) if name and number == int(number) else ("", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPace:
    """How much may lie in a home before upkeep takes it away or puts it together."""

    spare_batches: int = SPARE_BATCHES
    volume_batches: int = VOLUME_BATCHES
    volume_files: int = VOLUME_FILES
    versions: int | None = None
    """Of the registry, before they are folded; None: as many as usual."""
    listed: int = 200
    """Entries of Spark's lists that can go, before they go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnit:
    """What goes together: a volume, or one loose batch."""

    first: int
    last: int
    size_bytes: int = 0


class LogUpkeep:
    """Keeps a result log small.

    Its work comes in steps: each is short, so that whoever waits for the disk meanwhile waits
    little, and after each the log is whole. True marks the end of a piece of work.
    """

    def __init__(self, log: ResultLog, pace: UpkeepPace | None = None) -> None:
        self._log, self._files = log, log.files
        self._pace = pace or UpkeepPace()
        self._known: dict[tuple[int, int], dict[str, Any]] = {}
        self._is_clean = False

    def steps(
        self,
        limits: KeepLimits,
        now_s: float,
        read_upto: int | None = None,
        recorded: Collection[str] = (),
    ) -> Iterator[bool]:
        """Do what is to be done now.

        `read_upto` is the first batch that some sink has not taken, None if there is no sink;
        `recorded` are the relations whose rows are counted though they go.
        """
        newest = self._log.newest()
        if not self._is_clean:
            yield from self._clean(newest)
            self._is_clean = True
        if not limits.is_all:
            yield from self._expire(limits, now_s, read_upto, recorded, newest)
        yield from self._remove_expired(newest)
        yield from self._compact(newest)

    def _clean(self, newest: int) -> Iterator[bool]:
        """Remove what a crash left: loose files that a volume has, and half-written ones."""
        for path in self._files.root.glob("*/.*.tmp"):
            if path.parent.name == VOLUMES or path.parent != self._files.directory(newest + 1):
                disk.remove(path)
        volumes = self._files.volumes()
        packed = volumes[-1][1] if volumes else -1
        for number, (batch, path, _) in enumerate(sorted(self._files.loose())):
            if batch > packed:
                break
            volume = self._files.volume_of(batch)
            if volume is not None and path.name in volume:
                disk.remove(path)
            if number % STEP_FILES == 0:
                yield False
        yield True

    # What is no longer kept

    def _expire(
        self,
        limits: KeepLimits,
        now_s: float,
        read_upto: int | None,
        recorded: Collection[str],
        newest: int,
    ) -> Iterator[bool]:
        """Say where results begin from now on, if that is later than before."""
        kept = self._files.kept()
        units = self._units(kept.first, newest)
        size = sum(unit.size_bytes for unit in units)
        rows = 0
        if limits.rows is not None:
            rows = sum(self._facts(unit)["rows"] for unit in units)
        span = kept
        for number, unit in enumerate(units):
            facts = self._facts(unit)
            is_beyond = (
                (limits.age_s is not None and facts["time_s"] < now_s - limits.age_s)
                or (limits.size_bytes is not None and size > limits.size_bytes)
                or (limits.rows is not None and rows > limits.rows)
                or (limits.batches is not None and newest - unit.last >= limits.batches)
                or limits == KeepLimits(until_read=True)
            )
            is_read = read_upto is not None and unit.last < read_upto
            if not is_beyond or (limits.until_read and not is_read):
                break
            size, rows = size - unit.size_bytes, rows - facts["rows"]
            span = _behind(span, unit, facts, recorded)
            if number % STEP_FILES == 0:
                yield False
        if span.first > kept.first:
            self._files.keep(span)
            yield True

    def _units(self, first: int, newest: int) -> list[LogUnit]:
        """List what is kept, oldest first."""
        units = [
            LogUnit(first=low, last=high, size_bytes=_size(self._files.path(low, high)))
            for low, high in self._files.volumes()
            if low >= first
        ]
        sizes: dict[int, int] = {}
        for batch, _, size in self._files.loose():
            sizes[batch] = sizes.get(batch, 0) + size
        after = max(first, units[-1].last + 1 if units else first)
        beside = sum(size for batch, size in sizes.items() if first <= batch < after)
        if units and beside:  # large files of batches that are in volumes
            oldest = units[0]
            units[0] = replace(oldest, size_bytes=oldest.size_bytes + beside)
        units += [
            LogUnit(first=batch, last=batch, size_bytes=sizes.get(batch, 0))
            for batch in range(after, newest + 1)
        ]
        return units

    def _facts(self, unit: LogUnit) -> dict[str, Any]:
        """Give time, rows and matches of a unit; of volumes they are read once."""
        key = (unit.first, unit.last)
        found = self._known.get(key)
        if found is None:
            volumes = self._files.volumes()
            if key in volumes:
                found = self._files.volume(*key).facts
                found = {name: found[name] for name in ("time_s", "rows", "matches", "events")}
                self._known[key] = found
            else:
                manifest = self._log.noted(unit.first)
                assert manifest is not None, "a log has no holes"
                found = manifest_facts(unit.first, manifest)
                if found["time_s"] is None:  # of a Penstock that did not note it
                    found["time_s"] = self._log.time_of(unit.first)
        return found

    def _remove_expired(self, newest: int) -> Iterator[bool]:
        """Remove the files of what is no longer kept, but for the manifests of the last batches."""
        first = self._files.kept().first
        if not first:
            return
        for low, high in [range_ for range_ in self._files.volumes() if range_[1] < first]:
            disk.remove(self._files.path(low, high))
            self._files.forget(low, high)
            self._known.pop((low, high), None)
            yield True
        removed = 0
        for batch, path, _ in self._files.loose():
            is_spare = path.suffix == ".json" and batch >= newest - self._pace.spare_batches
            if batch < first and not is_spare:
                disk.remove(path)
                removed += 1
                if removed % STEP_FILES == 0:
                    yield False
        if removed:
            self._unmake_empty(newest)
            yield True

    def _unmake_empty(self, newest: int) -> None:
        for directory in sorted(self._files.root.glob("[0-9]*")):
            if directory < self._files.directory(newest):
                with suppress(OSError):  # not empty
                    disk.unmake_directory(directory)

    # Many small files

    def _compact(self, newest: int) -> Iterator[bool]:
        """Put the files of old batches into volumes, as long as there are many of them."""
        while True:
            volumes = self._files.volumes()
            start = max(self._files.kept().first, volumes[-1][1] + 1 if volumes else 0)
            batches: dict[int, list[tuple[Path, int]]] = {}
            for batch, path, size in self._files.loose():
                if start <= batch < newest - self._pace.spare_batches:
                    batches.setdefault(batch, []).append((path, size))
            chosen = _chosen(batches, self._pace)
            if not chosen:
                return
            yield from self._pack(chosen, batches)
            yield True

    def _pack(
        self, chosen: list[int], batches: dict[int, list[tuple[Path, int]]]
    ) -> Iterator[bool]:
        written = io.BytesIO()
        writer = VolumeWriter(written, chosen[0])
        rows = matches = 0
        time_s, events = 0.0, dict[str, int]()
        packed: list[Path] = []
        for number, batch in enumerate(chosen):
            facts = self._facts(LogUnit(first=batch, last=batch))
            rows, matches = rows + facts["rows"], matches + facts["matches"]
            time_s = max(time_s, facts["time_s"])
            for relation, count in facts["events"]:
                events[relation] = events.get(relation, 0) + count
            packed += [path for path, size in sorted(batches[batch]) if size < LARGE_BYTES]
            if number % STEP_FILES == 0:
                yield False
        for _, alike in groupby(sorted(packed, key=_kind), key=_kind):
            for number, path in enumerate(alike):
                writer.add(path.name, path.read_bytes())
                if number % STEP_FILES == 0:
                    yield False
            writer.close_block()
        writer.finish(
            chosen[-1], time_s=time_s, rows=rows, matches=matches, events=list(events.items())
        )
        target = self._files.path(chosen[0], chosen[-1])
        disk.make_directory(target.parent)
        write_file(target, written.getvalue())
        yield True
        for number, path in enumerate(packed):
            disk.remove(path)
            if number % STEP_FILES == 0:
                yield False
        self._unmake_empty(chosen[-1] + self._pace.spare_batches)


def _chosen(batches: dict[int, list[tuple[Path, int]]], pace: UpkeepPace) -> list[int]:
    """Choose the batches of the next volume: none, while there are few."""
    every = sum(map(len, batches.values()))
    if len(batches) < pace.volume_batches and every < pace.volume_files:
        return []
    chosen: list[int] = []
    files = size = 0
    for batch in sorted(batches):
        if size >= VOLUME_BYTES or len(chosen) == pace.volume_batches or files >= pace.volume_files:
            break
        chosen.append(batch)
        files += len(batches[batch])
        size += sum(own for _, own in batches[batch] if own < LARGE_BYTES)
    return chosen


def _behind(
    span: KeptSpan, unit: LogUnit, facts: dict[str, Any], recorded: Collection[str]
) -> KeptSpan:
    """Let results begin behind a unit."""
    gone = dict(span.recorded)
    for relation, count in facts["events"]:
        if relation in recorded:
            gone[relation] = gone.get(relation, 0) + count
    return KeptSpan(
        first=unit.last + 1,
        rows=span.rows + facts["rows"],
        matches=span.matches + facts["matches"],
        recorded=gone,
    )


def _kind(path: Path) -> int:
    """Say which kind of a batch's files one is, by its name."""
    kinds = (number for number, ending in enumerate(KINDS) if path.name.endswith(ending))
    return next(kinds, len(KINDS))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
