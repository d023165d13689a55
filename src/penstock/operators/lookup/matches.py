"""Matching: rows of the stream beside their looked-up rows, and the queries that want them."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.lookups import LookupJoinStep
from penstock.operators.lookup.held import FOUND, FetchedRows
from penstock.operators.protocol import WHOLE
from penstock.operators.shared.combinations import Verifying
from penstock.operators.shared.common_keys import same_values, texts_of
from penstock.operators.shared.fields import NO_CODES, Field, Fields, Matrix
from penstock.operators.shared.inputs import Input, Owning, StreamInput
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.results import made
from penstock.operators.shared.selections import Selection
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints, Results, Rows
from penstock.vocabulary.figures import Tally

Births = npt.NDArray[np.int64]


class LookedUp:
    """The looked-up table as an input of the join: its rows are known by slot."""

    def __init__(self, number: int, selection: Selection, held: FetchedRows) -> None:
        self.number = number
        self.selection = selection
        self.held = held

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by slot."""
        return self.held.contents.take(ids.astype(np.int32), names)


class LookupMatching:
    """The two inputs of a lookup join, and what the queries of the group ask of them."""

    def __init__(self, step: LookupJoinStep, queries: Queries, held: FetchedRows) -> None:
        self._step = step
        self._queries = queries
        self._fields = Fields(step)
        names = residual_names(step)
        selections = [
            Selection(shape, number, self._fields.terms[number], names[number], queries)
            for number, shape in enumerate(step.inputs)
        ]
        here, there = 1 - step.looked_up, step.looked_up
        shape = step.inputs[here]
        owning = Owning(shape, None, WHOLE)
        self.stream = StreamInput(here, shape, selections[here], self._fields, owning)
        self._looked_up = LookedUp(there, selections[there], held)
        # What verifies asks an input for its number, its selection and its rows only.
        other = cast(Input, self._looked_up)
        self._inputs: list[Input] = [other, self.stream] if here else [self.stream, other]
        # Rows are looked up in the order of their numbers, which need no event time.
        self._verifying = Verifying(
            step, self._inputs, queries, names[-1], ages=lambda _stream, rows: rows
        )
        self._crosses = len(self._fields.links) > 1 or bool(self._fields.tests)

    def arrange(self, slots: Rows) -> None:
        """Follow the queries that stand."""
        if self.stream.selection.arrange(slots, True, True):
            self.stream.sure_from = self.stream.contents.next
        self._looked_up.selection.arrange(slots, True, True)

    def wanted(self, table: pa.Table, counts: Tally | None) -> tuple[pa.Table, int]:
        """Give the rows of the stream that some query may want, and how many have a NULL."""
        fields, present, agrees = self._fields.read(self.stream.number, table)
        chosen: Flags = present & agrees
        if not chosen.all():
            fields, table = fields[chosen], table.filter(pa.array(chosen))
        passing = self.stream.selection.passes(fields, table, counts)
        if not passing.all():
            table = table.filter(pa.array(passing))
        return table, int(np.count_nonzero(~present))

    def results(
        self, first: int, table: pa.Table, slots: Rows, births: Births, counts: Tally
    ) -> list[Results]:
        """Give what rows `first`, `first + 1`, … make, their looked-up rows being at `slots`.

        Rows that others look up have none. `births` are the numbers of the rows that came last
        before each query, by the query's slot: a stream that is looked up for needs no event time.
        """
        rows = self._pairs(table, slots, counts)
        live = self._queries.live()
        if len(rows) == 0 or len(live) == 0:
            return []
        found = np.empty((len(rows), 2), dtype=np.int64)
        found[:, self.stream.number] = first + rows
        found[:, self._looked_up.number] = slots[rows]
        oldest = np.zeros(2, dtype=np.int64)
        oldest[self.stream.number] = first
        always = np.full((len(live), 2), LOWEST_TIME)
        which, whose = self._verifying.pairs(found, oldest, live, always, frozenset(), counts)
        own = self.stream.number
        since = found[which, own] > births[whose, own]
        which, whose = which[since], whose[since]
        return made(self._step, self._inputs, found, which, self._queries.numbers[whose])

    def _pairs(self, table: pa.Table, slots: Rows, counts: Tally) -> Ints:
        """Give the rows whose looked-up row is there and may be wanted."""
        held = self._looked_up.held
        rows: Ints = np.flatnonzero(slots >= 0)
        rows = rows[held.states[slots[rows]] == FOUND]
        if len(rows) == 0:
            return rows
        distinct, inverse = np.unique(slots[rows], return_inverse=True)
        looked = self._looked_up.take(distinct.astype(np.int64))
        fields, present, agrees = self._fields.read(self._looked_up.number, looked)
        good: Flags = present & agrees
        chosen = looked if good.all() else looked.filter(pa.array(good))
        # A looked-up row is asked once, and answers for all rows of the stream that met it.
        weights = np.bincount(inverse, minlength=len(distinct))[good]
        passing = self._looked_up.selection.passes(fields[good], chosen, counts, weights)
        good[good] = passing
        keep = good[inverse]
        rows, inverse = rows[keep], inverse[keep]
        if self._crosses and len(rows):
            holds = self._cross(table.take(pa.array(rows)), looked, fields, inverse)
            rows = rows[holds]
        return rows

    def _cross(self, table: pa.Table, looked: pa.Table, fields: Matrix, at: Ints) -> Flags:
        """Ask what speaks of both rows; the looked-up one of row i is `looked[at[i]]`."""
        own, _, _ = self._fields.read(self.stream.number, table)
        sides = {self.stream.number: own, self._looked_up.number: fields[at]}
        holds: Flags = np.ones(table.num_rows, dtype=np.bool_)
        for test in self._fields.tests:
            (left, one), (right, other) = test.left, test.right
            holds &= test.holds(sides[left][:, one], sides[right][:, other])
        for link in self._fields.links:
            (left, one), (right, other) = link.members
            specs = self._fields.specs[left][one], self._fields.specs[right][other]
            if specs[0].codes == NO_CODES:
                holds &= sides[left][:, one] == sides[right][:, other]
                continue
            texts = [
                _texts(spec, table if number == self.stream.number else looked)
                for spec, number in zip(specs, (left, right), strict=True)
            ]
            theirs = int(left == self.stream.number)
            texts[theirs] = texts[theirs].take(pa.array(at))
            holds &= same_values(*texts)
        return holds


def _texts(spec: Field, table: pa.Table) -> pa.Array:
    return texts_of(table.column(spec.column), spec.common).cast(pa.large_string())
