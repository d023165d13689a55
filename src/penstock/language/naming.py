"""Names in a query, resolved against the catalogue and the rows of FOR EACH."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.catalog import Catalog, Relation
from penstock.language.places import Source, listing, suggestion
from penstock.language.splicing import Span


@dataclass(slots=True)
class Names:
    """What the names of one query stand for; `resolve` fills the spans."""

    source: Source
    relation: Relation
    qualifier: str
    each: pa.Schema | None
    columns: dict[Span, str] = field(default_factory=dict)
    parameters: dict[Span, str] = field(default_factory=dict)

    def resolve(self, tree: exp.Expr) -> None:
        """Replace every column and parameter by its exact name, or refuse the unknown."""
        for node in list(tree.walk()):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                self._resolve_column(node)
            elif isinstance(node, exp.Placeholder):
                self._resolve_parameter(node)

    def column_type(self, name: str) -> pa.DataType:
        """Give the type of a column by its exact name."""
        return self.relation.schema.field(name).type

    def is_qualifier(self, name: str) -> bool:
        """Say whether `name.` before a column means this query's relation."""
        return name.lower() == self.qualifier.lower()

    def _resolve_column(self, node: exp.Column) -> None:
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        first = parts[0]
        if len(parts) > 1 and self.is_qualifier(first.name):
            parts = parts[1:]
        elif len(parts) > 1 and exact(first.name, self.relation.schema.names) is None:
            fact = f"{first.name!r} is neither the relation of this query nor a column of it."
            remedy = f"Write {self.qualifier}.{parts[-1].name}, or the column alone."
            raise self.source.error("SQL-021", fact, remedy, at=first)
        name = self._column(parts[0])
        self.columns[Span(first.meta["start"], parts[0].meta["end"] + 1)] = name
        column = exp.Column(this=exp.Identifier(this=name, quoted=True).update_positions(parts[0]))
        resolved: exp.Expr = column
        for part in parts[1:]:
            resolved = exp.Dot(this=resolved, expression=part.copy())
        node.replace(resolved)

    def _column(self, identifier: exp.Identifier) -> str:
        names = self.relation.schema.names
        name = exact(identifier.name, names)
        if name is None:
            raise self.source.error(
                "SQL-020",
                f"{self.relation.name!r} has no column {identifier.name!r}.",
                suggestion(identifier.name, names, f"Its columns are: {listing(names)}."),
                at=identifier,
            )
        return name

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
            remedy = f"Its columns are: {listing(self.each.names)}."
            raise self.source.error(
                "SQL-041",
                f"The rows of FOR EACH have no column for the parameter :{node.name}.",
                suggestion(node.name, self.each.names, remedy),
                at=node,
            )
        node.set("this", name)
        self.parameters[Span(node.meta["start"], node.meta["end"] + 1)] = name


def exact(name: str, known: list[str]) -> str | None:
    """Find a name as it is spelt, or else without regard to case.

    >>> exact("PRICE", ["price", "ts"])
    'price'
    """
    if name in known:
        return name
    return next((each for each in known if each.lower() == name.lower()), None)


def names_of(select: exp.Select, source: Source, catalog: Catalog, each: pa.Schema | None) -> Names:
    """Look up the query's relation."""
    table = select.args["from_"].this
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
    return Names(source, relation, table.alias_or_name, each)
