"""Provenance: what a micro-batch held, in the words of Spark's checkpoint.

Spark writes its offsets without flushing them: after a power cut the newest may be gone, though the
results of their batch are there. So a batch's manifest, which is flushed, repeats them: the
sources' offsets, and of sources of files which files lie between them. From that the checkpoint is
restored (`penstock.spark.restoration`), and a batch that is not the one that was run is refused.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from penstock.delivery.log import ResultLog
from penstock.storage.disk import flush
from penstock.vocabulary.errors import PenstockError

FILES_NAMED_MAX = 1_000
"""A step of more files is flushed where it lies, and not repeated."""
STEP = "logOffset"
"""How a source of files says how far it was read: the number of the last step of its list."""
VERSION = "v1"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a batch held.

    `offsets` is the text of Spark's file. `steps` has, by source and step, the lines of the files
    that the step brought; None stands for lines that are not repeated.
    """

    offsets: str
    steps: dict[str, dict[str, list[str] | None]] = field(default_factory=dict)

    @property
    def sources(self) -> list[Any]:
        """How far each source was read, the announcements first."""
        return parsed_offsets(self.offsets)

    @property
    def told_sources(self) -> str:
        """The same as one text, whenever Spark planned the batch."""
        return json.dumps(self.sources, sort_keys=True)

    def is_same(self, other: Provenance) -> bool:
        """Say whether two batches hold the same rows, whenever Spark planned them.

        A source that was added since brought nothing.
        """
        both = zip_longest(self.sources, other.sources)
        return all(own == its for own, its in both) and self.steps == other.steps

    def to_json(self) -> dict[str, Any]:
        """Describe it for a manifest."""
        return {"offsets": self.offsets, "steps": self.steps}

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> Provenance | None:
        """Give the provenance that a batch's manifest repeats; those of older homes have none."""
        told = manifest.get("provenance")
        return None if told is None else cls(told["offsets"], told["steps"])


def parsed_offsets(text: str) -> list[Any]:
    r"""Give how far each source was read; ValueError if the text is not whole.

    >>> parsed_offsets('v1\n{"conf":{}}\n{"logOffset":0}\n-')
    [{'logOffset': 0}, None]
    """
    version, *lines = text.split("\n")
    if version != VERSION or len(lines) < 2:
        raise ValueError("it is cut")
    _settings, *sources = [None if line == "-" else json.loads(line) for line in lines]
    return sources


def steps_read(offsets: list[Any]) -> dict[str, int]:
    """Give the last step of every source of files.

    >>> steps_read([{"logOffset": 3}, None, {"offset": 9}])
    {'0': 3}
    """
    return {
        str(number): int(offset[STEP])
        for number, offset in enumerate(offsets)
        if isinstance(offset, dict) and STEP in offset
    }


def read_provenance(checkpoint: Path, batch: int) -> Provenance:
    """Read what Spark's checkpoint says of the batch in hand."""
    file = checkpoint / "offsets" / str(batch)
    try:
        text = file.read_text(encoding="utf-8")
        last = steps_read(parsed_offsets(text))
        before: dict[str, int] = {}
        if batch:
            file = file.with_name(str(batch - 1))
            before = steps_read(parsed_offsets(file.read_text(encoding="utf-8")))
        steps: dict[str, dict[str, list[str] | None]] = {}
        for source, step in last.items():
            first = before.get(source, -1) + 1
            for number in range(first, step + 1):
                file = step_file(checkpoint, source, number)
                steps.setdefault(source, {})[str(number)] = _lines(file, number)
    except (OSError, ValueError) as error:
        raise _unreadable(file, checkpoint, error) from None
    return Provenance(text, steps)


def offsets_of(checkpoint: Path, batch: int) -> str | None:
    """Give how far each source is read by a planned batch, as a text; None if none says so.

    It is the same whenever Spark plans the batch.
    """
    file = checkpoint / "offsets" / str(batch)
    try:
        return Provenance(file.read_text(encoding="utf-8")).told_sources
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(file, checkpoint, error) from None


def _unreadable(file: Path, checkpoint: Path, error: Exception) -> PenstockError:
    return PenstockError(
        "RUN-008",
        f"Spark's own file {file} cannot be read: {error}.",
        f"Run `penstock repair {checkpoint.parent}`.",
    )


def step_file(checkpoint: Path, source: str, step: int) -> Path:
    """Give the file of a step: its own, or the one that repeats all up to it."""
    directory = checkpoint / "sources" / source
    compact = directory / f"{step}.compact"
    return compact if compact.exists() else directory / str(step)


def _lines(file: Path, step: int) -> list[str] | None:
    """Read the lines that a step added; of very many, see that they stay."""
    text = file.read_text(encoding="utf-8")
    version, *lines = text.split("\n")
    if version != VERSION:
        raise ValueError("it is cut")
    if file.suffix == ".compact":
        lines = [line for line in lines if f'"batchId":{step}' in line]
    lines = [line for line in lines if json.loads(line)["batchId"] == step]
    if len(lines) <= FILES_NAMED_MAX:
        return lines
    flush(file)
    flush(file.parent)
    return None


def sums_file(file: Path) -> Path:
    """Give where Hadoop keeps the checksums of a file."""
    return file.with_name(f".{file.name}.crc")


def fits_sums(file: Path) -> bool:
    """Say whether a file of Spark's is as it was written, if Hadoop kept its checksums."""
    sums = sums_file(file)
    if not sums.exists():
        return True
    told, data = sums.read_bytes(), file.read_bytes()
    if told[:4] != b"crc\0" or len(told) < 8:
        return False
    size = int.from_bytes(told[4:8], "big")
    found = (zlib.crc32(data[at : at + size]) for at in range(0, len(data), size or 1))
    return told[8:] == b"".join(sum_.to_bytes(4, "big") for sum_ in found)


def refuse_another(log: ResultLog, batch: int, came: Provenance, rows: int | None = None) -> None:
    """Refuse a batch that was run before if it does not hold what it held then.

    Of a batch of an older home only the number of its `rows` can tell, where it is known.
    """
    manifest = log.noted(batch)
    if manifest is None:
        return
    told = Provenance.from_manifest(manifest)
    known = sum(part["rows_in"] for part in manifest["parts"])
    if (rows is None or rows == known) if told is None else told.is_same(came):
        return
    raise PenstockError(
        "RUN-009",
        f"Batch {batch} was run before, and Spark's checkpoint now holds other rows for it.",
        "Run `penstock repair` on the home, or restore it from a copy: nothing was changed.",
    )
