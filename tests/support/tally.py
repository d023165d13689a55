"""An operator with data state, for tests: counts events per query, answers at every multiple.

Filters keep no data state, so nothing of deltas, snapshots and catching up would be seen by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.operators import catalogue
from penstock.operators.protocol import NO_CLOCKS, WHOLE, OperatorKind, Share
from penstock.spark.operate import ShardProcessor
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.shared_figures import QUERIES

KIND = "tally"
TALLIED = Figure("tallied", "Events that were counted.", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyStep:
    """All tallies of one relation; the port `tallies` takes (query, every)."""

    relation: str
    kind: str = KIND
    division: None = None
    made: None = None

    @property
    def relations(self) -> tuple[str, ...]:
        return (self.relation,)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "relation": self.relation}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TallyStep:
        return cls(relation=data["relation"])


class TallyOperator:
    """Counts the events since each query was registered; every `every`-th one is a result."""

    def __init__(self, step: TallyStep, snapshot: bytes | None, _share: Share = WHOLE) -> None:
        self._relation = step.relation
        self._every: dict[int, int] = {}
        self._seen: dict[int, int] = {} if snapshot is None else _from_bytes(snapshot)
        self._changed = False
        self._counted = 0

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Tallies count what comes."""

    def apply(self, changes: QueryChanges) -> None:
        for query in changes.drops.tolist():
            self._every.pop(query, None)
            self._seen.pop(query, None)
        table = changes.adds.get("tallies")
        if table is not None:
            for query, every in zip(*(column.to_pylist() for column in table.columns), strict=True):
                self._every[query] = every
                self._seen.setdefault(query, 0)

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        table = batch.get(self._relation)
        rows = 0 if table is None else table.num_rows
        self._counted = rows
        if not rows or not self._every:
            return []
        self._changed = True
        found = []
        for query, every in self._every.items():
            count = self._seen[query] + 1 + np.arange(rows)
            event = np.flatnonzero(count % every == 0).astype(np.int32)
            self._seen[query] += rows
            numbers = np.full(len(event), query, dtype=np.int64)
            found.append(Results(relation=self._relation, query=numbers, event=event))
        return found

    def delta(self) -> bytes | None:
        if not self._changed:
            return None
        self._changed = False
        return _to_bytes(self._seen)

    def catch_up(self, delta: bytes) -> None:
        seen = _from_bytes(delta)
        assert seen.keys() == self._every.keys(), "a delta of another version"
        assert all(seen[query] >= self._seen[query] for query in seen), "a delta came twice"
        self._seen = seen

    def snapshot(self) -> bytes | None:
        return _to_bytes(self._seen)

    def sizes(self) -> Tally:
        return Tally({QUERIES: len(self._every)})

    def counts(self) -> Tally:
        return Tally({TALLIED: self._counted})


def _to_bytes(seen: dict[int, int]) -> bytes:
    return table_to_bytes(
        pa.table({"query": pa.array(seen, pa.int64()), "seen": pa.array(seen.values(), pa.int64())})
    )


def _from_bytes(data: bytes) -> dict[int, int]:
    columns = table_from_bytes(data).columns
    return dict(zip(*(column.to_pylist() for column in columns), strict=True))


def _nothing(*_: Any) -> Any:
    raise AssertionError("tallies have no SQL")


def _ready(_step: Any) -> None:
    """Nothing to compile."""


TALLY = OperatorKind(
    step_from_json=TallyStep.from_json,
    register=_nothing,
    build=TallyOperator,
    explain=_nothing,
    warm_up=_ready,
    figures=(QUERIES, TALLIED),
)


class TallyProcessor(ShardProcessor):
    """A shard processor whose workers know tallies."""

    def begin(self, states: Any) -> None:
        # By the module's name: this class comes to workers as a value, with copies of globals.
        catalogue.OPERATORS[KIND] = TALLY
        super().begin(states)


def tallies(first: int, everies: list[int]) -> dict[str, pa.Table]:
    """Give the entries of queries first, first + 1, …"""
    numbers = pa.array(range(first, first + len(everies)), pa.int64())
    return {"tallies": pa.table({"query": numbers, "every": pa.array(everies, pa.int64())})}
