"""The plain way to bound a join: score every row held at every decision. For comparison."""

from __future__ import annotations

import numpy as np

from penstock.kernels.bounding import Ints
from penstock.kernels.compilation import kernel
from penstock.kernels.scoring import ScoreTable, table_score


@kernel
def scan_feed(
    tables: tuple[ScoreTable, ...], held_streams: Ints, held_keys: Ints, streams: Ints, keys: Ints,
    ticks: Ints, budget: int, probe: bool, made: Ints,
) -> None:  # fmt: skip
    """Feed two rows per tick to a full cache of two streams.

    With `probe`, count the results of every tick; without, only decide who goes.
    """
    row_streams = np.empty(budget + 2, dtype=np.int64)
    row_keys = np.empty(budget + 2, dtype=np.int64)
    scores = np.empty(budget + 2)
    lasts = np.zeros(2, dtype=np.int64)
    count = len(held_keys)
    row_streams[:count] = held_streams
    row_keys[:count] = held_keys
    for at in range(0, len(keys), 2):
        for i in range(at, at + 2):
            for row in range(count if probe else 0):
                made[at // 2] += row_keys[row] == keys[i] and row_streams[row] != streams[i]
            lasts[streams[i]] = keys[i]
        for i in range(at, at + 2):
            row_streams[count + i - at] = streams[i]
            row_keys[count + i - at] = keys[i]
        count += 2
        for partner in range(2):
            table, last = tables[partner], lasts[partner]
            for row in range(count):
                if row_streams[row] != partner:
                    scores[row] = table_score(table, row_keys[row], ticks[at], last)
        while count > budget:
            victim = 0
            for row in range(1, count):
                if scores[row] < scores[victim]:
                    victim = row
            count -= 1
            row_streams[victim] = row_streams[count]
            row_keys[victim] = row_keys[count]
            scores[victim] = scores[count]
