"""A cache of two streams that scores every row at every decision: the plain way."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.bounded_scans import scores_scan
from penstock.kernels.compilation import tight
from penstock.kernels.scores import ScoreTable


@tight
def row_drop(rows: Ints, scores: Floats, count: int, row: int) -> int:
    """Let the last row take a row's place; give how many are left."""
    for word in range(rows.shape[1]):
        rows[row, word] = rows[count - 1, word]
    scores[row] = scores[count - 1]
    return count - 1


@tight
def scan_feed(
    tables: tuple[ScoreTable, ...], rows: Ints, counts: Ints, scores: Floats, streams: Ints,
    keys: Ints, ticks: Ints, budget: int, made: Ints, lasts: Ints,
) -> None:  # fmt: skip
    """Feed two rows per tick to a full cache of two streams, whose rows stand apart.

    `rows[s]` begins with the `counts[s]` rows of stream s, `lasts[s]` is its last key. The results
    of every tick are counted in `made`.
    """
    for at in range(0, len(keys), 2):
        for i in range(at, at + 2):
            partner = 1 - streams[i]
            for row in range(counts[partner]):
                made[at // 2] += rows[partner, row, 0] == keys[i]
            lasts[streams[i]] = keys[i]
        for i in range(at, at + 2):
            stream = streams[i]
            rows[stream, counts[stream], 0] = keys[i]
            counts[stream] += 1
        for stream in range(2):
            partner = 1 - stream
            scores_scan(
                tables[partner], rows[stream], counts[stream], ticks[at], lasts[partner],
                scores[stream],
            )  # fmt: skip
        while counts[0] + counts[1] > budget:
            side, victim, lowest = 0, 0, np.inf
            for stream in range(2):
                for row in range(counts[stream]):
                    if scores[stream, row] < lowest:
                        side, victim, lowest = stream, row, scores[stream, row]
            counts[side] = row_drop(rows[side], scores[side], counts[side], victim)
