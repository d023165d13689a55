"""Verification of filters that drop rows: which rows their boxes let pass, asked once more."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.multi_joins import PLAN_PORT
from penstock.engine.multi_join_verification import passing
from penstock.engine.verdicts import Verdict, count
from penstock.expressions.quoting import theirs
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints

Boxes = Sequence[tuple[int, float]]
"""The batches from which drop boxes held, in order, and the shares that they let pass."""


def shares_of(registry: Registry, group: str, versions: Ints) -> Boxes:
    """Give the history of a group's drop box."""
    found: list[tuple[int, float]] = []
    for change in registry.reader(0, registry.version):
        own = change.changes.get(group)
        if own is not None and PLAN_PORT in own.adds:
            first = int(np.searchsorted(versions, change.version))
            texts = own.adds[PLAN_PORT]["plan"].to_pylist()
            found += [(first, json.loads(text)["pass"]) for text in texts]
    return found


def leave_out(
    db: duckdb.DuckDBPyConnection, verdict: Verdict, event_time: str, boxes: Boxes
) -> None:
    """Take from `expected` what is of rows that were dropped; count the answer with them too."""
    verdict.full = (verdict.full or 0) + count(db, "SELECT count(*) FROM expected")
    verdict.full_found += count(db, "SELECT count(*) FROM (FROM expected INTERSECT ALL FROM found)")
    time = f"epoch_us({theirs(event_time)}::TIMESTAMP)"
    rows = db.sql(
        f"SELECT _batch, _part, _row, {time} IS NOT NULL AS there, coalesce({time}, 0) AS time "
        "FROM e"
    ).to_arrow_table()
    batch, time_us = rows["_batch"].to_numpy(), rows["time"].to_numpy()
    share = np.ones(len(batch))
    for first, passed in boxes:
        share[batch >= first] = passed
    passes = np.ones(len(batch), dtype=np.bool_)
    for passed in np.unique(share):
        own = share == passed
        passes[own] = passing(None, time_us[own], float(passed))
    passes |= ~rows["there"].to_numpy()
    gone = rows.filter(pa.array(~passes)).select(["_batch", "_part", "_row"])
    db.register("gone", gone)
    db.execute(
        "CREATE OR REPLACE TABLE expected AS "
        "FROM expected ANTI JOIN gone USING (_batch, _part, _row)"
    )
    db.unregister("gone")
