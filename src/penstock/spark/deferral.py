"""A shard processor that is not there before rows come.

Spark starts a Python process before the first batch of every run, only to ask which state a
processor keeps, and gives it ten seconds. What is here imports nothing for that: neither operators
nor pandas, Arrow or numba.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

PACK: Callable[[Any], bytes] = cloudpickle.dumps  # pyspark ships it without types


class ShardStates(NamedTuple):
    """A shard's state in Spark's store."""

    head: Any
    snapshot: Any
    deltas: Any


def shard_states(handle: StatefulProcessorHandle) -> ShardStates:
    """Say which state a shard keeps, and open it."""
    return ShardStates(
        head=handle.getValueState("head", "version bigint, step bigint"),
        snapshot=handle.getValueState("snapshot", "version bigint, step bigint, data binary"),
        deltas=handle.getMapState("deltas", "step bigint", "version bigint, data binary"),
    )


class Deferred(Protocol):
    """What can be deferred: a processor that takes state which is open already."""

    def begin(self, states: ShardStates) -> None:
        """Take the shard's state."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Run one micro-batch of one shard."""


class DeferredProcessor(StatefulProcessor):
    """Stands for a shard processor, which it unpacks when the first rows come."""

    def __init__(self, processor: Deferred) -> None:
        self._packed = PACK(processor)
        self._processor: Deferred | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the shard's state."""
        self._states = shard_states(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Run one micro-batch of one shard."""
        if self._processor is None:
            self._processor = pickle.loads(self._packed)  # noqa: S301 - packed by our own driver
            self._processor.begin(self._states)
        return self._processor.handleInputRows(key, rows, timerValues)

    def close(self) -> None:
        """Leave the live shards for the next batch."""
