"""Model queries: what streams whose attributes are functions of time say, told as it changes.

Takes: a ModelQueryStep, rows of parameters, batches of rows of its streams.
Gives: segments, or samples of them, for each query whose keys and numbers they satisfy; what is
taken back has sign -1.
Never: a query's own numbers among what decides how near models are to rows.
"""

from __future__ import annotations

from penstock.algebra.models import ModelQueryStep
from penstock.operators.model_query.checks import check
from penstock.operators.model_query.entries import register
from penstock.operators.model_query.explanation import explain
from penstock.operators.model_query.figures import FIGURES
from penstock.operators.model_query.live_facts import ModelFacts, model_facts
from penstock.operators.model_query.operator import ModelQueryOperator
from penstock.operators.model_query.warm_up import warm_up
from penstock.operators.protocol import OperatorKind

__all__ = ["MODEL_QUERY", "ModelQueryOperator"]


def facts(operator: ModelQueryOperator) -> ModelFacts:
    """Say which bounds are in force."""
    return model_facts(operator.sources)


MODEL_QUERY = OperatorKind(
    figures=FIGURES,
    step_from_json=ModelQueryStep.from_json,
    register=register,
    build=ModelQueryOperator,
    explain=explain,
    warm_up=warm_up,
    check=check,
    tells_apart=True,
    facts=facts,
)
