"""The registry's writer: drafts become versions, one after the other, and are announced.

An announcement is a small file in a directory that the engine's Spark query reads as a stream, so
every version begins at a definite micro-batch. A version is durable before it is announced; what a
crash left unannounced is announced when the registry is opened again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.registry.folds import folded, settled_block
from penstock.registry.records import Block, Declaration, Draft, SubscriptionRecord
from penstock.registry.versions import (
    RegistryReader,
    directory_name,
    numbered,
    read_draft,
    write_version,
)
from penstock.storage.disk import make_directory, remove
from penstock.storage.files import remove_directory, write_file
from penstock.storage.suspensions import Suspensions
from penstock.vocabulary.batches import NO_QUERIES, Ints, QueryChanges
from penstock.vocabulary.errors import PenstockError

VERSIONS_PER_BASE_MAX = 512
"""So many versions may follow a base before they are folded into a new one."""
READS = 5
"""Versions may be folded while another process reads them: it tries so often."""


class Registry:
    """All relations, groups, subscriptions and standing queries of one engine.

    With `read_only` it is another process's: it makes and removes nothing, and `refresh` takes
    what was published since.
    """

    def __init__(self, root: Path, keep_history: bool = False, read_only: bool = False) -> None:
        self._root = root
        self._keep_history = keep_history
        self._read_only = read_only
        self._lock = threading.RLock()
        self.reader = RegistryReader(root)
        self.suspensions = Suspensions(root)
        self._all_announcements = self._is_gathering = False
        self._forget()
        if read_only:
            self._catch_up()
            return
        for name in ("versions", "bases", "announcements"):
            make_directory(root / name)
        for leftover in (*root.glob("versions/.*.tmp"), *root.glob("bases/.*.tmp")):
            remove_directory(leftover)
        self._read()
        self._announce_missing()

    def _forget(self) -> None:
        """Begin with nothing."""
        self.version = 0
        self.next_query = 0
        self.declarations: dict[str, Declaration] = {}
        self.steps: dict[str, dict[str, Any]] = {}
        self.subscriptions: dict[str, SubscriptionRecord] = {}
        self.blocks: dict[str, list[Block]] = {}
        self._placed: list[Block] = []
        self._firsts: list[int] = []
        self._ranges: tuple[Ints, Ints] = (NO_QUERIES, NO_QUERIES)
        self._standing: dict[str, int] = {}
        self._silent = 0
        self._ended: list[tuple[str, list[Block]]] = []
        self._base = 0
        self._gathered: list[Draft] = []

    @property
    def announcements(self) -> Path:
        """The directory that the engine's Spark query watches."""
        return self._root / "announcements"

    @property
    def catalog(self) -> dict[str, Relation]:
        """Relations by lower-case name."""
        return {name: item.relation for name, item in self.declarations.items()}

    @property
    def next_version(self) -> int:
        """The version that the next draft that only adds will be part of."""
        return self.version + (not self._gathered)

    def publish(self, draft: Draft) -> int:
        """Make a draft the next version: durable first, then announced. Returns the version.

        Inside `together`, drafts that only add become one version, durable at its end.
        """
        with self._lock:
            following = draft.following(self.next_query)
            if self._is_gathering and draft.is_addition:
                version = self.next_version
                self._gathered.append(draft)
                self._take(draft, version, following)
                return version
            self._write_gathered()
            version = self.version + 1
            self._write(version, draft, following)
            self._take(draft, version, following)
            self._announce_newest()
            return version

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let what is registered meanwhile become one version: one write instead of thousands.

        Others wait. An error inside takes nothing back that was published before it.
        """
        with self._lock:
            is_outer, self._is_gathering = not self._is_gathering, True
            try:
                yield
            finally:
                if is_outer:
                    self._is_gathering = False
                    self._write_gathered()

    def _write_gathered(self) -> None:
        """Make durable and announce what was gathered; if that fails, it never was."""
        if not self._gathered:
            return
        gathered, self._gathered = Draft.of_additions(self._gathered), []
        try:
            self._write(self.version, gathered, self.next_query)
        except BaseException:
            self._forget()
            self._read()
            raise
        self._announce_newest()

    def _write(self, version: int, draft: Draft, following: int) -> None:
        path = self._root / "versions" / directory_name(version)
        write_version(path, version, draft, following)

    def keep_announcements(self) -> None:
        """Keep every announcement from now on: a Spark query reads them.

        Before the first start only the newest matters, so that a home which was filled query by
        query does not begin with a file for each.
        """
        self._all_announcements = True

    def reserve(self) -> threading.RLock:
        """Hold this lock from reading `next_query` until `publish`."""
        if self._read_only:
            raise PenstockError(
                "REG-024",
                "This home is open only to be read, and nothing can be registered, changed or "
                "dropped here.",
                "Do it in the process whose engine runs, or open the home without `read_only`.",
            )
        return self._lock

    def refresh(self) -> None:
        """Take what another process has published since, if this registry is only read."""
        if self._read_only:
            with self._lock:
                following = self._root / "versions" / directory_name(self.version + 1)
                bases = numbered(self._root / "bases")
                if following.exists() or any(base > self.version for base in bases):
                    self._catch_up()

    def history(self, name: str) -> Iterator[tuple[SubscriptionRecord, Block]]:
        """Every block that ever was under a name, also of dropped subscriptions."""
        for ended, blocks in self._ended:
            if ended == name:
                yield from ((block.record, block) for block in blocks)
        yield from ((block.record, block) for block in self.blocks.get(name, []))

    def names(self) -> list[str]:
        """Every name a subscription ever had."""
        return list(dict.fromkeys([name for name, _ in self._ended] + list(self.subscriptions)))

    def standing(self, name: str) -> int:
        """Count the standing queries of a subscription."""
        return self._standing[name]

    def counts(self) -> dict[str, int]:
        """Count what stands."""
        return {
            "subscriptions": len(self.subscriptions),
            "groups": len({record.group for record in self.subscriptions.values()}),
            "queries": sum(self._standing.values()),
            "queries_never_matching": self._silent,
        }

    def owners(self, queries: Ints) -> Iterator[tuple[Block, Ints]]:
        """Split query numbers (ascending) by the block that they were registered in."""
        if not len(queries) or not self._firsts:
            return
        at = np.searchsorted(np.asarray(self._firsts), queries, side="right") - 1
        cuts = np.flatnonzero(np.diff(at)) + 1
        for part in np.split(np.arange(len(queries)), cuts):
            if at[part[0]] >= 0:
                yield self._placed[at[part[0]]], queries[part]

    def registered_in(self, queries: Ints) -> tuple[Ints, list[tuple[Block, int]]]:
        """Give the blocks that query numbers were registered in, each with one of these.

        Beside it the place of each number's block in this list; below zero, the block of a number
        is known no more.
        """
        if len(self._ranges[0]) != len(self._placed):
            last = [int(block.query[-1]) for block in self._placed]
            self._ranges = np.asarray(self._firsts), np.asarray(last)
        firsts, lasts = self._ranges
        place = np.full(len(queries), -1, dtype=np.int64)
        if not len(firsts) or not len(queries):
            return place, []
        at = np.searchsorted(firsts, queries, side="right") - 1
        known = np.flatnonzero((at >= 0) & (queries <= lasts[at]))
        blocks, sample, place[known] = np.unique(at[known], return_index=True, return_inverse=True)
        numbers = queries[known[sample]].tolist()
        return place, [(self._placed[b], q) for b, q in zip(blocks, numbers, strict=True)]

    def strangers(self, group: str, queries: Ints, version: int) -> Ints:
        """Of query numbers (ascending), give those that did not stand in a group at a version."""
        stood = np.zeros(len(queries), dtype=np.bool_)
        for block, own in self.owners(queries):
            if block.record.group == group and block.version <= version:
                at = np.minimum(np.searchsorted(block.query, own), len(block.query) - 1)
                held = own[(block.query[at] == own) & (block.dropped[at] > version)]
                stood[np.searchsorted(queries, held)] = True
        return queries[~stood]

    def queries_of_group(self, group: str) -> Ints:
        """List the standing queries of a group, in order."""
        found = [
            block.query[block.alive]
            for blocks in self.blocks.values()
            for block in blocks
            if block.record.group == group
        ]
        return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    def entries(self, group: str) -> dict[str, pa.Table]:
        """Gather a group's standing entries by port, as they are now."""
        with self._lock:
            every = [item.changes for item in self.reader(0, self.next_version - 1)]
            every += [draft.changes for draft in self._gathered]
            return folded(changes[group] for changes in every if group in changes)

    def tidy(self, settled: int, versions_max: int | None = None) -> None:
        """Fold versions up to `settled` into a base when many have come since the last one.

        `settled` is a version that every batch from now on runs under or above, replayed ones
        included. What comes before the previous base goes; the previous base and all versions
        since stay, for shards that lag or start from an older snapshot. A registry that keeps its
        history keeps all versions.
        """
        with self._lock:
            versions_max = VERSIONS_PER_BASE_MAX if versions_max is None else versions_max
            if self._keep_history or settled - self._base <= versions_max:
                return
            self._write_base(settled)
            for version in numbered(self._root / "versions"):
                if version <= self._base:
                    remove_directory(self._root / "versions" / directory_name(version))
                    remove(self._announcement(version))
            for base in numbered(self._root / "bases"):
                if base < self._base:
                    remove_directory(self._root / "bases" / directory_name(base))
            self._base = settled

    def _catch_up(self) -> None:
        """Read on; begin anew if the versions to read were folded at this moment."""
        for left in reversed(range(READS)):
            try:
                self._read()
                return
            except (FileNotFoundError, PenstockError):
                if not left:
                    raise
                self._forget()

    def _read(self) -> None:
        bases = numbered(self._root / "bases")
        if bases and not self.version:
            self._base = bases[-1]
            draft, following = read_draft(self._root / "bases" / directory_name(self._base))
            self._take(draft, self._base, following)
        for version in numbered(self._root / "versions"):
            if version > self.version:
                self._check_next(version)
                draft, following = read_draft(self._root / "versions" / directory_name(version))
                self._take(draft, version, following)

    def _announce_missing(self) -> None:
        found = (path.stem for path in self.announcements.glob("[0-9]*.txt"))
        announced = {int(stem) for stem in found if stem.isdecimal()}
        newest = max(announced, default=self._base)
        if newest > self.version:
            self._check_next(newest + 1)
        for version in numbered(self._root / "versions"):
            if version > newest:
                self._announce(version)

    def _check_next(self, version: int) -> None:
        """Refuse to go on with `version` if one before it is missing."""
        if version != self.version + 1:
            path = self._root / "versions" / directory_name(self.version + 1)
            fact = f"Version {self.version + 1:,} of the registry is missing: {path}."
            remedy = "Restore the home directory from a copy, or begin a new one."
            raise PenstockError("REG-023", fact, remedy)

    def _take(self, draft: Draft, version: int, following: int) -> None:
        self.version, self.next_query = version, following
        for item in draft.declarations:
            self.declarations[item.relation.name.lower()] = item
        self.steps.update(draft.steps)
        for record in draft.subscriptions:
            self.subscriptions[record.name] = record
            self.blocks.setdefault(record.name, [])
            self._standing.setdefault(record.name, 0)
        for block in draft.blocks:
            # A base knows only what still stood when it was written; a version behind it may add
            # to a subscription that was dropped meanwhile.
            if block.subscription in self.blocks and len(block.query):
                self._place(block)
        for change in draft.changes.values():
            for block, queries in self.owners(change.drops):
                silent = block.silent
                dropped = block.drop(queries, version)
                if dropped:
                    self._standing[block.subscription] -= dropped
                self._silent -= silent - block.silent
        for name in draft.ended:
            if name in self.subscriptions:
                self._end(name)

    def _place(self, block: Block) -> None:
        self.blocks[block.subscription].append(block)
        self._placed.append(block)
        self._firsts.append(int(block.query[0]))
        self._standing[block.subscription] += int(block.alive.sum())
        self._silent += block.silent

    def _end(self, name: str) -> None:
        blocks = self.blocks.pop(name)
        del self.subscriptions[name], self._standing[name]
        if self._keep_history:
            self._ended.append((name, blocks))

    def _announcement(self, version: int) -> Path:
        return self.announcements / f"{directory_name(version)}.txt"

    def _announce(self, version: int) -> None:
        write_file(self._announcement(version), f"{version}\n".encode())

    def _announce_newest(self) -> None:
        self._announce(self.version)
        if not self._all_announcements:
            remove(self._announcement(self.version - 1))

    def _write_base(self, settled: int) -> None:
        changes: dict[str, list[QueryChanges]] = {}
        for item in self.reader(0, settled):
            for group, change in item.changes.items():
                changes.setdefault(group, []).append(change)
        draft = Draft(
            declarations=list(self.declarations.values()),
            steps=self.steps,
            subscriptions=list(self.subscriptions.values()),
            blocks=[
                kept
                for block in self._placed
                if block.subscription in self.subscriptions
                and (kept := settled_block(block, settled)) is not None
            ],
            changes={
                group: QueryChanges(adds=folded(iter(items))) for group, items in changes.items()
            },
        )
        path = self._root / "bases" / directory_name(settled)
        write_version(path, settled, draft, self.next_query)
