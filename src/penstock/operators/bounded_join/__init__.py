"""Bounded joins: streams, equalities, and a budget of rows that is never exceeded.

Takes: a BoundedJoinStep, rows of parameters, batches of rows of its streams.
Gives: entries, joined rows, facts for EXPLAIN, and how much of the whole answer was given.
Never: a row that is not of the whole answer; more rows than the budget; an answer that depends on
where batches end.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoin, BoundedJoinStep
from penstock.operators.bounded.law_families import declared_law
from penstock.operators.bounded.policies_named import check_policy
from penstock.operators.bounded_join.explanation import explain, forecast
from penstock.operators.bounded_join.figures import FIGURES
from penstock.operators.bounded_join.live_facts import BoundedJoinFacts
from penstock.operators.bounded_join.operator import BoundedJoinOperator
from penstock.operators.bounded_join.shapes import port_of, with_shape
from penstock.operators.bounded_join.warm_up import warm_up
from penstock.operators.protocol import Operator, OperatorKind
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import register as register_join
from penstock.vocabulary.batches import Registration

__all__ = ["BOUNDED_JOIN", "BoundedJoinOperator", "explain", "forecast", "register"]


def register(
    logical: BoundedJoin, step: BoundedJoinStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries, as those of the join without its budget.

    In a memory that joins share, they say of which join they are.
    """
    if not step.shared:
        return register_join(logical, step, parameters, first)
    shape = logical.shape
    found = register_join(logical, shape, parameters, first)
    return replace(found, adds={port_of(shape): with_shape(found.adds[PORT], shape)})


def check(step: BoundedJoinStep) -> None:
    """Refuse laws that are not there, and a policy that is not, or that does not work."""
    check_policy(step.memory, streams=len(step.inputs))
    for law in step.memory.laws:
        declared_law(law)


def facts(operator: Operator) -> BoundedJoinFacts:
    """Say what a live group knows beside its numbers."""
    assert isinstance(operator, BoundedJoinOperator)
    return operator.facts()


BOUNDED_JOIN = OperatorKind(
    figures=FIGURES,
    step_from_json=BoundedJoinStep.from_json,
    register=register,
    build=BoundedJoinOperator,
    explain=explain,
    check=check,
    warm_up=warm_up,
    tells_apart=True,
    facts=facts,
)
