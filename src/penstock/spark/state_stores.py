"""State stores of a cluster's shards: what Spark would load them from, and whether it is whole.

Spark keeps a store for every partition: a `.changelog` for each version, now and then a `.zip` that
names files with all rows, and these. A batch's manifest has the seals of what was new then. A
`.zip` may be written again for its version, and has checksums of its own.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.delivery.log import ResultLog
from penstock.spark.provenance import fits_sums
from penstock.storage.seals import Seal, seal_of_file
from penstock.vocabulary.findings import Finding

STATE = "state"
STORES = "stores"
"""What a batch's manifest calls the seals of the stores' new files, by their paths below."""
DAMAGED = "RUN-016"
FORGOTTEN_BATCHES = 2_000
"""Seals are looked for so far back: what is older is held to its size."""
_SNAPSHOT, _CHANGES, _ROWS = ".zip", ".changelog", "SSTs"
_DESCRIBED = ("_metadata", "_stateSchema")
_MISSING, _OTHER = "is missing", "is not as it was written"
_PARTITIONS = "spark.sql.shuffle.partitions"


def seals_of(root: Path, files: Iterable[Path]) -> dict[str, Seal]:
    """Seal those of some files that stay as they are."""
    found: dict[str, Seal] = {}
    for file in files:
        if file.suffix != _SNAPSHOT and not file.name.startswith("."):
            with suppress(OSError):  # a directory, or what went this moment
                found[file.relative_to(root).as_posix()] = seal_of_file(file)
    return found


def examine_stores(checkpoint: Path, newest: int, log: ResultLog) -> Iterator[Finding]:
    """Hold what Spark would load after its newest commit against seals, sums and sizes."""
    root = checkpoint / STATE
    if not root.is_dir():
        yield Finding(DAMAGED, root, f"{_MISSING}, though batches were run")
        return
    known = _StoreFiles(root, _noted(log))
    for place in _DESCRIBED:
        for file in sorted((root / "0" / place).rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield from known.held(file)
    for partition in range(_partitions(checkpoint, newest)):
        yield from known.store(root / "0" / str(partition), newest + 1)


@dataclass(frozen=True, slots=True)
class _StoreFiles:
    """What is known of the files below a directory."""

    root: Path
    seals: Mapping[str, Seal]

    def held(self, file: Path, size: int | None = None) -> Iterator[Finding]:
        """Hold a file that must be there against what is known of it."""
        if not file.is_file():
            yield Finding(DAMAGED, file, _MISSING)
            return
        seal = self.seals.get(file.relative_to(self.root).as_posix())
        is_other = seal is not None and seal_of_file(file) != seal
        is_other = is_other or (size is not None and file.stat().st_size != size)
        if is_other or not fits_sums(file):
            yield Finding(DAMAGED, file, _OTHER)

    def store(self, directory: Path, version: int) -> Iterator[Finding]:
        """Hold the files of one store against each other: a snapshot, and all changes since."""
        numbers = (path.stem for path in directory.glob(f"*{_SNAPSHOT}"))
        snapshots = (int(number) for number in numbers if number.isdecimal())
        base = max((number for number in snapshots if number <= version), default=0)
        if base:
            snapshot = directory / f"{base}{_SNAPSHOT}"
            named = _named(snapshot)
            if named is None or not fits_sums(snapshot):
                yield Finding(DAMAGED, snapshot, _OTHER)
            for name, size in (named or {}).items():
                yield from self.held(directory / _ROWS / name, size)
        for number in range(base + 1, version + 1):
            yield from self.held(directory / f"{number}{_CHANGES}")


def _named(snapshot: Path) -> dict[str, int] | None:
    """Give the files that a snapshot names, with their sizes; None if it is not whole."""
    try:
        with zipfile.ZipFile(snapshot) as packed:
            if packed.testzip() is not None:
                return None
            told = json.loads(packed.read("metadata").decode().partition("\n")[2])
        return {each["dfsSstFileName"]: int(each["sizeBytes"]) for each in told["sstFiles"]}
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        return None


def _noted(log: ResultLog) -> dict[str, Seal]:
    """Gather the seals that manifests have, the newest first."""
    found: dict[str, Seal] = {}
    newest = log.newest()
    for batch in range(newest, max(newest - FORGOTTEN_BATCHES, -1), -1):
        manifest = log.noted(batch)
        if manifest is None:
            break
        for name, seal in manifest.get(STORES, {}).items():
            found.setdefault(name, seal)
    return found


def _partitions(checkpoint: Path, batch: int) -> int:
    """Say how many partitions a batch had; none if its offsets do not say, which others tell."""
    try:
        text = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8")
        return int(json.loads(text.split("\n")[1])["conf"][_PARTITIONS])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return 0
