"""Killing an engine of joins (-9), and proving that every change is there, once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.join_victim import (
    QUERIES,
    ROWS_EACH,
    STREAMS,
    TABLES,
    TEXTS,
    name_of,
)
from tests.support.killing import KILLED, Victim, some_points
from tests.support.tables import Feeder, events

FILES, ROWS = 12, 10


def _feed(place: Path, seed: int) -> int:
    """Fill the relations' directories; tables lose rows that came before. Gives the rows."""
    total = 0
    for number, name in enumerate((*TABLES, *STREAMS)):
        feeder = Feeder(place / name)
        held: list[dict[str, Any]] = []
        chance = np.random.default_rng([seed, number])
        for file in range(FILES):
            drawn = events(seed + 100 * number + file, ROWS, first=ROWS * file)
            table = drawn.select(["n", "k", "x", "ts"])
            if name in TABLES:
                gone = [held.pop(int(chance.integers(len(held)))) for _ in range(4) if held]
                rows = [{**row, "op": "delete"} for row in gone]
                fresh = [{**row, "op": "insert"} for row in table.to_pylist()]
                held += table.to_pylist()
                schema = table.schema.append(pa.field("op", pa.string()))
                table = pa.Table.from_pylist(rows + fresh, schema=schema)
            feeder.put(table)
            total += table.num_rows
    return total


def kill_and_prove_joins(host: str, place: Path, scratch: Path, seed: int) -> None:
    """Kill a victim at some points, let it end, and ask DuckDB about everything it logged."""
    total = _feed(place / "in", seed)
    home = place / "home"
    victim = Victim(home, place / "in", host, scratch, module="tests.support.join_victim")
    for point in some_points(host, seed):
        assert victim.run(point=point) == KILLED, f"{point} was not reached"
    assert victim.run() == 0
    assert len(set(victim.acknowledged)) == len(victim.acknowledged)

    desk = Desk(home)
    for number in range(QUERIES):
        dropped = number % 2 == 0
        assert len(desk.subscription(name_of(number))) == ROWS_EACH - dropped
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    assert all(batch is not None for batch in batches)
    assert sum(batch.rows_in for batch in batches if batch is not None) == total
    found: Counter[int] = Counter()
    for verdict in verify(desk.registry, desk.log):
        assert verdict.equal, verdict
        found[int(verdict.subscription[1:]) % len(TEXTS)] += verdict.found
    assert all(found[kind] for kind in range(len(TEXTS))), "a class found nothing: nothing proved"
    desk.close()
