"""Readers: what subscriptions and groups find in the result log of a home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic, sleep

import numpy as np
import pyarrow as pa

from penstock.delivery.changes import Change, ChangeReader, Failing, Selecting
from penstock.delivery.courier import Courier
from penstock.delivery.log import ResultLog
from penstock.delivery.sheets import HEAD, HEAD_COLUMNS, SheetSelection
from penstock.delivery.sinks import Cursors, Sink, SinkPool, SinkRunner
from penstock.engine.claims import RegistryClaims
from penstock.engine.home import Home
from penstock.engine.selections import selection_of_group
from penstock.expressions.quotation import all_numbered
from penstock.registry.store import Registry

TAIL = ("_batch", "_version")
"""Columns behind a text's own in what is read as a table."""
LOOK_S = 0.05
"""So often does a reader beside another process's engine look for a new batch."""


def _shown(outputs: Sequence[str]) -> list[str]:
    """Name the columns of a table; an output that is called as one of ours gets a number."""
    return [*HEAD, *all_numbered(outputs, (*HEAD, *TAIL))]


class HomeReaders:
    """A home's result log, open for readers and sinks.

    Parameters
    ----------
    failing
        Told of outputs that failed on the values of a row.
    running
        Says whether more batches may come.
    """

    def __init__(
        self, home: Home, registry: Registry, failing: Failing, running: Callable[[], bool]
    ) -> None:
        self._home, self._registry, self._running = home, registry, running
        self.log = ResultLog(home.path / "results")
        self.reader = ChangeReader(self.log, failing)
        self.claims = RegistryClaims(registry)
        self.courier = Courier(self.log, self.reader, self.claims, running)
        self.sinks = SinkPool(Cursors(home.path / "sinks"))

    def changes(
        self, name: str, since: str | None, follow: bool, timeout_s: float | None
    ) -> Iterator[Change]:
        """Iterate over a subscription's changes; those that follow are handed new ones."""
        if follow and self._running():
            return self.courier.changes(name, since, timeout_s)
        if follow and self._home.is_read_only:
            return self._beside(name, since, timeout_s)
        return self.reader.changes(lambda: self.claims.selections(name), since)

    def _beside(self, name: str, since: str | None, timeout_s: float | None) -> Iterator[Change]:
        """Follow what another process finds: the log is looked at again and again."""
        came_s = monotonic()

        def selections() -> list[SheetSelection]:
            self._registry.refresh()  # before the batch: it may have run under a newer version
            return self.claims.selections(name)

        def waiting() -> bool:
            sleep(LOOK_S)
            self._registry.refresh()
            is_time_left = timeout_s is None or monotonic() - came_s < timeout_s
            return is_time_left and name in self._registry.subscriptions

        for change in self.reader.changes(selections, since, waiting):
            came_s = monotonic()
            yield change

    def read(self, name: str, since: str | None = None) -> pa.Table:
        """Read a subscription's changes so far as one table."""
        return self._read(lambda: self.claims.selections(name), since)

    def before_last(self, name: str, count: int) -> str:
        """Give the token behind which the last `count` changes of a subscription come."""
        selections = self.claims.selections(name)
        left = count
        for number in range(self.log.newest(), -1, -1):
            logged = self.log.read(number)
            if logged is None:
                break
            found = sum(map(len, self.reader.pieces(logged, selections)))
            if found >= left:
                return f"{number}:{found - left}"
            left -= found
        return "0:0"

    def read_group(self, group: str, since: str | None = None) -> pa.Table:
        """Read the changes of a whole group; ids are query numbers, columns all there are."""
        selection = selection_of_group(self._registry, group)
        return self._read(lambda: [selection], since)

    def _read(self, selecting: Selecting, since: str | None) -> pa.Table:
        parts = []
        for logged, seen, pieces in self.reader.batches(selecting, since):
            tables = [piece.table() for piece in pieces]
            for rows in _behind(tables, seen):
                named = rows.rename_columns(_shown(rows.column_names[HEAD_COLUMNS:]))
                for name, value in zip(TAIL, (logged.batch, logged.version), strict=True):
                    named = named.append_column(name, pa.array(np.full(rows.num_rows, value)))
                parts.append(named)
        if parts:
            return pa.concat_tables(parts, promote_options="permissive")
        outputs = [output.name for one in selecting() for output in one.outputs]
        names = [*_shown(list(dict.fromkeys(outputs))), *TAIL]
        return pa.table({name: pa.array([], pa.null()) for name in names})

    def add_sink(self, name: str, sink: Sink) -> SinkRunner:
        """Feed a sink from now on, also across restarts: its cursor is kept in the home."""
        runner = self.sinks.add(name, sink)
        if self._running():
            self.sinks.begin(self.courier, [runner])
        return runner


def _behind(tables: list[pa.Table], seen: int) -> list[pa.Table]:
    """Leave out the first rows of several tables."""
    left = []
    for table in tables:
        if seen < table.num_rows:
            left.append(table.slice(seen) if seen else table)
        seen = max(0, seen - table.num_rows)
    return left
