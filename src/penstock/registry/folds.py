"""Folds: what stands after many versions, as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.registry.placement import PlacedBlocks
from penstock.registry.records import Draft
from penstock.registry.versions import directory_name, size_of
from penstock.vocabulary.batches import Ints, QueryChanges, VersionChanges

VERSIONS_PER_BASE_MAX = 512
VERSION_BYTES_MAX = 16 << 20
"""So many versions may follow a base, or so many bytes of them if that is more than the base has,
before they are folded into a new one."""


def is_long(root: Path, base: int, settled: int, versions_max: int | None = None) -> bool:
    """Say whether many versions, or many bytes of them, have followed a base up to `settled`."""
    if settled - base > (VERSIONS_PER_BASE_MAX if versions_max is None else versions_max):
        return True
    size = sum(
        size_of(root / "versions" / directory_name(version))
        for version in range(base + 1, settled + 1)
    )
    return size > max(VERSION_BYTES_MAX, size_of(root / "bases" / directory_name(base)))


Steps = Mapping[str, Mapping[str, Any]]


def left_groups(
    draft: Draft, standing: Mapping[str, int], placed: PlacedBlocks, steps: Steps
) -> list[str]:
    """List the groups of which a draft drops the last of so many queries that stand.

    Groups that nobody reads but these go with them.
    """
    left = []
    for group, change in draft.changes.items():
        gone = sum(block.standing_among(own) for block, own in placed.owners(change.drops))
        come = sum(len(block.query) for block in draft.blocks if block.record.group == group)
        if gone and standing.get(group, 0) - gone + come == 0:
            left.append(group)
    return [*left, *unread_groups({**steps, **draft.steps}, left)] if left else left


def unread_groups(steps: Steps, left: Collection[str]) -> list[str]:
    """List the groups that feed others, once all that read them are among those that are left.

    >>> unread_groups({"a": {}, "b": {"reads": ["a"]}, "c": {"reads": ["b"]}}, ["c"])
    ['b', 'a']
    """
    gone, found = set(left), list[str]()
    while True:
        read = {name for group, own in steps.items() if group not in gone
                for name in own.get("reads", ())}  # fmt: skip
        fed = [name for group in steps.keys() & gone for name in steps[group].get("reads", ())]
        more = [name for name in dict.fromkeys(fed) if name not in read and name not in gone]
        if not more:
            return found
        found += more
        gone.update(more)


def folded_draft(standing: Draft, versions: Iterable[VersionChanges], expired: int) -> Draft:
    """Give what stands after many versions as one, without what was dropped up to `expired`."""
    changes: dict[str, list[QueryChanges]] = {}
    for item in versions:
        for group, change in item.changes.items():
            changes.setdefault(group, []).append(change)
        for group in item.let_go:
            changes.pop(group, None)
    kept = (block.without(expired) for block in standing.blocks)
    return replace(
        standing,
        blocks=sorted((b for b in kept if len(b.query)), key=lambda block: int(block.query[0])),
        changes={group: QueryChanges(adds=folded(iter(own))) for group, own in changes.items()},
        let_go={group: gone for group, gone in standing.let_go.items() if gone > expired},
    )


def changes_of(versions: Iterable[VersionChanges], group: str) -> list[tuple[int, QueryChanges]]:
    """List what versions changed in a group; one that was let go and came again begins anew."""
    found: list[tuple[int, QueryChanges]] = []
    for item in versions:
        if group in item.changes:
            found.append((item.version, item.changes[group]))
        if group in item.let_go:
            found.clear()
    return found


def folded(changes: Iterator[QueryChanges]) -> dict[str, pa.Table]:
    """Add up a group's changes: the entries that stand after all of them."""
    tables: dict[str, list[pa.Table]] = {}
    drops: list[Ints] = []
    for change in changes:
        drops.append(change.drops)
        for port, table in change.adds.items():
            tables.setdefault(port, []).append(table)
    gone = pa.array(np.concatenate(drops)) if drops else pa.array([], pa.int64())
    standing = {port: pa.concat_tables(parts) for port, parts in tables.items()}
    if not len(gone):
        return standing
    return {
        port: table.filter(pc.invert(pc.is_in(table["query"], value_set=gone)))
        for port, table in standing.items()
    }
