"""A result log with subscriptions of one group, and readers of it; without an engine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.delivery.change_iterators import followed
from penstock.delivery.changes import Change, ChangeReader
from penstock.delivery.courier import Courier
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import Part, assemble, write_part
from penstock.delivery.sheets import SheetSelection
from penstock.vocabulary.batches import Ints, Results

OUTPUTS = (Output(name="n", sql='"n"'), Output(name="twice", sql='"n" * 2'))


def selection(queries: Sequence[int], group: str = "g") -> SheetSelection:
    """Select queries of a group; ids are `q<number>`."""
    return SheetSelection(
        group=group,
        outputs=OUTPUTS,
        change_column=None,
        queries=np.array(queries, dtype=np.int64),
        ids=lambda numbers: pa.array([f"q{number}" for number in numbers]),
    )


@dataclass
class ByName:
    """Claims: whose query numbers are whose, as lists."""

    owned: dict[str, list[SheetSelection]] = field(default_factory=dict)
    version: int = 0

    def give(self, name: str, *own: SheetSelection) -> None:
        """Let a subscription read this from now on."""
        self.owned[name] = list(own)
        self.version += 1

    def selections(self, name: str) -> list[SheetSelection]:
        """Give what a subscription reads."""
        return self.owned.get(name, [])

    def keys(self, queries: Ints) -> Ints:
        """Let every query be registered by itself."""
        return queries

    def owner(self, query: int) -> str | None:
        """Say who has a query."""
        own = ((name, one.queries) for name, all_ in self.owned.items() for one in all_)
        return next((name for name, held in own if held is not None and query in held), None)


class LogOfMatches:
    """A log that grows by batches of pairs, a courier on it, and a switch that ends the run."""

    def __init__(self, path: Path) -> None:
        self.log = ResultLog(path)
        self.claims = ByName()
        self.failures: list[tuple[str, int, int]] = []
        self.reader = ChangeReader(self.log, lambda *told: self.failures.append(told))
        self.running = True
        self.courier = Courier(self.log, self.reader, self.claims, lambda: self.running)
        self.batches = 0

    def commit(
        self, pairs: Sequence[tuple[int, int]], groups: Sequence[str] = ("g",), tell: bool = True
    ) -> None:
        """Commit a batch of pairs (query, event); the event's number is its column `n`."""
        batch = self.batches
        query = np.array([pair[0] for pair in pairs], dtype=np.int64)
        event = np.array([pair[1] for pair in pairs], dtype=np.int32)
        events = pa.table({"n": pa.array(np.arange(event.max(initial=0) + 1) + 1000 * batch)})
        found = [(group, Results(relation="t", query=query, event=event)) for group in groups]
        part = Part(version=1, rows_in=1, sections=assemble(found, {"t": events}, False))
        name = self.log.part_name(batch, 0)
        self.log.commit(batch, 1, [write_part(part, self.log.directory(batch), name)])
        self.batches += 1
        if tell:
            self.courier.committed(batch)

    def read(self, name: str, since: str | None = None) -> list[Change]:
        """Read a subscription alone, from the files."""
        return list(self.reader.changes(lambda: self.claims.selections(name), since))

    def end(self) -> None:
        """Say that no more batches will come."""
        self.running = False


class Reads(threading.Thread):
    """Follows a subscription in a thread of its own, and keeps what it gets."""

    def __init__(self, of: LogOfMatches, name: str, since: str | None = None) -> None:
        super().__init__(daemon=True)
        self.changes: list[Change] = []
        self.error: Exception | None = None
        self._of, self._name, self._since = of, name, since
        self.start()

    def run(self) -> None:
        """Read until the end."""
        try:
            for change in followed(self._of.courier, self._name, self._since):
                self.changes.append(change)
        except Exception as error:  # noqa: BLE001
            self.error = error

    def done(self) -> list[Change]:
        """Wait for the end, and give all that came."""
        self.join(600)
        assert not self.is_alive()
        return self.changes
