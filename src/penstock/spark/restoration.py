"""Restoration of Spark's checkpoint from the manifests of batches, which are flushed.

After a power cut the newest of Spark's own files may be gone, empty or cut. What manifests repeat
is written again; what no manifest speaks of is removed, and Spark plans it anew: nothing was told
of it. Where neither will do, nothing is touched, and an error says so.
"""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from penstock.delivery.log import ResultLog
from penstock.spark.added_sources import is_widened
from penstock.spark.checkpoints import committed_batches, planned_batches
from penstock.spark.provenance import (
    VERSION,
    Provenance,
    fits_sums,
    parsed_offsets,
    steps_read,
    sums_file,
)
from penstock.storage import disk
from penstock.storage.files import write_file
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding

Read = TypeVar("Read")
TORN, GONE, AHEAD = "RUN-008", "RUN-010", "RUN-011"
COMMIT = '{"nextBatchWatermarkMs":0}'
COMPACT_EVERY_STEPS = 10
"""Spark's own default: so often a list of files repeats all before."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a file of Spark's, and what mends it, if something does.

    What is not `is_usual` no power cut leaves: an engine does not start over it unasked.
    """

    finding: Finding
    remedy: str
    mend: Callable[[], None] | None = None
    is_usual: bool = True


def restore_checkpoint(checkpoint: Path, log: ResultLog) -> list[Flaw]:
    """Mend what a power cut left, before Spark starts, and say what was done.

    It raises RUN-008, RUN-010 or RUN-011 where that cannot be done, or not unasked; then nothing is
    touched.
    """
    flaws = examine_checkpoint(checkpoint, log)
    for flaw in flaws:
        if flaw.mend is None or not flaw.is_usual:
            finding = flaw.finding
            raise PenstockError(finding.code, f"{finding.file} {finding.fact}.", flaw.remedy)
    for flaw in flaws:
        assert flaw.mend is not None
        flaw.mend()
        logging.getLogger("penstock").warning("%s It %s.", flaw.finding, flaw.remedy)
    return flaws


def examine_checkpoint(checkpoint: Path, log: ResultLog) -> list[Flaw]:
    """Hold Spark's checkpoint against the manifests of all batches that were run."""
    known = _Known(log)
    if checkpoint.is_dir():
        return list(_Checkup(checkpoint, known).flaws())
    if known.newest < 0:
        return []
    return [_rebuilt(checkpoint, known)]


def _rebuilt(checkpoint: Path, known: _Known) -> Flaw:
    """Say that the whole checkpoint is gone, and how to make one if manifests know enough."""
    finding = Finding(GONE, checkpoint, "is missing, though batches were run")
    lost = list(_Checkup(checkpoint, known).flaws())
    if any(flaw.mend is None for flaw in lost):
        return Flaw(finding, "Restore the home from a copy, or begin a new one.")

    def mend() -> None:
        disk.make_directory(checkpoint)
        for flaw in lost:
            assert flaw.mend is not None
            flaw.mend()

    remedy = f"Run `penstock repair {checkpoint.parent}`: it is made again from the manifests."
    return Flaw(finding, remedy, mend, is_usual=False)


class _Known:
    """What manifests repeat, from the newest back."""

    def __init__(self, log: ResultLog) -> None:
        self._log = log
        self.newest = log.newest()
        self._back = self.newest
        self._steps: dict[tuple[str, int], list[str] | None] = {}
        self._batches: dict[int, Provenance | None] = {}

    def manifest(self, number: int) -> Path:
        return self._log.manifest(number)

    def batch(self, number: int) -> Provenance | None:
        if number not in self._batches:
            manifest = self._log.noted(number)
            told = None if manifest is None else Provenance.from_manifest(manifest)
            self._batches[number] = told
        return self._batches[number]

    def step(self, source: str, step: int, since: int = 0) -> list[str] | None:
        """Give the lines of a step, if a batch from `since` on brought it and repeats them."""
        while (source, step) not in self._steps and self._back >= since:
            told = self.batch(self._back)
            for own, steps in {} if told is None else told.steps.items():
                for number, lines in steps.items():
                    self._steps[own, int(number)] = lines
            self._back -= 1
        return self._steps.get((source, step))


class _Checkup:
    """One look at a checkpoint: flaws in the order in which they are to be mended."""

    def __init__(self, checkpoint: Path, known: _Known) -> None:
        self._root, self._known = checkpoint, known
        self._plans = planned_batches(checkpoint)
        self._since = max(min([*self._plans, known.newest - 1]), 0)
        self._listed: dict[str, int] = {}

    def flaws(self) -> Iterator[Flaw]:
        newest, commits = self._known.newest, committed_batches(self._root)
        ahead = max([*commits, *(batch - 1 for batch in self._plans)], default=-1)
        if ahead > newest:
            fact = f"is missing, and Spark's checkpoint is ahead of the results: by batch {ahead}"
            yield Flaw(
                Finding(AHEAD, self._known.manifest(newest + 1), fact),
                "Restore the home from a copy: results of batches that were run are gone.",
            )
            return
        yield from self._metadata()
        for batch in range(self._since, newest + 1):
            yield from self._offsets(batch)
        yield from self._sources()
        yield from self._next_offsets(newest + 1)
        first = min([*commits, max(newest - 1, 0)])
        for batch in range(first, newest + 1):
            yield from self._commit(batch, batch in commits, newest)

    def _metadata(self) -> Iterator[Flaw]:
        """Spark wants to know its query by some name, whatever it is, once there are offsets."""
        file = self._root / "metadata"
        is_there = file.exists()
        if is_there and _reads(file, lambda text: json.loads(text)["id"]):
            return
        if self._plans or self._known.newest >= 0:
            yield self._written(file, json.dumps({"id": str(uuid.uuid4())}), is_there)
        elif is_there:
            yield self._removed(file)

    def _offsets(self, batch: int) -> Iterator[Flaw]:
        """The offsets of a batch that was run are those that its manifest repeats."""
        file, told = self._root / "offsets" / str(batch), self._known.batch(batch)
        if told is not None:
            text = _reads(file, str)
            if text is None or not is_widened(text, told.offsets):
                yield from self._held(file, told.offsets)
        elif batch >= self._known.newest - 1 and not _reads(file, parsed_offsets):
            yield self._lost(file)

    def _next_offsets(self, batch: int) -> Iterator[Flaw]:
        """Offsets of a batch that was not run stay if they are whole, and so is what they name."""
        file = self._root / "offsets" / str(batch)
        if not file.exists():
            return
        text = _reads(file, lambda text: (parsed_offsets(text), text)[1])
        steps = steps_read(parsed_offsets(text)) if text else {}
        if not text or any(step > self._listed.get(own, -1) for own, step in steps.items()):
            yield self._removed(file)

    def _commit(self, batch: int, is_there: bool, newest: int) -> Iterator[Flaw]:
        file = self._root / "commits" / str(batch)
        is_whole = is_there and _reads(file, _commit_text) is not None
        if is_there and not is_whole and batch == newest:
            yield self._removed(file)
        elif not is_whole and batch < newest:
            yield self._written(file, f"{VERSION}\n{COMMIT}", is_there)

    def _sources(self) -> Iterator[Flaw]:
        told = self._known.batch(self._known.newest)
        file = self._root / "offsets" / str(self._known.newest)
        if told is not None:
            last = steps_read(told.sources)
        else:
            last = steps_read(_reads(file, parsed_offsets) or [])
        root = self._root / "sources"
        there = [path.name for path in root.iterdir()] if root.is_dir() else []
        for source in sorted({*last, *there}):
            yield from self._list(root / source, last.get(source, -1))

    def _list(self, directory: Path, last: int) -> Iterator[Flaw]:
        """The list of a source's files is whole up to `last`, its last step that was run."""
        files = _steps(directory)
        every = math.gcd(*(s + 1 for s, file in files.items() if file.suffix))
        every = COMPACT_EVERY_STEPS if every % COMPACT_EVERY_STEPS == 0 else every
        bases = sorted((s for s, file in files.items() if file.suffix and s <= last), reverse=True)
        base = next((step for step in bases if _reads(files[step], _list_lines)), -1)
        for step in range(base + 1, last + 1):
            name = f"{step}.compact" if (step + 1) % every == 0 else str(step)
            file = files.get(step, directory / name)
            since = 0 if not file.exists() else self._since
            lines = self._known.step(directory.name, step, since)
            if lines is not None and file.suffix:
                lines = self._all_lines(directory, files, base, step)
            if lines is not None:
                yield from self._held(file, "\n".join([VERSION, *lines]))
            elif not _reads(file, _list_lines):
                yield self._lost(file)
        self._listed[directory.name] = last
        for step in sorted(step for step in files if step > last):
            is_next = step == self._listed[directory.name] + 1
            if is_next and _reads(files[step], _list_lines) is not None:
                self._listed[directory.name] = step
            else:
                yield self._removed(files[step])

    def _all_lines(
        self, directory: Path, files: dict[int, Path], base: int, step: int
    ) -> list[str] | None:
        """Put together what a file repeats that stands for all steps up to its own."""
        lines = (_reads(files[base], _list_lines) or []) if base >= 0 else []
        for number in range(base + 1, step + 1):
            own = self._known.step(directory.name, number)
            if own is None:
                return None
            lines = [*lines, *own]
        return lines

    # What can be done about a file

    def _held(self, file: Path, text: str) -> Iterator[Flaw]:
        """Hold a file to what it must say; without its checksums, if only those are wrong."""
        if not file.exists():
            yield self._written(file, text, is_there=False)
        elif file.read_bytes() != text.encode():
            yield self._written(file, text, is_there=True)
        elif not fits_sums(file):
            sums = sums_file(file)
            finding = Finding(TORN, sums, "does not fit its file, which is right")
            yield Flaw(finding, "is removed", lambda: disk.remove(sums))

    def _written(self, file: Path, text: str, is_there: bool) -> Flaw:
        def mend() -> None:
            disk.make_directory(file.parent)
            disk.remove(sums_file(file))
            write_file(file, text.encode())

        fact = "is not as it was written" if is_there else "is missing"
        return Flaw(Finding(TORN, file, fact), "is written again from the manifests", mend)

    def _removed(self, file: Path) -> Flaw:
        def mend() -> None:
            disk.remove(sums_file(file))
            disk.remove(file)
            disk.flush(file.parent)

        fact = "is not whole, or what it names is not"
        return Flaw(Finding(TORN, file, fact), "is removed, and Spark writes it anew", mend)

    def _lost(self, file: Path) -> Flaw:
        fact = "is missing" if not file.exists() else "is not as it was written"
        remedy = "Restore the home from a copy, or begin a new one."
        return Flaw(Finding(TORN, file, f"{fact}, and no manifest repeats it"), remedy)


def _steps(directory: Path) -> dict[int, Path]:
    """Give the files of a source's list by step; one that repeats all before goes first."""
    found: dict[int, Path] = {}
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        stem = path.name.removesuffix(".compact")
        if stem.isdecimal() and (path.suffix or int(stem) not in found):
            found[int(stem)] = path
    return found


def _list_lines(text: str) -> list[str]:
    version, *lines = text.split("\n")
    if version != VERSION or not lines or not all(json.loads(line)["path"] for line in lines):
        raise ValueError("it is cut")
    return lines


def _commit_text(text: str) -> str:
    version, line = text.split("\n")
    if version != VERSION or not isinstance(json.loads(line)["nextBatchWatermarkMs"], int):
        raise ValueError("it is cut")
    return text


def _reads(file: Path, read: Callable[[str], Read]) -> Read | None:
    """Read a file of Spark's if it is there, whole and as it was written."""
    try:
        return read(file.read_text(encoding="utf-8")) if fits_sums(file) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
