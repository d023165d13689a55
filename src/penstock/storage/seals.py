"""Seals: the size and checksum of a file, noted by the manifest that names it.

They are taken of the bytes as they are written. A file that was cut, emptied, exchanged or changed
in one bit no longer fits its seal, and verification says which. A seal is no signature: who changes
a file on purpose can make a new one, so that answers are compared as well.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

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
    """Seal a file as it lies there."""
    return seal_of(path.read_bytes())


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
