"""Transcripts: what came of a batch in a shard that asked somebody else.

Such a shard cannot make the same again: another day a database says something else. So the first
transcript of a batch stays, and whoever runs the batch again takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.storage.disk import make_directory, remove
from penstock.storage.files import table_from_bytes, table_to_bytes, write_first
from penstock.storage.seals import with_seal, without_seal
from penstock.vocabulary.errors import PenstockError

SPARE_BATCHES = 4
"""Spark runs its last batch again at most; some older ones stay for tasks that it gave up."""

FROM_A_COPY = "Restore the home directory from a copy."
_OFFSETS = b"offsets"

_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("deltas", pa.map_(pa.string(), pa.large_binary())),
        ("part", pa.large_binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a shard made of a batch: its registry version, its groups' deltas, its part as bytes."""

    version: int
    deltas: dict[str, bytes]
    part: bytes


class Transcripts:
    """The transcripts of one engine's last batches, a file for each shard and batch."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(
        self, shard: int, batch: int, offsets: str | None = None, attempt: int = 0
    ) -> Transcript | None:
        """Give the transcript of a batch in a shard, if there is one.

        `offsets` say what the batch holds: a transcript of other rows is refused. Those of older
        homes do not say. A batch is attempted once more for every group that it could not be run
        with.
        """
        path = self._path(shard, batch, attempt)
        try:
            table = table_from_bytes(without_seal(path.read_bytes()))
            (row,) = table.to_pylist()
            told = (table.schema.metadata or {}).get(_OFFSETS, b"").decode()
            if offsets and told and told != offsets:
                raise ValueError("it is of other rows")
            return Transcript(row["version"], dict(row["deltas"]), row["part"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
            fact = f"{path} is not the transcript of batch {batch} in shard {shard}: {error}."
            raise PenstockError("RUN-014", fact, FROM_A_COPY) from None

    def missing(self, shard: int, batch: int, attempt: int = 0) -> PenstockError:
        """Say that the transcript of a batch whose results were told is not there."""
        path = self._path(shard, batch, attempt)
        fact = f"{path} is missing, and results of its batch were told: a database asked again "
        fact += "may say something else."
        return PenstockError("RUN-014", fact, FROM_A_COPY)

    def all(self) -> Iterator[tuple[int, int, int]]:
        """Give the shard, the batch and the attempt of every transcript that is there."""
        for path in sorted(self._root.glob("*-*.arrow")):
            numbers = path.stem.split("-")
            if all(number.isdecimal() for number in numbers):
                shard, batch, *attempt = map(int, numbers)
                yield shard, batch, attempt[0] if attempt else 0

    def write(
        self,
        shard: int,
        batch: int,
        transcript: Transcript,
        offsets: str | None = None,
        attempt: int = 0,
    ) -> bool:
        """Make a transcript durable if it is the batch's first, and say whether it is."""
        make_directory(self._root)
        row = [[transcript.version], [list(transcript.deltas.items())], [transcript.part]]
        table = pa.table(row, schema=_SCHEMA)
        if offsets is not None:
            table = table.replace_schema_metadata({_OFFSETS: offsets})
        is_first = write_first(self._path(shard, batch, attempt), with_seal(table_to_bytes(table)))
        oldest = self._path(shard, max(batch - SPARE_BATCHES, 0))
        for path in self._root.glob(f"{shard}-*.arrow"):
            if path.name < oldest.name:
                remove(path)
        return is_first

    def _path(self, shard: int, batch: int, attempt: int = 0) -> Path:
        again = f"-{attempt}" if attempt else ""
        return self._root / f"{shard}-{batch:012d}{again}.arrow"
