"""Answers and rows: whether the user's predicate, asked of rows, agrees with what was told."""

from __future__ import annotations

from penstock.algebra.models import ModelSource
from penstock.expressions.quotation import theirs
from penstock.kinds.model_query.batch_checks import BatchCheck
from penstock.kinds.model_query.plan_sql import PlanSql
from penstock.kinds.outcomes import count

ROWS_MAX = 500


def compare_predicate(check: BatchCheck) -> None:
    """See that the predicate, asked of rows, agrees with the answer at their instants."""
    db, step = check.db, check.step
    if step.sample_us is not None:
        return
    (source,) = step.sources
    same = " AND ".join(["o.t = r._time", *(f"o.k{n} = r.k{n}" for n in range(len(source.key)))])
    _load_covered(check, source, same)
    check.tell_at_instants()
    db.execute(
        "CREATE OR REPLACE TABLE judged AS SELECT v._place, v._query, "
        "bool_and(v.holds) AS all_, bool_or(v.holds) AS any_, "
        "bool_or(v.holds) FILTER (WHERE v.plain) AS plainly "
        f"FROM ({_verdicts(check, source)}) AS v GROUP BY v._place, v._query"
    )
    db.execute(
        "CREATE OR REPLACE TABLE compared AS SELECT j._query, r.*, j.all_, j.any_, j.plainly, "
        f"EXISTS (SELECT 1 FROM at_instants AS o WHERE o._query = j._query AND {same}) AS told, "
        "EXISTS (SELECT 1 FROM at_instants AS o WHERE o._query = j._query AND o.lasts "
        f"AND {same}) AS lasts "
        "FROM judged AS j JOIN covered AS r USING (_place)"
    )
    check.asked.answer.expected += count(db, "SELECT count(*) FROM compared WHERE all_")
    check.asked.answer.found += count(db, "SELECT count(*) FROM compared WHERE told AND any_")
    for kind, where, words in (
        ("missing", "all_ AND NOT told", "not told of a row"),
        ("surplus", "NOT any_ AND lasts", "told in spite of a row"),
    ):
        sql = f"SELECT * FROM compared WHERE {where}"
        check.note(kind, count(db, f"SELECT count(*) FROM ({sql})"), sql, words)
    inside = "SELECT count(*) FROM compared WHERE any_ AND NOT all_ AND "
    check.tried.false_positives += count(db, f"{inside} told AND NOT plainly")
    check.tried.false_negatives += count(db, f"{inside} NOT told AND plainly")


def _load_covered(check: BatchCheck, source: ModelSource, same: str) -> None:
    """Make the tables `covered`, rows with the values of their models, and `instants`."""
    group = ", ".join(["_time", *(f"k{n}" for n in range(len(source.key)))])
    check.db.execute(
        f"CREATE OR REPLACE TABLE centres AS SELECT * FROM rows0 "
        f"WHERE _release <= {check.batch} AND _time > (SELECT min(_born) FROM p) "
        f"QUALIFY row_number() OVER (PARTITION BY {group} ORDER BY _place DESC) = 1 "
        f"ORDER BY hash(_place + 1) LIMIT {ROWS_MAX}"
    )
    check.db.execute("CREATE OR REPLACE TABLE instants AS SELECT DISTINCT _time AS t FROM centres")
    modelled = ", ".join(f"o.a{n} AS _model{n}" for n in range(len(source.attributes)))
    check.db.execute(
        f"CREATE OR REPLACE TABLE covered AS SELECT r.*, {modelled} FROM centres AS r "
        f"JOIN ({PlanSql(source, 0.0, tight=False).sql}) AS o ON {same}"
    )


def _verdicts(check: BatchCheck, source: ModelSource) -> str:
    """Ask the predicate of each row, of the edges of its bound, and of its model's own value.

    Between the edges of a bound may lie what a predicate takes, or lacks.
    """
    observed = [theirs(own.observed) for own in source.attributes]
    sides = [(own, check.allowed(0, n, own, of_row=True)) for n, own in enumerate(observed)]
    moved = [
        [f"{own} + ({sign}) * {move}" for sign, (own, move) in zip(signs, sides, strict=True)]
        for signs in _combinations(len(sides))
    ]
    moved.append([f"_model{n}" for n in range(len(observed))])
    verdicts = []
    for number, values in enumerate(moved):
        replaced = ", ".join(
            f"{value} AS {own}" for value, own in zip(values, observed, strict=True)
        )
        verdicts.append(
            f"SELECT e._place, p._query, {number == 0} AS plain, "
            f"coalesce(({check.logical.where_sql}), FALSE) AS holds "
            f"FROM (SELECT * REPLACE ({replaced}) FROM covered) AS e, p "
            "WHERE e._time >= p._born"
        )
    return " UNION ALL ".join(verdicts)


def _combinations(count: int) -> list[tuple[int, ...]]:
    """Give all ways in which attributes may be moved down, up, or not at all."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(count):
        found = [(*own, sign) for own in found for sign in (0, -1, 1)]
    return found
