"""Version directories: how a version lies on disk, and the changes between two versions.

```
registry/versions/000000000007/   manifest.json, block-0.arrow, <group>.<port>.arrow,
                                  <group>.drops.arrow
registry/bases/000000000512/      the same, for everything that stands at version 512
```
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.registry.records import Block, Declaration, Draft, SubscriptionRecord
from penstock.storage.files import publish_directory, read_json, read_table, write_json, write_table
from penstock.storage.seals import is_sealed, seal_of_file, sealed
from penstock.vocabulary.batches import QueryChanges, VersionChanges
from penstock.vocabulary.errors import PenstockError

BLOCK = "block-"


def directory_name(version: int) -> str:
    """Name a version's directory so that names sort as versions do."""
    return f"{version:012d}"


def numbered(root: Path) -> list[int]:
    """List the versions that lie in a directory, in order; other names are nobody's."""
    found = (int(path.name) for path in root.glob("[0-9]*") if path.name.isdecimal())
    return sorted(number for number in found if (root / directory_name(number)).is_dir())


def size_of(path: Path) -> int:
    """Count the bytes of a version; 0 if it is not there."""
    try:
        return sum(entry.stat().st_size for entry in os.scandir(path))
    except FileNotFoundError:
        return 0


def write_version(path: Path, version: int, draft: Draft, next_query: int) -> None:
    """Publish a draft as a version directory."""
    files = BlockFiles()
    places = [files.add(block) for block in draft.blocks]
    manifest: dict[str, Any] = {
        "version": version,
        "next_query": next_query,
        "declarations": [item.to_json() for item in draft.declarations],
        "steps": draft.steps,
        "subscriptions": [item.to_json() for item in draft.subscriptions],
        "ended": draft.ended,
        "texts": [text.to_json() for text in files.texts],
        "blocks": places,
        "changes": {group: sorted(change.adds) for group, change in draft.changes.items()},
        "let_go": draft.let_go,
    }
    if draft.undeclared:
        manifest["undeclared"] = draft.undeclared

    def fill(directory: Path) -> None:
        files.write(directory)
        for group, change in draft.changes.items():
            for port, table in change.adds.items():
                write_table(directory / f"{group}.{port}.arrow", table)
            write_table(directory / f"{group}.drops.arrow", pa.table({"query": change.drops}))
        seals = {file.name: seal_of_file(file) for file in sorted(directory.iterdir())}
        write_json(directory / "manifest.json", sealed({**manifest, "files": seals}))

    publish_directory(path, fill)


class BlockFiles:
    """The files of a version's blocks: those of one schema share one, however many they are."""

    def __init__(self) -> None:
        self.texts: dict[SubscriptionRecord, int] = {}
        self._files: dict[pa.Schema, int] = {}
        self._tables: list[list[pa.Table]] = []
        self._rows: list[int] = []

    def add(self, block: Block) -> list[int]:
        """Add a block; give its text, its version, its file and its rows there."""
        table = block.table.append_column("dropped", pa.array(block.dropped))
        table = table.replace_schema_metadata(None)
        file = self._files.setdefault(table.schema, len(self._files))
        if file == len(self._tables):
            self._tables.append([])
            self._rows.append(0)
        start = self._rows[file]
        self._tables[file].append(table)
        self._rows[file] += table.num_rows
        text = self.texts.setdefault(block.record, len(self.texts))
        return [text, block.version, file, start, self._rows[file]]

    def write(self, directory: Path) -> None:
        """Write the files."""
        for number, tables in enumerate(self._tables):
            whole = pa.concat_tables(tables).combine_chunks()
            write_table(directory / f"{BLOCK}{number}.arrow", whole)


def read_draft(path: Path) -> tuple[Draft, int]:
    """Read back what a version holds, and the next free query number.

    A version that is not as it was written is refused: what it says would decide every answer.
    """
    manifest = whole_manifest(path)
    try:
        return _draft(path, manifest)
    except (KeyError, TypeError, ValueError, IndexError, pa.ArrowException) as error:
        raise _damaged(path / "manifest.json", f"cannot be read: {error!r}") from None


def whole_manifest(path: Path, is_read: Callable[[str], bool] = lambda _: True) -> dict[str, Any]:
    """Read a version's manifest, and check it and those of its files that will be read."""
    file = path / "manifest.json"
    try:
        manifest = read_json(file)
        if not is_sealed(manifest):
            raise _damaged(file, "is not as it was written")
        for name, seal in manifest["files"].items():
            file = path / name
            if is_read(name) and seal_of_file(file) != seal:
                raise _damaged(file, "is not as it was written")
    except FileNotFoundError:
        raise _damaged(file, "is missing") from None
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise _damaged(file, f"cannot be read: {error!r}") from None
    if manifest["version"] != int(path.name):
        raise _damaged(path / "manifest.json", f"is that of version {manifest['version']}")
    return manifest


def _damaged(file: Path, fact: str) -> PenstockError:
    return PenstockError(
        "REG-022", f"{file} {fact}.", "Restore the home directory from a copy, or begin a new one."
    )


def _draft(path: Path, manifest: dict[str, Any]) -> tuple[Draft, int]:
    draft = Draft(
        declarations=[Declaration.from_json(item) for item in manifest["declarations"]],
        steps=manifest["steps"],
        subscriptions=[SubscriptionRecord.from_json(item) for item in manifest["subscriptions"]],
        ended=manifest["ended"],
        let_go=manifest.get("let_go", {}),
        undeclared=manifest.get("undeclared", []),
    )
    texts = [SubscriptionRecord.from_json(item) for item in manifest["texts"]]
    tables: dict[int, pa.Table] = {}
    for number, (text, version, *place) in enumerate(manifest["blocks"]):
        # Of homes of format 3 and before, every block has a file of its own.
        file, start, stop = place or (number, 0, None)
        if file not in tables:
            tables[file] = read_table(path / f"{BLOCK}{file}.arrow")
        table = tables[file][start:stop]
        block = Block(
            record=texts[text],
            version=version,
            table=table.drop_columns(["dropped"]),
        )
        block.dropped = table["dropped"].to_numpy().copy()
        draft.blocks.append(block)
    draft.changes = read_changes(path, manifest)
    return draft, manifest["next_query"]


def read_changes(path: Path, manifest: dict[str, Any]) -> dict[str, QueryChanges]:
    """Read what a version changes in each group (memory-mapped)."""
    return {
        group: QueryChanges(
            adds={port: read_table(path / f"{group}.{port}.arrow") for port in ports},
            drops=read_table(path / f"{group}.drops.arrow")["query"].to_numpy(),
        )
        for group, ports in manifest["changes"].items()
    }


class RegistryReader:
    """The registry as shards see it: `reader(after, upto)` gives the versions in between.

    Small and picklable, so that workers on any machine which sees the directory can use it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, after: int, upto: int) -> Iterator[VersionChanges]:
        """Give the versions in (after, upto]; from nothing, start with the newest base."""
        if after == 0:
            bases = [base for base in numbered(self._root / "bases") if base <= upto]
            if bases:
                after = bases[-1]
                yield self._changes(self._root / "bases" / directory_name(after))
        for version in range(after + 1, upto + 1):
            yield self._changes(self._root / "versions" / directory_name(version))

    def reaches(self, after: int) -> bool:
        """Say whether a shard at version `after` can still be caught up change by change."""
        return (
            after == 0
            or (self._root / "versions" / directory_name(after + 1)).exists()
            or not any(version > after for version in numbered(self._root / "versions"))
        )

    def _changes(self, path: Path) -> VersionChanges:
        manifest = whole_manifest(path, lambda name: not name.startswith(BLOCK))
        return VersionChanges(
            version=manifest["version"],
            steps=manifest["steps"],
            changes=read_changes(path, manifest),
            let_go=manifest.get("let_go", ()),
        )
