"""Volumes: the files of many batches in one, byte for byte, with an index.

```
results/volumes/000000001000-000000001999.volume
    magic | blocks | index | where the index is, and its checksum | magic
```
Small files of neighbouring batches are alike, so that they are compressed together, block by block,
and those of a kind lie side by side: who reads manifests and pairs unpacks no events.
What is taken out is what was put in: seals hold as before. A volume appears whole or not at all.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from penstock.vocabulary.errors import PenstockError

MAGIC = b"PENVOL01"
SUFFIX = ".volume"
BLOCK_BYTES = 1 << 18
"""Small files are gathered into blocks of about so many bytes."""
CODEC = "zstd"
_TRAILER = struct.Struct("<QQQI8s")
"""Where the index lies, its bytes as stored and as they are, its checksum, the magic word."""
_BLOCKS_KEPT = 4
"""The blocks that were used last: a batch has manifest, pairs and events in three."""


def volume_name(first: int, last: int) -> str:
    """Name a volume after its batches.

    >>> volume_name(0, 999)
    '000000000000-000000000999.volume'
    """
    return f"{first:012d}-{last:012d}{SUFFIX}"


def volume_range(name: str) -> tuple[int, int] | None:
    """Give the batches that a volume's name says, or None if it is no such name.

    >>> volume_range("000000000000-000000000999.volume"), volume_range("other")
    ((0, 999), None)
    """
    first, _, last = name.removesuffix(SUFFIX).partition("-")
    if not (name.endswith(SUFFIX) and first.isdecimal() and last.isdecimal()):
        return None
    return int(first), int(last)


class DamagedVolumeError(PenstockError):
    """A volume is not as it was written."""

    def __init__(self, path: Path, fact: str) -> None:
        super().__init__(
            "DEL-011",
            f"{path} is not as it was written: {fact}.",
            "Restore the home directory from a copy; `penstock check` names all such files.",
        )
        self.path = path


@dataclass(slots=True)
class VolumeWriter:
    """Puts files into a volume, one after the other; `finish` writes the index."""

    file: IO[bytes]
    first: int
    _blocks: list[list[int]] = field(default_factory=list)
    _files: dict[str, list[int]] = field(default_factory=dict)
    _gathered: bytearray = field(default_factory=bytearray)
    _place: int = 0

    def __post_init__(self) -> None:
        self._put(MAGIC)

    @property
    def names(self) -> list[str]:
        """The files that were put in."""
        return list(self._files)

    def add(self, name: str, data: bytes) -> None:
        """Put a file in."""
        self._files[name] = [len(self._blocks), len(self._gathered), len(data)]
        self._gathered += data
        if len(self._gathered) >= BLOCK_BYTES:
            self.close_block()

    def finish(self, last: int, **facts: Any) -> None:
        """Write the index, with what else is to be known of the volume."""
        self.close_block()
        index = {"first": self.first, "last": last, **facts}
        text = json.dumps({**index, "blocks": self._blocks, "files": self._files}).encode()
        stored, place = pa.compress(text, CODEC, asbytes=True), self._place
        self._put(stored)
        self._put(_TRAILER.pack(place, len(stored), len(text), zlib.crc32(stored), MAGIC))

    def close_block(self) -> None:
        """End the block in hand: what follows is compressed apart."""
        if self._gathered:
            data = bytes(self._gathered)
            stored = pa.compress(data, CODEC, asbytes=True)
            self._blocks.append([self._place, len(stored), len(data), zlib.crc32(stored)])
            self._put(stored)
            self._gathered = bytearray()

    def _put(self, data: bytes) -> None:
        self.file.write(data)
        self._place += len(data)


class Volume:
    """A volume, open to be read: also while another process removes it.

    Raises
    ------
    PenstockError
        DEL-011 if it is not as it was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._data = memoryview(path.read_bytes() if path.stat().st_size == 0 else _map(path))
            place, stored, size, sum_, magic = _TRAILER.unpack(self._data[-_TRAILER.size :])
            index = self._data[place : place + stored]
            if magic != MAGIC or zlib.crc32(index) != sum_:
                raise ValueError("its index does not fit its checksum")
            facts: dict[str, Any] = json.loads(pa.decompress(index, size, CODEC, asbytes=True))
            if (facts["first"], facts["last"]) != volume_range(path.name):
                raise ValueError(f"it holds batches {facts['first']} to {facts['last']}")
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, struct.error, pa.ArrowException) as error:
            raise DamagedVolumeError(path, str(error)) from None
        self.first, self.last = int(facts["first"]), int(facts["last"])
        self.facts = facts
        self._blocks: list[list[int]] = facts["blocks"]
        self._files: dict[str, list[int]] = facts["files"]
        self._kept: dict[int, pa.Buffer] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes on disk."""
        return len(self._data)

    def read(self, name: str) -> pa.Buffer:
        """Take a file out, as it was put in."""
        block, start, size = self._files[name]
        return self._block(block).slice(start, size)

    def _block(self, number: int) -> pa.Buffer:
        kept = self._kept.pop(number, None)
        if kept is None:
            place, stored, size, sum_ = self._blocks[number]
            data = self._data[place : place + stored]
            if zlib.crc32(data) != sum_:
                raise DamagedVolumeError(self.path, f"block {number} does not fit its checksum")
            kept = pa.decompress(data, size, CODEC)
            for oldest in list(self._kept)[: len(self._kept) + 1 - _BLOCKS_KEPT]:
                self._kept.pop(oldest, None)
        self._kept[number] = kept
        return kept


def _map(path: Path) -> pa.Buffer:
    with pa.memory_map(str(path)) as source:
        return source.read_buffer()
