"""Transcripts: what came of a batch in a shard that asked somebody else.

Such a shard cannot make the same again: another day a database says something else. So the first
transcript of a batch stays, and whoever runs the batch again takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.storage.disk import make_directory, remove
from penstock.storage.files import table_from_bytes, table_to_bytes, write_first

SPARE_BATCHES = 4
"""Spark runs its last batch again at most; some older ones stay for tasks that it gave up."""

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

    def read(self, shard: int, batch: int, attempt: int = 0) -> Transcript | None:
        """Give the transcript of a batch in a shard, if there is one.

        A batch is attempted once more for every group that it could not be run with.
        """
        try:
            data = self._path(shard, batch, attempt).read_bytes()
        except FileNotFoundError:
            return None
        (row,) = table_from_bytes(data).to_pylist()
        return Transcript(row["version"], dict(row["deltas"]), row["part"])

    def write(self, shard: int, batch: int, transcript: Transcript, attempt: int = 0) -> bool:
        """Make a transcript durable if it is the batch's first, and say whether it is."""
        make_directory(self._root)
        row = [[transcript.version], [list(transcript.deltas.items())], [transcript.part]]
        data = table_to_bytes(pa.table(row, schema=_SCHEMA))
        is_first = write_first(self._path(shard, batch, attempt), data)
        oldest = self._path(shard, max(batch - SPARE_BATCHES, 0))
        for path in self._root.glob(f"{shard}-*.arrow"):
            if path.name < oldest.name:
                remove(path)
        return is_first

    def _path(self, shard: int, batch: int, attempt: int = 0) -> Path:
        again = f"-{attempt}" if attempt else ""
        return self._root / f"{shard}-{batch:012d}{again}.arrow"
