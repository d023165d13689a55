"""Layouts: a tree of joins and its predicates, as the arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.algebra.trees import Join, Leaf, Tree, inputs_of, joins_of
from penstock.kernels import cascade_columns as at
from penstock.operators.shared.fields import Link, Spot, Test
from penstock.vocabulary.batches import Ints


@dataclass(frozen=True, slots=True)
class LayoutTerm:
    """`low <= field <= high`, asked of the composites of the join `mask`."""

    input: int
    field: int
    low: int
    high: int
    mask: int


FORWARD = {"<": at.LESS, "<=": at.LESS_EQUAL, "<>": at.UNEQUAL, "diff": at.DIFFERENCE}
BACKWARD = {"<": at.GREATER, "<=": at.GREATER_EQUAL, "<>": at.UNEQUAL, "diff": at.BACKWARDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLayout:
    """The program of a tree: the first words of a cascade's memory, see `cascade_columns.py`.

    `inputs` are the inputs in the order of the leaves, `masks` the sets of all nodes. `terms` says
    of which input the term that is a certain part is. The rest says where what begins.
    """

    words: Ints
    inputs: tuple[int, ...]
    masks: tuple[int, ...]
    terms: tuple[tuple[int, int], ...]
    heads: int
    nodes: int
    parts: int


def leaves_of(tree: Tree) -> Iterator[int]:
    """Give the inputs of a tree from left to right."""
    if isinstance(tree, Leaf):
        yield tree.input
    else:
        yield from leaves_of(tree.left)
        yield from leaves_of(tree.right)


def lay_out(
    tree: Join,
    tables: Sequence[bool],
    links: Sequence[Link],
    tests: Sequence[Test],
    terms: Sequence[LayoutTerm],
) -> InputLayout:
    """Compile a tree. The figures of windows (capacities, sizes) are left to the caller."""
    return _Compiler(tree, tables, links, tests, terms).layout()


class _Compiler:
    """Fills the words of one tree."""

    def __init__(
        self,
        tree: Join,
        tables: Sequence[bool],
        links: Sequence[Link],
        tests: Sequence[Test],
        terms: Sequence[LayoutTerm],
    ) -> None:
        self.inputs = tuple(leaves_of(tree))
        self.joins = list(joins_of(tree))
        self.masks = (*(1 << number for number in self.inputs), *(j.mask for j in self.joins))
        self.tables, self.links, self.tests, self.terms = tables, links, tests, terms
        assert all(term.mask in self.masks[len(self.inputs) :] for term in terms)
        self.heads = at.OWN + 2 * (len(links) + len(tests))
        self.first = self.heads + len(self.inputs)
        self.parts_first = self.first + len(self.masks) * at.NODE_WORDS
        self.nodes = np.zeros((len(self.masks), at.NODE_WORDS), dtype=np.int64)
        self.parts: list[list[int]] = []
        self.asked: list[tuple[int, int]] = []

    def layout(self) -> InputLayout:
        """Fill the words node by node."""
        for node, mask in enumerate(self.masks):
            row, inside = self.nodes[node], inputs_of(mask)
            row[at.HEAD] = self.heads + self._start(mask)
            row[at.MEMBERS] = len(inside)
            row[at.WIDTH] = at.IDS + len(inside)
            tables = [self._part(mask, (number, 0)) for number in inside if self.tables[number]]
            row[at.TABLE], row[at.TABLES] = self._place(tables)
        for join in self.joins:
            self._join(join)
            self._ask(join)
        words = np.zeros(self.parts_first + (len(self.parts) + 1) * at.PART_WORDS, dtype=np.int64)
        words[self.first : self.parts_first] = self.nodes.ravel()
        for i, part in enumerate(self.parts):
            begin = self.parts_first + i * at.PART_WORDS
            words[begin : begin + len(part)] = part
        return InputLayout(
            words=words, inputs=self.inputs, masks=self.masks, terms=tuple(self.asked),
            heads=self.heads, nodes=self.first, parts=self.parts_first,
        )  # fmt: skip

    def _start(self, mask: int) -> int:
        return min(self.inputs.index(number) for number in inputs_of(mask))

    def _node(self, mask: int) -> int:
        return self.first + self.masks.index(mask) * at.NODE_WORDS

    def _part(self, mask: int, spot: Spot) -> list[int]:
        """Give the words of a part of the node `mask`: leaf, field, position."""
        number, field = spot
        return [self._node(1 << number), field, self.inputs.index(number) - self._start(mask)]

    def _place(self, parts: list[list[int]]) -> tuple[int, int]:
        """Put parts behind the others; give where they begin and how many they are."""
        place = self.parts_first + len(self.parts) * at.PART_WORDS
        self.parts.extend(parts)
        return place, len(parts)

    def _join(self, join: Join) -> None:
        """Fill what the two sides of a join need to know of each other."""
        sides = (
            (join.left, join.right, join.left_index, True),
            (join.right, join.left, join.right_index, False),
        )
        for own, other, index, is_left in sides:
            row = self.nodes[self.masks.index(own.mask)]
            row[at.PARENT], row[at.SIBLING] = self._node(join.mask), self._node(other.mask)
            row[at.LEFT] = is_left
            links = list(self._crossing(own.mask, other.mask))
            tests = list(self._tests(own.mask, other.mask))
            row[at.LINKS] = len(links)
            row[at.HASHED] = index == "hash" and bool(links)
            row[at.LINK], row[at.CONDITIONS] = self._place([*links, *tests])

    def _crossing(self, mask: int, other: int) -> Iterator[list[int]]:
        """Give the links between two sides, for rows of the first as candidates."""
        for link in self.links:
            candidates = [spot for spot in link.members if mask >> spot[0] & 1]
            owns = [spot for spot in link.members if other >> spot[0] & 1]
            if candidates and owns:
                yield [
                    *self._part(mask, candidates[0]), 0, 0, at.EQUAL, *self._part(other, owns[0])
                ]  # fmt: skip

    def _tests(self, mask: int, other: int) -> Iterator[list[int]]:
        """Give the tests between two sides, for rows of the first as candidates."""
        for test in self.tests:
            if other >> test.left[0] & 1 and mask >> test.right[0] & 1:
                op, own, candidate = FORWARD[test.op], test.left, test.right
            elif mask >> test.left[0] & 1 and other >> test.right[0] & 1:
                op, own, candidate = BACKWARD[test.op], test.right, test.left
            else:
                continue
            yield [
                *self._part(mask, candidate), test.low, test.high, op, *self._part(other, own)
            ]  # fmt: skip

    def _ask(self, join: Join) -> None:
        """Fill the terms of a join, input by input."""
        terms = [
            term
            for term in sorted(self.terms, key=lambda term: term.input)
            if term.mask == join.mask
        ]
        assert all(join.mask >> term.input & 1 for term in terms)
        self.asked.extend((len(self.parts) + i, term.input) for i, term in enumerate(terms))
        row = self.nodes[self.masks.index(join.mask)]
        row[at.TERM], row[at.TERMS] = self._place(
            [
                [*self._part(join.mask, (term.input, term.field)), term.low, term.high]
                for term in terms
            ]
        )
