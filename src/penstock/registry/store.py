"""The registry's writer: drafts become versions, one after the other, and are announced.

An announcement is a small file in a directory that the engine's Spark query reads as a stream, so
every version begins at a definite micro-batch. A version is durable before it is announced; what a
crash left unannounced is announced when the registry is opened again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.registry.folds import changes_of, folded, folded_draft, is_long, left_groups
from penstock.registry.placement import PlacedBlocks
from penstock.registry.records import Block, Declaration, Draft, SubscriptionRecord
from penstock.registry.refusals import closed, missing, only_read
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
from penstock.vocabulary.batches import Ints, QueryChanges
from penstock.vocabulary.errors import PenstockError

READS = 5
"""Versions may be folded while another process reads them: it tries so often."""


class Registry:
    """All relations, groups, subscriptions and standing queries of one engine.

    With `read_only` it is another process's: it makes and removes nothing, and `refresh` takes
    what was published since. With `upto` it is as it was at that version.
    """

    def __init__(
        self,
        root: Path,
        keep_history: bool = False,
        read_only: bool = False,
        upto: int | None = None,
    ) -> None:
        self._root = root
        self._keep_history = keep_history
        self._refusal = only_read if read_only else None
        self._upto = upto
        self._looked_at = (0, 0)
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
        self.let_go: dict[str, int] = {}
        """Groups that were let go and of which the result log may speak."""
        self._in_group: Counter[str] = Counter()
        self.placed = PlacedBlocks()
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
            if not self._keep_history:  # it is asked what stood when
                left = left_groups(draft, self._in_group, self.placed, self.steps)
                draft.let_go = {group: version for group in left if group in self.steps}
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
        write_version(self._root / "versions" / directory_name(version), version, draft, following)

    def keep_announcements(self) -> None:
        """Keep every announcement from now on: a Spark query reads them.

        Before the first start only the newest matters, so that a home which was filled query by
        query does not begin with a file for each.
        """
        self._all_announcements = True

    def close(self) -> None:
        """Let nothing be changed any more."""
        self._refusal = self._refusal or closed

    def reserve(self) -> threading.RLock:
        """Hold this lock from reading `next_query` until `publish`."""
        if self._refusal is not None:
            raise self._refusal()
        return self._lock

    def refresh(self) -> None:
        """Take what another process has published since, if this registry is only read."""
        if self._refusal is only_read:
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
        return self.placed.owners(queries)

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
        return folded(own for _, own in self.changes_of(group))

    def changes_of(self, group: str) -> list[tuple[int, QueryChanges]]:
        """List what versions changed in a group; what a base holds came with it, or before."""
        with self._lock:
            own = changes_of(self.reader(0, self.next_version - 1), group)
            more = [(self.version, each.changes.get(group)) for each in self._gathered]
            return own + [(version, each) for version, each in more if each is not None]

    def undeclare(self, name: str, steps: Collection[str]) -> None:
        """Take a declaration back before anything ran: a base says what stands without it."""
        with self._lock:
            self.publish(Draft())
            del self.declarations[name.lower()]
            self.steps = {key: step for key, step in self.steps.items() if key not in steps}
            draft = folded_draft(self.standing_draft(), self.reader(0, self.version), 0)
            self._fold(draft, self.version, self.next_query, self.version - 1)

    def tidy(self, settled: int, expired: int = 0, versions_max: int | None = None) -> None:
        """Fold versions up to `settled` into a base when many have come since the last one.

        `settled` is a version that every batch from now on runs under or above, replayed ones
        included. What comes before the previous base goes; the previous base and all versions
        since stay, for shards that lag or start from an older snapshot. Queries that were dropped
        up to the version `expired` are forgotten: no result that is kept speaks of them. A
        registry that keeps its history folds only what is expired: what stood when is asked.
        """
        with self._lock:
            settled = min(settled, expired) if self._keep_history else settled
            if settled <= self._base or self._looked_at == (self._base, settled):
                return
            self._looked_at = self._base, settled
            if not is_long(self._root, self._base, settled, versions_max):
                return
            then = Registry(self._root, self._keep_history, read_only=True, upto=settled)
            draft = folded_draft(then.standing_draft(), self.reader(0, settled), expired)
            self._fold(draft, settled, then.next_query, self._base)
            self._forget_expired(expired)

    def _fold(self, draft: Draft, settled: int, next_query: int, gone: int) -> None:
        """Write a base, and let versions up to `gone` go, with the bases before it."""
        versions, bases = self._root / "versions", self._root / "bases"
        write_version(bases / directory_name(settled), settled, draft, next_query)
        for version in [number for number in numbered(versions) if number <= gone]:
            remove_directory(versions / directory_name(version))
            remove(self._announcement(version))
        for base in [number for number in numbered(bases) if number < gone]:
            remove_directory(bases / directory_name(base))
        self._base = settled

    def _forget_expired(self, expired: int) -> None:
        """Forget queries, subscriptions and groups that no result which is kept speaks of."""
        self.let_go = {group: own for group, own in self.let_go.items() if own > expired}
        for name, blocks in self.blocks.items():
            kept = [own for block in blocks if len((own := block.without(expired)).query)]
            self.blocks[name] = kept
        self._ended = [
            (name, blocks)
            for name, blocks in self._ended
            if any((block.dropped > expired).any() for block in blocks)
        ]
        every = [block for blocks in self.blocks.values() for block in blocks]
        self.placed = PlacedBlocks([*every, *(b for _, blocks in self._ended for b in blocks)])

    def standing_draft(self) -> Draft:
        """Give all that stands but the groups' entries."""
        return Draft(
            declarations=list(self.declarations.values()),
            steps=self.steps,
            subscriptions=list(self.subscriptions.values()),
            blocks=[block for blocks in self.blocks.values() for block in blocks],
            let_go=self.let_go,
        )

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
            if version > self.version and (self._upto is None or version <= self._upto):
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
            raise missing(self._root / "versions" / directory_name(self.version + 1))

    def _take(self, draft: Draft, version: int, following: int) -> None:
        self.version, self.next_query = version, following
        for item in draft.declarations:
            self.declarations[item.relation.name.lower()] = item
        self.steps.update(draft.steps)
        for group in draft.steps:
            self.let_go.pop(group, None)
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
                self._in_group[block.record.group] -= dropped
                if dropped and block.subscription in self._standing:
                    self._standing[block.subscription] -= dropped
                self._silent -= silent - block.silent
        for name in filter(self.subscriptions.__contains__, draft.ended):
            self._end(name)
        for name in draft.undeclared:
            self.declarations.pop(name.lower(), None)
        for group, gone in draft.let_go.items():
            self.let_go[group] = gone
            if self.steps.pop(group, None) is not None:
                del self._in_group[group]

    def _place(self, block: Block) -> None:
        self.blocks[block.subscription].append(block)
        self.placed.add(block)
        alive = int(block.alive.sum())
        self._standing[block.subscription] += alive
        self._in_group[block.record.group] += alive
        self._silent += block.silent

    def _end(self, name: str) -> None:
        blocks = self.blocks.pop(name)
        del self.subscriptions[name], self._standing[name]
        if self._keep_history:
            self._ended.append((name, blocks))
        else:
            # Another of this name has blocks of its own, and shows nothing of these.
            self.placed.end(blocks)

    def _announcement(self, version: int) -> Path:
        return self.announcements / f"{directory_name(version)}.txt"

    def _announce(self, version: int) -> None:
        write_file(self._announcement(version), f"{version}\n".encode())

    def _announce_newest(self) -> None:
        self._announce(self.version)
        if not self._all_announcements:
            remove(self._announcement(self.version - 1))
