"""Histories of tables in several shards: rows go by lanes, as on the cluster, and answers agree."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.physical import KeepStep
from penstock.engine.pipeline_start import divisions_of
from penstock.lab.correctness.table_histories import history
from penstock.lab.correctness.tables import ANSWERS, ORDERS, by_duckdb, ordered, plain
from penstock.operators.catalogue import figures_of
from penstock.operators.shard import Shard
from penstock.spark.hosts import run_batch
from penstock.spark.lanes import Lane, Lanes, division_from_json
from penstock.vocabulary.changes import signs_of
from penstock.vocabulary.figure_tables import together, told_figures
from tests.support.desk_runs import DeskRun

SHARDS = 3


class Cluster:
    """All shards of all lanes, fed as the pack stage feeds them."""

    def __init__(self, run: DeskRun) -> None:
        registry = run.desk.registry
        self.feed, self.version = registry.reader, registry.version
        kept = [own for own in registry.steps.values() if own["kind"] == "keep"]
        tables = tuple(KeepStep.from_json(own) for own in kept)
        every = [None, *map(division_from_json, divisions_of(registry))]
        keys = [tuple(range(n * SHARDS, (n + 1) * SHARDS)) for n in range(len(every))]
        self.lanes = Lanes(tuple(Lane(d, k, tables) for d, k in zip(every, keys, strict=True)))
        self.shards = {key: self._shard(key) for key in self.lanes.keys}
        self.parts: list[Any] = []

    def _shard(self, key: int, snapshot: dict[str, bytes] | None = None) -> Shard:
        lane, share = self.lanes.of(key)
        version = 0 if snapshot is None else self.version
        return Shard(self.feed, version, snapshot, share, lane.hosts)

    def batch(self, tables: dict[str, pa.Table]) -> None:
        shown: dict[int, dict[str, list[pa.Table]]] = {key: {} for key in self.shards}
        for relation, table in tables.items():
            for lane in self.lanes.lanes:
                for key, own in lane.spread(relation, table, 0):
                    shown[key].setdefault(relation, []).append(own)
        for key, shard in self.shards.items():
            own = {name: pa.concat_tables(parts) for name, parts in shown[key].items()}
            counts = self.lanes.of(key)[0].division is None
            part = run_batch(shard, own, self.version, record=False, counts_input=counts)
            self.parts.append(part)

    def restart(self) -> None:
        self.shards = {key: self._shard(key, own.snapshots()) for key, own in self.shards.items()}

    def told(self, run: DeskRun, name: str) -> Counter[tuple[Any, ...]]:
        """Add up what all shards found; a made row is known by its columns."""
        selection = run.desk.subscription(name)
        held: Counter[tuple[Any, ...]] = Counter()
        for part in self.parts:
            for section in part.sections:
                if selection.group in section.groups:
                    start, stop = section.groups[selection.group]
                    rows = section.events.take(section.matches["event"][start:stop])
                    signs = rows["_sign"] if "_sign" in rows.column_names else signs_of(rows["op"])
                    for row, sign in zip(rows.to_pylist(), signs.to_pylist(), strict=True):
                        held[plain({c: row[c] for c in SHOWN[name]})] += sign
        return Counter({row: count for row, count in held.items() if count})


SHOWN = {
    "selected": ("i0.id", "i1.id", "i0.x", "i1.note"),
    "banded": ("i0.id", "i1.id"),
    "filtered": ("id", "k", "x", "note"),
}


@pytest.mark.parametrize("kind", sorted(ORDERS))
@settings(max_examples=5)
@given(
    seed=st.integers(0, 1 << 30), size=st.integers(1, 60), files=st.integers(1, 6),
    batches=st.integers(1, 4), restarts=st.booleans(),
)  # fmt: skip
def test_shards_end_as_duckdb_says(
    kind: str, seed: int, size: int, files: int, batches: int, restarts: bool
) -> None:
    table = ORDERS[kind]
    left, right = (history(seed + n, size, files, bool(table.key)) for n in (0, 1))
    reads = [ordered(kind, seed + n, files, batches) for n in (0, 1)]
    with tempfile.TemporaryDirectory() as root:
        run = DeskRun(Path(root) / "home", table, replace(table, name="b"))
        for name, sql in ANSWERS.items():
            run.desk.subscribe(sql, name=name)
        cluster = Cluster(run)
        for a, b in zip(*reads, strict=True):
            placed = table.positioned
            cluster.batch({"a": left.batch(a, placed), "b": right.batch(b, placed)})
            run.batch(a=left.batch(a, placed), b=right.batch(b, placed))
            parts = cluster.parts[-len(cluster.shards) :]
            told = together(told_figures(part.told, figures_of) for part in parts)
            assert all(told[name] == run.figures[name] for name in ("a", "b"))
            if restarts:
                cluster.restart()
        for name, sql in ANSWERS.items():
            assert cluster.told(run, name) == by_duckdb(sql, left, right), name
        run.desk.close()
