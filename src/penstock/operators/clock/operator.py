"""ClockOperator: the newest event time that a stream has brought.

What is late for a join must not depend on how long the join has stood. So the clock runs from the
stream's declaration on, and a group that comes later begins with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.algebra.physical import ClockStep
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.codec import from_bytes, to_bytes
from penstock.operators.shared.common_keys import number_keys
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Tally


class ClockOperator:
    """Follows one stream.

    >>> step = ClockStep(relation="s", event_time="ts", type=pa.timestamp("us"))
    >>> clock = ClockOperator(step, None)
    >>> clock.process({"s": pa.table({"ts": pa.array([7, None, 5], pa.timestamp("us"))})})
    []
    >>> clock.newest, ClockOperator(step, clock.snapshot()).newest
    (7, 7)
    """

    def __init__(self, step: ClockStep, snapshot: bytes | None, _share: Share = WHOLE) -> None:
        self._step = step
        self._told = self.newest = LOWEST_TIME if snapshot is None else _time_of(snapshot)

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take nothing: a stream is followed from its declaration on."""

    def apply(self, changes: QueryChanges) -> None:
        """Take nothing: nobody subscribes to a clock."""
        assert not changes.adds, "a clock has no queries"

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Move on to a batch's newest event time."""
        table = batch.get(self._step.relation)
        if table is not None and table.num_rows:
            column = table.column(self._step.event_time)
            times, there = number_keys(column, self._step.type, pa.timestamp("us"))
            self.newest = int(times[there].max(initial=self.newest))
        return []

    def delta(self) -> bytes | None:
        """Give the newest event time if it has moved."""
        if self.newest == self._told:
            return None
        self._told = self.newest
        return _bytes_of(self.newest)

    def catch_up(self, delta: bytes) -> None:
        """Take the time that another copy gave."""
        self._told = self.newest = _time_of(delta)

    def snapshot(self) -> bytes | None:
        """Give the newest event time, if there is one."""
        return None if self.newest == LOWEST_TIME else _bytes_of(self.newest)

    def sizes(self) -> Tally:
        """Say nothing."""
        return Tally()

    def counts(self) -> Tally:
        """Say nothing: joins count what is late for them."""
        return Tally()


def _bytes_of(newest: int) -> bytes:
    return to_bytes([], {"newest": newest})


def _time_of(data: bytes) -> int:
    """Read a state; one of version 1 is the digits of the time."""
    if data.lstrip(b"-").isdigit():
        return int(data)
    newest: int = from_bytes(data)[1]["newest"]
    return newest
