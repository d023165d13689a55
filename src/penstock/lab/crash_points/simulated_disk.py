"""A simulated disk: every deed of a run, and what the home would be after a crash behind any.

Bytes are safe when their file was flushed, names when their directory was. A process that is killed
leaves everything that it wrote; a power cut leaves what is safe for certain, and of the rest
anything: no name, or a name with no bytes or some of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from penstock.storage.disk import Deed

Crash = Literal["killed", "lost", "torn"]
"""The process dies and all is kept; the power fails and only what is safe is there; it fails and
all names are there, but bytes that were not flushed are cut."""
CRASHES: tuple[Crash, ...] = ("killed", "lost", "torn")
CUTS = (0.0, 0.5, 1.0)
"""Of bytes that were not flushed none, half or all but the last are left."""


@dataclass(slots=True)
class _File:
    data: bytes = b""
    safe: bytes | None = None

    def left(self, crash: Crash, name: str) -> bytes:
        if crash == "killed" or self.safe == self.data:
            return self.data
        if crash == "lost" or self.safe:
            return self.safe or b""
        cut = CUTS[zlib.crc32(name.encode()) % len(CUTS)]
        return self.data[: min(int(cut * len(self.data)), len(self.data) - 1)]


@dataclass(slots=True)
class _Directory:
    names: dict[str, _File | _Directory] = field(default_factory=dict)
    safe: dict[str, _File | _Directory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A deed at a path of the home; what was written, or the other name."""

    deed: Deed
    path: Path
    target: Path | None
    data: bytes | None
    marks: int
    """How many marks of the journal came before."""


class Journal:
    """All deeds of a run below a directory, and marks of what was promised to somebody."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.entries: list[JournalEntry] = []
        self.marks: list[tuple[str, Any]] = []

    def __call__(self, deed: Deed, path: Path, target: Path | None) -> None:
        """Note a deed: `penstock.storage.disk.watched` calls this right after it was done."""
        if not path.is_relative_to(self._root):
            return
        data = path.read_bytes() if deed == "wrote" else None
        other = None if target is None else target.relative_to(self._root)
        own = path.relative_to(self._root)
        self.entries.append(JournalEntry(deed, own, other, data, len(self.marks)))

    def mark(self, word: str, fact: Any) -> None:
        """Note what somebody was promised by now."""
        self.marks.append((word, fact))


class SimulatedDisk:
    """The directory after some of a journal's deeds, and after a crash there.

    It begins empty, or with what was `laid` there before and is safe.
    """

    def __init__(self, laid: Mapping[str, bytes | None] | None = None) -> None:
        self._root = _Directory()
        for path, data in (laid or {}).items():
            at = self._directory(Path(path).parent)
            own = _Directory() if data is None else _File(data, data)
            at.names[Path(path).name] = at.safe[Path(path).name] = own

    def do(self, entry: JournalEntry) -> None:
        """Do the next deed."""
        at = self._directory(entry.path.parent)
        name = entry.path.name
        match entry.deed:
            case "wrote":
                assert entry.data is not None
                file = at.names.setdefault(name, _File())
                assert isinstance(file, _File)
                file.data = entry.data
            case "flushed":
                own = at.names[name] if name else self._root
                if isinstance(own, _File):
                    own.safe = own.data
                else:
                    own.safe = dict(own.names)
            case "renamed" | "linked":
                assert entry.target is not None
                other = self._directory(entry.target.parent).names
                other[entry.target.name] = at.names[name]
                if entry.deed == "renamed":
                    del at.names[name]
            case "made":
                if name:
                    at.names[name] = _Directory()
            case "removed" | "unmade":
                del at.names[name]

    def left(self, crash: Crash) -> dict[str, bytes | None]:
        """Give what a crash leaves: the bytes by path, None for a directory."""
        return dict(self._left(self._root, "", crash))

    def _left(
        self, directory: _Directory, path: str, crash: Crash
    ) -> Iterator[tuple[str, bytes | None]]:
        names = directory.safe if crash == "lost" else directory.names
        for name, own in names.items():
            place = f"{path}/{name}" if path else name
            if isinstance(own, _File):
                yield place, own.left(crash, place)
            else:
                yield place, None
                yield from self._left(own, place, crash)

    def _directory(self, path: Path) -> _Directory:
        found: _File | _Directory = self._root
        for name in path.parts:
            assert isinstance(found, _Directory)
            found = found.names[name]
        assert isinstance(found, _Directory)
        return found


def different_homes(journal: Journal) -> list[tuple[int, Crash]]:
    """Give each home that a crash leaves once: the deed that it is behind, and the crash.

    A home that is as it was is given again when something was promised meanwhile: it may not keep
    that.
    """
    disk, marks = SimulatedDisk(), -1
    seen: set[frozenset[tuple[str, bytes | None]]] = set()
    found: list[tuple[int, Crash]] = []
    for at, entry in enumerate(journal.entries):
        disk.do(entry)
        if entry.marks != marks:
            seen, marks = set(), entry.marks
        for crash in CRASHES:
            home = frozenset(disk.left(crash).items())
            if home not in seen:
                found.append((at, crash))
            seen.add(home)
    return found


def lay_down(left: dict[str, bytes | None], place: Path) -> None:
    """Write what a crash left into a directory that is not there yet."""
    place.mkdir(parents=True)
    for path, data in left.items():
        if data is None:
            (place / path).mkdir()
        else:
            (place / path).write_bytes(data)
