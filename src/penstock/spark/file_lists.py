"""Lists of files: what Spark remembers of the files that sources have read, kept short.

A source of files lists every file that it has read, and every tenth file of that list repeats all
before; Spark forgets none. A source that is read for months would have a list of millions, which is
written again with every tenth batch and read at every start. So what no start can ask for is
taken out of the newest file that repeats all before, and Spark's next one repeats what is left.

Spark itself does not look at files that are older than the newest by its `maxFileAge`, whether they
are listed or not: these need not be. Announcements go by themselves; those that are gone never come
again, so they need not be listed either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.spark.checkpoints import planned_batches
from penstock.spark.provenance import VERSION, parsed_offsets, steps_read, sums_file
from penstock.storage import disk
from penstock.storage.files import write_file

FILE_AGE = "7d"
"""Spark's own `maxFileAge`."""
_DURATION = re.compile(r"(\d+)\s*(us|ms|s|m|min|h|d)?", re.IGNORECASE)
_UNITS_MS = {
    "us": 0.001, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000,
}  # fmt: skip


def age_ms_of(name: str | None, options: Mapping[str, str]) -> float | None:
    """Say how much older than the newest a file is at most that Spark looks at; None: any.

    >>> age_ms_of("csv:/in", {"maxFileAge": "2h"}), age_ms_of("csv:/in", {"latestFirst": "true"})
    (7200000.0, None)
    """
    asked = {key.lower(): str(value).strip() for key, value in options.items()}
    if name is None or asked.get("latestfirst", "false").lower() != "false":
        return None  # a DataFrame of the user's, or one that looks at all files
    written = _DURATION.fullmatch(asked.get("maxfileage", FILE_AGE))
    return None if written is None else int(written[1]) * float(_UNITS_MS[written[2] or "ms"])


def flush_lists(checkpoint: Path, flushed: dict[str, int]) -> None:
    """Make lists durable, before manifests go that could bring them back after a power cut.

    `flushed` says which steps were by now, and is brought up to date.
    """
    root = checkpoint / "sources"
    before = set(flushed)
    for directory in sorted(root.iterdir()) if root.is_dir() else ():
        known = flushed.get(directory.name, -1)
        files = {
            int(stem): path
            for path in directory.iterdir()
            if (stem := path.name.removesuffix(".compact")).isdecimal() and int(stem) > known
        }
        for path in (own for file in files.values() for own in (file, sums_file(file))):
            with suppress(FileNotFoundError):  # Spark forgot it this moment, or keeps no sums
                disk.flush(path)
        if files:
            disk.flush(directory)
            flushed[directory.name] = max(files)
    if flushed.keys() - before:  # names of directories, which Spark does not flush either
        disk.flush(root)
        disk.flush(checkpoint)


def shorten_lists(
    checkpoint: Path, announcements: Path, ages_ms: Mapping[int, float], entries_min: int
) -> Iterator[bool]:
    """Take out of the lists of sources what no start can ask for; a step for each list.

    A list is shortened when so many of its entries can go, and they are half of it.

    Announcements are listed while they are there; files of the relation with a number among
    `ages_ms` while they are not older than the newest by so many milliseconds; all others for ever.
    """
    plans = planned_batches(checkpoint)
    if not plans:
        return
    try:
        text = (checkpoint / "offsets" / str(plans[0])).read_text(encoding="utf-8")
        last = steps_read(parsed_offsets(text))
    except (OSError, ValueError):  # Spark forgot it this moment, or a check will name it
        return
    there = {path.name for path in announcements.glob("*.txt")}
    goes: dict[int, Goes] = {
        0: lambda entry, _newest_ms: Path(entry["path"]).name not in there,
        **{number: _older_by(age_ms) for number, age_ms in ages_ms.items()},
    }
    for number, own in goes.items():
        if str(number) in last:
            _shorten(checkpoint / "sources" / str(number), own, last[str(number)], entries_min)
            yield True


Goes = Callable[[dict[str, Any], int], bool]
"""Says of an entry whether Spark need not know it any more, by the time of the newest."""


def _older_by(age_ms: float) -> Goes:
    return lambda entry, newest_ms: bool(entry["timestamp"] < newest_ms - age_ms)


def _shorten(directory: Path, goes: Goes, last: int, entries_min: int) -> None:
    """Shorten the newest file that repeats all before; steps up to `last` are never run again."""
    steps = (path.name.removesuffix(".compact") for path in directory.glob("*.compact"))
    newest = max((int(step) for step in steps if step.isdecimal()), default=None)
    if newest is None:
        return
    file = directory / f"{newest}.compact"
    try:
        version, *lines = file.read_text(encoding="utf-8").split("\n")
        entries = [json.loads(line) for line in lines]
        newest_ms = max(entry["timestamp"] for entry in entries)
        kept = [
            line
            for line, entry in zip(lines, entries, strict=True)
            if entry["batchId"] > last or not goes(entry, newest_ms)
        ]
    except (OSError, ValueError, KeyError, TypeError):  # a check names it
        return
    gone = len(lines) - len(kept)
    if version != VERSION or not kept or gone < max(entries_min, len(kept)):
        return
    # Whoever finds the new file finds no sums that are not its own, also after a power cut.
    disk.remove(sums_file(file))
    disk.flush(directory)
    write_file(file, "\n".join([VERSION, *kept]).encode())
