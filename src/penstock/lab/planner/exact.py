"""What DuckDB says that a window join gives: the exact answer, from the streams alone."""

from __future__ import annotations

import duckdb

from penstock.lab.planner.plan_runs import ids_of
from penstock.lab.planner.workload import DrawnStreams, PlannerQuery
from penstock.vocabulary.batches import Ints


def exact_answer(query: PlannerQuery, streams: DrawnStreams) -> Ints:
    """Give the constituents of every result, sorted: all windows of rows, or all of time."""
    kinds = {source.window.kind for source in query.sources}
    assert len(kinds) == 1 and not query.relatings
    assert all(each.accepted == 1.0 for each in query.sources)
    with duckdb.connect(":memory:", config={"threads": 2}) as db:
        db.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
        # Left to itself, it would join all rows with equal keys before it looks at windows.
        db.execute("SET disabled_optimizers = 'join_order'")
        for source in query.sources:
            db.register("given", streams.tables[source.name])
            db.execute(
                f"CREATE TABLE {source.name} AS SELECT *, epoch_us(seen) AS us, "
                "row_number() OVER (ORDER BY seen, id) AS sequence FROM given"
            )
            db.unregister("given")
        sql = _of_rows(query) if kinds == {"rows"} else _of_time(query)
        return ids_of(db.sql(sql).to_arrow_table())


def _keys(query: PlannerQuery) -> str:
    """Write the equalities."""
    found = []
    for i, key in enumerate(query.keys):
        names = [query.sources[number].name for number in key.inputs]
        found += [f"{names[0]}.k{i} = {name}.k{i}" for name in names[1:]]
    return " AND ".join(found)


def _outputs(query: PlannerQuery) -> str:
    return ", ".join(f"{each.name}.id AS {each.name}_id" for each in query.sources)


def _of_rows(query: PlannerQuery) -> str:
    """Write the answer of ROWS windows: each row as the youngest, with the last rows of others.

    All rows stand in one order, by time, then by input. At a row's place in it, so many rows of
    every other stream have come: the last of them, as many as its window holds, are active.
    """
    names = [source.name for source in query.sources]
    every = " UNION ALL ".join(
        f"SELECT {number} AS input, id, us FROM {name}" for number, name in enumerate(names)
    )
    counts = ", ".join(
        f"count(*) FILTER (input = {number}) OVER (ORDER BY us, input, id "
        f"ROWS UNBOUNDED PRECEDING) AS n{number}"
        for number in range(len(names))
    )
    parts = []
    for number, name in enumerate(names):
        others = [
            f"JOIN (SELECT unnest(range({other.window.size})) AS back) {other.name}_last ON TRUE "
            f"JOIN {other.name} ON {other.name}.sequence = placed.n{k} - {other.name}_last.back"
            for k, other in enumerate(query.sources)
            if k != number
        ]
        parts.append(
            f"SELECT {_outputs(query)} FROM placed "
            f"JOIN {name} ON placed.input = {number} AND placed.id = {name}.id "
            f"{' '.join(others)} WHERE {_keys(query)}"
        )
    return f"WITH placed AS (SELECT *, {counts} FROM ({every})) {' UNION ALL '.join(parts)}"


def _of_time(query: PlannerQuery) -> str:
    """Write the answer of RANGE windows: every pair is as close as both windows ask.

    Rows are first brought together by pieces of time as long as the longest window.
    """
    first, *others = query.sources
    piece = max(source.window.size for source in query.sources)
    joins = []
    for k, source in enumerate(others, 1):
        close = " AND ".join(
            f"{source.name}.us - {other.name}.us < {other.window.size} "
            f"AND {other.name}.us - {source.name}.us < {source.window.size}"
            for other in query.sources[:k]
        )
        joins.append(
            f"JOIN (SELECT unnest([-1, 0, 1]) AS step) {source.name}_step ON TRUE "
            f"JOIN {source.name} ON {source.name}.us // {piece} = "
            f"{first.name}.us // {piece} + {source.name}_step.step AND {close}"
        )
    return f"SELECT {_outputs(query)} FROM {first.name} {' '.join(joins)} WHERE {_keys(query)}"
