"""Files for two tables and two streams that are joined: tables lose rows that came before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.support.join_victim import STREAMS, TABLES
from tests.support.tables import Feeder, events


def change_files(place: Path, seed: int, files: int, rows: int) -> int:
    """Fill the directories of tables and streams that are joined; tables lose rows that came.

    Gives the rows.
    """
    total = 0
    for number, name in enumerate((*TABLES, *STREAMS)):
        feeder = Feeder(place / name)
        held: list[dict[str, Any]] = []
        chance = np.random.default_rng([seed, number])
        for file in range(files):
            drawn = events(seed + 100 * number + file, rows, first=rows * file)
            table = drawn.select(["n", "k", "x", "ts"])
            if name in TABLES:
                gone = [held.pop(int(chance.integers(len(held)))) for _ in range(4) if held]
                changes = [{**row, "op": "delete"} for row in gone]
                fresh = [{**row, "op": "insert"} for row in table.to_pylist()]
                held += table.to_pylist()
                schema = table.schema.append(pa.field("op", pa.string()))
                table = pa.Table.from_pylist(changes + fresh, schema=schema)
            feeder.put(table)
            total += table.num_rows
    return total
