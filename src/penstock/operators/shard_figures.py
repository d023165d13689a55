"""Figures of a shard: what its operators tell, by group or of a kind's groups together."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.physical import Step
from penstock.operators.protocol import Operator, OperatorKind, Share
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ACTUAL_COST


def told_figures(
    operators: Mapping[str, Operator],
    steps: Mapping[str, tuple[OperatorKind, Step]],
    spent_ns: Mapping[str, int],
) -> dict[str, Tally]:
    """Say what stands, and what the last batch met."""
    found: dict[str, Tally] = {}
    for group, operator in operators.items():
        kind, step = steps[group]
        own = found[group] = Tally({ACTUAL_COST: spent_ns.get(group, 0)})
        rest = own if kind.tells_apart else found.setdefault(step.kind, Tally())
        operator.sizes().divide(own, rest)
        if step.kind not in ATTENDANTS:
            operator.counts().divide(own, rest)
    return found


def unanswered_rows(step: Step, came: Mapping[str, int], share: Share) -> int:
    """Count the rows that a group that rests would have seen in the last batch.

    Rows that go to every shard are counted by the first.
    """
    division = dict(step.division or ())
    counts = share.number == 0
    return sum(
        came.get(name, 0)
        for name in step.relations
        if counts or name not in division or division[name]
    )
