"""Kills of an engine that publishes messages: what edges tell, beside what DuckDB says.

Engine and edges are processes of their own, the broker is real. The engine is killed (-9) while it
starts, or in the middle of a batch or of what it publishes, and another goes on with its home. What
edges told of every batch must be what changed in DuckDB, no more and no less.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.protocol import END
from penstock.expressions.connections import connect
from penstock.lab.brokers import running
from penstock.lab.dissemination.edge_process import EdgeLife, EdgeProcess
from penstock.lab.dissemination.engine_process import BATCH, OFFERS, EngineProcess

RISKS, PRICES, WIDTH = 60, 1_000, 20
FIRST, COMES = 40, 5
"""So many offers come in the first batch, and in each other one; there as many go."""
EDGES, SUBSCRIBERS = 2, 100
STARTING = 0.25
"""The share of kills while the engine starts; all others are in the middle of its work."""
START_S, WORK_S = 1.5, 0.1
"""A kill comes so much later at most."""
SPAN = 4
"""Between two kills there are so many batches at most."""

MINIMA = """
SELECT s.slot, min(o.price) AS price
FROM subscribers s LEFT JOIN offers o ON o.risk BETWEEN s.lo AND s.hi GROUP BY s.slot ORDER BY slot
"""

Values = list[int | None]


@dataclass(frozen=True, slots=True)
class KilledEngine:
    """What came of it: kills, subscribers with a wrong value, and batches told wrongly."""

    kills: int
    batches: int
    wrong: int
    miscounted: int
    begun_anew: int


def drawn_offers(random: np.random.Generator, batches: int) -> pa.Table:
    """Draw offers that come and go: changes, each with its batch."""
    standing: dict[int, dict[str, object]] = {}
    rows: list[dict[str, object]] = []
    count = 0
    for batch in range(batches):
        gone = random.permutation(list(standing))[:COMES].tolist() if batch else []
        rows += [{**standing.pop(own), "op": "delete", BATCH: batch} for own in gone]
        for _ in range(COMES if batch else FIRST):
            count += 1
            risk, price = random.integers((0, 0), (RISKS, PRICES)).tolist()
            standing[count] = {"id": count, "risk": risk, "price": price}
            rows.append({**standing[count], "op": "insert", BATCH: batch})
    return pa.Table.from_pylist(rows, OFFERS.schema.append(pa.field(BATCH, pa.int64())))


def minima_by_batch(changes: pa.Table, subscribers: pa.Table, batches: int) -> list[Values]:
    """Ask DuckDB for all minima behind every batch, from the rows that stand then."""
    found = list[Values]()
    with connect(threads=1, files=True) as database:
        database.register("given", subscribers)
        database.execute("CREATE TABLE subscribers AS SELECT CAST(id AS INT) AS slot, * FROM given")
        database.register("changes", changes)
        for batch in range(batches):
            database.execute(
                "CREATE OR REPLACE TABLE offers AS SELECT id, risk, price FROM changes "
                f"WHERE batch <= {batch} GROUP BY ALL HAVING count(*) = 1"
            )
            found.append([price for _, price in database.execute(MINIMA).fetchall()])
    return found


def killed_engine(
    scheme: str, kills: int, random: np.random.Generator, place: Path
) -> KilledEngine:
    """Let an engine publish into a broker, kill it so often, and hold edges against DuckDB."""
    batches = (kills + 2) * SPAN
    changes, file = drawn_offers(random, batches), place / "offers.parquet"
    pq.write_table(changes, file)
    with ExitStack() as stack:
        server = stack.enter_context(running(scheme))
        url = f"{server.url}/lows"
        engine = EngineProcess(place / "home", url, file)
        stack.callback(engine.abandon)
        engine.run_upto(1)  # batch 0 is there, so that edges can begin
        edges, expected = list[EdgeProcess](), list[list[Values]]()
        for number in range(EDGES):
            low = random.integers(0, RISKS, SUBSCRIBERS)
            ids = np.arange(SUBSCRIBERS).astype(str)
            own = pa.table(
                {"id": ids, "lo": low, "hi": low + random.integers(0, WIDTH, SUBSCRIBERS)}
            )
            pq.write_table(own, place / f"edge-{number}.parquet")
            expected.append(minima_by_batch(changes, own, batches))
            edges.append(EdgeProcess(url, place / f"edge-{number}.parquet"))
            stack.callback(edges[-1].abandon)
            edges[-1].reach(0)
        upto = 1
        while engine.kills < kills:
            if random.random() < STARTING:
                engine.kill(random.uniform(0, START_S))
            else:
                upto += int(random.integers(1, SPAN + 1))
                engine.run_upto(upto)
                engine.kill(random.uniform(0, WORK_S))
        engine.finish()
        broker = broker_at(BrokerAddress.of(url))
        stack.callback(broker.close)
        newest = broker.newest(END)
        assert newest is not None
        wrong = 0
        for edge, values in zip(edges, expected, strict=True):
            edge.reach(newest.batch)
            told = edge.finish()
            wrong += sum(told[str(at)] != price for at, price in enumerate(values[-1]))
    return KilledEngine(
        engine.kills, batches, wrong,
        sum(miscounted(edge.lives[0], own) for edge, own in zip(edges, expected, strict=True)),
        sum(life.begins - 1 for edge in edges for life in edge.lives),
    )  # fmt: skip


def miscounted(life: EdgeLife, values: list[Values]) -> int:
    """Count batches of which an edge told more or fewer than changed."""
    if life.begins > 1:
        return 0  # what it missed it told at once, as of a later batch
    counts = {
        batch: sum(old != new for old, new in zip(values[batch - 1], values[batch], strict=True))
        for batch in range(life.first_batch + 1, len(values))
    }
    due = {batch: count for batch, count in counts.items() if count}
    return sum(due.get(b) != life.batches.get(b) for b in due.keys() | life.batches.keys())
