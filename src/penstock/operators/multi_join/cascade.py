"""The cascade: a tree of symmetric window joins over rows of integers, in kernels.

What it emits depends on the rows and their order alone, never on the tree: a tree decides what is
kept between the rows and the results, hence how long an event takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import Join, Leaf, Tree, inputs_of
from penstock.kernels import cascade_columns as at
from penstock.kernels.cascades import DONE, events_run
from penstock.operators.multi_join.cascade_windows import COMPOSITES_MAX, CascadeWindows
from penstock.operators.multi_join.layouts import LayoutTerm, lay_out
from penstock.operators.shared.fields import Link, Test
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ASKED, BROUGHT, MADE, PASSED, of_inputs

__all__ = ["ActiveRows", "Cascade", "LayoutTerm", "Link", "Test"]


LOWEST = -(1 << 63)
DEAD_MIN = 64
KERNEL_TAKES: tuple[Literal["C"], Literal["W"]] = ("C", "W")
"""Arrays of one kind only: kernels are compiled anew for every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRows:
    """The rows of an input that can still be part of a result, oldest first; of a table, all.

    `counter` is how many rows have counted, `following` the next row's id. Times and sequences (a
    row's place among those that count) say nothing about a table.
    """

    ids: Ints
    times: Ints
    sequences: Ints
    fields: Ints
    counter: int
    following: int


class Cascade:
    """Joins the rows of several streams and tables as they come.

    Parameters
    ----------
    windows : Sequence[WindowLength | None]
        The windows of the inputs; a table has none.
    fields : Sequence[int]
        How many fields the rows of every input have.
    links, tests : Sequence[Link], Sequence[Test]
        What the rows of a result satisfy.
    names : Sequence[str]
        What errors call the inputs.
    composites_max : int
        How many composites one join may keep, or one event may make.

    Examples
    --------
    >>> last = WindowLength("rows", 1)
    >>> cascade = Cascade([last, last], [1, 1], [Link(((0, 0), (1, 0)))], [])
    >>> all_of_them = np.ones(3, dtype=bool)
    >>> rows = [np.array([[5]]), np.array([[5], [6]])]
    >>> cascade.feed(np.array([0, 1, 1]), np.arange(3), all_of_them, all_of_them, rows)
    array([[0, 0]])
    """

    def __init__(
        self,
        windows: Sequence[WindowLength | None],
        fields: Sequence[int],
        links: Sequence[Link],
        tests: Sequence[Test],
        *,
        names: Sequence[str] = (),
        composites_max: int = COMPOSITES_MAX,
    ) -> None:
        assert len(windows) == len(fields) > 1
        self._tables = tuple(window is None for window in windows)
        self._links, self._tests = tuple(links), tuple(tests)
        self._now = LOWEST
        self._stale = False
        self._told = Tally()
        tree: Tree = Leaf(0)
        for number in range(1, len(windows)):
            tree = Join(tree, Leaf(number))
        assert isinstance(tree, Join)
        self._windows = CascadeWindows(
            windows,
            fields,
            lay_out(tree, self._tables, self._links, self._tests, ()),
            names or [f"input {number}" for number in range(len(windows))],
            composites_max,
        )

    @property
    def heads(self) -> Ints:
        """For every stream, the first id that is not gone; 0 for tables."""
        return self._windows.heads[self._leaves]

    @property
    def nexts(self) -> Ints:
        """For every input, the id of its next row."""
        nodes = self._windows.nodes[self._leaves]
        return np.where(self._tables, nodes[:, at.COUNTER], nodes[:, at.FOLLOWING])

    def arrange(self, tree: Tree, terms: Sequence[LayoutTerm] = ()) -> None:
        """Carry on with another tree; what it keeps is made anew from the rows, silently."""
        assert isinstance(tree, Join) and tree.mask == (1 << len(self._tables)) - 1
        self._tell()
        self._windows.arrange(lay_out(tree, self._tables, self._links, self._tests, terms))
        self._stale = True

    def feed(
        self,
        inputs: npt.NDArray[np.integer],
        times: Ints,
        counts: Flags,
        stored: Flags,
        fields: Sequence[Ints],
        emit: bool = True,
    ) -> Ints:
        """Run events in their order; give a row per combination: for every input, its row's id.

        Of every event: its input, its time, which never falls, whether it counts in a window of
        rows, and whether it can be part of a result, so that it is stored. `fields` are, for every
        input, those of its events that are stored. Without `emit` only the windows are filled.
        """
        assert len(inputs) == len(times) == len(counts) == len(stored)
        if not len(inputs):
            return np.zeros((0, len(self._tables)), dtype=np.int64)
        assert times[0] >= self._now and (times[1:] >= times[:-1]).all(), "time never falls"
        found = self._run(
            self._leaves.astype(np.int32)[inputs],
            np.require(times, np.int64, KERNEL_TAKES),
            np.require(counts, np.bool_, KERNEL_TAKES),
            np.require(stored, np.bool_, KERNEL_TAKES),
            fields,
            emit,
        )
        self._now = int(times[-1])
        return found

    def insert(self, table_input: int, fields: Ints) -> Ints:
        """Add rows to a table, silently, and give their ids."""
        assert self._tables[table_input]
        first = int(self.nexts[table_input])
        count = len(fields)
        flags = np.ones(count, dtype=bool)
        rows = [np.zeros((0, 0), dtype=np.int64)] * len(self._tables)
        rows[table_input] = fields
        leaves = np.full(count, self._leaves[table_input], dtype=np.int32)
        times = np.full(count, self._now, dtype=np.int64)
        self._tell()
        self._run(leaves, times, flags, flags, rows, emit=False)
        self._forget()
        return np.arange(first, first + count)

    def delete(self, table_input: int, ids: Ints) -> None:
        """Remove rows from a table, silently."""
        assert self._tables[table_input]
        leaf = int(self._leaves[table_input])
        used = int(self._windows.nodes[leaf, at.FOLLOWING])
        ring = self._windows.ring(leaf)[:used]
        slots = np.searchsorted(ring[:, at.SEQUENCE], np.asarray(ids) + 1)
        assert (ring[slots, at.SEQUENCE] == np.asarray(ids) + 1).all(), "an id is unknown"
        assert ring[slots, at.TIME].all(), "a row is deleted twice"
        ring[slots, at.TIME] = 0
        if 2 * (used - np.count_nonzero(ring[:, at.TIME])) > used + DEAD_MIN:
            kept = self.rows(table_input)
            self.restore(table_input, kept)

    def rows(self, number: int) -> ActiveRows:
        """Give the rows of an input that are active, or stand in the table."""
        leaf = int(self._leaves[number])
        node, ring = self._windows.nodes[leaf], self._windows.ring(leaf)
        ids = np.arange(self._windows.heads[leaf], node[at.FOLLOWING])
        found = ring[ids & (len(ring) - 1)]
        if self._tables[number]:
            found = found[found[:, at.TIME] != 0]
            ids = found[:, at.SEQUENCE] - 1
        return ActiveRows(
            ids=ids,
            times=found[:, at.TIME],
            sequences=found[:, at.SEQUENCE],
            fields=found[:, at.FIELDS :],
            counter=int(node[at.COUNTER]),
            following=int(self.nexts[number]),
        )

    def restore(self, number: int, rows: ActiveRows) -> None:
        """Put rows in the place of all that an input has."""
        leaf, windows = int(self._leaves[number]), self._windows
        node, count = windows.nodes[leaf], len(rows.ids)
        table = self._tables[number]
        ids = np.arange(count) if table else np.asarray(rows.ids)
        assert table or (ids == np.arange(rows.following - count, rows.following)).all()
        node[at.FOLLOWING] = count if table else rows.following
        node[at.COUNTER] = rows.following if table else rows.counter
        windows.heads[leaf] = 0 if table else rows.following - count
        windows.resize(leaf, 1 << max(count - 1, 0).bit_length())
        ring = windows.ring(leaf)
        slots = ids & (len(ring) - 1)
        ring[slots, at.TIME] = 1 if table else rows.times
        ring[slots, at.SEQUENCE] = np.asarray(rows.ids) + 1 if table else rows.sequences
        ring[slots, at.FIELDS :] = rows.fields
        self._stale = True

    def active(self, mask: int) -> int:
        """Count the rows of an input, or the composites that are kept for a join's inputs."""
        self._settle()
        node = self._windows.layout.masks.index(mask)
        if node == self._windows.root:
            return 0
        if node < self._windows.leaves:
            return len(self.rows(self._windows.layout.inputs[node]).ids)
        self._windows.sweep(node)
        return int(self._windows.nodes[node, at.USED])

    def counts(self) -> Tally:
        """Tell what happened since this was last asked.

        MADE are the composites of a join, before pulled terms are asked of them, and BROUGHT those
        that came with a row of one of two inputs; ASKED and PASSED how often terms were asked and
        held.
        """
        self._tell()
        told, self._told = self._told, Tally()
        return told

    @property
    def _leaves(self) -> Ints:
        """The leaf of every input."""
        return np.argsort(np.array(self._windows.layout.inputs))

    def _settle(self) -> None:
        if self._stale:
            self._windows.build()
            self._stale = False

    def _run(
        self,
        leaves: npt.NDArray[np.int32],
        times: Ints,
        counts: Flags,
        stored: Flags,
        fields: Sequence[Ints],
        emit: bool,
    ) -> Ints:
        """Run events, with pauses for growth and for results to be taken away."""
        self._settle()
        windows = self._windows
        order = windows.layout.inputs
        flat = np.concatenate([np.asarray(fields[number], np.int64).ravel() for number in order])
        sizes = np.array([fields[number].size for number in order])
        places = np.cumsum(sizes) - sizes
        found = []
        first = 0
        while True:
            first, place = events_run(
                windows.memory, windows.place(0), windows.leaves, leaves, times, counts, stored,
                flat, places, first, self._now, emit,
            )  # fmt: skip
            if place == DONE or windows.number(place) == windows.root:
                found.append(self._drain())
            if place == DONE:
                break
            windows.make_room(windows.number(place))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _drain(self) -> Ints:
        """Take the results away: row ids in the order of the inputs."""
        windows = self._windows
        pool = windows.pool(windows.root)
        found = np.empty((len(pool), len(self._tables)), dtype=np.int64)
        for leaf, number in enumerate(windows.layout.inputs):
            ids = pool[:, at.IDS + leaf]
            if self._tables[number]:
                ids = windows.ring(leaf)[ids, at.SEQUENCE] - 1
            found[:, number] = ids
        windows.nodes[windows.root, at.USED] = 0
        return found

    def _tell(self) -> None:
        """Take over the kernels' counts."""
        windows = self._windows
        for node in range(windows.leaves, windows.root + 1):
            mask = windows.layout.masks[node]
            inputs = of_inputs(mask)
            self._told[MADE, inputs] += int(windows.nodes[node, at.MADE])
            for number in inputs_of(mask) if mask.bit_count() == 2 else ():
                leaf = windows.layout.inputs.index(number)
                self._told[BROUGHT, inputs, number] += int(windows.nodes[leaf, at.BROUGHT])
        terms = windows.layout.terms
        for i, (part, number) in enumerate(terms):
            if i == 0 or terms[i - 1] != (part - 1, number):
                self._told[ASKED, number, "terms"] += int(windows.parts[part, at.ASKED])
            if i == len(terms) - 1 or terms[i + 1] != (part + 1, number):
                self._told[PASSED, number, "terms"] += int(windows.parts[part, at.PASSED])
        self._forget()

    def _forget(self) -> None:
        """Let the kernels count from 0 again."""
        self._windows.nodes[:, [at.MADE, at.BROUGHT]] = 0
        for part, _ in self._windows.layout.terms:
            self._windows.parts[part, [at.ASKED, at.PASSED]] = 0
