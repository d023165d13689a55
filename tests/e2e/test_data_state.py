"""An operator with data state on a real Spark, both hosts: it counts on across restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import penstock as ps
from penstock.algebra.logical import Logical
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.table import KINDS
from penstock.language.queries import Query
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Block, Draft
from penstock.spark import cluster, operate
from penstock.storage import state
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import QUERIES
from tests.e2e.conftest import Open
from tests.support import tally
from tests.support.schedules import GROUP, RECORD
from tests.support.tables import Feeder
from tests.support.tally import KIND, TALLIED, TALLY, TallyProcessor, TallyStep, tallies

EVERIES = [2, 3, 7]
LATE_EVERY = 5


class Tallies(Kind):
    """Tallies have no SQL: their groups come through the registry."""

    name = KIND
    operators = (KIND,)

    def claims(self, query: Query) -> bool:
        return False

    def bind(self, query: Query) -> Logical:
        raise AssertionError(query)

    def verify(self, asked: AnswerComparison) -> None:
        raise AssertionError(asked)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let driver and workers know tallies; take snapshots often."""
    cloudpickle.register_pickle_by_value(tally)
    monkeypatch.setitem(OPERATORS, KIND, TALLY)
    monkeypatch.setitem(KINDS._kinds, KIND, Tallies())
    monkeypatch.setattr(cluster, "ShardProcessor", TallyProcessor)
    monkeypatch.setattr(state, "SNAPSHOT_EVERY_BATCHES", 3)
    monkeypatch.setattr(operate, "SNAPSHOT_EVERY_STEPS", 3)
    yield
    cloudpickle.unregister_pickle_by_value(tally)


def publish(engine: ps.Engine, everies: list[int], drops: list[int]) -> None:
    registry = engine.desk.registry
    first = registry.next_query
    numbers = pa.array(range(first, first + len(everies)), pa.int64())
    block = pa.table({"query": numbers, "id": numbers, "silent": [False] * len(everies)})
    draft = Draft(
        blocks=[Block(record=RECORD, version=registry.version + 1, table=block)],
        changes={
            GROUP: QueryChanges(adds=tallies(first, everies), drops=np.array(drops, dtype=np.int64))
        },
    )
    if GROUP not in registry.steps:
        draft.steps[GROUP] = TallyStep(relation="t").to_json()
        draft.subscriptions.append(RECORD)
    registry.publish(draft)


def answers(engine: ps.Engine) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for number in range(engine.desk.log.newest() + 1):
        logged = engine.desk.log.read(number)
        assert logged is not None
        for section in logged.sections:
            numbers = section.events()["n"].to_pylist()
            queries, rows = section.matches(GROUP).columns
            found.update(
                (query, numbers[row])
                for query, row in zip(queries.to_pylist(), rows.to_pylist(), strict=True)
            )
    return found


def test_counts_go_on_across_restarts(open_engine: Open, tmp_path: Path) -> None:
    feeder = Feeder(tmp_path / "in")
    sizes = [4, 9, 1, 6, 3, 8, 5]
    late = dropped = 0
    for run, files in enumerate((sizes[:3], sizes[3:4], sizes[4:])):
        for size in files:
            first = sum(table.num_rows for table in feeder.tables)
            feeder.put(pa.table({"n": pa.array(range(first, first + size), pa.int64())}))
        engine = open_engine(shards=1)
        if run == 0:
            engine.stream("t", f"parquet:{feeder.directory}", maxFilesPerTrigger=1)
            publish(engine, EVERIES, [])
        if run == 1:
            # One comes and one goes: it counts from the first batch of this run on.
            late = dropped = sum(sizes[:3])
            publish(engine, [LATE_EVERY], [1])
        engine.run_available()
        assert engine.figures().total(TALLIED) == sum(files)
        assert engine.figures().total(QUERIES) == len(EVERIES)
        if run == 2:
            expected = Counter(
                (query, n)
                for n in range(sum(sizes))
                for query, every in enumerate(EVERIES)
                if (n + 1) % every == 0 and (query != 1 or n < dropped)
            )
            expected.update(
                (3, n) for n in range(late, sum(sizes)) if (n - late + 1) % LATE_EVERY == 0
            )
            assert answers(engine) == expected
        engine.close()
