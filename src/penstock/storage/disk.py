"""The one door to the disk: what changes files and names of a home, deed by deed.

Whoever watches sees every deed in its order, right after it was done. So an experiment can cut the
power between any two of them, and lose what was not flushed by then.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from penstock.vocabulary.errors import PenstockError

Deed = Literal["wrote", "flushed", "renamed", "linked", "removed", "made", "unmade"]
"""Files are written, flushed (directories too: their names), renamed, linked and removed;
directories are made and unmade."""
FLUSHES_AT_A_TIME = 8
PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
"""Modes of what a home is made of: texts and addresses may hold secrets, and so may rows."""
READ_ONLY = "Let it be written to; to read a home, open it with `Desk(home, read_only=True)`."
OTHER = "Name another place."
Watcher = Callable[[Deed, Path, Path | None], None]

REFUSALS = {
    errno.ENOSPC: ("RUN-015", "The disk is full", "Make room and try again."),
    errno.EDQUOT: ("RUN-015", "The disk's quota is used up", "Make room and try again."),
    errno.EROFS: ("ENG-063", "The disk can only be read", READ_ONLY),
    errno.EACCES: ("ENG-063", "This process may not write there", READ_ONLY),
    errno.EPERM: ("ENG-063", "This process may not write there", READ_ONLY),
    errno.ENOTDIR: ("ENG-063", "A file stands where a directory should be", OTHER),
    errno.ENAMETOOLONG: ("ENG-063", "Its path, or a name in it, is too long", OTHER),
}
"""What a disk refuses, with a code, a fact and a remedy."""

_watchers: list[Watcher] = []


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Let `by` see every deed: what was done, where, and of two names the new one."""
    _watchers.append(by)
    try:
        yield
    finally:
        _watchers.remove(by)


def _did(deed: Deed, path: Path, target: Path | None = None) -> None:
    for watcher in _watchers:
        watcher(deed, path, target)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write; a disk that is full or can only be read is told with a code.

    Raises
    ------
    PenstockError
        RUN-015 or ENG-063, with the path.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        code, fact, remedy = REFUSALS[error.errno]
        raise PenstockError(code, f"{fact}: {path} cannot be written.", remedy) from error


def wrote(path: Path) -> None:
    """Say that a file was written by something that takes a name, such as Arrow."""
    _did("wrote", path)


def kept(path: Path) -> None:
    """Say that a file was written and flushed by something that does both, such as DuckDB."""
    _did("wrote", path)
    _did("flushed", path)


def removed(path: Path) -> None:
    """Say that a file was removed by something that has its own files, such as DuckDB."""
    _did("removed", path)


def seclude(path: Path) -> None:
    """Let nobody but its owner read a file, or look into a directory."""
    path.chmod(PRIVATE_DIRECTORY if path.is_dir() else PRIVATE_FILE)


def write(path: Path, data: bytes) -> None:
    """Write a file; it is neither flushed nor hidden from readers."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    wrote(path)


def flush(path: Path) -> None:
    """Wait until a file's bytes, or a directory's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _did("flushed", path)


def rename(path: Path, target: Path) -> None:
    """Give a file or directory another name, in place of what had it."""
    path.replace(target)
    _did("renamed", path, target)


def link(path: Path, target: Path) -> None:
    """Give a file a second name, which must be free."""
    target.hardlink_to(path)
    _did("linked", path, target)


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    removed(path)


def make_directory(path: Path, named: bool = True, is_private: bool = True) -> None:
    """Make a directory, and those above it; with `named` the names are durable.

    If it `is_private`, nobody but its owner looks into it; those above it are as others are.
    """
    if path.is_dir():
        return
    make_directory(path.parent, named, is_private=False)
    with writing(path):
        try:
            path.mkdir(PRIVATE_DIRECTORY if is_private else 0o777)
        except FileExistsError:
            if path.is_dir():
                return
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    _did("made", path)
    if named:
        flush(path.parent)


def unmake_directory(path: Path) -> None:
    """Remove an empty directory."""
    path.rmdir()
    _did("unmade", path)


def remove_tree(path: Path) -> None:
    """Remove a directory with all that lies in it, if it is there."""
    if path.is_dir():
        for each in path.iterdir():
            if each.is_dir():
                remove_tree(each)
            else:
                remove(each)
        unmake_directory(path)


class NewFiles:
    """A tree in which somebody else writes without flushing, as Spark does in its state store."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._flushed: dict[Path, int] = {}

    def flush_new(self) -> list[Path]:
        """Flush what is new since the last time, and the directories that it is in; give all."""
        found: list[Path] = []
        times_ns: dict[Path, int] = {}
        for directory, _, names in os.walk(self._root):
            own = {Path(directory) / name: _changed_ns(Path(directory) / name) for name in names}
            # Not those later than the last: somebody may set the clock back.
            new = [path for path, time_ns in own.items() if self._flushed.get(path) != time_ns]
            if new:
                found += [*new, Path(directory)]
            times_ns |= own
        with ThreadPoolExecutor(FLUSHES_AT_A_TIME) as pool:
            list(pool.map(_flush_if_there, found))
        self._flushed = times_ns
        return found


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return -1


def _flush_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):
        flush(path)
