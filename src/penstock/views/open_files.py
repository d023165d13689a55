"""Open files: one connection to a DuckDB file in a process, however many ask for it.

DuckDB gives a file to one process, and within it every connection the same settings, which are
locked. An operator that is left behind may hold the file when the next one comes, and a reader may
come while the first batch makes the view: whoever begins a transaction has the connection alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from penstock.expressions.connections import connect
from penstock.storage import disk
from penstock.storage.files import write_file

IN_MEMORY = ":memory:"
"""What names begin with that are of no file."""
STORE_MEMORY, STORE_SPILL = "2GB", "4GB"
"""What the store of one view may take of memory; and what DuckDB may spill beside the file."""
LOG_BYTES_MIN = 1 << 20
"""So long may the log beside a file be, or as long as the file, before it is brought into it.

DuckDB does it by itself at 16 MB, which is a year of a small view."""


@dataclass(slots=True)
class OpenFile:
    """A connection, how many use it, who is in a transaction, and its files at the last commit.

    `sizes` are those of the files then.
    """

    connection: duckdb.DuckDBPyConnection
    users: int = 0
    alone: threading.RLock = field(default_factory=threading.RLock)
    sizes: dict[Path, tuple[int, int]] = field(default_factory=dict)


_LOCK = threading.Lock()
_OPEN: dict[str, OpenFile] = {}


def open_file(path: str | Path) -> OpenFile:
    """Open a file, or give it as it is open; close it by `close_file`."""
    with _LOCK:
        name = str(path)
        if name not in _OPEN:
            if not (name.startswith(IN_MEMORY) or Path(name).exists()):
                # DuckDB opens no file that a crash left in the midst of its making.
                write_file(Path(name), _make)
            _OPEN[name] = OpenFile(connect(name, memory=STORE_MEMORY, spill=STORE_SPILL))
            disk.remove_tree(_spilled(name))  # by a process that was killed: nobody else is here
        _OPEN[name].users += 1
        return _OPEN[name]


def _make(path: Path) -> None:
    disk.remove(path)  # what a process of the same number left: DuckDB would open it
    connect(path).close()


def close_file(path: str | Path) -> None:
    """Let go of a file; the last one closes it."""
    with _LOCK:
        found = _OPEN.get(str(path))
        if found is not None:
            found.users -= 1
            if found.users == 0:
                del _OPEN[str(path)]
                found.connection.close()


def committed(path: str | Path) -> None:
    """Say what a commit changed on disk, and let new names outlive a power cut.

    DuckDB flushes the bytes of its files, but not the directory that they are in.
    """
    found = _OPEN[str(path)]
    sizes = {file: size for file, (size, _) in _sizes(Path(path)).items()}
    if sizes.get(_log(path), 0) > max(LOG_BYTES_MIN, sizes.get(Path(path), 0)):
        found.connection.execute("CHECKPOINT")
    before, found.sizes = found.sizes, _sizes(Path(path))
    for file, size in found.sizes.items():
        if before.get(file) != size:
            disk.kept(file)
    for file in before.keys() - found.sizes.keys():
        disk.removed(file)
    if before.keys() != found.sizes.keys():
        disk.flush(Path(path).parent)


def _sizes(path: Path) -> dict[Path, tuple[int, int]]:
    """Give size and time of a database's file and of its log, as far as they are there."""
    told = {file: file.stat() for file in (path, _log(path)) if file.exists()}
    return {file: (own.st_size, own.st_mtime_ns) for file, own in told.items()}


def _log(path: str | Path) -> Path:
    return Path(f"{path}.wal")


def _spilled(path: str | Path) -> Path:
    return Path(f"{path}.tmp")
