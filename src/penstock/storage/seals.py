"""Seals: the size and checksum of a file, noted by the manifest that names it.

They are taken of the bytes as they are written. A file that was cut, emptied, exchanged or changed
in one bit no longer fits its seal, and verification says which. A seal is no signature: who changes
a file on purpose can make a new one, so that answers are compared as well.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
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


_MARK = b"seal"


def with_seal(data: bytes) -> bytes:
    """Give bytes with their seal behind them, for files that no manifest names.

    >>> without_seal(with_seal(b"abc")), without_seal(b"of an older home")
    (b'abc', b'of an older home')
    """
    return data + _MARK + zlib.crc32(data).to_bytes(4, "big")


def without_seal(data: bytes) -> bytes:
    """Give the bytes without their seal; ValueError if they are not as they were sealed.

    Those of older homes have no seal. A seal that is cut off takes nothing with it.
    """
    kept, mark, sum_ = data[:-8], data[-8:-4], data[-4:]
    if mark != _MARK:
        return data
    if zlib.crc32(kept) != int.from_bytes(sum_, "big"):
        raise ValueError("it does not fit its seal")
    return kept


def unsealed(data: dict[str, Any], names: Collection[str] | None = None) -> dict[str, Any]:
    """Give what was sealed, without its seal; ValueError if it is not as it was sealed.

    Where older homes have none, `names` are those that may be there: a seal that is not called so
    any more is no name.

    >>> unsealed(sealed({"batch": 3})), unsealed({"batch": 3}, ("batch",))
    ({'batch': 3}, {'batch': 3})
    """
    if SEAL in data or names is None:
        if not is_sealed(data):
            raise ValueError("it does not fit its seal")
    elif not data.keys() <= set(names):
        raise ValueError("it says what nobody wrote")
    return {name: value for name, value in data.items() if name != SEAL}


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
