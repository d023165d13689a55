"""The home directory: everything durable of one engine.

One process at a time writes it; any number of others may read it meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from penstock.engine.migration import FORMAT, LOCK, MARKER, OLDEST, Tell, finish_move, migrate_home
from penstock.storage.disk import make_directory, seclude, writing
from penstock.storage.files import read_json, remove_leftovers, write_json
from penstock.storage.seals import is_sealed, sealed
from penstock.vocabulary.errors import PenstockError

SEALED_FROM = 3
"""Homes of this format and later seal what they say of themselves."""


PARTS = (
    "", "registry/announcements", "registry/suspensions", "state", "transcripts", "sinks", "views",
    "segments", "server/tokens",
)  # fmt: skip
"""Where a process that was killed may leave half a file, beside those that tidy up themselves."""
OLDER_FORMAT, IN_USE = "ENG-057", "ENG-004"
LOOKS = 5
LOOK_S = 0.02
"""Whoever asks whether a home is in use holds its lock for a moment: it is tried so often."""


def on_stderr(text: str) -> None:
    """Tell what is being done with a home that is migrated."""
    sys.stderr.write(f"penstock: {text}\n")


@dataclass(slots=True)
class Home:
    """An open home; `facts` says what it was made with. Without a lock it is only read."""

    path: Path
    facts: dict[str, Any]
    _lock: IO[str] | None

    @property
    def is_read_only(self) -> bool:
        """Whether nothing of it may be changed here."""
        return self._lock is None

    @property
    def is_closed(self) -> bool:
        """Whether it was given up, so that it may be another process's."""
        return self._lock is not None and self._lock.closed

    @property
    def engine(self) -> str:
        """The engine's unique name."""
        return str(self.facts["engine"])

    def settle(self, **facts: Any) -> None:  # JSON values
        """Fix facts that must never change for this home, or check that they did not."""
        for name, value in facts.items():
            known = self.facts.get(name)
            if known is not None and known != value:
                raise PenstockError(
                    "ENG-005",
                    f"This home runs with {name} = {known!r}, not {value!r}.",
                    f"Leave {name} out, or begin another home directory.",
                )
        if any(self.facts.get(name) is None for name in facts):
            self.facts.update(facts)
            write_json(self.path / MARKER, sealed(self.facts))

    def note(self, **facts: Any) -> None:  # JSON values
        """Keep facts that may change."""
        self.facts.update(facts)
        write_json(self.path / MARKER, sealed(self.facts))

    def close(self) -> None:
        """Let another process open this home."""
        if self._lock is not None:
            self._lock.close()


def open_home(path: Path, tell: Tell = on_stderr) -> Home:
    """Open a home directory, or make one; refuse one in use.

    One of an older format is migrated first, and `tell` is told so; one of a newer is refused.
    """
    path = path.resolve()
    with writing(path):
        if path.is_file():
            fact = f"{path} is a file, and no Penstock home."
            raise PenstockError("ENG-003", fact, "Choose an empty or new directory.")
        finish_move(path)
        make_directory(path)
    marker = path / MARKER
    if marker.exists():
        _read_facts(marker)  # a home of an unknown format stays untouched
    strangers = [item for item in path.iterdir() if not item.name.startswith(".")]
    if not marker.exists() and strangers:
        raise PenstockError(
            "ENG-003",
            f"{path} is not empty and is not a Penstock home.",
            "Choose an empty or new directory.",
        )
    lock = _locked(path)
    try:
        if not marker.exists():
            with suppress(PermissionError):  # a directory of somebody else, that we may use
                seclude(path)
            write_json(marker, sealed({"format": FORMAT, "engine": uuid.uuid4().hex}))
        facts = _read_facts(marker)
        if facts["format"] < FORMAT:
            old, lock = lock, migrate_home(path, facts, tell)
            old.close()
            _sign(lock)
            facts = _read_facts(marker)
        _refuse_older_facts(path, facts)
        _refuse_lost_notes(path, facts)
        for part in PARTS:
            remove_leftovers(path / part)
        return Home(path, facts, lock)
    except BaseException:
        lock.close()
        raise


def visit_home(path: Path) -> Home:
    """Open a home only to read it, beside the engine that may run it; nothing is made or moved."""
    path = path.resolve()
    marker = path / MARKER
    if not marker.is_file():
        raise PenstockError(
            "ENG-056",
            f"There is no Penstock home at {path}.",
            "Name the directory that the engine was given.",
        )
    facts = _read_facts(marker)
    if facts["format"] < FORMAT:
        raise PenstockError(
            OLDER_FORMAT,
            f"{path} has format {facts['format']}, and one that is only read is not migrated to "
            f"format {FORMAT}.",
            "Open it once with an engine of this version.",
        )
    _refuse_older_facts(path, facts)
    _refuse_lost_notes(path, facts)
    return Home(path, facts, None)


def _refuse_older_facts(path: Path, facts: dict[str, Any]) -> None:
    """Refuse a marker that was put back: a start settles its facts before the first batch."""
    settled = facts.get("host") is not None
    settled = settled and (facts["host"] != "cluster" or facts.get("lanes") is not None)
    if not settled and (path / "checkpoint" / "offsets").exists():
        raise PenstockError(
            "ENG-006",
            f"{path / MARKER} is older than the batches that were run: it does not say where.",
            "Restore the home directory from a copy, or begin a new one.",
        )


def _refuse_lost_notes(path: Path, facts: dict[str, Any]) -> None:
    """Refuse a home without what a migration noted beside it, for shards to read."""
    for moved in facts.get("migrated", []):
        for name in moved.get("noted", []):
            if not (path / name).exists():
                raise PenstockError(
                    "ENG-058",
                    f"{path / name} is missing: it says what older formats left in Spark's store.",
                    "Restore the home directory from a copy, or begin a new one.",
                )


def user_of_home(path: Path) -> int | None:
    """Give the process that has a home open to write, if there is one."""
    try:
        lock = (path / LOCK).open("r")
    except OSError:
        return None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            owner = lock.read().strip()
            return int(owner) if owner.isdecimal() else 0
    return None


def in_use(path: Path, owner: str) -> PenstockError:
    """Say that a home is in use."""
    return PenstockError(
        IN_USE,
        f"{path} is in use by process {owner}.",
        "Stop that engine first, or only read: `Desk(home, read_only=True)`.",
    )


def _locked(path: Path) -> IO[str]:
    with writing(path):
        lock = (path / LOCK).open("a+")
    for left in reversed(range(LOOKS)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            if left:
                time.sleep(LOOK_S)
                continue
            lock.seek(0)
            owner = lock.read().strip() or "another process"
            lock.close()
            raise in_use(path, owner) from None
    _sign(lock)
    return lock


def _sign(lock: IO[str]) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()


def _read_facts(marker: Path) -> dict[str, Any]:
    try:
        facts = read_json(marker)
        found = facts["format"]
        if SEALED_FROM <= found <= FORMAT and not is_sealed(facts):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise PenstockError(
            "ENG-006",
            f"{marker} cannot be read.",
            "Restore the home directory from a copy, or begin a new one.",
        ) from None
    if not OLDEST <= found <= FORMAT:
        newer = found > FORMAT
        raise PenstockError(
            "ENG-007",
            f"{marker.parent} has format {found}; this Penstock reads formats {OLDEST} to "
            f"{FORMAT}.",
            "Install a newer Penstock: the one that made this home, or one after it."
            if newer
            else f"Open it once with a Penstock that migrates format {found}, or begin a new home.",
        )
    return facts
