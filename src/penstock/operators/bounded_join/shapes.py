"""Shapes: the queries of a group that ask alike, of which a shared memory has several kinds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import joined_pair
from penstock.algebra.crossings import CrossedShape
from penstock.algebra.physical import digest
from penstock.operators.bounded_join.inputs import AskingInput, BoundedInput
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.operators.shared.births import Births
from penstock.operators.shared.combinations import Combinations, NumberedRows, Verifying
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.terms import residual_names
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.figures import Tally

SHAPE = "shape"
"""The column of an entry that says which join its query asks, in a memory that joins share."""


def port_of(shape: CrossedShape) -> str:
    """Name the port that takes the queries of a shape, in a memory that joins share."""
    return f"{PORT}-{digest(shape)}"


def with_shape(entries: pa.Table, shape: CrossedShape) -> pa.Table:
    """Let entries say what their queries ask; the text stands once, however many they are."""
    text = pa.array([json.dumps(shape.to_json(), sort_keys=True)])
    places = pa.array(np.zeros(entries.num_rows, dtype=np.int32))
    return entries.append_column(SHAPE, pa.DictionaryArray.from_arrays(places, text))


def shape_of(entries: pa.Table) -> CrossedShape:
    """Give back the shape that entries name; there is one at least."""
    return CrossedShape.from_json(json.loads(entries[SHAPE][0].as_py()))


def joins_of(streams: int, pairs: Iterable[tuple[int, int]]) -> Flags:
    """Say which streams join each other.

    >>> joins_of(3, [(0, 2)]).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    joins = np.zeros((streams, streams), dtype=np.bool_)
    for pair in pairs:
        joins[pair] = joins[pair[::-1]] = True
    return joins


class ShapeQueries:
    """The standing queries of one shape: what they ask of rows, and of pairs of them.

    Parameters
    ----------
    shape
        What all of them have in common.
    streams
        The streams of the group, two of which they join.
    keys
        How the shape's columns are read.
    shared
        Whether other queries, of other shapes, have rows of the same streams held.
    births
        What was known of when queries were born.
    """

    def __init__(
        self, shape: CrossedShape, streams: Sequence[BoundedInput], keys: JoinKeys, *,
        shared: bool = False, births: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        names = residual_names(shape)
        self.shape = shape
        self.pair = joined_pair(shape.crossing)
        self.queries = Queries(entry_schema(shape), names)
        self.births = Births(len(streams), births)
        self.inputs = {
            number: AskingInput(streams[number], shape, keys, names[number], self.queries)
            for number in self.pair
        }
        self._keys = keys
        self._shared = shared
        self._verifying = Verifying(shape, list(self.inputs.values()), self.queries, names[-1])

    def arrange(self, arrivals: int) -> None:
        """Let the streams be asked what the queries ask that stand now.

        `arrivals` is the number of the next row. Where others have rows held too, no row is known
        to have been asked what these ask.
        """
        slots = self.queries.live()
        for each in self.inputs.values():
            if each.selection.arrange(slots, True, True):
                each.sure_from = arrivals
            if self._shared:
                each.sure_from = np.iinfo(np.int64).max

    def pairs(
        self, found: Combinations, oldest: Ints, counts: Tally
    ) -> tuple[Combinations, NumberedRows, Ints]:
        """Give the pairs of these streams, and for all results a pair's place and the query."""
        first, second = self.pair
        nobody = np.empty(0, dtype=np.int64)
        slots = self.queries.live()
        if found.shape[1] > 2:
            found = found[(found[:, first] >= 0) & (found[:, second] >= 0)]
        if len(found):
            holds = self._keys.hold(self.inputs, found, self._shared)
            found = found if holds.all() else found[holds]
        if len(found) == 0 or len(slots) == 0:
            return found, nobody, nobody
        rows, whose = self._verifying.pairs(
            found, oldest, slots, self.births.of[slots], frozenset(), counts
        )
        return found, rows, self.queries.numbers[whose]
