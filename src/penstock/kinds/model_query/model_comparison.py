"""Answers and models: whether what queries were told is what their plan gives, at instants."""

from __future__ import annotations

from penstock.algebra.models import MappedAttribute, ModelMap, ModelQueryStep, stages
from penstock.kinds.model_query.batch_checks import BatchCheck
from penstock.kinds.model_query.plan_sql import PlanSql, comparison_sql
from penstock.kinds.model_query.recorded_windows import load_windows, windows_of
from penstock.kinds.outcomes import count

INSTANTS_MAX, WINDOWED_INSTANTS_MAX = 60, 12
ADDED_UP = "1e-12"
"""By how much of all that was added up a sum may be off."""
NEAR_US = 2
"""Where the answer changes within so many microseconds, it is not compared: ends are rounded."""


def compare_status(check: BatchCheck) -> None:
    """See that what was expected and has come is confirmed, and nothing else is."""
    if not check.step.predicts:
        return
    keys = ", ".join(["_query", *(f"k{n}" for n in range(len(check.step.key))), "starts"])
    sql = (
        f"SELECT {keys}, status, sum(sign) AS _sign FROM told JOIN p USING (_query) "
        f"WHERE _batch BETWEEN p._first AND {check.batch} GROUP BY ALL HAVING sum(sign) <> 0 "
        f"AND (status = 'expected') <> (starts > {check.now})"
    )
    bad = count(check.db, f"SELECT count(*) FROM ({sql})")
    check.note("surplus", bad, sql, "wrong status")


def compare_answers(check: BatchCheck) -> None:
    """See that what queries were told is what their plan gives of models, at instants."""
    db, step = check.db, check.step
    if not _choose_instants(check):
        return
    windowed = any(True for _ in windows_of(step.plan))
    margin = load_windows(db, step.plan) if windowed else 0.0
    margin += sum(own.tolerance for own in _mapped(step))
    keys = [f"k{n}" for n in range(len(step.key))]
    for name, tight in (("sure", True), ("possible", False)):
        plan = PlanSql(step.plan, margin, tight)
        columns = ", ".join(
            ["p._query", "e.t", *(f"e.{own}" for own in keys),
             *(f"e.a{n}" for n in range(plan.attributes))]
        )  # fmt: skip
        holds = ["e.t >= p._born", *(
            f"e.k{place} = p.q_k{n}" for n, place in enumerate(step.asked.key))]  # fmt: skip
        own = [f"e.a{n}" for n in range(plan.attributes)]
        holds += [f"{each} IS NOT NULL" for each in own if tight]
        for n, comparison in enumerate(step.asked.comparisons):
            number = f"p.q_n{n} * abs(p.q_n{n})" if comparison.squared else f"p.q_n{n}"
            holds.append(comparison_sql(comparison, own, f"({number})", margin, tight))
        db.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM ({plan.sql}) AS e "
            f"JOIN p ON {' AND '.join(holds)}"
        )
    check.tell_at_instants()
    same = " AND ".join(
        ["o._query = e._query", *(f"o.{own} IS NOT DISTINCT FROM e.{own}" for own in keys)]
    )
    near = f"{same} AND o.t BETWEEN e.t - {NEAR_US} AND e.t + {NEAR_US}"
    sides = "IN (1, 2, 3)" if windowed else "= 3"
    missing = (
        f"SELECT e.* FROM sure AS e WHERE e.t IN (FROM centres) AND "
        f"(SELECT count(*) FROM sure AS o WHERE {near}) {sides} AND NOT EXISTS "
        f"(SELECT 1 FROM at_instants AS o WHERE {same} AND o.t = e.t)"
    )
    surplus = (
        f"SELECT e.* FROM at_instants AS e WHERE e.t IN (FROM centres) AND (NOT EXISTS "
        f"(SELECT 1 FROM possible AS o WHERE {near}) OR e._sign <> 1)"
    )
    exact = f"{1e-6 + margin!r}"
    differs = " OR ".join(
        f"abs(o.a{n} - e.a{n}) > {exact} * (1 + abs(e.a{n})) + {ADDED_UP} * o.size{n}"
        for n in range(len(step.attributes))
    )
    wrong = (
        f"SELECT e.*, {', '.join(f'o.a{n} AS told{n}' for n in range(len(step.attributes)))} "
        f"FROM sure AS e JOIN at_instants AS o ON {same} AND o.t = e.t "
        f"WHERE e.t IN (FROM centres) AND o._sign = 1 AND ({differs}) AND "
        f"(SELECT count(*) FROM sure AS o WHERE {near}) {sides}"
    )
    answer = check.asked.answer
    answer.expected += count(db, "SELECT count(*) FROM sure WHERE t IN (FROM centres)")
    answer.found += count(db, "SELECT count(*) FROM at_instants WHERE t IN (FROM centres)")
    for kind, sql, words in (
        ("missing", missing, "not told"), ("surplus", surplus, "told"),
        ("surplus", wrong, "another value"),
    ):  # fmt: skip
        check.note(kind, count(db, f"SELECT count(*) FROM ({sql})"), sql, words)


def _choose_instants(check: BatchCheck) -> bool:
    """Make the tables `centres` and `instants`: when answers are compared."""
    step, db = check.step, check.db
    windowed = any(True for _ in windows_of(step.plan))
    most = WINDOWED_INSTANTS_MAX if windowed else INSTANTS_MAX
    times = " UNION ".join(
        f"SELECT _time AS t FROM rows{n} WHERE _release <= {check.batch} "
        f"UNION SELECT _time + 1037 FROM rows{n} WHERE _release <= {check.batch}"
        for n in range(len(step.sources))
    )
    ahead = max(own.horizon_us for own in step.sources)
    times += "".join(f" UNION SELECT {check.now} + {ahead // part}" for part in (3, 9))
    born = "(SELECT min(_born) FROM p)"
    chosen = (
        f"SELECT t FROM ({times}) WHERE t > {born} + {NEAR_US} "
        f"ORDER BY t <= {check.now}, hash(t) LIMIT {most}"
    )
    if step.sample_us is not None:
        every = step.sample_us
        chosen = f"SELECT DISTINCT (t // {every} + 1) * {every} AS t FROM ({chosen})"
    db.execute(f"CREATE OR REPLACE TABLE centres AS SELECT DISTINCT t::BIGINT AS t "
               f"FROM ({chosen})")  # fmt: skip
    moved = [0] if windowed else [-NEAR_US, 0, NEAR_US]
    db.execute(
        f"CREATE OR REPLACE TABLE instants AS SELECT DISTINCT t + m AS t FROM centres, "
        f"(SELECT unnest({moved}) AS m)"
    )
    found = count(db, "SELECT count(*) FROM centres")
    check.tried.instants += found
    return found > 0


def _mapped(step: ModelQueryStep) -> list[MappedAttribute]:
    """Give what a plan only comes near to."""
    return [
        own
        for stage in stages(step.plan)
        if isinstance(stage, ModelMap)
        for own in stage.attributes
        if own.function is not None
    ]
