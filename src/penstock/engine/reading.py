"""Reading: what subscriptions and groups find in the result log of a home."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from penstock.delivery.changes import HEAD, HEAD_COLUMNS, Change, ChangeReader, Selecting, Selection
from penstock.delivery.log import ResultLog
from penstock.delivery.sinks import Sink, SinkRunner
from penstock.engine.home import Home
from penstock.engine.losses import Losses
from penstock.engine.members import by_text
from penstock.engine.selecting import selection_of_blocks, selection_of_group
from penstock.expressions.quoting import all_numbered
from penstock.registry.store import Registry
from penstock.vocabulary.losses import FAILED_OUTPUTS

TAIL = ("_batch", "_version")
"""Columns behind a text's own in what is read as a table."""


def _shown(outputs: Sequence[str]) -> list[str]:
    """Name the columns of a table; an output that is called as one of ours gets a number."""
    return [*HEAD, *all_numbered(outputs, (*HEAD, *TAIL))]


class Reading(ABC):
    """A home's result log, open for readers and sinks."""

    home: Home
    registry: Registry

    def __init__(self, home: Home, registry: Registry) -> None:
        self.home, self.registry = home, registry
        self.log = ResultLog(home.path / "results")
        self.reader = ChangeReader(self.log, self._output_failed)
        self._losses = Losses(self._tell)
        self._selections: dict[str, tuple[tuple[int, ...], list[Selection]]] = {}
        self._sinks: list[SinkRunner] = []

    @property
    def running(self) -> bool:
        """Say whether more batches may come."""
        return False

    def selections(self, name: str) -> list[Selection]:
        """Give what a reader of the log must look for to read a subscription, as of now.

        A subscription that was dropped has nothing to look for.
        """
        blocks = list(self.registry.blocks.get(name, []))
        now = tuple(id(block) for block in blocks)
        known, found = self._selections.get(name, ((), []))
        if known != now:
            own = (selection_of_blocks(self.registry, each) for each in by_text(blocks))
            found = [replace(selection, reader=name) for selection in own]
            self._selections[name] = (now, found)
        return found

    def losses(self) -> dict[str, dict[str, int]]:
        """Count what was left out, by subscription or relation, then by cause.

        Causes are late rows, lines that do not parse, and others: `penstock.vocabulary.losses`.
        Subscriptions of one group tell the same. Outputs that failed are counted whenever they
        are read, everything else once in a run.
        """
        return self._losses.told(self.registry)

    @abstractmethod
    def _tell(self, subject: str, batch: int, text: str) -> None:
        """Leave a notice."""

    def _output_failed(self, name: str, batch: int, count: int) -> None:
        self._losses.add(name, FAILED_OUTPUTS.name, count, batch)

    def read(self, selecting: Selecting, since: str | None = None) -> pa.Table:
        """Read a selection's changes so far as one table."""
        parts = []
        for logged, _, tables in self.reader.batches(selecting, since, lambda: False):
            for rows in tables:
                named = rows.rename_columns(_shown(rows.column_names[HEAD_COLUMNS:]))
                for name, value in zip(TAIL, (logged.batch, logged.version), strict=True):
                    named = named.append_column(name, pa.array(np.full(rows.num_rows, value)))
                parts.append(named)
        if parts:
            return pa.concat_tables(parts, promote_options="permissive")
        outputs = [output.name for one in selecting() for output in one.outputs]
        names = [*_shown(list(dict.fromkeys(outputs))), *TAIL]
        return pa.table({name: pa.array([], pa.null()) for name in names})

    def read_group(self, group: str, since: str | None = None) -> pa.Table:
        """Read the changes of a whole group; ids are query numbers, columns all there are."""
        selection = selection_of_group(self.registry, group)
        return self.read(lambda: [selection], since)

    def following(self, follow: bool) -> Callable[[], bool]:
        """Say, again and again, whether more batches may come."""
        return (lambda: self.running) if follow else (lambda: False)

    def add_sink(
        self,
        name: str,
        sink: Sink,
        changes: Callable[[str | None, Callable[[], bool]], Iterator[Change]],
    ) -> SinkRunner:
        """Feed a sink from now on, also across restarts: its cursor is kept in the home."""
        directory = self.home.path / "sinks"
        directory.mkdir(exist_ok=True)
        stem = f"{quote(name, safe='')}.{type(sink).__name__}"
        # Sinks of one class are told apart by the order in which they come, in every run.
        cursors = {runner.cursor.stem for runner in self._sinks}
        stems = chain([stem], (f"{stem}-{number}" for number in count(2)))
        cursor = directory / f"{next(one for one in stems if one not in cursors)}.json"
        runner = SinkRunner(name, sink, changes, cursor, lambda: self.running)
        self._sinks.append(runner)
        if self.running:
            runner.start()
        return runner
