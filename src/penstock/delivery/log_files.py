"""The files of a result log by their names, wherever they lie: loose, or in a volume.

Another process may put files into volumes, or remove those that are no longer kept, at any moment.
Whoever does not find a loose file looks into the volumes: a volume is there before its files go.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.delivery.volumes import Volume, volume_name, volume_range
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import is_sealed, sealed
from penstock.vocabulary.errors import PenstockError

BATCHES_PER_DIRECTORY = 1_000
KEPT = "kept.json"
VOLUMES = "volumes"
_OPEN_MAX = 8
"""So many volumes stay open; the index of one may be large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSpan:
    """From which batch on results are kept, and what has gone before it."""

    first: int = 0
    rows: int = 0
    matches: int = 0
    recorded: dict[str, int] = field(default_factory=dict)
    """Recorded rows by relation."""


class ResultsExpiredError(PenstockError):
    """Results that are asked for are no longer kept; `first` is the first batch that is."""

    def __init__(self, batch: int, first: int) -> None:
        super().__init__(
            "DEL-008",
            f"The results of batch {batch:,} are no longer kept: they begin at batch {first:,}.",
            f"Go on at '{first}:0', and look elsewhere for what came between; or KEEP more.",
        )
        self.batch, self.first = batch, first


class LogFiles:
    """The files under one directory of results."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ranges: list[tuple[int, int]] = []
        self._listed_ns = -1
        """When the list of volumes was changed last; below zero it is read anew."""
        self._open: OrderedDict[tuple[int, int], Volume] = OrderedDict()

    def directory(self, batch: int) -> Path:
        """Give the directory of a batch's loose files."""
        return self.root / f"{batch // BATCHES_PER_DIRECTORY:09d}"

    def kept(self) -> KeptSpan:
        """Give what is kept, as of now."""
        path = self.root / KEPT
        try:
            facts = read_json(path)
            if not is_sealed(facts):
                raise ValueError("it is not as it was written")
            facts.pop("seal")
            return KeptSpan(**facts)
        except FileNotFoundError:
            return KeptSpan()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PenstockError(
                "DEL-009",
                f"{path} does not say which results are kept: {error}.",
                "Restore the home directory from a copy.",
            ) from None

    def keep(self, span: KeptSpan) -> None:
        """Say durably what is kept; what comes before may be removed from now on."""
        facts = {name: getattr(span, name) for name in KeptSpan.__dataclass_fields__}
        write_json(self.root / KEPT, sealed(facts))

    def read(self, path: Path, batch: int) -> pa.Buffer:
        """Give the bytes of a batch's file; FileNotFoundError if it is neither loose nor packed."""
        try:
            return _mapped(path)
        except FileNotFoundError:
            volume = self.volume_of(batch)
            if volume is None or path.name not in volume:
                raise
            return volume.read(path.name)

    def volumes(self) -> list[tuple[int, int]]:
        """List the batches of all volumes, in order."""
        directory = self.root / VOLUMES
        try:
            changed_ns = directory.stat().st_mtime_ns
            if changed_ns != self._listed_ns:
                names = os.listdir(directory)
                self._ranges = sorted(range_ for name in names if (range_ := volume_range(name)))
                self._listed_ns = changed_ns
        except FileNotFoundError:
            self._ranges, self._listed_ns = [], -1
        return self._ranges

    def volume(self, first: int, last: int) -> Volume:
        """Open a volume."""
        found = self._open.get((first, last))
        if found is None:
            found = Volume(self.path(first, last))
            self._open[first, last] = found
            while len(self._open) > _OPEN_MAX:
                self._open.popitem(last=False)
        return found

    def path(self, first: int, last: int) -> Path:
        """Give where the volume of some batches is, or will be."""
        return self.root / VOLUMES / volume_name(first, last)

    def volume_of(self, batch: int) -> Volume | None:
        """Give the volume that has a batch, if one has."""
        found = self._range_of(batch, self.volumes())
        try:
            return None if found is None else self.volume(*found)
        except FileNotFoundError:  # it went this moment
            return None

    @staticmethod
    def _range_of(batch: int, ranges: list[tuple[int, int]]) -> tuple[int, int] | None:
        at = bisect_right(ranges, (batch, 1 << 62)) - 1
        return ranges[at] if at >= 0 and ranges[at][1] >= batch else None

    def forget(self, first: int, last: int) -> None:
        """Close a volume that is removed."""
        self._open.pop((first, last), None)
        self._listed_ns = -1

    def loose(self) -> Iterator[tuple[int, Path, int]]:
        """List loose files: batch, path, size; other names are nobody's."""
        for directory in sorted(self.root.glob("[0-9]*")):
            try:
                found = list(os.scandir(directory))
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in found:
                batch = entry.name[:12]
                if batch.isdecimal() and entry.name[12:13] in {".", "-"}:
                    try:
                        yield int(batch), Path(entry.path), entry.stat().st_size
                    except FileNotFoundError:
                        continue


def manifest_facts(batch: int, manifest: dict[str, Any]) -> dict[str, Any]:
    """Give what retention must know of a batch."""
    sections = [section for part in manifest["parts"] for section in part["sections"]]
    return {
        "batch": batch,
        "time_s": manifest.get("time_s"),
        "rows": sum(part["rows_in"] for part in manifest["parts"]),
        "matches": sum(section["matches"] for section in sections),
        "events": [[section["relation"], section["events"]] for section in sections],
    }


def _mapped(path: Path) -> pa.Buffer:
    if not path.stat().st_size:
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as source:
        return source.read_buffer()
