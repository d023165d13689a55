"""Moving: the copy of a home is made beside it, migrated there, and takes its place by renaming.

```
home                  as it was, until the last moment
.home.migrating       the copy that is worked on; whoever comes next removes it
.home.migrated        the copy, whole and on disk
home.format-2         the old home, when the new one has taken its place
```
Kill the process at any moment: either `home` is the old one and the next opening begins again, or
it is the new one. Between the two renamings it is not there, and the next opening does the second.
Result files are linked, not copied: nobody ever writes into them, old or new.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from penstock.engine.migration.formats import (
    FORMAT,
    GroupNames,
    Tell,
    bring_state,
    followed,
    migrate_format,
)
from penstock.storage.disk import flush
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import sealed
from penstock.storage.state import OLDER
from penstock.vocabulary.errors import PenstockError

MARKER = "penstock.json"
LOCK = ".lock"
TOLD_EVERY_FILES = 2_000


def finish_move(path: Path) -> None:
    """Do the last renaming of a migration that was killed between its two."""
    whole = _beside(path, "migrated")
    is_between = not path.exists() and any(path.parent.glob(f"{path.name}.format-*"))
    if is_between and whole.exists():
        _take_place(whole, path)


def migrate_home(path: Path, facts: dict[str, Any], tell: Tell) -> IO[str]:
    """Bring a home, whose lock the caller has, to this format; give the lock of the new one."""
    begun = int(facts["format"])
    working, whole = _beside(path, "migrating"), _beside(path, "migrated")
    tell(f"{path} has format {begun}, this Penstock's is {FORMAT}. It is copied and migrated.")
    try:
        for old in (working, whole):
            if old.exists():
                shutil.rmtree(old)
        _copy(path, working, tell)
        names: GroupNames = {}
        for format_ in range(begun, FORMAT):
            tell(f"Format {format_} becomes {format_ + 1}.")
            names = followed(names, migrate_format(format_, working, tell))
        notes = bring_state(working, facts, begun, names, tell)
        moved = {"from": begun, "to": FORMAT, "notes": notes}
        moved["noted"] = [OLDER] if (working / OLDER).exists() else []
        now = read_json(working / MARKER)
        told = [*now.get("migrated", []), moved]
        write_json(working / MARKER, sealed({**now, "format": FORMAT, "migrated": told}))
        for directory, _, files in os.walk(working):
            for name in files:
                flush(Path(directory) / name)
            flush(Path(directory))
        lock = _locked(working / LOCK)
        try:
            working.rename(whole)
            kept = _free(path.with_name(f"{path.name}.format-{begun}"))
            path.rename(kept)
            _take_place(whole, path)
        except BaseException:
            lock.close()
            raise
    except OSError as error:
        raise PenstockError(
            "ENG-052",
            f"{path} has format {begun} and cannot be migrated: {error}.",
            f"Let {path.parent} be written to and have room for a copy of the home, and try again; "
            "the home is as it was.",
        ) from error
    for note in notes:
        tell(note)
    tell(f"{path} now has format {FORMAT}. What it was is in {kept}; remove it when you like.")
    return lock


def _locked(file: Path) -> IO[str]:
    """Lock the new home before it is one: nobody comes between."""
    lock = file.open("a+")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _take_place(whole: Path, path: Path) -> None:
    # Who comes to open the home in this very moment may do it first.
    with suppress(FileNotFoundError):
        whole.rename(path)
    flush(path.parent)


def _beside(path: Path, word: str) -> Path:
    return path.with_name(f".{path.name}.{word}")


def _free(path: Path) -> Path:
    """Give a name that nothing has yet."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, 1_000))]
    return next(name for name in names if not name.exists())


def _copy(path: Path, target: Path, tell: Tell) -> None:
    files = list(_files(path))
    for number, file in enumerate(files):
        place = target / file.relative_to(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".parquet":
            try:
                place.hardlink_to(file)
            except OSError:
                shutil.copy2(file, place)
        else:
            shutil.copy2(file, place)
        if (number + 1) % TOLD_EVERY_FILES == 0:
            tell(f"Copied {number + 1:,} of {len(files):,} files.")
    for directory in (item for item in path.rglob("*") if item.is_dir()):
        (target / directory.relative_to(path)).mkdir(parents=True, exist_ok=True)
    tell(f"Copied {len(files):,} files.")


def _files(path: Path) -> Iterator[Path]:
    return (each for each in sorted(path.rglob("*")) if each.is_file() and each.name != LOCK)
