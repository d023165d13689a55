"""Multi-way window joins: several streams and tables, any predicate, any tree.

Takes: a MultiJoinStep, rows of parameters, a plan, batches of rows of several relations.
Gives: entries, joined rows, facts for EXPLAIN, counts that the planner learns from.
Never: an answer that depends on the plan, or on where batches end; composites in its state.
"""

from __future__ import annotations

from penstock.algebra.multi_joins import MultiJoinStep
from penstock.operators.multi_join.explanation import explain
from penstock.operators.multi_join.figures import FIGURES
from penstock.operators.multi_join.operator import MultiJoinOperator
from penstock.operators.multi_join.warm_up import warm_up
from penstock.operators.protocol import OperatorKind
from penstock.operators.shared.input_entries import register

__all__ = ["MULTI_JOIN", "MultiJoinOperator", "explain", "register"]

MULTI_JOIN = OperatorKind(
    figures=FIGURES,
    step_from_json=MultiJoinStep.from_json,
    register=register,
    build=MultiJoinOperator,
    explain=explain,
    warm_up=warm_up,
    tells_apart=True,
)
