"""Files and directories that appear at once and stay.

Everything durable goes through here: written beside its place, flushed to disk, renamed. A reader
sees the whole file or none.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.storage import disk
from penstock.storage.seals import Seal, SealingFile

_TEMPORARY = re.compile(r"\..+\.(\d+)-\d+\.tmp")
_IPC = pa.ipc.IpcWriteOptions(compression=None)


def write_file(
    path: Path,
    write: Callable[[Path], object] | bytes,
    named: bool = True,
    is_private: bool = True,
) -> None:
    """Publish a file: `write` makes it under a temporary name, then it is renamed into place.

    With `named` the name is durable too; without, it will be with the next file of the directory.
    If it `is_private`, nobody but its owner may read it.
    """
    temporary = _beside(path)
    with disk.writing(path):
        if callable(write):
            write(temporary)
            disk.wrote(temporary)
            if is_private:
                disk.seclude(temporary)
        else:
            disk.write(temporary, write)
        disk.flush(temporary)
        disk.rename(temporary, path)
        if named:
            disk.flush(path.parent)


def write_first(path: Path, data: bytes) -> bool:
    """Publish a file unless it is there, and say whether it was published.

    Of several writers one is the first, and what it wrote stays.
    """
    temporary = _beside(path)
    with disk.writing(path):
        try:
            disk.write(temporary, data)
            disk.flush(temporary)
            disk.link(temporary, path)
            is_first = True
        except FileExistsError:
            is_first = False
        finally:
            disk.remove(temporary)
        disk.flush(path.parent)
    return is_first


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Publish a JSON file."""
    write_file(path, json.dumps(data, separators=(",", ":")).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file."""
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def publish_directory(path: Path, fill: Callable[[Path], None]) -> None:
    """Publish a directory whose files `fill` writes; the directory appears whole or not at all."""
    temporary = _beside(path)
    with disk.writing(path):
        _empty(temporary)
        disk.make_directory(temporary, named=False)
        fill(temporary)
        for file in sorted(temporary.iterdir()):
            disk.flush(file)
        disk.flush(temporary)
        disk.rename(temporary, path)
        disk.flush(path.parent)


def remove_directory(path: Path) -> None:
    """Remove a flat directory if it is there, so that nobody sees a half of it."""
    if path.is_dir():
        going = path if path.name.startswith(".") else _beside(path)
        if going != path:
            _empty(going)
            disk.rename(path, going)
        _empty(going)


def _empty(path: Path) -> None:
    if path.is_dir():
        for file in path.iterdir():
            disk.remove(file)
        disk.unmake_directory(path)


def write_table(path: Path, table: pa.Table) -> Seal:
    """Write an Arrow IPC file (not flushed: for use inside `publish_directory`); give its seal."""
    with path.open("wb") as file:
        sealing = SealingFile(file)
        with pa.ipc.new_file(sealing, table.schema, options=_IPC) as out:
            out.write_table(table)
    disk.wrote(path)
    disk.seclude(path)
    return sealing.seal


def read_table(path: Path) -> pa.Table:
    """Read an Arrow IPC file through a memory map: opening costs nothing, pages are shared."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def table_to_bytes(table: pa.Table) -> bytes:
    """Serialise a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_IPC) as out:
        out.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_from_bytes(data: bytes) -> pa.Table:
    """Give back the table that `table_to_bytes` serialised, without copying the columns."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def remove_leftovers(directory: Path) -> None:
    """Remove the files of a directory that processes which are gone were writing."""
    for path in directory.glob(".*.tmp"):
        found = _TEMPORARY.fullmatch(path.name)
        if found and path.is_file() and not _lives(int(found[1])):
            disk.remove(path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _beside(path: Path) -> Path:
    """Name a temporary file of this thread alone: a batch may be written twice at a time."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
