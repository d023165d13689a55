"""Names in a query, resolved against the catalogue and the rows of FOR EACH.

A column of a filter keeps its own name. A column of a join is named as in the joined row:
`i0.<column>`, `i1.<column>`, …
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.inputs import numbered_inputs
from penstock.expressions.quotation import theirs
from penstock.language.dialect import EXTENT, Span
from penstock.language.places import ScriptSource, listing, suggestion
from penstock.vocabulary.types import is_written, seeming


@dataclass(frozen=True, slots=True)
class Scope:
    """A relation of the query: what qualifies its columns, and which side of a join it is.

    The side of a filter's only relation is empty.
    """

    relation: Relation
    qualifier: str
    side: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns that the query may name: in a join, all but the change column."""
        hidden = self.relation.change_column if self.side else None
        return [name for name in self.relation.schema.names if name != hidden]

    def named(self, column: str) -> str:
        """Give a column's name in the query's rows.

        >>> schema = pa.schema([("price", pa.float64())])
        >>> Scope(Relation(name="t", kind="stream", schema=schema), "t", "i0").named("price")
        'i0.price'
        """
        return f"{self.side}.{column}" if self.side else column

    def is_called(self, name: str) -> bool:
        """Say whether `name.` before a column means this relation."""
        return name.lower() == self.qualifier.lower()


@dataclass(slots=True)
class Names:
    """What the names of one query stand for; `resolve` fills the spans.

    `scopes` stand in the order of the text. `merged` are columns that USING makes one with a
    column of a relation before them, which their bare name means: pairs of side and name, in
    lower case.
    """

    source: ScriptSource
    scopes: tuple[Scope, ...]
    each: pa.Schema | None
    merged: frozenset[tuple[str, str]] = frozenset()
    columns: dict[Span, str] = field(default_factory=dict)
    parameters: dict[Span, str] = field(default_factory=dict)
    tokens: Sequence[Token] = ()
    casts: dict[Span, str] = field(default_factory=dict)
    """What DuckDB must take as another type than its own, so that it computes what we do."""
    opened: set[Span] = field(default_factory=set)
    """Conditions that the query leaves to whoever reads its messages."""
    _homes: dict[str, tuple[Scope, str]] = field(init=False)
    _in_order: list[tuple[Span, str]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._homes = {
            scope.named(column): (scope, column)
            for scope in self.scopes
            for column in scope.relation.schema.names
        }

    def resolve(self, tree: exp.Expr) -> None:
        """Replace every column and parameter by its exact name, or refuse the unknown.

        A variable of a lambda or of a list comprehension is no column.
        """
        for node in list(tree.walk()):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                if is_variable(node):
                    first = node.parts[0]
                    node.replace(exp.Identifier(this=first.name, quoted=True))
                elif not node.find_ancestor(exp.Star):  # What a star leaves out is its own affair.
                    self._resolve_column(node)
            elif isinstance(node, exp.Placeholder):
                self._resolve_parameter(node)

    def column_type(self, name: str) -> pa.DataType:
        """Give the type of a column by its exact name."""
        scope, column = self._homes[name]
        return scope.relation.schema.field(column).type

    def bare(self, name: str) -> str:
        """Give the name that a column has in its relation."""
        return self._homes[name][1]

    def side(self, name: str) -> str:
        """Give the side of a join that a column is of."""
        return self._homes[name][0].side

    def shown(self, name: str) -> str:
        """Name a column as the writer of the query does."""
        scope, column = self._homes[name]
        return f"{scope.qualifier}.{column}" if scope.side else column

    def own_type(self, parameter: str) -> pa.DataType:
        """Give the type that a parameter has in the rows of FOR EACH."""
        assert self.each is not None, "resolve() refused parameters without rows"
        type_ = seeming(self.each.field(parameter))
        return type_.value_type if pa.types.is_dictionary(type_) else type_

    def tokens_in(self, span: Span) -> list[Token]:
        """Give the tokens of a part of the text."""
        first = bisect_left(self.tokens, span.start, key=lambda each: each.start)
        last = bisect_left(self.tokens, span.end, key=lambda each: each.start)
        return list(self.tokens[first:last])

    def named_in(self, span: Span) -> list[tuple[Span, str]]:
        """Give the names of columns and parameters in a part of the text, as they stand."""
        known = len(self.columns) + len(self.parameters)
        if len(self._in_order) != known:
            named = [*self.columns.items(), *self.parameters.items()]
            self._in_order = sorted(named, key=lambda one: one[0].start)
        first = bisect_left(self._in_order, span.start, key=lambda one: one[0].start)
        last = bisect_left(self._in_order, span.end, key=lambda one: one[0].start)
        return self._in_order[first:last]

    def is_written(self, parameter: str) -> bool:
        """Say whether a parameter is a text that may be read as anything: of a CSV file."""
        assert self.each is not None, "resolve() refused parameters without rows"
        return is_written(self.each.field(parameter))

    def qualified(self) -> dict[Span, str]:
        """Say what stands for each name when DuckDB reads the user's own words."""
        spans = {span: f"p.{theirs(name)}" for span, name in self.parameters.items()}
        for span, name in self.columns.items():
            spans[span] = f"{self.side(name) or 'e'}.{theirs(self.bare(name))}"
        found = {
            span: f"{sql}::{self.casts[span]}" if span in self.casts else sql
            for span, sql in spans.items()
        }
        # Behind the names, with one of which a condition may begin.
        return found | dict.fromkeys(self.opened, "TRUE")

    def _resolve_column(self, node: exp.Column) -> None:
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        first = parts[0]
        scopes: Sequence[Scope] = [s for s in self.scopes if s.is_called(first.name)]
        if len(parts) > 1 and scopes:
            parts = parts[1:]
        elif len(parts) > 1 and not any(exact(first.name, s.columns) for s in self.scopes):
            raise self._not_qualifier(first, parts[-1])
        else:
            scopes = self.scopes
        scope, column = self.find(parts[0], scopes)
        if len(parts) == 1 and self._is_at(first):
            self._refuse_at(first)
        name = scope.named(column)
        span = Span(first.meta["start"], parts[0].meta["end"] + 1)
        self.columns[span] = name
        identifier = exp.Identifier(this=name, quoted=True).update_positions(first)
        resolved: exp.Expr = exp.Column(this=identifier)
        resolved.meta["span"] = span
        for part in parts[1:]:
            resolved = exp.Dot(this=resolved, expression=part.copy())
        if EXTENT in node.meta:
            resolved.meta[EXTENT] = node.meta[EXTENT]
        node.replace(resolved)

    def _not_qualifier(self, first: exp.Expr, last: exp.Expr) -> Exception:
        what = "the relation" if len(self.scopes) == 1 else "a relation"
        fact = f"{first.name!r} is neither {what} of this query nor a column of it."
        written = " or ".join(f"{scope.qualifier}.{last.name}" for scope in self.scopes)
        remedy = f"Write {written}, or the column alone."
        return self.source.error("SQL-021", fact, remedy, at=first)

    def is_merged(self, scope: Scope, column: str) -> bool:
        """Say whether USING made a column one with that of a relation before it."""
        return (scope.side, column.lower()) in self.merged

    def find(self, identifier: exp.Expr, scopes: Sequence[Scope]) -> tuple[Scope, str]:
        """Find the one relation that has a column, or refuse."""
        found = [(s, c) for s in scopes if (c := exact(identifier.name, s.columns)) is not None]
        found = [pair for pair in found if not self.is_merged(*pair)] or found
        if len(found) == 1:
            return found[0]
        if found:
            written = " or ".join(f"{scope.qualifier}.{column}" for scope, column in found)
            who = "Both" if len(self.scopes) == 2 else "Several"
            raise self.source.error(
                "SQL-025",
                f"{who} relations have a column {identifier.name!r}.",
                f"Write {written}.",
                at=identifier,
            )
        for scope in scopes:
            hidden = scope.relation.change_column
            if hidden is not None and hidden.lower() == identifier.name.lower():
                raise self.source.error(
                    "SQL-066",
                    f"{hidden!r} says how {scope.relation.name!r} changes; it is no part of its "
                    "rows, and a join cannot ask for it.",
                    "Leave it out: the changes of the join's own rows are delivered.",
                    at=identifier,
                )
        known = list(dict.fromkeys(name for scope in scopes for name in scope.columns))
        fact = f"{scopes[0].relation.name!r} has no column {identifier.name!r}."
        if len(scopes) > 1:
            who = "Neither" if len(scopes) == 2 else "No"
            fact = f"{who} relation has a column {identifier.name!r}."
        columns = f"{'Its' if len(scopes) == 1 else 'Their'} columns are: {listing(known)}."
        remedy = suggestion(identifier.name, known, columns)
        if self._is_at(identifier):
            remedy = f"Write :{identifier.name} for a parameter; @ is the absolute value. {columns}"
        raise self.source.error("SQL-020", fact, remedy, at=identifier)

    def _is_at(self, identifier: exp.Expr) -> bool:
        """Say whether a name has an @ before it, as parameters have elsewhere."""
        return self.source.text[: identifier.meta.get("start", 0)].rstrip().endswith("@")

    def _refuse_at(self, identifier: exp.Expr) -> None:
        """Refuse @name where rows have a column of that name which no parameter takes."""
        name = identifier.name
        taken = re.search(rf":\s*\"?{re.escape(name)}\b", self.source.text, re.IGNORECASE)
        if self.each is not None and exact(name, self.each.names) is not None and taken is None:
            raise self.source.error(
                "SQL-044",
                f"@{name} is the absolute value of the column {name!r}; the rows of FOR EACH have "
                "one of that name too, and no parameter takes it.",
                f"Write :{name} for the parameter, or abs({name}).",
                at=identifier,
            )

    def _resolve_parameter(self, node: exp.Placeholder) -> None:
        if self.each is None:
            raise self.source.error(
                "SQL-040",
                f"The query has the parameter :{node.name}, and no rows to take it from.",
                "Add FOR EACH ROW OF …, or pass each=…; or write a constant.",
                at=node,
            )
        name = exact(node.name, self.each.names)
        if name is None:
            columns = listing(self.each.names) or "none, as there are no rows"
            remedy = f"Its columns are: {columns}."
            raise self.source.error(
                "SQL-041",
                f"The rows of FOR EACH have no column for the parameter :{node.name}.",
                suggestion(node.name, self.each.names, remedy),
                at=node,
            )
        node.set("this", name)
        node.meta["span"] = Span(node.meta["start"], node.meta["end"] + 1)
        self.parameters[node.meta["span"]] = name


def variables_of(node: exp.Expr) -> list[str]:
    """Name the variables of a lambda or of a list comprehension."""
    if isinstance(node, exp.Comprehension):
        variables = [node.args["expression"], node.args.get("position")]
        return [each.name for each in variables if each is not None]
    return [each.name for each in node.expressions]


def is_variable(column: exp.Column) -> bool:
    """Say whether a name is a variable of a lambda or of a list comprehension around it."""
    name = column.parts[0].name.lower()
    child: exp.Expr = column
    while (around := child.parent) is not None:
        if isinstance(around, exp.Lambda | exp.Comprehension):
            # The list that a comprehension goes through is outside.
            inside = not (isinstance(around, exp.Comprehension) and child.arg_key == "iterator")
            if inside and name in [each.lower() for each in variables_of(around)]:
                return True
        child = around
    return False


def exact(name: str, known: list[str]) -> str | None:
    """Find a name as it is spelt, or else without regard to case.

    >>> exact("PRICE", ["price", "ts"])
    'price'
    """
    if name in known:
        return name
    return next((each for each in known if each.lower() == name.lower()), None)


def names_of(
    select: exp.Select,
    source: ScriptSource,
    catalog: Catalog,
    each: pa.Schema | None,
    *,
    bounded: bool = False,
    shared: Sequence[Scope] = (),
) -> Names:
    """Look up the query's relations, and say which input of a join each is.

    The inputs of a join of two stand in the order of the relations' names, so that `a JOIN b` and
    `b JOIN a` look equal; two uses of one relation stand as written. The inputs of a multi-way
    join stand in the order of FROM. So do those of a `bounded` join, and of one with a relation
    that is looked up. Where a memory is `shared`, its order says which input a relation is. What
    USING merges is for `merge_using` to say.
    """
    tables = tables_of(select)
    relations = [relation_of(table, source, catalog) for table in tables]
    qualifiers = [table.alias_or_name for table in tables]
    if len(tables) == 1:
        return Names(source, (Scope(relations[0], qualifiers[0]),), each)
    check_called(tables, relations, source)
    sides = numbered_inputs(len(tables))
    looked_up = any(relation.is_asked for relation in relations)
    if shared:
        places = {each.relation.name: each.side for each in shared}
        sides = tuple(places[relation.name] for relation in relations)
    elif not (bounded or looked_up or is_multi_way(select)):
        swapped = relations[1].name.lower() < relations[0].name.lower()
        sides = sides[::-1] if swapped else sides
    return Names(source, tuple(map(Scope, relations, qualifiers, sides)), each)


def tables_of(select: exp.Select) -> list[exp.Table]:
    """List what stands in FROM, in its order."""
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]


def is_multi_way(select: exp.Select) -> bool:
    """Say whether a join is one of windows in brackets, or of more than two relations."""
    tables = tables_of(select)
    return len(tables) > 2 or any(table.args.get("windows") for table in tables)


def check_called(
    tables: Sequence[exp.Table], relations: Sequence[Relation], source: ScriptSource
) -> None:
    """Refuse two relations of one name."""
    called: dict[str, Relation] = {}
    for table, relation in zip(tables, relations, strict=True):
        name = table.alias_or_name
        first = called.get(name.lower())
        if first is not None:
            who = "Both" if len(tables) == 2 else "Two"
            raise source.error(
                "SQL-026",
                f"{who} relations of the join are called {name!r}.",
                f"Give each its own name: FROM {first.name} AS a JOIN {relation.name} AS b.",
                at=table,
            )
        called[name.lower()] = relation


def relation_of(table: exp.Table, source: ScriptSource, catalog: Catalog) -> Relation:
    """Find the relation that a query names, or refuse."""
    written = ".".join(part.name for part in table.parts)
    relation = catalog.get(written.lower())
    if relation is None:
        known = [known.name for known in catalog.values()]
        remedy = f"Known are: {listing(known)}." if known else "Create a stream first."
        raise source.error(
            "CAT-001",
            f"There is no stream or table {written!r}.",
            suggestion(written, known, remedy),
            at=table,
        )
    return relation
