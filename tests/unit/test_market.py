"""The made-up market: rows are a pure function of seed, stream and offset."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.spark.generated import GeneratedStreamReader
from penstock.vocabulary.errors import PenstockError
from penstock.worlds import market
from penstock.worlds.catalogue import GeneratedOptions

MAKERS = [market.trades, market.quotes]


@pytest.mark.parametrize("stream", ["trades", "quotes"])
@given(cuts=st.lists(st.integers(0, 3_000), max_size=6), seed=st.integers(0, 2**31 - 1))
@settings(max_examples=30, deadline=None)
def test_any_split_gives_the_same_rows(stream: str, cuts: list[int], seed: int) -> None:
    _, make = market.STREAMS[stream]
    edges = sorted({0, 3_000, *cuts})
    parts = [make(low, high, seed) for low, high in pairwise(edges)]
    assert (
        pa.Table.from_batches(parts)
        .combine_chunks()
        .equals(pa.Table.from_batches([make(0, 3_000, seed)]))
    )


@pytest.mark.parametrize("stream", ["trades", "quotes"])
def test_rows_are_what_the_schema_says(stream: str) -> None:
    schema, make = market.STREAMS[stream]
    batch = make(10**9, 10**9 + 1_000)
    assert batch.schema == schema
    assert batch.num_rows == 1_000
    assert all(column.null_count == 0 for column in batch.columns)
    assert make(5, 5).num_rows == 0


def test_seeds_and_streams_differ() -> None:
    assert not market.trades(0, 50, seed=1).equals(market.trades(0, 50, seed=2))
    symbols = [make(0, 200)["symbol"] for make in MAKERS]
    assert not symbols[0].equals(symbols[1])


def test_times_ascend_at_the_rate_asked_for() -> None:
    times = market.trades(0, 3_000, rows_per_second=1_000)["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) == 1_000).all()
    assert times[0] == market.START_US


def test_few_symbols_make_most_of_the_trades() -> None:
    counts = pc.value_counts(market.trades(0, 200_000)["symbol"])
    by_symbol = {row["values"]: row["counts"] for row in counts.to_pylist()}
    assert set(by_symbol) == set(market.SYMBOLS)
    assert by_symbol["IBM"] > 0.1 * 200_000
    assert by_symbol["IBM"] > 20 * by_symbol[market.SYMBOLS[-1]]


def test_prices_walk_within_bounds_and_near_the_quotes() -> None:
    trades = market.trades(0, 400_000, rows_per_second=100).to_pandas()
    ibm = trades[trades["symbol"] == "IBM"]["price"]
    assert ibm.between(122.5 * 0.93, 122.5 * 1.07).all()
    assert ibm.std() > 0.5
    quotes = market.quotes(0, 400_000, rows_per_second=100).to_pandas()
    assert (quotes["bid"] < quotes["ask"]).all()
    bids = quotes[quotes["symbol"] == "IBM"].set_index("ts")["bid"]
    last = ibm.iloc[-1]
    assert abs(bids.iloc[-1] - last) < 0.01 * last


def test_symbol_names_are_distinct() -> None:
    names = market.symbol_names(market.SYMBOLS_MAX)
    assert len(set(names)) == market.SYMBOLS_MAX
    assert names[:300] == market.SYMBOLS


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no stream"),
        ({"stream": "bonds"}, "no stream 'bonds'"),
        ({"stream": "trades", "speed": "9"}, "'speed' is not an option"),
        ({"stream": "trades", "rows": "-1"}, "rows = '-1' is out of bounds"),
        ({"stream": "trades", "symbols": "0"}, "symbols = '0'"),
        ({"stream": "trades", "start": "tomorrow"}, "not a timestamp"),
        ({"stream": "trades", "pace": "fast"}, "pace = 'fast'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(PenstockError, match="SRC-010") as refused:
        GeneratedOptions.parse({"world": "market", **options})
    assert says in refused.value.fact


def test_options_are_read_as_spark_hands_them_over() -> None:
    options = GeneratedOptions.parse(
        {
            "World": "market",
            "STREAM": "quotes",
            "Rows": "1_000",
            "pace": "True",
            "start": "1970-01-01T00:00:01",
        }
    )
    assert (options.rows, options.pace, options.own["start"]) == (1_000, True, 1_000_000)


def reader(**options: str) -> GeneratedStreamReader:
    asked = {"world": "market", "stream": "trades", **options}
    return GeneratedStreamReader(GeneratedOptions.parse(asked))


def test_offsets_stop_at_the_limit_and_at_the_end() -> None:
    bounded = reader(rows="250")
    assert bounded.latestOffset({"offset": 0}, ReadMaxRows(100)) == {"offset": 100}
    assert bounded.latestOffset({"offset": 200}, ReadMaxRows(100)) == {"offset": 250}
    assert bounded.latestOffset({"offset": 250}, ReadMaxRows(100)) == {"offset": 250}
    assert bounded.latestOffset({"offset": 0}, ReadAllAvailable()) == {"offset": 250}


def test_available_now_ends_also_for_endless_streams() -> None:
    endless = reader(rows_per_batch="100")
    endless.prepareForTriggerAvailableNow()
    assert endless.latestOffset({"offset": 700}, ReadMaxRows(100)) == {"offset": 800}
    assert endless.latestOffset({"offset": 800}, ReadMaxRows(100)) == {"offset": 800}


def test_paced_offsets_follow_the_clock_and_never_rewind(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    paced = reader(pace="true", rows_per_second="1000")
    limit = ReadMaxRows(10_000)
    assert paced.latestOffset({"offset": 5_000}, limit) == {"offset": 5_000}
    now_s[0] += 0.25
    assert paced.latestOffset({"offset": 5_000}, limit) == {"offset": 5_250}
    now_s[0] -= 9.0
    assert paced.latestOffset({"offset": 5_250}, limit) == {"offset": 5_250}


def test_partitions_cover_the_range_without_gaps() -> None:
    parts = reader(partitions="4").partitions({"offset": 10}, {"offset": 13})
    assert [(part.first, part.last) for part in parts] == [(10, 11), (11, 12), (12, 13)]
    assert reader().partitions({"offset": 10}, {"offset": 10}) == []
