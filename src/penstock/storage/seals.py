"""Seals: the size and checksum of a file, noted by the manifest that names it.

They are taken of the bytes as they are written. A file that was cut, emptied, exchanged or changed
in one bit no longer fits its seal, and verification says which. A seal is no signature: who changes
a file on purpose can make a new one, so that answers are compared as well.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

SEAL = "seal"
"""The entry of a manifest that seals all its other entries."""

Seal = list[int]
"""Size in bytes, CRC-32."""


def seal_of(data: Any) -> Seal:
    """Seal bytes, or a buffer of them.

    >>> seal_of(b"abc")
    [3, 891568578]
    """
    view = memoryview(data)
    return [view.nbytes, zlib.crc32(view)]


def seal_of_file(path: Path) -> Seal:
    """Seal a file as it lies there, without a copy of it."""
    if not path.stat().st_size:
        return seal_of(b"")
    with pa.memory_map(str(path)) as source:
        return seal_of(source.read_buffer())


class SealingFile:
    """A file to write to that is sealed on its way: nothing is kept in memory or read again.

    >>> import io
    >>> file = SealingFile(io.BytesIO())
    >>> file.write(b"ab"), file.write(b"c"), file.seal
    (2, 1, [3, 891568578])
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seal: Seal = [0, 0]
        self.closed = False

    def write(self, data: Any) -> int:
        """Write bytes, or a buffer of them."""
        size, sum_ = self.seal
        self.seal = [size + len(data), zlib.crc32(data, sum_)]
        return self._file.write(data)

    def tell(self) -> int:
        """Give how many bytes were written."""
        return self.seal[0]

    def flush(self) -> None:
        """Hand everything on to the system."""
        self._file.flush()

    def close(self) -> None:
        """Take no more; who opened the file closes it."""
        self.closed = True


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Give a manifest with its seal.

    >>> is_sealed(sealed({"batch": 3})), is_sealed({**sealed({"batch": 3}), "batch": 4})
    (True, False)
    """
    rest = {name: value for name, value in data.items() if name != SEAL}
    return {**rest, SEAL: _seal(rest)}


def is_sealed(data: dict[str, Any]) -> bool:
    """Say whether a manifest is as it was when it was sealed."""
    return data.get(SEAL) == _seal({name: own for name, own in data.items() if name != SEAL})


def _seal(data: dict[str, Any]) -> Seal:
    return seal_of(json.dumps(data, separators=(",", ":")).encode())
