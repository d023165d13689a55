"""A table by key of an engine that is to be killed: its filters begin with what stands already."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from tests.support.tables import Feeder
from tests.support.victim_words import register_or_drop, say

TABLE = "stock"
QUERIES, ROWS_EACH, KEYS = 4, 3, 12
TEXT = "SELECT k, x FROM stock WHERE x >= :least"
VIEW = "parts_of_stock"
VIEW_TEXT = "SELECT k % 3 AS part, count(*) AS n, max(x) AS most FROM stock GROUP BY part"


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"t{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription, with or without a first answer."""
    each = [{"id": i, "least": float(10 * i)} for i in range(ROWS_EACH)]
    engine.subscribe(TEXT, name=name_of(number), each=each, options={"snapshot": number % 2 == 1})
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number < 2, ROWS_EACH)


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the table; register one of each kind: a cluster fixes its lanes at its start."""
    if TABLE not in engine.desk.registry.catalog:
        engine.table(
            TABLE, f"parquet:{source}/{TABLE}", changes="op", key="k", sequence="lsn",
            maxFilesPerTrigger=1,
        )  # fmt: skip
    if VIEW not in engine.desk.registry.subscriptions:
        engine.sql(f"CREATE VIEW {VIEW} REFRESH WITHIN 1 MINUTE AS {VIEW_TEXT}")
    for number in (0, 1):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)


def stock_files(place: Path, seed: int, files: int, rows: int) -> dict[int, float]:
    """Fill the table's directory, newer changes before older ones in every file.

    Gives what stands in the end.
    """
    feeder, chance = Feeder(place / TABLE), np.random.default_rng([seed, 4711])
    standing: dict[int, float] = {}
    lsn = 0
    for _ in range(files):
        changes = []
        for _ in range(rows):
            lsn += 1
            k, x = int(chance.integers(KEYS)), float(chance.integers(30))
            if k in standing and chance.random() < 0.3:
                changes.append({"op": "d", "k": k, "x": standing.pop(k), "lsn": lsn})
            else:
                changes.append({"op": "u" if k in standing else "c", "k": k, "x": x, "lsn": lsn})
                standing[k] = x
        feeder.put(pa.Table.from_pylist(changes[::-1]))
    return standing
