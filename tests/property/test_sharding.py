"""Sharding: equal keys meet in one shard; every band query has one owner, by its range alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.join.ownership import owned
from penstock.operators.protocol import Share
from penstock.operators.shared.ownership import shard_of

small = st.integers(-300, 300)
wide = st.integers(-(2**63), 2**63 - 1)


def zeros(number: int) -> int:
    """Count trailing zero bits in unsigned order."""
    number += 1 << 63
    return 64 if number == 0 else (number & -number).bit_length() - 1


@given(st.lists(st.tuples(small, small) | st.tuples(wide, wide), min_size=1, max_size=20),
       st.integers(1, 5))  # fmt: skip
def test_every_range_has_one_owner(pairs: list[tuple[int, int]], count: int) -> None:
    lows = np.array([min(pair) for pair in pairs], dtype=np.int64)
    highs = np.array([max(pair) for pair in pairs], dtype=np.int64)
    owners = sum(owned(lows, highs, Share(n, count)).astype(int) for n in range(count))
    assert np.all(owners == 1)
    alone = [owned(lows[i : i + 1], highs[i : i + 1], Share(0, count))[0] for i in range(len(lows))]
    assert alone == owned(lows, highs, Share(0, count)).tolist()


@given(small, st.integers(0, 200), st.integers(2, 5))
def test_ranges_around_one_round_number_stay_together(low: int, length: int, count: int) -> None:
    """Ranges that have the same roundest number are a stabbing group, and have one owner."""
    point = max(range(low, low + length + 1), key=zeros)
    lows, highs = np.array([low, point]), np.array([low + length, point])
    for number in range(count):
        mine = owned(lows, highs, Share(number, count))
        assert mine[0] == mine[1]


@given(st.lists(st.none() | st.integers(-100, 100), min_size=1, max_size=30), st.integers(1, 4))
def test_widths_and_layouts_do_not_matter(values: list[int | None], count: int) -> None:
    narrow, broad = pa.array(values, pa.int8()), pa.array(values, pa.int64())
    assert (shard_of([narrow], [pa.int8()], count) == shard_of([broad], [pa.int64()], count)).all()
    texts = pa.array([None if v is None else f"text {v}" for v in values], pa.string())
    forms = [texts, texts.cast(pa.large_string()), texts.dictionary_encode()]
    shards = [shard_of([form], [pa.string()], count) for form in forms]
    sliced = shard_of([pa.concat_arrays([texts, texts]).slice(len(texts))], [pa.string()], count)
    assert all((one == shards[0]).all() for one in (*shards, sliced))
