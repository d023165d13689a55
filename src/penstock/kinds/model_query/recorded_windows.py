"""Recorded windows: aggregates over windows of time, added up from values at many instants."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelSource, ModelStage, ModelWindow, stages
from penstock.kinds.model_query.plan_sql import PlanSql
from penstock.vocabulary.batches import Ints

STEPS = 128
"""Instants at which a window is looked at, beside those at which a model begins or ends."""
GAPS_MAX = STEPS // 8
"""Instants of a window at which there may be no model."""
EDGES_MAX = 4_000
"""Instants at which models begin or end, at most; for sums, no more than there are others."""
SECOND_US = 1_000_000
JUMP_MOST = 1_000.0
"""How many times the margin of most windows that of a window may be that is compared."""
EXTREME_SHARE = 0.05
"""By how much of what it varies an extreme may be beyond the values that were looked at."""


def windows_of(plan: ModelStage) -> Iterator[tuple[ModelWindow, int]]:
    """Give the windows of a plan, those inside others first, with the number of the first source.

    >>> list(windows_of(ModelSource(relation="s", event_time="t", attributes=(), horizon_us=1)))
    []
    """
    before = 0
    for stage in stages(plan):
        if isinstance(stage, ModelSource):
            before += 1
        elif isinstance(stage, ModelWindow):
            own = sum(isinstance(each, ModelSource) for each in stages(stage))
            yield stage, before - own


def are_nested(plan: ModelStage) -> bool:
    """Say whether a window is of what another window gives."""
    return any(
        isinstance(own, ModelWindow)
        for stage in stages(plan)
        if isinstance(stage, ModelWindow)
        for own in stages(stage.input)
    )


def load_windows(db: duckdb.DuckDBPyConnection, plan: ModelStage) -> float:
    """Make the tables window0, … at the table `instants`; give by how much they may be off.

    A window that is not full of models has no value, which is NULL: it is not compared.
    """
    margin = 0.0
    wanted = db.sql("SELECT t FROM instants ORDER BY t").fetchnumpy()["t"]
    for number, (window, first) in enumerate(windows_of(plan)):
        own_margin = _load_window(db, number, window, first, wanted)
        margin = max(margin, own_margin)
    db.register("wanted", pa.table({"t": wanted}))
    db.execute("CREATE OR REPLACE TABLE instants AS FROM wanted")
    db.unregister("wanted")
    return margin


def _load_window(
    db: duckdb.DuckDBPyConnection, number: int, window: ModelWindow, first: int, wanted: Ints
) -> float:
    size = window.size_us
    # At both ends of a window it is looked whether there is a model, not at its value.
    inside = (np.arange(STEPS) * 2 + 1) * size // (2 * STEPS)
    steps = np.concatenate([[0], inside, [size]])
    grid = np.unique((wanted[:, None] - size + steps).reshape(-1))
    most = EDGES_MAX if window.function in {"min", "max"} else min(EDGES_MAX, len(grid))
    edges = _edges(db, window, first, wanted, most)
    db.register("wanted", pa.table({"t": np.union1d(grid, edges)}))
    db.execute("CREATE OR REPLACE TABLE instants AS FROM wanted")
    db.unregister("wanted")
    inner = PlanSql(window.input, 0.0, tight=False, numbers=(first, 0))
    keys = [f"k{place}" for place in window.group]
    together = {"avg": "avg", "sum": "sum"}.get(window.function, window.function)
    named = ", ".join([f"{own} AS k{n}" for n, own in enumerate(keys)])
    group = ", ".join(["t", *keys])
    found = db.sql(
        f"SELECT t{', ' if named else ''}{named}, {together}(a{window.attribute}) AS a0 "
        f"FROM ({inner.sql}) GROUP BY {group} ORDER BY t"
    ).to_arrow_table()
    table, margin = _aggregated(found, window, wanted, steps)
    db.register("made", table)
    db.execute(f"CREATE OR REPLACE TABLE window{number} AS FROM made")
    db.unregister("made")
    return margin


def _edges(
    db: duckdb.DuckDBPyConnection, window: ModelWindow, first: int, wanted: Ints, most: int
) -> Ints:
    """Give instants at which models begin or end, in the windows that are asked for."""
    count = sum(isinstance(own, ModelSource) for own in stages(window))
    tables = " UNION ".join(
        f"SELECT starts AS t FROM models{n} UNION SELECT ends - 1 FROM models{n}"
        for n in range(first, first + count)
    )
    db.register("wanted", pa.table({"t": wanted}))
    found = db.sql(
        f"SELECT DISTINCT t FROM ({tables}) WHERE EXISTS (SELECT 1 FROM wanted AS w "
        f"WHERE t BETWEEN w.t - {window.size_us} AND w.t) ORDER BY hash(t) LIMIT {most}"
    ).fetchnumpy()["t"]
    db.unregister("wanted")
    return np.asarray(found, dtype=np.int64)


def _aggregated(
    found: pa.Table, window: ModelWindow, wanted: Ints, steps: Ints
) -> tuple[pa.Table, float]:
    """Add values up, window by window and group by group."""
    names = [f"k{n}" for n in range(len(window.group))]
    times, values = found.column("t").to_numpy(), found.column("a0").to_numpy()
    groups: dict[tuple[object, ...], list[int]] = {}
    columns = [found.column(name).to_pylist() for name in names]
    for row in range(found.num_rows):
        groups.setdefault(tuple(own[row] for own in columns), []).append(row)
    rows: list[dict[str, object]] = []
    offs: list[float] = []
    for key, places in groups.items():
        own_times, own_values = times[places], values[places]
        for t in wanted.tolist():
            inside = (own_times > t - window.size_us) & (own_times <= t)
            if not inside.any():
                continue
            value: float | None = None
            off = 0.0
            grid = t - window.size_us + steps
            at = np.searchsorted(own_times, grid, side="right") - 1
            there = (at >= 0) & (own_times[at] == grid)
            lacking = int(np.count_nonzero(~there))
            held = window.gap == "hold" and lacking <= GAPS_MAX
            if there[0] and there[-1] and (lacking == 0 or held):
                # In a gap the last value is held; how it goes on there is not looked at.
                path = own_values[at[0] : at[-1] + 1]
                with np.errstate(over="ignore", invalid="ignore"):
                    value, off = _value(window, path, own_values[at[1:-1]], lacking)
            keys = {name: own for name, own in zip(names, key, strict=True)}
            rows.append({"t": t, **keys, "a0": value})
            offs.append(off)
    margin = _margin(offs)
    rows = [
        row if off <= margin else {**row, "a0": None} for row, off in zip(rows, offs, strict=True)
    ]
    schema = pa.schema(
        [("t", pa.int64()), *((name, found.schema.field(name).type) for name in names),
         ("a0", pa.float64())]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema), margin


def _margin(offs: list[float]) -> float:
    """Give by how much windows may be off that are compared.

    One in which values jump much farther than elsewhere would excuse whatever the others say.

    >>> _margin([1.0, 2.0, 1e20, float("nan"), 0.0])
    2.0
    """
    known = np.array([off for off in offs if 0.0 < off < np.inf])
    most = JUMP_MOST * float(np.median(known)) if len(known) else 0.0
    return float(known[known <= most].max(initial=0.0))


def _value(
    window: ModelWindow, path: np.ndarray, regular: np.ndarray, lacking: int
) -> tuple[float, float]:
    """Give the aggregate of values, some of which were held, and by how much it may be off.

    `path` are all values from one end of the window to the other: a model that holds for less than
    a step is not among the regular ones, and is what a sum may be off by.
    """
    seen = path[1:]
    varies = float(seen.max() - seen.min())
    if window.function in {"min", "max"}:
        extreme = seen.max() if window.function == "max" else seen.min()
        return float(extreme), EXTREME_SHARE * varies
    travelled = float(np.abs(np.diff(path)).sum())
    mean, off = float(regular.mean()), (2 * travelled + varies * lacking) / STEPS
    seconds = window.size_us / SECOND_US
    return (mean * seconds, off * seconds) if window.function == "sum" else (mean, off)
