"""Lookup joins: a stream enriched from a table of another database, through a bounded cache.

Takes: a LookupJoinStep, rows of parameters, batches of the stream, answers of the source.
Gives: entries, joined rows, facts for EXPLAIN, what a live group knows.
Never: more cached rows than the budget; a lost row when the source is away; a password in a text.
"""

from __future__ import annotations

import pyarrow as pa

from penstock.algebra.lookups import LookupJoin, LookupJoinStep
from penstock.operators.lookup.explanation import explain, facts
from penstock.operators.lookup.fetches import settings_of
from penstock.operators.lookup.figures import FIGURES
from penstock.operators.lookup.operator import LookupJoinOperator
from penstock.operators.lookup.source_tables import check, describe, rows
from penstock.operators.lookup.sources import masked, resolved
from penstock.operators.lookup.warm_up import warm_up
from penstock.operators.protocol import OperatorKind
from penstock.operators.shared.input_entries import register as register_join
from penstock.vocabulary.batches import Registration

__all__ = [
    "LOOKUP_JOIN", "LookupJoinOperator", "check", "describe", "explain", "facts", "masked",
    "register", "resolved", "rows",
]  # fmt: skip


def register(
    logical: LookupJoin, step: LookupJoinStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`."""
    return register_join(logical, step, parameters, first)


LOOKUP_JOIN = OperatorKind(
    figures=FIGURES,
    step_from_json=LookupJoinStep.from_json,
    register=register,
    build=LookupJoinOperator,
    explain=explain,
    check=check,
    warm_up=warm_up,
    tells_apart=True,
    cooldown_s=lambda step: settings_of(step.lookup).cooldown_s,
    facts=facts,
)
