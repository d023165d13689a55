"""Conditions, checked by DuckDB in the user's own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from sqlglot import exp

from penstock.expressions.quotation import theirs
from penstock.language.comparisons import Types, duck_refusal
from penstock.language.dialect import EXTENT
from penstock.language.duckdb_checks import DuckError, duck_type, type_over
from penstock.language.name_resolution import Names
from penstock.language.parameters import QueryParameters
from penstock.language.residuals import expression_types
from penstock.vocabulary.errors import PenstockError


def check_condition(
    sql: str, tree: exp.Expr, types: Types, parameters: QueryParameters, further: Iterable[str] = ()
) -> None:
    """Let DuckDB read the user's own words; what it refuses, we refuse at its place.

    `further` are columns that the text names and the query's names do not.
    """
    names = types.names
    used = sorted({*names.columns.values(), *further})
    tables = {scope.side: dict[str, pa.DataType]() for scope in names.scopes}
    for name in used:
        tables[names.side(name)][names.bare(name)] = names.column_type(name)
    rows = [f"{_nulls(columns)} AS {side or 'e'}" for side, columns in tables.items()]
    rows.append(f"{_nulls(parameters.types)} AS p")
    try:
        type_ = type_over(sql, ", ".join(rows))
    except DuckError as error:
        at = _culprit(tree, types, parameters)
        raise duck_refusal(error, names, at, "SQL-032") from None
    if type_ not in {"BOOLEAN", '"NULL"'}:
        fact = f"The condition is of type {type_}, not BOOLEAN."
        raise names.source.error("SQL-034", fact, "Compare it with something.", at=tree)


def never_matches(names: Names, at: exp.Expr | int) -> PenstockError:
    """Refuse a predicate that no row can satisfy."""
    fact = "The predicate is FALSE or NULL for every row: the query can never match."
    return names.source.error("SQL-050", fact, "Remove the part that is always FALSE.", at=at)


def _nulls(columns: Mapping[str, pa.DataType]) -> str:
    values = [f"NULL::{duck_type(type_)} AS {theirs(name)}" for name, type_ in columns.items()]
    return f"(SELECT {', '.join(values) or '0 AS nothing'})"


def _culprit(tree: exp.Expr, types: Types, parameters: QueryParameters) -> exp.Expr:
    """Find the smallest condition that DuckDB refuses on its own."""
    if (named := tree.find(exp.Alias)) is not None:
        # `(x IS )` reads as x under the name IS, which DuckDB never takes.
        inside: exp.Expr = named.this
        return inside
    for node in tree.find_all(exp.Connector, exp.Not, exp.Paren, bfs=False):
        if not _is_made_of_conditions(node):
            continue
        for child in node.iter_expressions():
            if _is_made_of_conditions(child):
                continue
            try:
                expression_types([child], types, parameters)
            except DuckError:
                return child
    return tree


def _is_made_of_conditions(node: exp.Expr) -> bool:
    """Say whether a node has conditions in it that stand in the text: `x NOT IN …` has none."""
    if isinstance(node, exp.Not):
        return EXTENT in node.this.meta
    return isinstance(node, exp.Connector | exp.Paren)
