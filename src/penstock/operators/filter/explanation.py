"""Explaining: what the index makes of a group's entries, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import BranchShape, FilterStep
from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.stabbing_choice import expected_candidates, midpoints

SLOW = "The branch has neither an equality nor a range: every event is tested for every query."


def explain(step: FilterStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Describe how every branch finds its queries.

    `expected_candidates_per_event` assumes events like the queries' own constants: the middle of
    a range, a value of an equality.
    """
    return {
        "relation": step.relation,
        "branches": [
            _branch(shape, entries.get(f"branch{i}")) for i, shape in enumerate(step.branches)
        ],
    }


def _branch(shape: BranchShape, table: pa.Table | None) -> dict[str, Any]:
    ranges = [name for name, _ in shape.ranges]
    indexed, expected, queries, partitions = 0, 0.0, 0, 0
    if table is not None and table.num_rows:
        numbers = table.column("query").to_numpy()
        queries = int(np.count_nonzero(np.diff(numbers)) + 1)
        estimates, partitions = _estimates(shape, table)
        indexed = int(np.argmin(estimates))
        expected = float(estimates[indexed])
    slow = not shape.equalities and not shape.ranges
    return {
        "queries": queries,
        "entries": 0 if table is None else table.num_rows,
        "indexed_on": ranges[indexed] if ranges else None,
        "partitioned_by": [name for name, _ in shape.equalities],
        "partitions": partitions,
        "verified": [name for name in ranges if name != ranges[indexed]],
        "residual": shape.residual_sql,
        "expected_candidates_per_event": round(expected, 3),
        "slow_path": SLOW if slow else None,
    }


def _estimates(shape: BranchShape, table: pa.Table) -> tuple[Any, int]:
    codes = np.zeros(table.num_rows, dtype=np.int32)
    partitions = 1
    if shape.equalities:
        table_codes = BranchCodes([type_ for _, type_ in shape.equalities])
        codes = table_codes.code([table.column(f"e{i}") for i in range(len(shape.equalities))])
        partitions = table_codes.size
    columns = range(len(shape.ranges))
    lows = [table.column(f"l{k}").to_numpy() for k in columns]
    highs = [table.column(f"h{k}").to_numpy() for k in columns]
    low = np.stack(lows) if lows else np.full((1, len(codes)), LOWEST)
    high = np.stack(highs) if highs else np.full((1, len(codes)), HIGHEST)
    return expected_candidates(codes, low, high, midpoints(codes, low, high)), partitions
