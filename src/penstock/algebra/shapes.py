"""Shapes: what remains of a standing query when its constants are taken away."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.physical import BranchShape, ClockStep, KeepStep
from penstock.algebra.predicates import Branch

Types = Mapping[str, pa.DataType]


def branch_shape(branch: Branch, column_types: Types, parameter_types: Types) -> BranchShape:
    """Give the shape of one branch.

    Neither the number of values of an IN list nor the openness of bounds is part of the shape:
    both become entries of the same form.

    >>> from penstock.algebra.predicates import Bound, Range
    >>> low = Range(column="price", lows=(Bound(parameter="$0", closed=True),), highs=())
    >>> shape = branch_shape(Branch(ranges=(low,)), {"price": pa.int64()}, {"$0": pa.int8()})
    >>> shape.ranges
    (('price', DataType(int64)),)
    """
    residual = branch.residual
    return BranchShape(
        equalities=tuple((term.column, column_types[term.column]) for term in branch.equalities),
        ranges=tuple((term.column, column_types[term.column]) for term in branch.ranges),
        residual_sql=residual.sql if residual else None,
        residual_columns=residual.columns if residual else (),
        residual_types=tuple(parameter_types[name] for name in residual.parameters)
        if residual
        else (),
    )


def clock_step(stream: Relation) -> ClockStep | None:
    """Give the step that follows a stream's event time; None if it has none that joins can use."""
    if stream.event_time is None:
        return None
    type_ = stream.schema.field(stream.event_time).type
    if not pa.types.is_timestamp(type_):
        return None
    return ClockStep(relation=stream.name, event_time=stream.event_time, type=type_)


def keep_step(table: Relation) -> KeepStep:
    """Give the step that keeps a table's rows for the joins that read it."""
    assert table.change_column is not None
    columns = tuple((f.name, f.type) for f in table.schema if f.name != table.change_column)
    return KeepStep(
        relation=table.name,
        columns=columns,
        change_column=table.change_column,
        key=table.key,
        sequence=table.sequence,
        positioned=table.positioned,
    )
