"""Entries of range aggregates: rows of parameters as ranges of keys, with their partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.predicates import Equality
from penstock.algebra.range_aggregates import RangeAggregateStep, StandingRangeAggregate
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.keys import validity
from penstock.operators.shared.ranges import RangeParameters, closed_range
from penstock.operators.shared.refusals import Refusing
from penstock.vocabulary.batches import Flags, Ints, Registration
from penstock.vocabulary.types import is_ordered

END_NAMES = (("l", "h"), ("l1", "h1"))
"""The columns of entries that have the ends of ranges, by attribute."""
NEVER = {"l": 1, "h": 0}
"""The ends of a range that holds nothing."""


def register(
    logical: StandingRangeAggregate, step: RangeAggregateStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Entries have the columns `query`, `told` (whether the first value is told), `l` and `h`, of a
    second attribute `l1` and `h1`, and the partition `e0`, …. A query whose
    parameters are NULL aggregates nothing, and stands.
    """
    rows = parameters.num_rows
    refusing = Refusing(rows)
    columns: dict[str, pa.Array] = {
        "query": pa.array(np.arange(first, first + rows, dtype=np.int64)),
        "told": pa.array(np.full(rows, logical.snapshot)),
    }
    alive: Flags = np.ones(rows, dtype=np.bool_)
    if step.form == "values":
        values = RangeParameters(logical=logical, table=parameters, refusing=refusing)
        ends = dict[str, Ints]()
        for names, range_, (_, type_) in zip(
            END_NAMES, logical.branch.ranges, step.attributes, strict=False
        ):
            low, high, bounded = closed_range(range_, type_, values, rows)
            ends |= zip(names, (low, high), strict=True)
            alive = alive & bounded
        for number, (term, (_, type_)) in enumerate(
            zip(logical.branch.equalities, step.partition, strict=True)
        ):
            column, present = _equal(term, type_, values)
            columns[f"e{number}"] = _long(column, rows)
            alive = alive & present
        for name, own in ends.items():
            columns[name] = pa.array(np.where(alive, own, NEVER[name[0]]))
    accepted = ~refusing.refused
    table = pa.table(columns)
    if not accepted.all():
        table = table.filter(pa.array(accepted))
    return Registration(
        adds={PORT: table.combine_chunks()},
        refusals=refusing.refusals(),
        silent=accepted & ~alive,
    )


def _equal(term: Equality, type_: pa.DataType, values: RangeParameters) -> tuple[pa.Array, Flags]:
    """Give the key that a column equals, and which rows have one."""
    (name,) = term.parameters
    if is_ordered(type_):
        place = values.places(name, type_)
        present = place.valid & place.exact & (place.side == 0)
        return pa.array(np.where(present, place.key, 0)), present
    texts = values.values(name, type_).cast(pa.string())
    return texts.fill_null(""), validity(texts)


def _long(column: pa.Array, rows: int) -> pa.Array:
    """Give a constant as often as there are rows."""
    if len(column) == rows:
        return column
    return column.take(pa.array(np.zeros(rows, dtype=np.int64)))
