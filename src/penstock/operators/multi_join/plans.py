"""Plans: the one that a group was given last, and the one that it follows without any."""

from __future__ import annotations

import json

import pyarrow as pa

from penstock.algebra.crossings import key_classes
from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.trees import Join, JoinPlan, Leaf, Tree, inputs_of
from penstock.vocabulary.batches import Ints


def default_plan(step: MultiJoinStep) -> JoinPlan:
    """Join the inputs from left to right in the order of FROM, linked ones first.

    >>> from penstock.algebra.crossings import Crossing
    >>> from penstock.algebra.inputs import InputShape
    >>> from penstock.algebra.physical import BranchShape
    >>> from penstock.algebra.trees import shown
    >>> shape = InputShape(relation="r", columns=(), window=None, branch=BranchShape())
    >>> crossing = Crossing(equalities=(((0, "x"), (2, "x")),))
    >>> shown(default_plan(MultiJoinStep(inputs=(shape,) * 3, crossing=crossing)).tree, "abc")
    '(a ⋈ c) ⋈ b'
    """
    classes = [
        sum(1 << number for number in {number for number, _ in places})
        for places in key_classes(step.crossing.equalities)
    ]
    tree: Tree = Leaf(0)
    left = list(range(1, len(step.inputs)))
    while left:
        linked = [k for k in left if _linked(classes, tree.mask, 1 << k)]
        k = linked[0] if linked else left[0]
        left.remove(k)
        index = "hash" if linked else "loop"
        tree = Join(tree, Leaf(k), index, index)  # type: ignore[arg-type]
    return JoinPlan(tree=tree)


def _linked(classes: list[int], left: int, right: int) -> bool:
    """Say whether an equality has a column on either side."""
    return any(own & left and own & right for own in classes)


class Plans:
    """The plans that a group was given; the one of the highest number is in force."""

    def __init__(self, step: MultiJoinStep) -> None:
        self._own = default_plan(step)
        self._given: dict[int, JoinPlan] = {}

    def add(self, table: pa.Table) -> None:
        """Take plans: `query` is their number, `plan` the text."""
        for number, text in zip(
            table.column("query").to_pylist(), table.column("plan").to_pylist(), strict=True
        ):
            self._given[number] = JoinPlan.from_json(json.loads(text))

    def drop(self, numbers: Ints) -> None:
        """Forget plans; unknown numbers are none of ours."""
        for number in self._given.keys() & set(numbers.tolist()):
            del self._given[number]

    @property
    def plan(self) -> JoinPlan:
        """The plan in force."""
        return self._given[max(self._given)] if self._given else self._own


def pulled_masks(plan: JoinPlan) -> dict[tuple[int, str], int]:
    """Give where selections are asked that are not asked at their leaf: (input, part) to a set.

    >>> plan = JoinPlan(tree=Leaf(0))
    >>> pulled_masks(plan)
    {}
    """
    return {
        (each.input, each.part): each.mask for each in plan.pulled if len(inputs_of(each.mask)) > 1
    }
