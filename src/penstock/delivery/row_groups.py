"""Row groups: what a reader of few standing queries reads of a part, and what it leaves out.

The pairs of a group lie by ranges of query numbers, and Parquet notes the least and the greatest of
every row group. Parts of before have one row group in any order: they are read whole.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.vocabulary.batches import Ints


def pairs_of(source: pa.BufferReader, start: int, stop: int, queries: Ints) -> pa.Table:
    """Read those of the pairs [start, stop) that may be of some queries, given in ascending order.

    Row groups that hold none of them are not read.
    """
    file = pq.ParquetFile(source)
    read = []
    end = 0
    for number in range(file.num_row_groups):
        facts = file.metadata.row_group(number)
        first, end = end, end + facts.num_rows
        if first < stop and end > start and _may_hold(facts.column(0).statistics, queries):
            table = file.read_row_group(number, use_threads=False)
            low, high = max(start - first, 0), min(stop, end) - first
            read.append(table.slice(low, high - low))
    return pa.concat_tables(read) if read else file.schema_arrow.empty_table()


def _may_hold(statistics: pq.Statistics | None, queries: Ints) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = np.searchsorted(queries, [statistics.min, statistics.max + 1])
    return bool(low < high)


def rows_at(source: pa.BufferReader, rows: Ints) -> pa.Table:
    """Take rows by their numbers, in this order; row groups that have none of them are not read."""
    file = pq.ParquetFile(source)
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    ends = np.cumsum(sizes, dtype=np.int64)
    within = np.searchsorted(ends, rows, side="right")
    used = np.unique(within)
    firsts = np.zeros(len(sizes), dtype=np.int64)
    # Where the rows of a row group are among those that are read, less where they are in all.
    read_ends = np.cumsum(np.array(sizes, dtype=np.int64)[used])
    firsts[used] = read_ends - ends[used]
    table = file.read_row_groups(used.tolist(), use_threads=False)
    return table.take(pa.array(rows + firsts[within]))
