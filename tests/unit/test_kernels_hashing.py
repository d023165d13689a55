"""Codes are exact, however the hashes collide."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.kernels.hash_tables import EMPTY, pairs_deduplicate
from penstock.operators.shared.codes import (
    STRONG,
    BranchCodes,
    NumberCodes,
    TextCodes,
    text_buffers,
)


@pytest.mark.parametrize("weak", [STRONG, 3, 0])
def test_texts_with_equal_hashes_are_told_apart(weak: int) -> None:
    codes = TextCodes(weak)
    texts = ["", "a", "b", "ab", "ba", "é", "x" * 9, "x" * 8 + "y", *(f"t{i}" for i in range(200))]
    first = codes.code(pa.array(texts[:5])).tolist()
    again = codes.code(pa.array(texts)).tolist()
    assert first == again[:5]
    assert sorted(again) == list(range(len(texts)))
    asked = pa.array(["ba", None, "nobody", "x" * 9, ""])
    expected = [again[texts.index(t)] if t in texts else -1 for t in asked.to_pylist()]
    assert codes.find(asked).tolist() == expected
    assert codes.find(asked.slice(2, 2)).tolist() == expected[2:4]
    assert codes.find(asked.cast(pa.large_string())).tolist() == expected
    kept = codes.keep(np.array([again[3], again[6]]))
    assert kept.find(pa.array(["ab", "x" * 9, "a"])).tolist() == [0, 1, -1]


def test_texts_are_of_one_type_to_kernels_wherever_they_lie() -> None:
    """Else kernels are compiled twice, once of them while events wait."""
    built = pa.array(["a", "bc"])
    offsets, data = (each.to_pybytes() for each in built.buffers()[1:])
    received = pa.StringArray.from_buffers(2, pa.py_buffer(offsets), pa.py_buffer(data))
    assert built.buffers()[2].is_mutable > received.buffers()[2].is_mutable
    for texts in (built, received, built[:0]):
        assert not text_buffers(texts)[0].flags.writeable


def test_numbers_keep_their_codes_while_the_table_grows(seed: int) -> None:
    chance = np.random.default_rng(seed)
    codes = NumberCodes()
    known: dict[int, int] = {}
    for size in (1, 10, 1000, 5000):
        keys = chance.integers(-(2**63), 2**63 - 1, size)
        for key, code in zip(keys.tolist(), codes.code(keys).tolist(), strict=True):
            assert known.setdefault(key, code) == code
    assert sorted(known.values()) == list(range(codes.size))
    keys = np.array(list(known))
    assert codes.find(keys).tolist() == list(known.values())
    assert codes.find(keys, np.zeros(len(keys), dtype=bool)).max() == -1


def test_dictionary_columns_and_chunks_are_looked_up() -> None:
    codes = BranchCodes([pa.string(), pa.int32()])
    codes.code([pa.array(["a", "b"]), pa.array([1, 2])])
    parts = (pa.array(["b", None]), pa.array(["a"]))
    texts = pa.chunked_array([part.dictionary_encode() for part in parts])
    found, present = codes.find([texts, pa.array([2, 2, 2], pa.int32())])
    assert found.tolist() == [1, -1, -1]
    assert present.tolist() == [True, False, True]


def test_only_repeated_pairs_go() -> None:
    events = np.array([0, 1, 0, 1, 0], dtype=np.int32)
    queries = np.array([7, 7, 7, 8, 7])
    first = pairs_deduplicate(events, queries, np.full(16, EMPTY, dtype=np.int32))
    assert first.tolist() == [True, True, False, True, False]
