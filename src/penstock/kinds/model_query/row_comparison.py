"""Rows and models: whether recorded rows are as near the models in force as they may be."""

from __future__ import annotations

from penstock.kinds.model_query.batch_checks import BatchCheck
from penstock.kinds.model_query.plan_sql import condition_sql, value_sql
from penstock.kinds.outcomes import count

ROWS_MAX = 2_000


def compare_rows(check: BatchCheck, number: int) -> None:
    """See that rows are as near the models in force as they may be."""
    source = check.step.sources[number]
    keys = "".join(f" AND m.k{n} = r.k{n}" for n in range(len(source.key)))
    group = ", ".join(["_time", *(f"k{n}" for n in range(len(source.key)))])
    seconds = "((r._time - m.reference) / 1e6)"
    names = [f"r.a{n}" for n in range(len(source.attributes))]
    values = [
        f"any_value({value_sql(n, seconds).replace('(c', '(m.c')}) AS x{n}"
        for n in range(len(source.attributes))
    ]
    sums = ", ".join(f"sum(sign * x{n}) AS x{n}" for n in range(len(source.attributes)))
    rows = (
        f"SELECT * FROM rows{number} WHERE _release <= {check.batch} "
        f"QUALIFY row_number() OVER (PARTITION BY {group} ORDER BY _place DESC) = 1 "
        f"ORDER BY hash(_place) LIMIT {ROWS_MAX}"
    )
    off = [
        f"abs(r.a{n} - x{n}) > {check.allowed(number, n, f'x{n}')} OR NOT isfinite(x{n})"
        for n in range(len(source.attributes))
    ]
    own = check.recorded.inversion.sources[number].condition
    slack = "FALSE"
    if own is not None:
        slack = f"NOT ({condition_sql(own, names, 0.0, tight=True)})"
    found = check.db.sql(
        f"SELECT r.*, x.* EXCLUDE (_place) FROM ({rows}) AS r JOIN "
        f"(SELECT _place, {sums} FROM ("
        f"SELECT r._place, {', '.join(values)}, sum(m.sign) AS sign FROM ({rows}) AS r "
        f"JOIN models{number} AS m ON m.starts <= r._time AND r._time < m.ends{keys} "
        f"GROUP BY r._place, m.serial HAVING sum(m.sign) <> 0) "
        f"GROUP BY _place HAVING sum(sign) = 1) AS x USING (_place) "
        f"WHERE ({' OR '.join(off)}) AND NOT ({slack})"
    )
    check.tried.rows += count(check.db, f"SELECT count(*) FROM ({rows})")
    bad = count(check.db, f"SELECT count(*) FROM ({found.sql_query()})")
    check.note("surplus", bad, found.sql_query(), "beyond the bound")
    check.tried.beyond += bad
