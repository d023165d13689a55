"""Kinds of semantic messages: what their rows say, and how a sink's rows become them.

Messages of an extreme are rectangles of ranges with a new value. Messages of distinct values are
rectangles that gain or lose one. Messages of totals, which counts, sums and averages follow from,
are points (x, y) that come or go so many times. Messages of a join are its rows, which come or go
so many times, with the columns that subscribers' own selections are of.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.open_conditions import open_conditions

MessageKind = Literal["extreme", "set", "total", "row"]
ENDS = ("inner_l", "inner_r", "outer_l", "outer_r")
EXTREMES = ("min", "max")
"""What the column of the value is called: it says which of the values in a range is told."""
OWN_COLUMNS = frozenset({"_id", "_query", "_sign", "_batch", "_version"})
ORDINAL = "ordinal"
VALUE, OP = "value", "op"
GAIN = "gain"
X, Y, WEIGHT = "x", "y", "weight"
RESERVED = frozenset({ORDINAL, X, Y, WEIGHT})
"""Partitions that have a column of such a name are not published as messages."""
CHANGED = (OP, "x_old", "y_old", "x_new", "y_new")
"""What a sink is given of a total."""
SAID: dict[MessageKind, int] = {"extreme": 1 + len(ENDS), "set": 2 + len(ENDS), "total": 3}
"""So many columns stand behind the partition, of ranges."""
SIGN = "_sign"


def kind_of_results(schema: pa.Schema) -> MessageKind | None:
    """Say of which kind the messages are that results hold; None if they are no messages.

    >>> kind_of_results(pa.schema([(name, pa.int64()) for name in ("_id", "max", *ENDS, "_batch")]))
    'extreme'
    >>> kind_of_results(pa.schema([(name, pa.int64()) for name in ("_id", *CHANGED)]))
    'total'
    """
    names = [name for name in schema.names if name not in OWN_COLUMNS]
    if open_conditions(names):
        return "row"
    if RESERVED.intersection(names):
        return None
    if tuple(names[-len(CHANGED) :]) == CHANGED:
        return "total"
    if tuple(names[-len(ENDS) - 2 :]) == (VALUE, *ENDS, OP):
        return "set"
    if tuple(names[-len(ENDS) :]) == ENDS and names[: -len(ENDS)][-1:] in ([n] for n in EXTREMES):
        return "extreme"
    return None


def kind_of_rows(schema: pa.Schema) -> MessageKind:
    """Say of which kind the rows of messages are."""
    if open_conditions(schema.names[:-1]):
        return "row"
    if schema.names[-1] == WEIGHT:
        return "total"
    return "set" if schema.names[-1] == OP else "extreme"


def message_rows(table: pa.Table) -> pa.Table:
    """Give the rows of messages from what a sink is given, each with its ordinal in the batch."""
    rows = table.select([name for name in table.column_names if name not in OWN_COLUMNS])
    kind = kind_of_results(table.schema)
    if kind == "total":
        rows = _points(rows)
    elif kind == "row":
        rows = _joined(rows, table[SIGN])
    ordinals = pa.array(range(len(rows)), pa.int32())
    return rows.add_column(0, ORDINAL, ordinals)


def _points(changes: pa.Table) -> pa.Table:
    """Take changes of rows apart, into what comes and what goes, each once with its weight."""
    partition = changes.column_names[: -len(CHANGED)]
    sides = []
    for side, weight in (("new", 1), ("old", -1)):
        own = changes.filter(changes[f"x_{side}"].is_valid())
        columns = [own[name] for name in (*partition, f"x_{side}", f"y_{side}")]
        columns.append(pa.chunked_array([pa.repeat(pa.scalar(weight, pa.int64()), len(own))]))
        sides.append(pa.Table.from_arrays(columns, names=[*partition, X, Y, WEIGHT]))
    return added_up(pa.concat_tables(sides))


def _joined(rows: pa.Table, signs: pa.ChunkedArray) -> pa.Table:
    """Give rows that come or go, each once with its weight; none whose conditions are of NULL."""
    columns = [
        # So that 0.0 and -0.0, which are equal, are one.
        pc.add(own, pa.scalar(0, own.type)) if pa.types.is_floating(own.type) else own
        for own in rows.columns
    ]
    columns.append(signs.cast(pa.int64()))
    found = pa.Table.from_arrays(columns, names=[*rows.column_names, WEIGHT])
    for each in open_conditions(rows.column_names):
        found = found.filter(found[each.name].is_valid())
    return added_up(found)


def added_up(points: pa.Table) -> pa.Table:
    """Add up weights of equal points; those of none are gone. The order is that of the first.

    >>> given = pa.table({"x": [5, 5, 7], "y": [1.0, 1.0, 2.0], "weight": [1, -1, 3]})
    >>> added_up(given).to_pylist()
    [{'x': 7, 'y': 2.0, 'weight': 3}]
    """
    names = points.column_names[:-1]
    summed = points.group_by(names, use_threads=False).aggregate([(WEIGHT, "sum")])
    found = pa.Table.from_arrays(
        [*(summed[name] for name in names), summed[f"{WEIGHT}_sum"]], schema=points.schema
    )
    return found.filter(pc.not_equal(found[WEIGHT], 0))
