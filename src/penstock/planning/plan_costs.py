"""Costing: rates, windows, processing and memory of any plan of a multi-way window join.

Bottom-up, every node gives a vector of rates (what each input's rows add to its output), its
window, a vector of processing and its memory. At the root `v` says how many results per second the
rows of each input bring and `a` what they cost, so that a plan whose boxes pass `x` costs a·x and
gives v·x. [D] after Ayad and Naughton 2004, E1-E13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from penstock.algebra.trees import Boxes, Index, Join, JoinPlan, Leaf, Tree
from penstock.planning.costs import CostLibrary, is_composite
from penstock.planning.model import JoinModel, SelectionModel
from penstock.planning.selections import merged, ranked
from penstock.vocabulary.batches import Floats

COMPOSITE_BYTES = 24.0
"""What a row of an intermediate result takes: its link, its hash and its slot."""
REFERENCE_BYTES = 8.0
"""What it takes more for every input it is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafFigures:
    """An input: rows that arrive, and those left after the selections asked at the leaf."""

    input: int
    arriving: float
    rate: float
    window: float
    selections_cpu: float
    """Of asking the selections, in processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFigures:
    """A join: what comes in, what is kept, what goes out, and what it takes."""

    mask: int
    left_mask: int
    right_mask: int
    left_rate: float
    right_rate: float
    left_window: float
    right_window: float
    made: float
    """Rows per second that meet here."""
    rate: float
    """Rows per second that go up: those made that pass the selections asked here."""
    window: float
    """How many of them are valid at a time; stored by the join above, if there is one."""
    selectivity: float
    is_product: bool
    left_index: Index
    right_index: Index
    join_cpu: float
    selections_cpu: float
    memory_rows: float
    memory_bytes: float

    @property
    def cpu(self) -> float:
        """What join and selections take, in processors."""
        return self.join_cpu + self.selections_cpu


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costing:
    """What a plan takes and gives per second, all boxes open; `plan` has its indexes filled in.

    `a` has a place for every input and sums up to all processing but `fixed_cpu`. `v` sums up to
    the output rate.
    """

    plan: JoinPlan
    leaves: tuple[LeafFigures, ...]
    joins: tuple[JoinFigures, ...]
    """Every join after those below it."""
    a: Floats
    v: Floats
    arrive_cpu: float
    emit_cpu: float
    fixed_cpu: float
    window: float
    """Results that are valid at a time (W of the whole query)."""

    @property
    def cpu(self) -> float:
        """All processing, in processors."""
        return self.fixed_cpu + float(self.a.sum())

    @property
    def output_rate(self) -> float:
        """Results per second."""
        return float(self.v.sum())

    @property
    def memory_rows(self) -> float:
        """Rows that all joins keep."""
        return sum(each.memory_rows for each in self.joins)

    @property
    def memory_bytes(self) -> float:
        """Bytes that all joins keep."""
        return sum(each.memory_bytes for each in self.joins)

    def at(self, passes: Sequence[float] | Floats) -> tuple[float, float]:
        """Give processing and output rate when boxes pass these shares and windows stay full.

        Shares are of survivors-counted ROWS windows, for which both are linear; see `thinned` for
        windows that shrink.
        """
        x = np.asarray(passes, dtype=np.float64)
        return self.fixed_cpu + float(self.a @ x), float(self.v @ x)


class _Node(NamedTuple):
    tree: Tree
    rates: Floats
    window: float
    processing: Floats


def cost(
    model: JoinModel,
    plan: JoinPlan | Tree,
    library: CostLibrary,
    *,
    rates: Sequence[float] | Floats | None = None,
    indexes: Literal["given", "best"] | None = None,
) -> Costing:
    """Cost a plan, or a tree with all selections at their leaves.

    A plan's indexes are taken as given, a tree's are chosen. `rates` stand in for the model's,
    with its windows unchanged: what rows that survive a box are.

    >>> from penstock.planning.costs import Constant
    >>> from penstock.planning.model import InputModel, PredicateModel
    >>> inputs = tuple(InputModel(name=n, rate=r, rows=10) for n, r in zip("abc", (10, 20, 70)))
    >>> ab, bc = PredicateModel(mask=3, selectivity=0.5), PredicateModel(mask=6, selectivity=0.2)
    >>> model = JoinModel(inputs=inputs, predicates=(ab, bc))
    >>> costing = cost(model, Join(Join(Leaf(0), Leaf(1)), Leaf(2)), Constant(0.0005))
    >>> costing.cpu, costing.memory_rows, costing.output_rate
    (0.125, 80.0, 1000.0)
    """
    given = plan if isinstance(plan, JoinPlan) else JoinPlan(tree=plan)
    assert given.tree.mask == model.everything, "a plan names every input"
    keeps = indexes == "given" or (indexes is None and isinstance(plan, JoinPlan))
    walk = _Walk(model, given, library, rates, keeps)
    root = walk.node(given.tree)
    assert not walk.asked, "selections are pulled to joins of the tree"
    arriving = np.array([0.0 if each.is_table else 1.0 for each in model.inputs]) * walk.rates
    coming = sum(each.offered or each.rate for each in model.inputs if not each.is_table)
    widths = np.array([each.row_bytes for each in model.inputs])
    arrive = (library.arrive_s + library.arrive_byte_s * widths) * arriving
    emit = (library.emit_s + library.emit_byte_s * float(widths.sum())) * root.rates
    return Costing(
        plan=replace(given, tree=root.tree),
        leaves=tuple(sorted(walk.leaves, key=lambda each: each.input)),
        joins=tuple(walk.joins),
        a=root.processing + arrive + emit,
        v=root.rates,
        arrive_cpu=float(arrive.sum()),
        emit_cpu=float(emit.sum()),
        fixed_cpu=library.batch_s + library.read_s * coming,
        window=root.window,
    )


class _Walk:
    """One bottom-up walk over a plan's tree."""

    def __init__(
        self,
        model: JoinModel,
        plan: JoinPlan,
        library: CostLibrary,
        rates: Sequence[float] | Floats | None,
        keeps: bool,
    ) -> None:
        self.model = model
        self.library = library
        self.keeps = keeps
        given = [each.rate for each in model.inputs] if rates is None else rates
        self.rates = np.asarray(given, dtype=np.float64)
        self.leanings = model.leanings
        self.leaves: list[LeafFigures] = []
        self.joins: list[JoinFigures] = []
        places = {(each.input, each.part): each.mask for each in plan.pulled}
        self.asked: dict[int, list[SelectionModel]] = {}
        for each in merged(model.selections):
            place = places.pop((each.input, each.part), 1 << each.input)
            self.asked.setdefault(place, []).append(each)
        assert not places, "a plan pulls selections that the query has"

    def node(self, tree: Tree) -> _Node:
        return self.leaf(tree) if isinstance(tree, Leaf) else self.join(tree)

    def ask(self, mask: int, rates: Floats, window: float) -> tuple[Floats, float, Floats]:
        """Ask the selections that stand at a node, in their best order."""
        spent = np.zeros_like(rates)
        for selection in ranked(self.asked.pop(mask, ())):
            spent = spent + selection.cost_s * rates
            rates = rates * selection.selectivity
            window *= selection.selectivity
        return rates, window, spent

    def leaf(self, tree: Leaf) -> _Node:
        given = self.model.inputs[tree.input]
        arriving = np.zeros(len(self.rates))
        arriving[tree.input] = 0.0 if given.is_table else self.rates[tree.input]
        rates, window, spent = self.ask(tree.mask, arriving, given.window)
        self.leaves.append(
            LeafFigures(
                input=tree.input,
                arriving=float(arriving.sum()),
                rate=float(rates.sum()),
                window=window,
                selections_cpu=float(spent.sum()),
            )
        )
        return _Node(tree, rates, window, spent)

    def join(self, tree: Join) -> _Node:
        left, right = self.node(tree.left), self.node(tree.right)
        sets = (tree.left.mask, tree.right.mask)
        f = self.model.crossing(*sets)
        indexes, (left_s, right_s) = self.operate(tree, left, right)
        spent = left_s * left.rates + right_s * right.rates
        made = f * (right.window * left.rates + left.window * right.rates)
        for mask, number, times in self.leanings:
            if mask & tree.mask == mask and mask & sets[0] and mask & sets[1]:
                made[number] *= times
        rates, window, asking = self.ask(tree.mask, made, f * left.window * right.window)
        memory = [self.bytes(side) * side.window for side in (left, right)]
        self.joins.append(
            JoinFigures(
                mask=tree.mask,
                left_mask=sets[0],
                right_mask=sets[1],
                left_rate=float(left.rates.sum()),
                right_rate=float(right.rates.sum()),
                left_window=left.window,
                right_window=right.window,
                made=float(made.sum()),
                rate=float(rates.sum()),
                window=window,
                selectivity=f,
                is_product=not meets_at_all(self.model, *sets),
                left_index=indexes[0],
                right_index=indexes[1],
                join_cpu=float(spent.sum()),
                selections_cpu=float(asking.sum()),
                memory_rows=left.window + right.window,
                memory_bytes=sum(memory),
            )
        )
        built = Join(left.tree, right.tree, *indexes)
        return _Node(built, rates, window, left.processing + right.processing + spent + asking)

    def operate(
        self, tree: Join, left: _Node, right: _Node
    ) -> tuple[tuple[Index, Index], tuple[float, float]]:
        """Give a join's indexes, and what a row from either side takes there."""
        library = self.library
        meets = self.model.meets(left.tree.mask, right.tree.mask)
        f = looked_up(self.model, left.tree.mask, right.tree.mask)
        from_left, from_right = float(left.rates.sum()), float(right.rates.sum())
        made = is_composite(left.tree.mask), is_composite(right.tree.mask)
        left_index = library.best_index(meets, left.window, f, from_left, from_right, made[0])
        right_index = library.best_index(meets, right.window, f, from_right, from_left, made[1])
        if self.keeps:
            able = library.indexes(meets)
            left_index = tree.left_index if tree.left_index in able else able[-1]
            right_index = tree.right_index if tree.right_index in able else able[-1]
        on_left, on_right = library.costs(left_index), library.costs(right_index)
        asked = predicates_between(self.model, left.tree.mask, right.tree.mask)
        return (left_index, right_index), (
            library.beside(right.tree.mask, asked, f * right.window)
            + on_right.probe(right.window, f, made[1])
            + on_left.insert(left.window)
            + on_left.invalidate(left.window),
            library.beside(left.tree.mask, asked, f * left.window)
            + on_left.probe(left.window, f, made[0])
            + on_right.insert(right.window)
            + on_right.invalidate(right.window),
        )

    def bytes(self, node: _Node) -> float:
        return stored_bytes(self.model, node.tree.mask)


def stored_bytes(model: JoinModel, mask: int) -> float:
    """Give the bytes of one kept row of a set: an input's own, or references to several."""
    if mask.bit_count() == 1:
        return model.inputs[mask.bit_length() - 1].row_bytes
    return COMPOSITE_BYTES + REFERENCE_BYTES * mask.bit_count()


def looked_up(model: JoinModel, left: int, right: int) -> float:
    """Give the share of a window that has the key looked for: the equalities that cross."""
    found = 1.0
    for predicate, mean in zip(model.predicates, model.means, strict=True):
        inside = predicate.mask & (left | right) == predicate.mask
        if predicate.is_equality and inside and predicate.mask & left and predicate.mask & right:
            found *= mean
    for each in model.classes:
        if each.mask & left and each.mask & right:
            found *= each.selectivity
    return found


def predicates_between(model: JoinModel, left: int, right: int) -> int:
    """Count the predicates that two sets meet by."""
    found = sum(1 for each in model.classes if each.mask & left and each.mask & right)
    for each in model.predicates:
        inside = each.mask & (left | right) == each.mask
        found += bool(inside and each.mask & left and each.mask & right)
    return found


def meets_at_all(model: JoinModel, left: int, right: int) -> bool:
    """Say whether any predicate joins two sets; otherwise they meet in a Cartesian product."""
    return any(each.mask & left and each.mask & right for each in model.classes) or any(
        each.mask & (left | right) == each.mask and each.mask & left and each.mask & right
        for each in model.predicates
    )


def thinned(
    model: JoinModel, passes: Sequence[float] | Floats, boxes: Boxes = "faithful"
) -> JoinModel:
    """Give the model that rows behind drop boxes follow.

    RANGE windows shrink with the rate. ROWS windows stay full where only survivors count
    (`faithful`) and shrink where dropped rows count too (`subset`). A box that is shut passes next
    to nothing, because a rate cannot be 0. Predicates that are not the same both ways keep their
    means, lest windows depend on what passes.
    """
    inputs = []
    for given, passing in zip(model.inputs, passes, strict=True):
        share = max(float(passing), 1e-12)
        rows = given.rows
        if rows is not None and boxes == "subset":
            rows *= share
        inputs.append(
            given
            if given.is_table
            else replace(
                given, rate=given.rate * share, rows=rows, offered=given.offered or given.rate
            )
        )
    predicates = tuple(
        each if each.reverse is None else replace(each, fixed_mean=mean)
        for each, mean in zip(model.predicates, model.means, strict=True)
    )
    return replace(model, inputs=tuple(inputs), predicates=predicates)
