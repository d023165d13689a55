"""The state of an embedded engine's operators, batch by batch.

A file per micro-batch holds the registry version that the batch ran under and each group's delta;
every so often a file holds whole snapshots instead. To run batch b, start from the state after
b - 1: the newest snapshot up to there and the deltas behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.storage.disk import make_directory, remove
from penstock.storage.files import read_json, read_table, write_file, write_table
from penstock.storage.seals import Seal, seal_of_file, unsealed
from penstock.vocabulary.errors import PenstockError

SNAPSHOT_EVERY_BATCHES = 64
SPARE_BATCHES = 8
"""Files older than the last snapshot are kept for this many batches: Spark may run one again."""

OLDER = "older-state.json"
"""The file of a home in whose state store, Spark's own, may be states of older formats. It says at
which step states of this format begin, and of every era below which step its states lie, whether
operators read them, and what groups are called since."""

_SCHEMA = pa.schema([("group", pa.string()), ("data", pa.binary())])


@dataclass(frozen=True, slots=True)
class BatchState:
    """What a batch left behind: its registry version and, per group, a delta or a snapshot."""

    batch: int
    version: int
    groups: dict[str, bytes]
    whole: bool


class StateLog:
    """The state files of one engine, in one directory."""

    def __init__(self, root: Path, every: int | None = None, spare: int | None = None) -> None:
        self._root = root
        self._every = SNAPSHOT_EVERY_BATCHES if every is None else every
        self._spare = SPARE_BATCHES if spare is None else spare
        make_directory(root)

    def wants_snapshot(self, batch: int) -> bool:
        """Say whether this batch should be written whole."""
        return batch % self._every == 0

    def write(self, state: BatchState) -> Seal:
        """Make a batch's state durable; writing the same batch again replaces it. Give its seal."""
        table = pa.table(
            [list(state.groups.keys()), list(state.groups.values())], schema=_SCHEMA
        ).replace_schema_metadata(
            {
                "version": str(state.version),
                "whole": str(int(state.whole)),
            }
        )
        seals: list[Seal] = []
        write_file(self._path(state.batch), lambda path: seals.append(write_table(path, table)))
        if state.whole:
            self._forget(state.batch - self._spare)
        return seals[0]

    def read(
        self, batch: int, seal: Callable[[int], Seal | None] = lambda _: None
    ) -> list[BatchState]:
        """Give the states that rebuild the one after `batch`: a snapshot first, then deltas.

        An empty list is the state before the first batch. `seal` gives the seal under which a
        batch's state was written, where that is known: a file that does not fit it is refused.
        """
        states: list[BatchState] = []
        for number in range(batch, -1, -1):
            path = self._path(number)
            if not path.exists():
                raise PenstockError(
                    "ENG-020",
                    f"The state of batch {number} is missing in {self._root}.",
                    "Restore the home directory from a copy, or begin a new one.",
                )
            states.append(self.load(number, seal(number)))
            if states[-1].whole:
                break
        assert not states or states[-1].whole, "the first batch is written whole"
        return states[::-1]

    def load(self, batch: int, seal: Seal | None = None) -> BatchState:
        """Read what one batch left behind."""
        path = self._path(batch)
        try:
            if seal is not None and seal_of_file(path) != seal:
                raise ValueError("it does not fit its seal")
            table = read_table(path)
            metadata = table.schema.metadata
            groups = dict(zip(table["group"].to_pylist(), table["data"].to_pylist(), strict=True))
            return BatchState(batch, int(metadata[b"version"]), groups, metadata[b"whole"] == b"1")
        except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise PenstockError(
                "ENG-058",
                f"{path} is not as it was written: {error}.",
                "Restore the home directory from a copy, or begin a new one.",
            ) from None

    def _forget(self, before: int) -> None:
        snapshots = [batch for batch in self._batches() if batch <= before]
        # The newest snapshot up to `before` must stay, and everything after it.
        keep = max((batch for batch in snapshots if batch % self._every == 0), default=None)
        if keep is None:
            return
        for batch in snapshots:
            if batch < keep:
                remove(self._path(batch))

    def _batches(self) -> list[int]:
        return sorted(int(path.stem) for path in self._root.glob("[0-9]*.arrow"))

    def _path(self, batch: int) -> Path:
        return self._root / f"{batch:012d}.arrow"


def read_older(file: Path) -> dict[str, Any]:
    """Read what older formats left in Spark's store, or refuse; older homes have no seal there."""
    try:
        return unsealed(read_json(file), ("begins", "eras", "format", "names"))
    except (ValueError, AttributeError) as error:
        raise PenstockError(
            "ENG-058",
            f"{file} is not as it was written: {error}.",
            "Restore the home directory from a copy, or begin a new one.",
        ) from None
