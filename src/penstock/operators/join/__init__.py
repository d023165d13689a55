"""Standing joins: select-joins, band joins and window joins, by the hundred thousand.

Takes: a JoinStep, rows of parameters, batches of changes to two relations.
Gives: entries, affected queries or joined rows with signs, facts for EXPLAIN.
Never: a cost that grows with the queries that a row does not meet, order among results.
"""

from __future__ import annotations

from operator import attrgetter

from penstock.algebra.joins import JoinStep
from penstock.operators.join.entries import register
from penstock.operators.join.explanation import explain
from penstock.operators.join.figures import FIGURES
from penstock.operators.join.operator import JoinOperator
from penstock.operators.join.warm_up import warm_up
from penstock.operators.protocol import OperatorKind

__all__ = ["JOIN", "JoinOperator", "explain", "register"]

JOIN = OperatorKind(
    figures=FIGURES,
    step_from_json=JoinStep.from_json,
    register=register,
    build=JoinOperator,
    explain=explain,
    warm_up=warm_up,
    begins_full=attrgetter("snapshot"),
    tells_apart=True,
)
