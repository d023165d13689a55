"""The operator: for each query the values that it was told. Spark's workers import this alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.protocol import NO_CLOCKS, WHOLE, OperatorKind, Share
from penstock.operators.shared.codec import from_bytes, to_bytes
from penstock.vocabulary.batches import QueryChanges, Refusals, Registration, Results
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.losses import Loss
from penstock.vocabulary.shared_figures import QUERIES

from .node import DistinctStep, DistinctValues

VALUES = Figure("distinct_values", "Values that queries were told.", "values", "gauge")
REPEATED = Figure("repeated_values", "Values that came again.", "values")
VALUES_MAX = 10_000
"""A shard remembers, and so tells, so many values for a query."""
UNTOLD = Loss(
    "untold_values",
    f"times a value came that was not told, for {VALUES_MAX:,} others were.",
    "values",
    one=f"time a value came that was not told, for {VALUES_MAX:,} others were.",
    remedy="Ask of a column with fewer values.",
)


class DistinctOperator:
    """Tells each query the values that it has not met."""

    def __init__(self, step: DistinctStep, snapshot: bytes | None, _share: Share = WHOLE) -> None:
        self._step = step
        self._told: dict[int, pa.Array] = {}
        self._changed = False
        self._repeated = self._untold = 0
        if snapshot is not None:
            self.catch_up(snapshot)

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Begin with nothing: what came before a query is not its affair."""

    def apply(self, changes: QueryChanges) -> None:
        for query in changes.drops.tolist():
            self._told.pop(query, None)
        if (table := changes.adds.get("queries")) is not None:
            for query in table["query"].to_pylist():
                self._told.setdefault(query, pa.array([], self._step.type))

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        table = batch.get(self._step.relation)
        self._repeated = self._untold = 0
        if table is None or not table.num_rows:
            return []
        values = pc.unique(table[self._step.column]).cast(self._step.type)
        found = []
        for query, told in self._told.items():
            new = values.filter(pc.invert(pc.is_in(values, value_set=told)))
            self._repeated += len(values) - len(new)
            room = VALUES_MAX - len(told)
            self._untold += max(len(new) - room, 0)
            new = new[:room]
            if not len(new):
                continue
            self._changed = True
            self._told[query] = pa.concat_arrays([told, new])
            rows = pa.table(
                {self._step.column: new, "_sign": pa.array(np.ones(len(new), dtype=np.int8))}
            )
            found.append(
                Results(
                    relation=self._step.relation,
                    query=np.full(len(new), query, dtype=np.int64),
                    event=np.arange(len(new), dtype=np.int32),
                    rows=rows,
                )
            )
        return found

    def delta(self) -> bytes | None:
        changed, self._changed = self._changed, False
        return self.snapshot() if changed else None

    def catch_up(self, delta: bytes) -> None:
        parts, facts = from_bytes(delta)
        for query, (values, _) in zip(facts["queries"], parts, strict=True):
            self._told[query] = values["value"].combine_chunks()

    def snapshot(self) -> bytes | None:
        nothing = pa.table({})
        parts = [(pa.table({"value": values}), nothing) for values in self._told.values()]
        return to_bytes(parts, {"queries": list(self._told)})

    def sizes(self) -> Tally:
        return Tally({QUERIES: len(self._told), VALUES: sum(map(len, self._told.values()))})

    def counts(self) -> Tally:
        return Tally({REPEATED: self._repeated, UNTOLD: self._untold})


def register(
    _logical: DistinctValues, _step: DistinctStep, rows: pa.Table, first: int
) -> Registration:
    numbers = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
    return Registration(
        adds={"queries": pa.table({"query": numbers})},
        refusals=Refusals(),
        silent=np.zeros(rows.num_rows, dtype=np.bool_),
    )


def explain(step: DistinctStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    queries = entries.get("queries")
    return {
        "branches": [],
        "tells": f"every value of {step.column} once",
        "values_max": VALUES_MAX,
        "told_apart": 0 if queries is None else queries.num_rows,
    }


def warm_up(_step: DistinctStep | None) -> None:
    """Do nothing: there is nothing to compile."""


DISTINCT = OperatorKind(
    step_from_json=DistinctStep.from_json,
    register=register,
    build=DistinctOperator,
    explain=explain,
    warm_up=warm_up,
    figures=(QUERIES, VALUES, REPEATED, UNTOLD),
    tells_apart=True,
)
