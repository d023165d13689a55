"""Trees of binary joins: in which order the inputs of a multi-way join meet.

Inputs are numbers, counted from 0 in the order of FROM. Sets of inputs are masks: bit k is input k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from penstock.vocabulary.codec import Form, Node, decode

Index = Literal["hash", "loop"]
"""How a window is kept for those who probe it: by its keys, or row after row."""
Boxes = Literal["faithful", "subset"]
"""Whether rows that are dropped count in ROWS windows: survivors only, or all arrivals."""


@dataclass(frozen=True, slots=True)
class Leaf(Node):
    """An input."""

    FORM: ClassVar[Form] = "bare"

    input: int

    @property
    def mask(self) -> int:
        """The set of this input alone."""
        return 1 << self.input


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Two parts that meet; `left_index` is how the left part's rows are kept, for the right's."""

    FORM: ClassVar[Form] = "row"

    left: Tree
    right: Tree
    left_index: Index = "hash"
    right_index: Index = "hash"
    mask: int = field(init=False, compare=False, repr=False)
    """The set of all inputs below."""

    def __post_init__(self) -> None:
        assert not self.left.mask & self.right.mask, "an input stands on one side"
        object.__setattr__(self, "mask", self.left.mask | self.right.mask)


Tree = Leaf | Join


def tree_from_json(data: Any) -> Tree:
    """Give back the tree that `to_json` described.

    >>> tree_from_json([[0, 1, "hash", "loop"], 2, "hash", "hash"]).mask
    7
    """
    found: Tree = decode(Tree, data)
    return found


def joins_of(tree: Tree) -> Iterator[Join]:
    """Give the joins of a tree, every one after those below it."""
    if isinstance(tree, Join):
        yield from joins_of(tree.left)
        yield from joins_of(tree.right)
        yield tree


def inputs_of(mask: int) -> tuple[int, ...]:
    """List the inputs of a set.

    >>> inputs_of(0b101)
    (0, 2)
    """
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


def shown(tree: Tree, names: Sequence[str]) -> str:
    """Write a tree for people.

    >>> shown(Join(Join(Leaf(0), Leaf(1)), Leaf(2)), "abc")
    '(a ⋈ b) ⋈ c'
    """
    if isinstance(tree, Leaf):
        return names[tree.input]
    sides = (
        f"({shown(side, names)})" if isinstance(side, Join) else shown(side, names)
        for side in (tree.left, tree.right)
    )
    return " ⋈ ".join(sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled(Node):
    """A selection of one input that is asked above its leaf: of the rows of the join `mask`.

    `part` says which: the comparisons with constants (`terms`), or the rest (`residual`), which
    can be asked at the leaf or of the results, nowhere between.
    """

    FORM: ClassVar[Form] = "row"

    input: int
    part: Literal["terms", "residual"]
    mask: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan(Node):
    """How a multi-way join is carried out: its tree, and what the drop boxes let pass.

    Selections that `pulled` does not name are asked at their leaf. `passes` has a pass fraction
    for every input; 1 is no box.

    >>> plan = JoinPlan(tree=Join(Leaf(0), Leaf(1)), passes=(0.5, 1.0))
    >>> JoinPlan.from_json(plan.to_json()) == plan
    True
    """

    tree: Tree
    pulled: tuple[Pulled, ...] = ()
    passes: tuple[float, ...] = ()
    boxes: Boxes = "faithful"

    def __post_init__(self) -> None:
        assert not self.passes or len(self.passes) == self.tree.mask.bit_count()
        assert all(0.0 <= share <= 1.0 for share in self.passes)

    def share(self, number: int) -> float:
        """Give the pass fraction of an input."""
        return self.passes[number] if self.passes else 1.0
