"""Suspensions: which queries do not run, from when on, and why. A file for each, written once.

A clock or a lack of memory may decide that queries are suspended, and neither would decide the same
again. So the decision is durable before anything is seen of it: every shard of every host reads it
before a batch, also when the batch is run once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from penstock.storage.disk import make_directory, remove
from penstock.storage.files import read_json, write_first, write_json
from penstock.storage.seals import SEAL, is_sealed, sealed
from penstock.vocabulary.codec import OMITTED, Node
from penstock.vocabulary.errors import PenstockError

DIRECTORY = "suspensions"
READ_MAX = 10_000
"""So many are remembered as they were read: every batch asks for all, some of them for months."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension(Node):
    """A group, or one `query` of it, that rests: from a batch or a version of the registry on.

    A group runs again from the version `resumed` on, if it was resumed; a query is registered anew
    under another number, and from the version `resumed` on there is none of this one.

    >>> rest = Suspension(group="filter-1", reason="It was slow.", batch=7, resumed=5)
    >>> [rest.holds(batch, version) for batch, version in ((6, 3), (7, 3), (9, 5))]
    [False, True, False]
    """

    group: str
    reason: str
    batch: int | None = None
    version: int | None = None
    resumed: int | None = None
    query: int | None = field(default=None, metadata=OMITTED)

    @property
    def name(self) -> str:
        """Name what rests."""
        return self.group if self.query is None else f"{self.group}.{self.query}"

    def holds(self, batch: int, version: int) -> bool:
        """Say whether it holds in a batch that runs under a version."""
        if self.resumed is not None and version >= self.resumed:
            return False
        if self.batch is not None:
            return batch >= self.batch
        return self.version is not None and version >= self.version

    @property
    def since(self) -> str:
        """Say from when on."""
        if self.batch is not None:
            return f"batch {self.batch:,}"
        return f"version {self.version:,} of the registry"


class Suspensions:
    """The suspensions of one home, below its registry; small, so that every shard reads them."""

    def __init__(self, registry: Path) -> None:
        self.root = registry / DIRECTORY

    def all(self) -> list[Suspension]:
        """Read all suspensions, also those that are over, in the order of their names."""
        return [own for _, own in self._files()]

    def standing(self) -> dict[str, Suspension]:
        """Give those that were not resumed, by the names of what rests."""
        return {own.name: own for own in self.all() if own.resumed is None}

    def at(self, batch: int, version: int) -> dict[str, Suspension]:
        """Give those that hold in a batch that runs under a version, by name."""
        return {own.name: own for own in self.all() if own.holds(batch, version)}

    def begun_in(self, batch: int) -> list[Suspension]:
        """Give those that begin with a batch."""
        return [own for own in self.all() if own.batch == batch]

    def note(self, suspension: Suspension) -> bool:
        """Make a suspension durable; say whether it is new: of several writers one is the first."""
        make_directory(self.root)
        data = json.dumps(sealed(suspension.to_json()), separators=(",", ":")).encode()
        return write_first(self._path(suspension), data)

    def resume(self, name: str, version: int) -> None:
        """Let what rests under a name run again from a version on."""
        for path, own in self._files():
            if own.name == name and own.resumed is None:
                write_json(path, sealed(replace(own, resumed=version).to_json()))

    def forget(self, first: int, expired: int, groups: Collection[str]) -> None:
        """Forget what is over when results begin with batch `first`, of version `expired`.

        That is what was resumed by then, and what began before in groups that are not among those
        that stand: when their shape comes again, it begins anew.
        """
        for path, own in list(self._files()) if first else ():
            is_over = own.resumed is not None and own.resumed <= expired
            is_before = (own.batch is not None and own.batch < first) or (
                own.version is not None and own.version <= expired
            )
            if is_over or (is_before and own.group not in groups):
                remove(path)

    def _path(self, suspension: Suspension) -> Path:
        if suspension.batch is not None:
            return self.root / f"batch-{suspension.batch:012d}-{suspension.name}.json"
        return self.root / f"version-{suspension.version:012d}-{suspension.name}.json"

    def _files(self) -> Iterator[tuple[Path, Suspension]]:
        try:
            with os.scandir(self.root) as found:
                entries = sorted(found, key=lambda each: each.name)
        except FileNotFoundError:
            return
        for each in entries:
            if each.name.endswith(".json") and not each.name.startswith("."):
                with suppress(FileNotFoundError):  # it was forgotten this moment
                    stat = each.stat()
                    mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
                    yield Path(each.path), _read(Path(each.path), mark)


@lru_cache(maxsize=READ_MAX)
def _read(path: Path, _mark: tuple[int, int, int]) -> Suspension:
    """Read a suspension; as long as its file is marked as it was, it says what it said."""
    try:
        data = read_json(path)
        if is_sealed(data):
            data.pop(SEAL)
            return Suspension.from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise PenstockError(
        "REG-022",
        f"{path} is not as it was written.",
        "Restore the home directory from a copy, or begin a new one.",
    )
