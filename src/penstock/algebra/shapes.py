"""Shapes: what remains of a standing query when its constants are taken away."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.algebra.physical import BranchShape
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
