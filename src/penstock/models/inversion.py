"""Inversion: what the error bounds of a query's outputs allow its sources, from its text alone.

Bounds are led back through the plan once. What comes of it holds for every segment, so answers
never depend on what else is asked or on how rows arrive. Each output's bound is divided among the
leaves that it depends on: those that its value is made of, and those that only conditions speak of.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.algebra.models import (
    BoundForm,
    ErrorBound,
    Fidelity,
    ModelQueryStep,
    ModelSource,
    ModelStage,
    SplitMethod,
    SplitShare,
    stages,
)
from penstock.models.gains import PlanLeaf, StageReach, leaves_of, reach
from penstock.models.own_conditions import own_conditions
from penstock.models.ranges import used
from penstock.models.relative_bounds import relative_shares
from penstock.models.tolerances import FLOOR, MIN_SHARE, SourceTolerances, TolerancePool
from penstock.vocabulary.batches import Floats
from penstock.vocabulary.errors import PenstockError

SLIGHT = 1e-12
"""By which share of a bound the rounding of its parts may pass it."""
HALVINGS = 60
NEAR = 0.01
"""By which share what products are allowed may be less than what they could be."""


class LeafSplit(Protocol):
    """A way of one's own to divide a bound among leaves."""

    def __call__(self, leaves: Sequence[PlanLeaf]) -> Sequence[float]:
        """Give the share of every leaf: none is negative, together they are at most 1."""


class SaidSplit:
    """A split by the shares of a text: what has no share there has 1.

    >>> x, y = PlanLeaf(0, 0, "x"), PlanLeaf(0, 1, "y")
    >>> SaidSplit([SplitShare(attribute="x", share=3.0)])([x, y])
    [0.75, 0.25]
    """

    def __init__(self, shares: Sequence[SplitShare]) -> None:
        self._shares = {each.attribute: each.share for each in shares}

    def __call__(self, leaves: Sequence[PlanLeaf]) -> Sequence[float]:
        """Give every leaf its part of all shares."""
        own = [self._shares.get(leaf.name, 1.0) for leaf in leaves]
        total = math.fsum(own)
        return [each / total for each in own]


@dataclass(frozen=True, slots=True)
class Allocation:
    """What one bound allows one leaf, but for what gradients move."""

    output: str
    leaf: PlanLeaf
    form: BoundForm
    gain: float
    amount: float


@dataclass(frozen=True, slots=True)
class Inversion:
    """What all bounds of a query allow its sources, and how that came."""

    sources: tuple[SourceTolerances, ...]
    allocations: tuple[Allocation, ...]
    assumptions: tuple[str, ...] = ()
    """What must be true of the data for relative bounds to hold."""
    inferred: tuple[PlanLeaf, ...] = ()
    """The leaves that only conditions speak of, and no bound names."""


def step_inversion(
    step: ModelQueryStep, *, min_share: float = MIN_SHARE, slack: bool = True
) -> Inversion:
    """Invert the bounds of all queries of a shape; a source that shapes share has no slack."""
    asked = frozenset[int]().union(*(used(own.polynomial) for own in step.asked.comparisons))
    return inversion(
        step.plan, step.attributes, step.bounds, split=step.split, min_share=min_share,
        slack=slack and not step.reads, fidelity=step.fidelity, untold=step.untold, asked=asked,
        own_split=SaidSplit(step.shares) if step.shares else None,
    )  # fmt: skip


def inversion(
    plan: ModelStage,
    outputs: Sequence[str],
    bounds: Sequence[ErrorBound],
    *,
    split: SplitMethod = "equi",
    own_split: LeafSplit | None = None,
    min_share: float = MIN_SHARE,
    floor: float = FLOOR,
    slack: bool = True,
    fidelity: Fidelity = "repaired",
    untold: Collection[int] = (),
    asked: Collection[int] = (),
) -> Inversion:
    """Lead bounds back to the sources of a plan.

    A bound without a name is of every output. One may name an attribute of a source: where no
    output of that name depends on it, as on the other side of a join, it is that leaf's own. An
    output without a bound may not be off at all, so the leaves behind it that have no bound of
    their own may not either.

    Outputs that are `untold` are there for what queries compare by themselves, `asked`, or for
    nothing. Unless a bound is of them, the first are like conditions of the plan: leaves that only
    they speak of take a share of the other bounds. The rest may be off by anything.
    """
    return _Inverter(plan, outputs, own_split, floor).invert(
        bounds, split, min_share, slack=slack, fidelity=fidelity, untold=untold, asked=asked
    )


class _Inverter:
    """Divides the bounds of one plan."""

    def __init__(
        self, plan: ModelStage, outputs: Sequence[str], own_split: LeafSplit | None, floor: float
    ) -> None:
        self._plan = plan
        self._outputs = tuple(outputs)
        self._leaves = leaves_of(plan)
        self._own_split = own_split
        self._floor = floor
        self._gradient = False
        self._still: StageReach = reach(plan, np.zeros(len(self._leaves)))
        self._allocations: list[Allocation] = []
        self._assumptions: list[str] = []
        self._pools: list[tuple[BoundForm, Floats]] = []

    def invert(
        self,
        bounds: Sequence[ErrorBound],
        split: SplitMethod,
        min_share: float,
        *,
        slack: bool,
        fidelity: Fidelity,
        untold: Collection[int],
        asked: Collection[int],
    ) -> Inversion:
        """Give what bounds allow."""
        self._gradient = split == "gradient" and self._own_split is None
        named = {bound.attribute for bound in bounds}
        leaf_names = {leaf.name for leaf in self._leaves}
        for bound in bounds:
            known = bound.attribute is None or bound.attribute in {*self._outputs, *leaf_names}
            if not known or not (0.0 <= bound.amount < math.inf):
                raise _unusable(bound, self._outputs)
        own = frozenset(
            number
            for number, leaf in enumerate(self._leaves)
            if leaf.name in named and number not in self._behind(leaf.name)
        )
        hidden = {place for place in untold if self._outputs[place] not in named}
        hidden = set() if None in named else hidden
        inferred = self._inferred(hidden, hidden.intersection(asked)) - own
        for bound in bounds:
            self._bound_leaves(bound, own)
        for place, output in enumerate(self._outputs):
            mine = [each for each in bounds if each.attribute in (None, output)]
            for bound in mine:
                self._bound_output(place, bound, inferred)
            if not mine and place not in hidden:
                members = (self._still.attributes[place].leaves | inferred) - own
                self._pool(output, "absolute", dict.fromkeys(members, 0.0), {})
        self._hold_unbounded(inferred)
        conditions = own_conditions(self._plan) if slack else {}
        sources = tuple(
            SourceTolerances(
                self._source_pools(number), split if self._own_split is None else "equi",
                min_share, self._floor, conditions.get(number), fidelity,
            )
            for number in range(max((leaf.source for leaf in self._leaves), default=-1) + 1)
        )  # fmt: skip
        if bounds:
            self._check_fits(sources)
        return Inversion(
            sources, tuple(self._allocations), tuple(self._assumptions),
            tuple(self._leaves[number] for number in sorted(inferred)),
        )  # fmt: skip

    def _inferred(self, hidden: Collection[int], compared: Collection[int]) -> frozenset[int]:
        """Give the leaves that conditions speak of, those of queries too, and no output is of."""
        reaches = self._still.attributes
        shown = [each.leaves for place, each in enumerate(reaches) if place not in hidden]
        asked = self._still.asked.union(*(reaches[place].leaves for place in compared))
        return asked - frozenset[int]().union(*shown)

    def _hold_unbounded(self, inferred: frozenset[int]) -> None:
        """Allow nothing where conditions speak of a leaf and no bound has a share for it."""
        without = [n for n in sorted(inferred) if all(row[n] == math.inf for _, row in self._pools)]
        if without:
            self._pool("conditions", "absolute", dict.fromkeys(without, 0.0), {})

    def _check_fits(self, tolerances: Sequence[SourceTolerances]) -> None:
        """Refuse a fit whose own error is more than the query's bounds allow."""
        sources = (each for each in stages(self._plan) if isinstance(each, ModelSource))
        for source, own in zip(sources, tolerances, strict=True):
            for attribute, allowed in zip(source.attributes, own.equal, strict=False):
                error = attribute.fit.error if attribute.fit is not None else None
                if error is not None and error > allowed * (1.0 + SLIGHT):
                    raise PenstockError(
                        "MDL-049",
                        f"The fit of {attribute.name} may be off by {error:g}, and the query's "
                        f"bounds allow {allowed:g}.",
                        "Give the fit a smaller error or none, or the query larger bounds.",
                    )

    def _behind(self, name: str) -> frozenset[int]:
        """Give the leaves that the output of a name depends on; none, if there is no such one."""
        if name not in self._outputs:
            return frozenset()
        return self._still.attributes[self._outputs.index(name)].leaves

    def _bound_leaves(self, bound: ErrorBound, own: frozenset[int]) -> None:
        """Take a bound of a source's attribute, which is no output, as it is."""
        for number in sorted(own):
            leaf = self._leaves[number]
            if leaf.name == bound.attribute:
                self._pool(leaf.name, bound.form, {number: bound.amount}, {})

    def _bound_output(self, place: int, bound: ErrorBound, inferred: frozenset[int]) -> None:
        """Divide the bound of an output among the leaves that it depends on."""
        output = self._outputs[place]
        members = sorted(self._still.attributes[place].leaves | inferred)
        shares = self._shares(members)
        if bound.form == "relative":
            self._bound_relatively(place, bound, shares, inferred)
            return
        one = self._still.attributes[place]
        if one.why and not np.isfinite(one.gain).all():
            raise PenstockError(
                "MDL-040",
                f"The bound of {output} cannot be led back to its sources: {one.why}.",
                "Bound the attribute of the source itself, ERROR WITHIN name amount, or restrict "
                "it below to a range.",
            )
        if one.offset >= bound.amount > 0.0:
            raise PenstockError(
                "MDL-041",
                f"Approximation alone puts {output} off by {one.offset:g}, and its bound is "
                f"{bound.amount:g}.",
                "Allow a larger bound, or a smaller tolerance of its functions.",
            )
        gains = {number: float(one.gain[number]) or 1.0 for number in members}
        room = max(bound.amount - one.offset, 0.0)
        amounts = {number: room * shares[number] / gains[number] for number in members}
        self._pool(output, "absolute", self._shrunk(place, amounts, gains, bound.amount), gains)

    def _bound_relatively(
        self, place: int, bound: ErrorBound, shares: Mapping[int, float], inferred: frozenset[int]
    ) -> None:
        """Lead a share back; of it the leaves that only conditions speak of take a part."""
        output = self._outputs[place]
        weights = None if self._own_split is None else shares
        found = relative_shares(self._plan, place, output, bound.amount, weights)
        self._assumptions += [each for each in found.assumptions if each]
        if weights is None:
            spread = len(shares) / max(len(shares) - len(inferred), 1)
            amounts = {number: found.shares.get(number, bound.amount) / spread for number in shares}
        else:
            made_of = [number for number in shares if number not in inferred]
            left = math.fsum(shares[number] for number in made_of)
            amounts = {number: left * found.shares[number] for number in made_of}
            # As if the output were made of these too, and of them alike.
            amounts |= {n: bound.amount * min(len(made_of) * shares[n], 1.0) for n in inferred}
        self._pool(output, "relative", amounts, {})

    def _shares(self, members: Sequence[int]) -> dict[int, float]:
        """Give the share of every leaf."""
        if self._own_split is None:
            return dict.fromkeys(members, 1.0 / max(len(members), 1))
        leaves = [self._leaves[number] for number in members]
        shares = [float(each) for each in self._own_split(leaves)]
        total = math.fsum(shares)
        if len(shares) != len(leaves) or not all(s >= 0.0 for s in shares) or total > 1.0 + SLIGHT:
            raise PenstockError(
                "MDL-042",
                f"A split gave the shares {shares} to {len(leaves)} attributes.",
                "Give each of them a share that is not negative, together at most 1.",
            )
        return dict(zip(members, shares, strict=True))

    def _shrunk(
        self, place: int, amounts: dict[int, float], gains: dict[int, float], bound: float
    ) -> dict[int, float]:
        """Make amounts smaller until the output stays in its bound, products being what they are.

        By gradients any attribute of a source may be given all that its pool has, of those that
        only conditions speak of, too.
        """
        offs, first = np.zeros(len(self._leaves)), np.ones(len(self._leaves))
        for number, amount in amounts.items():
            offs[number], first[number] = amount, gains[number]
        source = np.array([leaf.source for leaf in self._leaves])
        mates = source[:, None] == source
        parts = first * offs
        farthest = (mates @ parts) / first * (offs > 0.0) if self._gradient else offs
        low, high, scale = 0.0, 1.0, 1.0
        for _ in range(HALVINGS):
            one = reach(self._plan, scale * farthest).attributes[place]
            spent = float(one.gain @ offs)
            if self._gradient:
                # Where the pool is spent on what has become steepest.
                steeper = np.where(mates & (offs > 0.0), one.gain / first, 0.0).max(axis=1)
                spent = float(parts @ steeper)
            fits = one.offset + scale * spent <= bound * (1.0 + SLIGHT)
            low, high = (scale, high) if fits else (low, scale)
            if low == high or (low > 0.0 and high - low <= NEAR * low):
                break
            scale = 0.5 * (low + high)
        return {number: amount * low for number, amount in amounts.items()}

    def _pool(
        self, output: str, form: BoundForm, amounts: dict[int, float], gains: dict[int, float]
    ) -> None:
        """Note what a bound allows its leaves."""
        row = np.full(len(self._leaves), np.inf)
        for number, amount in amounts.items():
            row[number] = amount
            leaf, gain = self._leaves[number], gains.get(number, 1.0)
            self._allocations.append(Allocation(output, leaf, form, gain, amount))
        self._pools.append((form, row))

    def _source_pools(self, source: int) -> tuple[TolerancePool, ...]:
        """Give the pools that know attributes of a source."""
        mine = [number for number, leaf in enumerate(self._leaves) if leaf.source == source]
        pools = (TolerancePool(form, tuple(row[mine].tolist())) for form, row in self._pools)
        return tuple(pool for pool in pools if any(a < math.inf for a in pool.amounts))


def _unusable(bound: ErrorBound, outputs: Sequence[str]) -> PenstockError:
    """Say what is wrong with a bound."""
    if not (0.0 <= bound.amount < math.inf):
        return PenstockError(
            "MDL-043", f"A bound is {bound.amount:g}.", "Give a number that is not negative."
        )
    return PenstockError(
        "MDL-044",
        f"A bound names {bound.attribute}, which is neither an output nor a modelled attribute.",
        f"Name one of {', '.join(outputs)}, or an attribute of a source.",
    )
