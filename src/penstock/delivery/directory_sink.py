"""A directory of Parquet files, one for each batch that has changes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.sink_kinds import SinkAddress, batch_of
from penstock.storage.disk import make_directory
from penstock.storage.files import write_file


class DirectorySink:
    """Writes `<subscription>-<batch>.parquet`; a batch that comes again takes its file's place.

    A file appears whole or not at all, so that others may read the directory meanwhile.
    """

    def __init__(self, address: SinkAddress) -> None:
        self._path = Path(address.resolved().removeprefix("file://"))
        self._stem = quote(address.subscription, safe="")

    def write(self, table: pa.Table, token: str) -> None:
        """Write a batch."""
        make_directory(self._path, is_private=False)
        path = self._path / f"{self._stem}-{batch_of(token):012d}.parquet"
        write_file(path, lambda temporary: pq.write_table(table, temporary), is_private=False)
