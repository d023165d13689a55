"""Range aggregates: an aggregate of the rows whose attribute lies in each query's own range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import Division, SingleStep, Typed
from penstock.algebra.predicates import Branch
from penstock.vocabulary.codec import OMITTED, Node

RangeFunction = Literal["min", "max", "count", "count_distinct", "sum", "avg"]
AnswerForm = Literal["values", "messages"]
"""What a group tells: each query the values of its aggregates, or all of them how ranges change."""

EXTREMES = frozenset({"min", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeMeasure(Node):
    """A function over a column of the rows in range; outputs speak of it by its `name`.

    NULL values do not count. Without a `column`, count counts rows. `type` is that of the value.
    With `most`, min and max give a list of so many values, or of all if there are fewer.
    """

    name: str
    function: RangeFunction
    column: str | None = None
    column_type: pa.DataType | None = None
    type: pa.DataType
    most: int | None = field(default=None, metadata=OMITTED)

    @property
    def is_extreme(self) -> bool:
        """Whether it is a minimum or a maximum."""
        return self.function in EXTREMES and self.most is None

    @property
    def is_set(self) -> bool:
        """Whether it counts distinct values."""
        return self.function == "count_distinct"

    @property
    def is_total(self) -> bool:
        """Whether it counts or adds up, so that its changes are changes of rows, not of ranges."""
        return self.function not in EXTREMES and not self.is_set


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeAggregateStep(SingleStep):
    """All range aggregates of one shape: whose rows, in which attribute's ranges, of what.

    The operator's port `queries` takes the ranges. A row is in a query's range if it is in its
    partition, its `attribute` is between the query's ends, and so is a `further` one, if there is
    one: then a query's range is a box. And the `condition` holds, a DuckDB expression over `c0`,
    `c1`, … that all queries share. Rows come and go by the `change_column` of their table or view.
    """

    attribute: str
    attribute_type: pa.DataType
    partition: Typed = ()
    measures: tuple[RangeMeasure, ...]
    condition: str | None = None
    condition_columns: tuple[str, ...] = ()
    change_column: str | None = None
    form: AnswerForm = field(default="values", metadata=OMITTED)
    further: Typed = field(default=(), metadata=OMITTED)
    kind: str = "range_aggregate"

    @property
    def attributes(self) -> Typed:
        """The attributes that have ranges, with their types: one or two."""
        return ((self.attribute, self.attribute_type), *self.further)

    @property
    def division(self) -> Division:
        """Every shard sees every row, and shards divide the queries."""
        return ((self.relation, ()),)

    @property
    def made(self) -> Typed:
        """The values of the measures, or what messages say."""
        if self.form == "values":
            return tuple((each.name, each.type) for each in self.measures)
        parts = tuple((f"p{number}", type_) for number, (_, type_) in enumerate(self.partition))
        return (*parts, *message_columns(self.measures[0], self.attribute_type))


def message_columns(measure: RangeMeasure, attribute: pa.DataType) -> Typed:
    """Give what a message says beside the partition, with the types of it."""
    ends = tuple((name, attribute) for name in ("inner_l", "inner_r", "outer_l", "outer_r"))
    if measure.is_extreme:
        return ((measure.function, measure.type), *ends)
    if measure.is_set:
        assert measure.column_type is not None
        return (("value", measure.column_type), *ends, ("op", pa.string()))
    adds = measure.function != "count" and measure.column_type is not None
    value = measure.column_type if adds else pa.int64()
    return (
        ("op", pa.string()),
        ("x_old", attribute), ("y_old", value), ("x_new", attribute), ("y_new", value),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRangeAggregate:
    """`SELECT outputs FROM relation WHERE attribute BETWEEN … AND equalities AND condition`.

    `branch` has the range of the attribute and the equalities, which are the partition. Messages
    are of all ranges at once: they have parameters in their text and bring no values for them.
    """

    shape: RangeAggregateStep
    branch: Branch
    outputs: tuple[Output, ...]
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    where_sql: str = "TRUE"
    condition_sql: str = "TRUE"
    """The part of the predicate that all queries of the group share, in the same words."""
    snapshot: bool = False
    """Whether a query is told the value that it finds."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The one relation that the query reads."""
        return (self.shape.relation,)

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)

    def step(self) -> RangeAggregateStep:
        """Give the step that all queries of its shape share."""
        return self.shape
