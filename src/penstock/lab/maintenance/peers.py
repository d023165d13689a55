"""Peers of a fresh view: triggers that maintain at once, and recomputation at every read.

The triggers are what a good hand writes: of a statement's rows before and after, joined with the
other tables by their indexes, every cost is counted up or down, and the least that still counts is
found by an index. Beside them the same statements run on tables without triggers: what the
triggers take is the difference.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

import duckdb

from penstock.lab.maintenance.tpch import NAMES, PARTSUPP, SUPPLIER, Offers, Updates
from penstock.lab.processor_time import ProcessClock
from penstock.views.protocol import WEIGHT

TABLES = """
CREATE TABLE partsupp (ps_partkey bigint, ps_suppkey bigint, ps_supplycost double precision,
    PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE supplier (s_suppkey bigint PRIMARY KEY, s_nationkey bigint);
CREATE TABLE nation (n_nationkey bigint PRIMARY KEY, n_regionkey bigint);
CREATE TABLE region (r_regionkey bigint PRIMARY KEY, r_name text);
"""
INDEXES = """
CREATE INDEX ON partsupp (ps_suppkey);
CREATE INDEX ON supplier (s_nationkey);
ANALYZE partsupp; ANALYZE supplier; ANALYZE nation; ANALYZE region;
"""
JOINED = """
JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
WHERE r_name = 'MIDDLE EAST'
"""
QUERY = f"""
SELECT min(ps_supplycost) FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey {JOINED}
"""
COUNTED = """
CREATE FUNCTION {table}_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO costs SELECT cost, sum(n) FROM (
    SELECT ps_supplycost AS cost, -1 AS n FROM {gone}
    UNION ALL SELECT ps_supplycost, 1 FROM {come}) AS changed
GROUP BY cost HAVING sum(n) <> 0
ON CONFLICT (cost) DO UPDATE SET n = costs.n + excluded.n;
RETURN NULL; END $$;
CREATE TRIGGER {table}_changed AFTER UPDATE ON {table}
REFERENCING OLD TABLE AS gone NEW TABLE AS come
FOR EACH STATEMENT EXECUTE FUNCTION {table}_changed();
"""
OFFERS = "{0} JOIN supplier ON s_suppkey = ps_suppkey" + JOINED
SUPPLIERS = "{0} JOIN partsupp ON ps_suppkey = s_suppkey" + JOINED
COSTS = f"""
CREATE TABLE costs (cost double precision PRIMARY KEY, n bigint);
INSERT INTO costs SELECT ps_supplycost, count(*) FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey {JOINED} GROUP BY 1;
CREATE INDEX ON costs (cost) WHERE n > 0;
ANALYZE costs;
"""
UPDATES = {
    PARTSUPP: "UPDATE partsupp SET ps_supplycost = %s WHERE ps_partkey = %s AND ps_suppkey = %s",
    SUPPLIER: "UPDATE supplier SET s_nationkey = %s WHERE s_suppkey = %s",
}
LEAST = "SELECT min(cost) FROM costs WHERE n > 0"
REFRESH = "REFRESH MATERIALIZED VIEW cheapest"
READS = 5
"""Times that a recomputation is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTimes:
    """What peers took for the same changes, in seconds of their processor."""

    triggers: float
    """Of triggers alone: what statements took beyond those on tables without them."""
    refresh: float
    """Of one REFRESH MATERIALIZED VIEW."""
    value: float
    """What the triggers' view said in the end."""


def postgresql_peers(address: str, offers: Offers, moments: list[Updates]) -> PeerTimes:
    """Run the same updates on tables with triggers and on tables without, by turns."""
    driver: Any = importlib.import_module("psycopg")
    sides = [driver.connect(address, autocommit=True) for _ in range(2)]
    try:
        for side, name in zip(sides, ("plain", "triggered"), strict=True):
            _loaded(side, name, offers)
        plain, triggered = sides
        triggered.execute(COSTS)
        for table, joined in (("partsupp", OFFERS), ("supplier", SUPPLIERS)):
            gone, come = joined.format("gone"), joined.format("come")
            triggered.execute(COUNTED.format(table=table, gone=gone, come=come))
        plain.execute(f"CREATE MATERIALIZED VIEW cheapest AS {QUERY}")
        taken = [0.0, 0.0]
        clocks = [_clock(side) for side in sides]
        for statement, values in _statements(moments):
            for number, side in enumerate(sides):
                begun = clocks[number]()
                side.execute(statement, values)
                taken[number] += clocks[number]() - begun
        refreshes = [_timed(plain, REFRESH, clocks[0]) for _ in range(READS)]
        return PeerTimes(
            triggers=taken[1] - taken[0],
            refresh=median(refreshes),
            value=float(triggered.execute(LEAST).fetchone()[0]),
        )
    finally:
        for side in sides:
            side.close()


def duckdb_recomputed(offers: Offers) -> float:
    """Give how long DuckDB takes to compute the view anew, from tables of its own."""
    with duckdb.connect(":memory:") as database:
        for name, table in zip(NAMES, offers.tables, strict=True):
            database.register("given", table)
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        _timed(database, QUERY, process_time)
        return median(_timed(database, QUERY, process_time) for _ in range(READS))


def _clock(side: Any) -> Callable[[], float]:
    """Give what a server's side of a connection is timed by: its processor, where that is told."""
    backend = side.info.backend_pid
    return ProcessClock(backend) if ProcessClock.can_read(backend) else perf_counter


def _timed(database: Any, statement: str, clock: Callable[[], float]) -> float:
    begun = clock()
    found = database.execute(statement)
    if statement is QUERY:
        found.fetchall()
    return clock() - begun


def _loaded(side: Any, schema: str, offers: Offers) -> None:
    side.execute(f"CREATE SCHEMA {schema}")
    side.execute(f"SET search_path TO {schema}")
    side.execute(TABLES)
    for name, table in zip(NAMES, offers.tables, strict=True):
        with side.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    side.execute(INDEXES)


def _statements(moments: list[Updates]) -> Iterable[tuple[str, tuple[Any, ...]]]:
    """Give every update as a statement: the new value, then the key."""
    for changes in moments:
        for number, table in changes.items():
            come = table.filter(table[WEIGHT].to_numpy() > 0).drop_columns([WEIGHT])
            for row in zip(*(column.to_pylist() for column in come.columns), strict=True):
                yield UPDATES[number], (row[-1], *row[:-1])
