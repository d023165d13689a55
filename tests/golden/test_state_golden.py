"""Golden states: the bytes of every operator's snapshot and delta, by version.

What is written today is held byte by byte; what was written before is read. `PENSTOCK_UPDATE=1`
rewrites the files of today's version; but bytes that an engine has kept are not rewritten by that:
a form that changes needs a new version, and a reader for the one before.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.operators.catalogue import OPERATORS
from penstock.operators.shared import codec
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.vocabulary.batches import Results
from penstock.vocabulary.errors import PenstockError
from tests.support.state_histories import FLOATING, QUERIES, TURNS, histories

FOLDER = Path(__file__).parent / "state"
HISTORIES = histories()
VERSIONS = (codec.VERSION - 1, codec.VERSION)
YOUNG = frozenset(
    name
    for name, own in HISTORIES.items()
    if own.step.kind in {"range_aggregate", "model_query", "model_stream"}
)
"""What was not there before today's version."""
names = pytest.mark.parametrize("name", sorted(HISTORIES))
of_versions = pytest.mark.parametrize(
    ("name", "version"),
    [(n, v) for n in sorted(HISTORIES) for v in VERSIONS if n not in YOUNG or v == codec.VERSION],
)


def written(name: str) -> tuple[bytes, bytes, bytes, list[Results]]:
    """Give the snapshot before the last turn, the turn's delta and answers, and the last snapshot.

    That is what an engine writes today.
    """
    before = delta = None
    operator = HISTORIES[name].build()
    results: list[Results] = []
    for turn, (own, found) in enumerate(HISTORIES[name].live()):
        operator, results, delta = own, found, own.delta()
        if turn == TURNS - 2:
            before = own.snapshot()
    after = operator.snapshot()
    assert before is not None and delta is not None and after is not None
    return before, delta, after, results


def answers(results: list[Results]) -> Counter[Any]:
    """Give what was answered, in any order."""
    found: Counter[Any] = Counter()
    for each in results:
        assert each.rows is not None
        rows = each.rows.to_pylist()
        pairs = zip(each.query.tolist(), each.event.tolist(), strict=True)
        found.update((query, repr(rows[event])) for query, event in pairs)
    return found


def kept(name: str, version: int, what: str) -> bytes:
    return (FOLDER / str(version) / f"{name}.{what}").read_bytes()


def test_every_operator_has_a_history_of_its_state() -> None:
    """A filter keeps no data, and a view keeps it in a store: see test_view_operator.py."""
    without = {"filter", "view"}
    assert {history.step.kind for history in HISTORIES.values()} == set(OPERATORS) - without


@names
def test_today_s_bytes_are_the_golden_ones(name: str) -> None:
    before, delta, _, results = written(name)
    if os.environ.get("PENSTOCK_UPDATE"):
        (FOLDER / str(codec.VERSION)).mkdir(exist_ok=True)
        for what, data in (("snapshot", before), ("delta", delta)):
            (FOLDER / str(codec.VERSION) / f"{name}.{what}").write_bytes(data)
    for data in (before, delta):
        said = table_from_bytes(data).schema.metadata
        assert said[codec.VERSION_KEY] == str(codec.VERSION).encode()
    assert delta == kept(name, codec.VERSION, "delta")
    if name not in FLOATING:
        assert before == kept(name, codec.VERSION, "snapshot")
    assert name not in QUERIES or answers(results), "a life without answers says little"


@of_versions
def test_a_snapshot_of_either_version_is_read(name: str, version: int) -> None:
    _, _, after, results = written(name)
    history = HISTORIES[name]
    operator = history.restore(kept(name, version, "snapshot"), TURNS - 1)
    operator.apply(history.changes[-1])
    assert answers(operator.process(history.batches[-1])) == answers(results)
    assert name in FLOATING or operator.snapshot() == after


@of_versions
def test_a_delta_of_either_version_is_read(name: str, version: int) -> None:
    before, _, after, _ = written(name)
    history = HISTORIES[name]
    operator = history.restore(before, TURNS - 1)
    operator.apply(history.changes[-1])
    operator.catch_up(kept(name, version, "delta"))
    assert operator.snapshot() == after


def test_a_state_of_a_later_version_is_refused() -> None:
    table = table_from_bytes(codec.to_bytes([], {}))
    later = {**table.schema.metadata, codec.VERSION_KEY: str(codec.VERSION + 1)}
    data = table_to_bytes(pa.table(table.columns, schema=table.schema.with_metadata(later)))
    with pytest.raises(PenstockError, match="RUN-006"):
        codec.from_bytes(data)
