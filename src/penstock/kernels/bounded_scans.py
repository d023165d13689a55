"""The plain way to find who goes: look up the score of every row at every decision.

Look-ups are written out in the loops, without a call per row: as good as a scan gets. Lookups use
it where no order of rows outlasts a tick.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import tight
from penstock.kernels.scores import LINEAR, STEPS, SURFACE, ScoreTable, table_score


@tight
def scores_scan(
    table: ScoreTable, rows: Ints, count: int, now: int, last: int, scores: Floats
) -> None:  # fmt: skip
    """Fill the scores of rows, whose first word is the key."""
    cells = table.cells[table.cells.shape[0] - 1]
    first, width = table.first, table.width
    if table.kind == LINEAR:
        line, end = cells[0], cells.shape[1] - 1
        from_centre = table.follows * last + table.slope * now + table.intercept
        for row in range(count):
            position = ((rows[row, 0] - from_centre) - first) / width
            if 0.0 <= position < end:
                cell = int(position)
                here = line[cell]
                scores[row] = here + (position - cell) * (line[cell + 1] - here)
            else:
                scores[row] = table_score(table, rows[row, 0], now, last)
    elif table.kind == STEPS:
        line, size = cells[0], cells.shape[1]
        for row in range(count):
            position = np.floor((rows[row, 0] - first) / width)
            inside = 0.0 <= position < size
            scores[row] = line[int(position)] if inside else 0.0
    elif table.kind == SURFACE:
        columns = cells.shape[1] - 1
        column = min(max((last - table.state_first) / table.state_width, 0.0), float(columns))
        at, end = int(column + 0.5), cells.shape[0] - 1
        for row in range(count):
            position = (rows[row, 0] - first) / width
            if 0.0 <= position <= end:
                scores[row] = cells[int(position + 0.5), at]
            else:
                scores[row] = table_score(table, rows[row, 0], now, last)
    else:
        for row in range(count):
            scores[row] = table_score(table, rows[row, 0], now, last)


@tight
def lowest_scan(
    table: ScoreTable, rows: Ints, count: int, now: int, last: int, scores: Floats
) -> int:  # fmt: skip
    """Give the row with the lowest score; among equal ones, that with the lowest second word."""
    scores_scan(table, rows, count, now, last, scores)
    best = 0
    for row in range(1, count):
        if scores[row] < scores[best] or (
            scores[row] == scores[best] and rows[row, 1] < rows[best, 1]
        ):
            best = row
    return best
