"""A directory of Parquet files, one for each batch that has changes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.sink_kinds import SinkAddress, batch_of
from penstock.storage.disk import make_directory
from penstock.storage.files import write_file
from penstock.vocabulary.errors import PenstockError

ENGINE = b"penstock.engine"
"""The note in a file that says which engine wrote it."""


def directory_of(address: SinkAddress) -> Path:
    """Give the directory that an address means, with the environment's values."""
    return Path(address.resolved().removeprefix("file://"))


class DirectorySink:
    """Writes `<subscription>-<batch>.parquet`; a batch that comes again takes its file's place.

    A file appears whole or not at all, so that others may read the directory meanwhile. One that
    begins where another home wrote batches is refused: nobody could tell old files from new ones.
    """

    def __init__(self, address: SinkAddress) -> None:
        self._path = directory_of(address)
        self._stem = quote(address.subscription, safe="")
        self._note = {ENGINE: address.engine.encode()}
        if self._path.exists() and not self._path.is_dir():
            raise PenstockError(
                "DEL-019",
                f"The sink of {address.subscription!r} at {address} is a file.",
                "Name a directory, which need not be there yet.",
            )
        if not address.resumes:
            self._refuse_foreign(address)

    def write(self, table: pa.Table, token: str) -> None:
        """Write a batch."""
        make_directory(self._path, is_private=False)
        path = self._path / f"{self._stem}-{batch_of(token):012d}.parquet"
        noted = table.replace_schema_metadata({**(table.schema.metadata or {}), **self._note})
        write_file(path, lambda temporary: pq.write_table(noted, temporary), is_private=False)

    def _refuse_foreign(self, address: SinkAddress) -> None:
        own = re.compile(rf"{re.escape(self._stem)}-\d{{12}}\.parquet")
        found = self._path.iterdir() if self._path.is_dir() else ()
        for path in sorted(each for each in found if own.fullmatch(each.name)):
            if _engine_of(path) not in {None, self._note[ENGINE]}:
                raise PenstockError(
                    "DEL-020",
                    f"{path} was written by another home, for its subscription "
                    f"{address.subscription!r}.",
                    "Name another directory, or remove such files from this one.",
                )


def _engine_of(path: Path) -> bytes | None:
    """Say which engine wrote a file, as far as it says so."""
    try:
        return (pq.read_schema(path).metadata or {}).get(ENGINE)
    except (pa.ArrowException, OSError):
        return None
