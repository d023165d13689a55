"""The layout of a view in its store: which tables it has, and what each column holds.

Everything lies in a schema of the view's own; under the view's name lies a SQL view that shows its
rows. Users' columns are numbered there, so that they may have any name.

| table | a row is |
|---|---|
| `base0`, … | a row of an input, as of its last flush, and its weight |
| `queue0`, … | a change of an input that waits |
| `groups` | a group of a grouped view: its keys, how many joined rows it has, and its aggregates |
| `values0`, … | a value of an argument in a group, and its weight: for min, max, distinct counts |
| `rows` | a row of an ungrouped view, and its weight |
| `outbox` | a row that came or went, and the turn that tells of it |
| `meta` | the last turn, its memo, what waits since when, and which life of the view this is |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import dumps

import pyarrow as pa

from penstock.algebra.physical import Typed
from penstock.algebra.views import Aggregate, ViewDefinition
from penstock.expressions.quotation import numbered, quoted
from penstock.views.dialects import DIALECTS, is_long

PREFIX = "penstock_"
COUNTED = pa.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What aggregates are taken of, once however many are, and what they need to know of it."""

    number: int
    sql: str
    type: pa.DataType
    functions: frozenset[str]

    @property
    def name(self) -> str:
        """The column of joined rows that holds it; its state begins with the same word."""
        return f"x{self.number}"

    @property
    def is_added(self) -> bool:
        """Whether its sum is kept."""
        return bool(self.functions & {"sum", "avg"})

    @property
    def is_float(self) -> bool:
        """Whether its sum is kept as one of floats: NaN and infinities are counted apart."""
        return self.is_added and bool(pa.types.is_floating(self.type))

    @property
    def has_values(self) -> bool:
        """Whether its values are kept, each with its weight."""
        return bool(self.functions & {"min", "max", "count_distinct"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Findable:
    """A table in which rows are looked for by some columns: by their fingerprint, if it has one.

    Most have weights. In a log, a row stands as often as its weight changed.
    """

    name: str
    columns: Typed
    has_fingerprint: bool
    has_nulls: bool = True

    def same(self, left: str, right: str) -> str:
        """Say that two tables' rows agree, NULLs too."""
        equal = "IS NOT DISTINCT FROM" if self.has_nulls else "="
        tests = [f"{left}._f = {right}._f"] * self.has_fingerprint
        tests += [f"{left}.{each} {equal} {right}.{each}" for each in names(self.columns)]
        return " AND ".join(tests)

    def found(self, source: str) -> str:
        """Give rows with their fingerprints, if the table has them."""
        if not self.has_fingerprint:
            return source
        listed = ", ".join(names(self.columns))
        return f"(SELECT *, hash_record_extended(ROW({listed}), 0) AS _f FROM {source} AS all_)"

    def kept(self) -> list[str]:
        """Name the columns by which rows are looked for."""
        return [*names(self.columns), *["_f"] * self.has_fingerprint]


class ViewLayout:
    """The tables of a view, and the words for them in its store's SQL."""

    def __init__(self, definition: ViewDefinition) -> None:
        self.definition = definition
        self.dialect = DIALECTS[definition.dialect]
        self.schema = quoted(PREFIX + definition.name)
        self.shown = quoted(definition.name)
        self.described = dumps(definition.to_json(), sort_keys=True)

    def table(self, name: str) -> str:
        """Name a table."""
        return f"{self.schema}.{name}"

    def work(self, name: str) -> str:
        """Name a table that is of use during a flush alone, apart from those of other views."""
        digest = sha256(self.described.encode()).hexdigest()[:16]
        return f"{PREFIX}{digest}_{name}"

    @cached_property
    def inputs(self) -> tuple[Typed, ...]:
        """The columns of every input, numbered."""
        return tuple(_numbered("c", each.columns) for each in self.definition.inputs)

    @cached_property
    def outputs(self) -> Typed:
        """The columns of the view, numbered."""
        return _numbered("o", [(each.name, each.type) for each in self.definition.outputs])

    @cached_property
    def keys(self) -> Typed:
        """The keys of groups, numbered."""
        return _numbered("k", [(each.name, each.type) for each in self.definition.keys])

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """What aggregates are taken of."""
        found: dict[tuple[str, pa.DataType], set[str]] = {}
        for each in self.definition.aggregates:
            if each.argument is not None:
                found.setdefault((each.argument, each.argument_type), set()).add(each.function)
        return tuple(
            Argument(number=number, sql=sql, type=type_, functions=frozenset(functions))
            for number, ((sql, type_), functions) in enumerate(found.items())
        )

    def argument(self, aggregate: Aggregate) -> Argument:
        """Give what an aggregate is taken of."""
        asked = (aggregate.argument, aggregate.argument_type)
        return next(each for each in self.arguments if (each.sql, each.type) == asked)

    @property
    def has_one_group(self) -> bool:
        """Whether there is one group, with or without rows."""
        return self.definition.is_grouped and not self.definition.keys

    def base(self, input_: int) -> Findable:
        """Give an input's rows as of its last flush."""
        return self._findable(f"base{input_}", self.inputs[input_])

    def values(self, argument: Argument) -> Findable:
        """Give an argument's values, by group; short ones are found by themselves."""
        return Findable(
            name=f"values{argument.number}",
            columns=(("_id", COUNTED), ("v", argument.type)),
            has_fingerprint=not self.dialect.is_log and is_long(argument.type),
            has_nulls=False,
        )

    @property
    def rows(self) -> Findable:
        """The rows of an ungrouped view."""
        return self._findable("rows", self.outputs)

    @property
    def groups(self) -> Findable:
        """The groups of a view, by their keys."""
        return self._findable("groups", self.keys)

    def _findable(self, name: str, columns: Typed) -> Findable:
        return Findable(name=name, columns=columns, has_fingerprint=not self.dialect.is_log)

    def weighted(self) -> Iterator[Findable]:
        """Give all tables of rows with weights."""
        yield from map(self.base, range(len(self.inputs)))
        if self.definition.is_grouped:
            yield from (self.values(each) for each in self.arguments if each.has_values)
        else:
            yield self.rows

    def states(self) -> Iterator[tuple[str, str]]:
        """Give the columns of a group that follow from its rows, and what each is at first."""
        whole, dialect = self.dialect.type(COUNTED), self.dialect
        yield f"_n {whole}", "0"
        for each in self.arguments:
            yield f"{each.name}_n {whole}", "0"
            if each.is_added:
                yield f"{each.name}_s {dialect.sum_type(each.type)}", "0"
            if each.is_float:
                for odd in ("nan", "inf", "neg"):
                    yield f"{each.name}_{odd} {whole}", "0"
            for extreme in ("min", "max"):
                if extreme in each.functions:
                    yield dialect.column(f"{each.name}_{extreme}", each.type), "NULL"
            if "count_distinct" in each.functions:
                yield f"{each.name}_d {whole}", "0"

    def read(self, input_: int, source: str) -> str:
        """Give an input as the view's texts speak of it; its weight is beside its columns."""
        each = self.definition.inputs[input_]
        columns = [
            f"{own} AS {quoted(name)}"
            for (own, _), (name, _) in zip(self.inputs[input_], each.columns, strict=True)
        ]
        weight = f"_n AS {quoted(self._weight(input_))}"
        return f"(SELECT {', '.join([*columns, weight])} FROM {source}) AS {quoted(each.alias)}"

    def weight(self, input_: int) -> str:
        """Give the weight of an input's row, where the view's texts are read."""
        return f"{quoted(self.definition.inputs[input_].alias)}.{quoted(self._weight(input_))}"

    def _weight(self, input_: int) -> str:
        columns = self.definition.inputs[input_].columns
        return numbered("_n", {name.lower() for name, _ in columns})


def names(columns: Typed) -> list[str]:
    """Give the names of columns."""
    return [name for name, _ in columns]


def _numbered(word: str, columns: Typed | list[tuple[str, pa.DataType]]) -> Typed:
    return tuple((f"{word}{number}", type_) for number, (_, type_) in enumerate(columns))
