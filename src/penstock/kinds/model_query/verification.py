"""Verification of model queries: recorded rows, models and answers, compared by DuckDB.

Three things are compared, at batches and instants that a hash chooses:

- Every recorded row is as near the model in force at its instant as the query's bound allows.
- What a query was told, added up, is at an instant what its plan gives of the models there. DuckDB
  evaluates polynomials, conditions, joins and aggregates; it solves no equation.
- Of a query of one stream alone: at the instants of recorded rows the user's predicate, asked of
  the row itself, agrees with the answer, unless a row within the bound would decide it otherwise.
  Such a row is a false positive or negative that the bound allows, and is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algebra.models import ModelFilter, ModelQueryStep, ModelSource, StandingModelQuery
from penstock.expressions.connections import connect
from penstock.kinds.model_query.batch_checks import BatchCheck, Tried, load_told
from penstock.kinds.model_query.model_comparison import compare_answers, compare_status
from penstock.kinds.model_query.predicate_comparison import compare_predicate
from penstock.kinds.model_query.recorded_models import RecordedModels
from penstock.kinds.model_query.recorded_windows import are_nested
from penstock.kinds.model_query.row_comparison import compare_rows
from penstock.kinds.outcomes import settle
from penstock.kinds.protocol import AnswerComparison

CHECKS_MAX = 6
"""Batches after which answers are compared."""


def verify_models(asked: AnswerComparison) -> None:
    """Compare the answers of one text, at some batches."""
    tried = Tried()
    logical: StandingModelQuery = asked.logical
    ends = sorted({last for _, last in asked.answer.suspended})
    checks = _checks(asked)
    with connect() as db:
        settle(db, logical.where_sql)
        load_told(db, asked)
        for begun in [0, *ends]:
            until = next((first for first, last in asked.answer.suspended if last > begun), None)
            own = [n for n in checks if n >= begun and (until is None or n < until)]
            if not own:
                continue
            recorded = RecordedModels.of(asked, begun)
            recorded.load(db)
            for done, batch in enumerate(own):
                _compare(BatchCheck(db, asked, recorded, batch, tried))
                asked.progress(asked.answer.subscription, done + 1, len(own))
    _remark(asked, tried)


def _checks(asked: AnswerComparison) -> list[int]:
    """Choose the batches after which answers are compared: the last of each life, and some."""
    numbers = [batch.batch for batch in asked.batches]
    if not numbers:
        return []
    lasts = np.minimum(asked.parameters["_last"].to_numpy(), numbers[-1] + 1) - 1
    wanted = {numbers[-1], *np.unique(lasts)[-2:].tolist()}
    spread = np.linspace(0, len(numbers) - 1, CHECKS_MAX).astype(int)
    wanted |= {numbers[place] for place in spread}
    return sorted(own for own in wanted if numbers[0] <= own <= numbers[-1])


def _compare(check: BatchCheck) -> None:
    """Compare rows with models, answers with models, and answers with rows."""
    step = check.step
    if not check.choose():
        return
    for number in range(len(step.sources)):
        check.db.execute(
            f"CREATE OR REPLACE VIEW models{number} AS FROM models{number}_all "
            f"WHERE _batch <= {check.batch}"
        )
        compare_rows(check, number)
    compare_status(check)
    if are_nested(step.plan):
        check.untried_because("windows of windows are not compared")
    else:
        compare_answers(check)
    if _is_plain(step):
        compare_predicate(check)


def _is_plain(step: ModelQueryStep) -> bool:
    """Say whether a query asks of the rows of one stream alone, as they are."""
    plan: Any = step.plan
    while isinstance(plan, ModelFilter):
        plan = plan.input
    return isinstance(plan, ModelSource)


def _remark(asked: AnswerComparison, tried: Tried) -> None:
    """Say what was compared."""
    answer = asked.answer
    words = (
        f"Compared at {tried.instants:,} instants with what models say, and {tried.rows:,} rows "
        f"with models ({tried.beyond:,} beyond the bound)."
    )
    if _is_plain(asked.logical.shape) and asked.logical.shape.sample_us is None:
        words += (
            f" Asked of rows, the bound explains {tried.false_positives:,} false positives and "
            f"{tried.false_negatives:,} false negatives."
        )
    else:
        words += " Answers were not compared with rows directly."
    answer.remarks += [words, *(f"{own[:1].upper()}{own[1:]}." for own in tried.untried)]
