"""Histories of tables, read in any order and in any batches: every answer ends as DuckDB's does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lab.correctness.tables import ORDERS, TableCase, differing


@pytest.mark.parametrize("order", sorted(ORDERS))
@settings(max_examples=5)
@given(
    seed=st.integers(0, 1 << 30), size=st.integers(1, 60), files=st.integers(1, 7),
    batches=st.integers(1, 5), restarts=st.booleans(), late=st.booleans(),
)  # fmt: skip
def test_answers_end_as_duckdb_says(
    order: str, seed: int, size: int, files: int, batches: int, restarts: bool, late: bool
) -> None:
    found, _ = differing(TableCase(order, seed, size, files, batches, restarts, late))
    assert not found
