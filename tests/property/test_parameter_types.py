"""A parameter has its column's type: from every source, in every place, as DuckDB compares."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.engine.verification import verify
from penstock.lab.correctness.parameter_sets import (
    JOINED,
    PLACES,
    Truth,
    differing,
    events,
    relation,
)
from penstock.lab.correctness.parameters import COLUMNS, TEXTS, Given, sources
from penstock.vocabulary.types import ColumnKind, kind_of
from tests.support.desk_runs import DeskRun


@pytest.mark.parametrize("column", COLUMNS)
def test_parameters_are_of_their_columns_type(column: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = events(column, TEXTS[column], np.random.default_rng(seed))
    run = DeskRun(tmp_path / "home", relation(column))
    texts: list[str | None] = [*TEXTS[column], None]
    given: dict[str, tuple[str, Given, Any]] = {}
    made = sources(column, texts, tmp_path)
    # All of them cost half a minute for each column: a seed takes some.
    for source in ["csv", *rng.sample(sorted(made.keys() - {"csv"}), min(3, len(made) - 1))]:
        each = made[source]()
        for place, condition in PLACES.items():
            if (
                kind_of(COLUMNS[column]) in {ColumnKind.STRING, ColumnKind.BOOLEAN}
                and "=" not in condition
            ):
                continue
            name = f"{source} {place}"
            sql = f"SELECT k FROM s WHERE {condition}"
            found = run.desk.subscribe(sql, name=name, each=each.each)
            given[name] = condition, each, found.receipt
        if source in {"csv", "list"}:
            for condition in ("x.c = :p", "x.c <= :p", "CASE WHEN x.c >= :p THEN x.k = y.k END"):
                name = f"{source} join {condition}"
                found = run.desk.subscribe(JOINED.format(condition), name=name, each=each.each)
                given[name] = (
                    condition.replace("x.c", "c").replace("x.k = y.k", "TRUE"),
                    each,
                    found.receipt,
                )
    try:
        run.batch(s=rows)
        run.batch(s=[{"k": -1, "c": None, "ts": datetime(2030, 1, 1, tzinfo=UTC)}])
        truth = Truth(rows, column)
        for name, (condition, each, receipt) in given.items():
            assert not list(differing(run, name, condition, each, receipt, truth))
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
    finally:
        run.desk.close()
