"""Made-up tables: pure functions of the offset, and every change names a row that is there."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadMaxRows

from penstock.spark.generated import GeneratedStreamReader
from penstock.vocabulary.errors import PenstockError
from penstock.worlds import coast_guard
from penstock.worlds.catalogue import WORLDS, GeneratedOptions

TABLES = [("marketplace", "supply"), ("marketplace", "demand")]
TABLES += [("coast_guard", "units"), ("coast_guard", "targets")]


def options(world: str, stream: str, **more: object) -> GeneratedOptions:
    texts = {name: str(value) for name, value in more.items()}
    return GeneratedOptions.parse({"world": world, "stream": stream, **texts})


def rows(chosen: GeneratedOptions, first: int, last: int) -> pa.Table:
    return pa.Table.from_batches(chosen.make(first, last), chosen.schema).combine_chunks()


@pytest.mark.parametrize(("world", "stream"), TABLES)
@given(
    cuts=st.lists(st.integers(0, 2_000), max_size=6),
    seed=st.integers(0, 2**31 - 1),
    stock=st.integers(1, 300),
)
def test_any_split_gives_the_same_rows(
    world: str, stream: str, cuts: list[int], seed: int, stock: int
) -> None:
    chosen = options(world, stream, seed=seed, stock=stock)
    edges = sorted({0, 2_000, *cuts})
    parts = [rows(chosen, low, high) for low, high in pairwise(edges)]
    assert pa.concat_tables(parts).combine_chunks().equals(rows(chosen, 0, 2_000))


@pytest.mark.parametrize(("world", "stream"), TABLES)
@given(seed=st.integers(0, 2**31 - 1), stock=st.integers(1, 120))
def test_what_goes_is_there_in_all_columns(world: str, stream: str, seed: int, stock: int) -> None:
    standing: Counter[tuple[object, ...]] = Counter()
    ops: set[str] = set()
    columns = rows(options(world, stream, seed=seed, stock=stock), 0, 4_000).to_pydict()
    for *row, op in zip(*columns.values(), strict=True):
        ops.add(op)
        standing[tuple(row)] += 1 if op in {"insert", "update_after"} else -1
        assert standing[tuple(row)] in {0, 1}
    assert stock - 1 <= standing.total() <= stock
    assert {"insert", "update_before", "update_after"} <= ops


@pytest.mark.parametrize(("world", "stream"), TABLES)
def test_an_update_keeps_the_row_its_own(world: str, stream: str) -> None:
    made = rows(options(world, stream, stock=50), 50, 6_050).to_pylist()
    fixed = {"id", "product", "merchant", "class", "kind", "speed"}
    kinds: Counter[tuple[str, str]] = Counter()
    for before, after in zip(made[::2], made[1::2], strict=True):
        kinds[before["op"], after["op"]] += 1
        same = all(before[name] == after[name] for name in fixed & before.keys())
        assert same == (after["op"] == "update_after")
    assert set(kinds) == {("update_before", "update_after"), ("delete", "insert")}
    assert kinds["update_before", "update_after"] > kinds["delete", "insert"] > 0


@pytest.mark.parametrize(("world", "stream"), TABLES)
def test_rows_are_what_the_schema_says(world: str, stream: str) -> None:
    chosen = options(world, stream)
    late = rows(chosen, 10**9, 10**9 + 1_000)
    assert late.schema == WORLDS[world].streams[stream][0]
    assert all(column.null_count == 0 for column in late.columns)
    assert rows(chosen, 5, 5).num_rows == 0
    assert not rows(chosen, 0, 50).equals(rows(options(world, stream, seed=8), 0, 50))


def test_positions_lie_on_the_coast() -> None:
    targets = coast_guard.targets(0, 50_000).to_pandas()
    assert targets["position"].between(0, coast_guard.COAST_KM).all()
    before = targets[targets["op"] == "update_before"]["position"].to_numpy()
    after = targets[targets["op"] == "update_after"]["position"].to_numpy()
    assert (abs(before - after) <= 40 * 0.05 + 0.001).all()
    assert (before != after).mean() > 0.99
    units = coast_guard.units(0, 50_000).to_pandas()
    assert units["position"].between(-5, coast_guard.COAST_KM + 5).all()
    assert set(units["class"]) == set(coast_guard.CLASSES)


def test_the_first_load_is_not_paced(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    chosen = options("coast_guard", "units", stock=400, pace="true", rows_per_second=100)
    paced, limit = GeneratedStreamReader(chosen), ReadMaxRows(10_000)
    assert paced.latestOffset({"offset": 0}, limit) == {"offset": 400}
    now_s[0] += 0.5
    assert paced.latestOffset({"offset": 400}, limit) == {"offset": 450}


@pytest.mark.parametrize(
    ("world", "more", "says"),
    [
        ("moon", {}, "no world 'moon'"),
        ("marketplace", {"stream": "units"}, "no stream 'units'"),
        ("marketplace", {"stream": "supply", "symbols": "3"}, "'symbols' is not an option"),
        ("coast_guard", {"stream": "units", "stock": "0"}, "stock = '0' is out of bounds"),
        ("coast_guard", {"stream": "units", "products": "3"}, "'products' is not an option"),
    ],
)
def test_bad_options_are_refused(world: str, more: dict[str, str], says: str) -> None:
    with pytest.raises(PenstockError, match="SRC-010") as refused:
        GeneratedOptions.parse({"world": world, **more})
    assert says in refused.value.fact
