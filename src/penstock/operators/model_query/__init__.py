"""Model queries: what streams whose attributes are functions of time say, told as it changes.

Takes: a ModelQueryStep, rows of parameters, batches of rows of its streams.
Gives: segments, or samples of them, for each query whose keys and numbers they satisfy; what is
taken back has sign -1.
Never: a query's own numbers among what decides how near models are to rows.
"""

from __future__ import annotations

from typing import Any

from penstock.algebra.model_streams import ModelStreamStep
from penstock.algebra.models import ModelQueryStep
from penstock.operators.model_query.checks import check
from penstock.operators.model_query.entries import register
from penstock.operators.model_query.explanation import explain
from penstock.operators.model_query.figures import FIGURES, STREAM_FIGURES
from penstock.operators.model_query.live_facts import ModelFacts, model_facts
from penstock.operators.model_query.operator import ModelQueryOperator
from penstock.operators.model_query.stream_operator import ModelStreamOperator
from penstock.operators.model_query.warm_up import warm_up
from penstock.operators.protocol import OperatorKind
from penstock.vocabulary.batches import Registration

__all__ = ["MODEL_QUERY", "MODEL_STREAM", "ModelQueryOperator", "ModelStreamOperator"]


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


def _register(*_: Any) -> Registration:
    raise AssertionError("nobody subscribes to a model stream")


def _explain(step: ModelStreamStep, _entries: Any) -> dict[str, Any]:
    return {"relation": step.source.relation, "branches": []}


MODEL_STREAM = OperatorKind(
    figures=STREAM_FIGURES,
    step_from_json=ModelStreamStep.from_json,
    register=_register,
    build=ModelStreamOperator,
    explain=_explain,
    warm_up=lambda _step: warm_up(),
    tells_apart=True,
)
