"""A yardstick: one piece of work, done again and again, which tells how fast a core is just then.

Beside busy neighbours the same instructions take a core several times as long, also by processor
time. What a batch takes is held against this work, done in the midst of the same batches.
"""

from __future__ import annotations

import json
from time import thread_time

import numpy as np
import pyarrow as pa

from penstock.expressions.connections import connect

ROWS, WORDS = 2_000, 300
STRIDE = 1_237
"""Prime, so that values are in no order, and every one comes once."""


class Yardstick:
    """Does its work when it is laid on: words, arrays and a question to DuckDB, as batches do."""

    def __init__(self) -> None:
        self._values = np.arange(ROWS) * STRIDE % ROWS / ROWS
        self._table = pa.table({"x": self._values, "n": np.arange(ROWS)})
        self._words = {f"word {number}": [number, number / 3] for number in range(WORDS)}
        self._db = connect(threads=1)
        self._since_s, self._count = 0.0, 0
        self.spent_s = 0.0
        """All that it took."""

    def lay_on(self) -> None:
        """Do the work once."""
        began_s = thread_time()
        json.loads(json.dumps(self._words))
        np.argsort(self._values)
        rows = self._db.from_arrow(self._table).filter("x > 0.2")
        rows.aggregate("n % 50, sum(x)").to_arrow_table()
        spent_s = thread_time() - began_s
        self._since_s, self._count = self._since_s + spent_s, self._count + 1
        self.spent_s += spent_s

    def close(self) -> None:
        """Lay it away."""
        self._db.close()

    def length_s(self) -> float:
        """Give what the work took on average since this was last asked."""
        if not self._count:
            self.lay_on()
        length_s = self._since_s / self._count
        self._since_s, self._count = 0.0, 0
        return length_s
