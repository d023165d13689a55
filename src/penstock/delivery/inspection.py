"""Inspection of a result log: every manifest against its files, every file against its manifest.

It says nothing about whether an answer is right; it says whether the log is what was written, and
whether a reader who trusts the manifests reads what is in the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.log_files import KEPT, VOLUMES, LogFiles
from penstock.delivery.parts import MATCHES, PIECES, kept_section, net_section
from penstock.delivery.volumes import DamagedVolumeError
from penstock.storage.seals import is_sealed, seal_of
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding

DAMAGED, WRONG, STRAY, MISSING, UNKNOWN = "VER-004", "VER-005", "VER-006", "VER-002", "VER-007"

_MANIFEST = re.compile(r"\d{12}\.json")
_FILE = re.compile(r"(\d{12})-.+\.parquet")
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    pa.ArrowException,
    PenstockError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the registry says to a log: its version, relations and groups, and who stood when.

    `strangers(group, queries, version)` gives those of ascending query numbers that did not stand
    in a group at a version.
    """

    version: int
    relations: Collection[str]
    groups: Collection[str]
    strangers: Callable[[str, Ints, int], Ints]
    is_recorded: bool = True
    """Without a record only matched rows are there, and who stood long ago is not known."""


@dataclass(slots=True)
class Inspected:
    """What an inspection found.

    `recorded` counts the recorded rows by relation, from batch `first` on, and `expired` those that
    came before it and are no longer kept. `damaged` are the relations and groups with
    files that cannot be trusted; if not `is_readable`, manifests are missing or damaged, and nobody
    can say what the log holds.
    """

    findings: list[Finding] = field(default_factory=list)
    batches: int = 0
    files: int = 0
    first: int = 0
    newest: int = -1
    recorded: dict[str, int] = field(default_factory=dict)
    expired: dict[str, int] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    is_readable: bool = True

    def note(self, code: str, file: Path, fact: str) -> None:
        """Note what is wrong with a file."""
        self.findings.append(Finding(code, file, fact))


def inspect_log(root: Path, standing: Standing) -> Inspected:
    """Inspect a recorded result log, from the first batch that is kept."""
    found, files = Inspected(), LogFiles(root)
    there = _names(found, files)
    try:
        kept = files.kept()
        found.first, found.expired = kept.first, kept.recorded
    except PenstockError as error:
        found.note(DAMAGED, root / KEPT, f"cannot be read: {error.fact}")
        found.is_readable = False
        return found
    manifests = {path for path in there if _is_manifest(path, files)}
    newest = max((int(path.stem) for path in manifests), default=-1)
    named: set[Path] = set()
    version: int | None = None if found.first else 0
    found.newest = newest
    for number in range(found.first, newest + 1):
        path = files.directory(number) / f"{number:012d}.json"
        if path not in manifests:
            found.note(MISSING, path, "is missing, so batch and results are")
            found.is_readable = False
            continue
        found.batches += 1
        found.files += 1
        manifest = _manifest(found, files, path, number)
        if manifest is None:
            found.is_readable = False
            continue
        try:
            version = manifest["version"] if version is None else version
            _check_versions(found, path, manifest, version, standing)
            version = max(version, manifest["version"])
            for part in manifest["parts"]:
                named |= _check_part(found, files, path, manifest, part, standing)
        except _UNREADABLE as error:
            found.note(WRONG, path, f"does not describe a batch: {error!r}")
            found.is_readable = False
    for path in sorted(there - manifests - named):
        if not _is_left_over(path, found.first, newest):
            found.note(STRAY, path, "is named by no manifest")
    return found


def _names(found: Inspected, files: LogFiles) -> set[Path]:
    """List the files of a log as if all were loose; a volume that cannot be read is noted."""
    volumes = files.root / VOLUMES
    there = {path for path in files.root.rglob("*") if path.is_file() and path.parent != volumes}
    there.discard(files.root / KEPT)
    for first, last in files.volumes():
        try:
            names = list(files.volume(first, last))
        except PenstockError as error:
            found.note(DAMAGED, files.path(first, last), f"cannot be read: {error.fact}")
            continue
        there |= {files.directory(int(name[:12])) / name for name in names}
    return there


def _is_manifest(path: Path, files: LogFiles) -> bool:
    return bool(_MANIFEST.fullmatch(path.name)) and path.parent == files.directory(int(path.stem))


def _is_left_over(path: Path, first: int, newest: int) -> bool:
    """Say whether a crash may have left a file: half-written, of a batch to come, or expired."""
    batch = _FILE.fullmatch(path.name)
    return path.name.startswith(".") or (batch is not None and not first <= int(batch[1]) <= newest)


def _manifest(found: Inspected, files: LogFiles, path: Path, number: int) -> dict[str, Any] | None:
    try:
        manifest: dict[str, Any] = json.loads(files.read(path, number).to_pybytes())
        whole, batch = is_sealed(manifest), manifest["batch"]
    except DamagedVolumeError as error:
        found.note(DAMAGED, error.path, f"cannot be read: {error.fact}")
        return None
    except _UNREADABLE as error:
        found.note(DAMAGED, path, f"cannot be read: {error!r}")
        return None
    if not whole:
        found.note(DAMAGED, path, "is not as it was written")
    if batch != number:
        found.note(WRONG, path, f"says that it is of batch {batch}")
        return None
    return manifest


def _check_versions(
    found: Inspected, path: Path, manifest: dict[str, Any], before: int, standing: Standing
) -> None:
    version, parts = manifest["version"], manifest["parts"]
    if version < before:
        found.note(WRONG, path, f"goes back from version {before} to {version}")
    elif version > standing.version:
        fact = f"names version {version}, and the registry ends at {standing.version}"
        found.note(UNKNOWN, path, fact)
    elif version != max([before, *(part["version"] for part in parts)]):
        found.note(WRONG, path, f"names version {version}, and its parts ran under another")
    shards = [part.get("shard", 0) for part in parts]
    if len(set(shards)) < len(shards):
        found.note(WRONG, path, "has two parts of one shard")


def _check_part(
    found: Inspected,
    log: LogFiles,
    path: Path,
    manifest: dict[str, Any],
    part: dict[str, Any],
    standing: Standing,
) -> set[Path]:
    """Check a part and its sections; give the files that it names."""
    named: set[Path] = set()
    prefix = f"{manifest['batch']:012d}-{part.get('shard', 0)}"
    recorded = 0
    nets = {own(name) for name in standing.relations for own in (net_section, kept_section)}
    relations = [section["relation"] for section in part["sections"]]
    if len(set(relations)) < len(relations):
        found.note(WRONG, path, "has two sections of one relation in a part")
    for number, section in enumerate(part["sections"]):
        relation = section["relation"]
        if section["stem"] != f"{prefix}-{number}":
            found.note(WRONG, path, f"names the files of {section['stem']} as its own")
        if relation in standing.relations:
            recorded += section["events"]
            found.recorded[relation] = found.recorded.get(relation, 0) + section["events"]
        elif relation not in standing.groups and relation not in nets:
            found.note(UNKNOWN, path, f"has rows of {relation!r}, which the registry does not know")
        stem = path.parent / section["stem"]
        files = {suffix: stem.with_name(f"{stem.name}-{suffix}.parquet") for suffix in _SUFFIXES}
        named |= set(files.values())
        found.files += len(files)
        tables = {
            suffix: _table(found, log, manifest["batch"], files[suffix], section, suffix)
            for suffix in _SUFFIXES
        }
        if tables["events"] is None or tables["matches"] is None:
            found.damaged.add(relation)
            found.damaged |= set(section["groups"])
        else:
            _check_slices(found, path, section)
            _check_pairs(found, files["matches"], manifest["version"], section, tables, standing)
    if standing.is_recorded and recorded != part["rows_in"]:
        fact = f"tells of {part['rows_in']:,} rows in, and {recorded:,} are recorded"
        found.note(WRONG, path, fact)
    return named


_SUFFIXES = ("events", "matches")


def _table(
    found: Inspected,
    log: LogFiles,
    batch: int,
    file: Path,
    section: dict[str, Any],
    suffix: str,
) -> pa.Table | None:
    """Read a file if it is as it was written and as its manifest says."""
    try:
        data = log.read(file, batch)
    except DamagedVolumeError as error:
        found.note(DAMAGED, error.path, f"cannot be read: {error.fact}")
        return None
    except OSError:
        found.note(DAMAGED, file, "is missing")
        return None
    if seal_of(data) != section["seals"][suffix]:
        found.note(DAMAGED, file, "is not as it was written")
        return None
    try:
        table = pq.read_table(pa.BufferReader(data))
    except _UNREADABLE as error:
        found.note(DAMAGED, file, f"cannot be read: {error!r}")
        return None
    if table.num_rows != section[suffix]:
        fact = f"has {table.num_rows:,} rows, and its manifest says {section[suffix]:,}"
        found.note(WRONG, file, fact)
    noted = (table.schema.metadata or {}).get(PIECES)
    if noted is not None and sum(rows for _, _, rows in json.loads(noted)) != table.num_rows:
        found.note(WRONG, file, "has other rows than the pieces that it is made of")
    return table


def _check_slices(found: Inspected, path: Path, section: dict[str, Any]) -> None:
    """The slices of the groups lie side by side and cover all pairs."""
    end = 0
    for group, (start, stop) in sorted(section["groups"].items(), key=lambda item: item[1]):
        if start != end or stop < start:
            found.note(WRONG, path, f"gives {group} the pairs {start} to {stop}, not from {end} on")
        end = max(end, stop)
    if end != section["matches"]:
        found.note(WRONG, path, f"shares out {end:,} of {section['matches']:,} pairs")


def _check_pairs(
    found: Inspected,
    file: Path,
    version: int,
    section: dict[str, Any],
    tables: dict[str, pa.Table | None],
    standing: Standing,
) -> None:
    """Every pair names an event that is there, and a query that stood in the pair's group."""
    events, matches = tables["events"], tables["matches"]
    assert events is not None and matches is not None
    if not matches.schema.equals(MATCHES) or any(column.null_count for column in matches.columns):
        found.note(WRONG, file, "does not hold pairs")
        return
    event = matches["event"].to_numpy()
    if len(event) and not (event.min() >= 0 and event.max() < events.num_rows):
        found.note(WRONG, file, f"names events beyond the {events.num_rows:,} that are recorded")
    query = matches["query"].to_numpy()
    for group, strangers in _strangers(query, version, section, standing):
        shown = ", ".join(map(str, strangers[:3]))
        fact = f"has pairs of queries that do not stand in {group} at version {version}: {shown}"
        found.note(UNKNOWN, file, fact)


def _strangers(
    query: Ints, version: int, section: dict[str, Any], standing: Standing
) -> Iterator[tuple[str, Ints]]:
    for group, (start, stop) in section["groups"].items():
        queries = np.unique(query[start:stop])
        known = group in standing.groups
        strangers = standing.strangers(group, queries, version) if known else queries
        if known and not standing.is_recorded:
            continue
        if len(strangers):
            yield group, strangers
