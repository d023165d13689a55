"""The made-up factory: even keys, times as of a Poisson process, rows by seed and offset alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.vocabulary.errors import PenstockError
from penstock.worlds import factory
from penstock.worlds.catalogue import GeneratedOptions


def times_us(batch: pa.RecordBatch) -> np.ndarray:
    return batch["ts"].cast(pa.int64()).to_numpy()


@pytest.mark.parametrize("stream", factory.STREAMS)
@given(cuts=st.lists(st.integers(0, 5_000), max_size=6), seed=st.integers(0, 2**31 - 1))
@settings(max_examples=30, deadline=None)
def test_any_split_gives_the_same_rows(stream: str, cuts: list[int], seed: int) -> None:
    schema, make = factory.STREAMS[stream]
    edges = sorted({0, 5_000, *cuts})
    parts = [make(low, high, seed) for low, high in pairwise(edges)]
    whole = pa.Table.from_batches([make(0, 5_000, seed)])
    assert pa.Table.from_batches(parts).combine_chunks().equals(whole)
    assert whole.schema == schema
    assert make(7, 7, seed).num_rows == 0


@pytest.mark.parametrize("stream", factory.STREAMS)
@pytest.mark.parametrize("factor", [1, 1_000])
def test_times_ascend_at_random_with_the_rate_asked_for(stream: str, factor: int) -> None:
    rate = factory.RATES[stream] * factor
    rows = 200 * factory.BLOCK_ROWS
    times = times_us(factory.STREAMS[stream][1](0, rows, rows_per_second=rate))
    gaps = np.diff(times)
    assert (gaps >= 0).all()
    assert (times[-1] - times[0]) / 1e6 == pytest.approx(rows / rate, rel=0.001)
    # Gaps of a Poisson process are as wide as their standard deviation.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)


def test_streams_come_independently() -> None:
    alarms = times_us(factory.alarms(0, 2_000, rows_per_second=50))
    jobs = times_us(factory.jobs(0, 2_000, rows_per_second=50))
    assert not np.array_equal(alarms, jobs)
    assert not factory.jobs(0, 50, seed=1).equals(factory.jobs(0, 50, seed=2))


@pytest.mark.parametrize(
    ("stream", "column", "distinct"),
    [
        ("alarms", "line", 2),
        ("jobs", "line", 2),
        ("jobs", "machine", 5),
        ("readings", "machine", 5),
    ],
)
def test_keys_are_even_chance(stream: str, column: str, distinct: int) -> None:
    counts = pc.value_counts(factory.STREAMS[stream][1](0, 100_000)[column]).to_pylist()
    assert {row["values"] for row in counts} == set(range(distinct))
    for row in counts:
        assert row["counts"] == pytest.approx(100_000 / distinct, rel=0.03)


def test_lines_and_machines_of_a_job_are_independent() -> None:
    jobs = factory.jobs(0, 100_000).to_pandas()
    pairs = jobs.groupby(["line", "machine"]).size()
    assert len(pairs) == 10
    assert (abs(pairs / 10_000 - 1) < 0.05).all()


def test_every_stream_has_a_rate_of_its_own() -> None:
    def asked(**options: str) -> GeneratedOptions:
        return GeneratedOptions.parse({"world": "factory", "stream": "readings", **options})

    assert asked().rows_per_second == 70
    faster = asked(rows_per_second="7000", machines="50", rows="2048")
    made = pa.Table.from_batches(faster.make(0, 2_048))
    assert len(pc.unique(made["machine"])) == 50
    with pytest.raises(PenstockError, match="SRC-010"):
        asked(machines="0")
