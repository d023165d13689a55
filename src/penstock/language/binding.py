"""From a SELECT to a logical plan, bound to the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import StandingFilter
from penstock.algebra.predicates import Branch
from penstock.language.checking import DuckError, check_query, duck_type
from penstock.language.comparing import Types, duck_refusal
from penstock.language.naming import Names, names_of
from penstock.language.normalising import branches_of
from penstock.language.outputs import outputs_of
from penstock.language.parameters import Parameters
from penstock.language.parsing import parse_nodes
from penstock.language.places import Source
from penstock.language.refusing import check_functions, check_shape
from penstock.language.residuals import expression_types
from penstock.language.splicing import Span, cut, quoted, splice
from penstock.language.statements import Select
from penstock.language.terms import make_branches


def bind(select: Select | str, catalog: Catalog, each: pa.Schema | None = None) -> StandingFilter:
    """Say what a query asks: its relation, its branches, its outputs, its parameters.

    `each` is the schema of the rows of FOR EACH; a query without parameters needs none.

    >>> from penstock.algebra.catalog import Relation
    >>> schema = pa.schema([("price", pa.float64())])
    >>> trades = Relation(name="trades", kind="stream", schema=schema)
    >>> plan = bind("SELECT * FROM trades WHERE price > 5", {"trades": trades})
    >>> plan.branches[0].ranges[0].lows, plan.constants
    ((Bound(parameter='$0', closed=False),), {'$0': 5.0})
    """
    source = select.source if isinstance(select, Select) else Source.whole(select)
    tree, tokens = _read(source)
    query = check_shape(tree, source)
    check_functions(tokens, source)
    names = names_of(query, source, catalog, each)
    pieces = cut(tokens)
    where = query.args.get("where")
    for output in query.expressions:
        _refuse_parameters(output, source)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    if where is None:
        return StandingFilter(relation=names.relation.name, branches=(Branch(),), outputs=outputs)
    types = Types(names)
    types.check(where.this)
    parameters = Parameters(types=types.parameters)
    where_sql = splice(pieces.where, source.text, _qualified(names))
    _check_where(where_sql, where.this, types, parameters)
    branches = make_branches(branches_of(where.this, types.uniform), types, parameters)
    if not branches:
        raise source.error(
            "SQL-050",
            "The predicate is FALSE or NULL for every row: the query can never match.",
            "Remove the part that is always FALSE.",
            at=pieces.where[0].start,
        )
    used = sorted({column.name for column in where.find_all(exp.Column)})
    return StandingFilter(
        relation=names.relation.name,
        branches=branches,
        outputs=outputs,
        parameters=parameters.types,
        constants=parameters.constants,
        column_types={name: names.column_type(name) for name in used},
        where_sql=where_sql,
    )


def _read(source: Source) -> tuple[exp.Expr, list[Token]]:
    nodes, tokens = parse_nodes(source)
    if len(nodes) != 1 or not isinstance(nodes[0], exp.Query):
        fact = "One SELECT is expected here." if nodes else "The text is empty."
        at = nodes[1] if len(nodes) > 1 else None
        raise source.error("SQL-002", fact, "Write one SELECT … FROM … WHERE ….", at=at)
    return nodes[0], tokens


def _refuse_parameters(output: exp.Expr, source: Source) -> None:
    parameter = output.find(exp.Placeholder)
    if parameter is not None:
        raise source.error(
            "SQL-043",
            f"The parameter :{parameter.name} stands among the outputs.",
            "Use parameters in WHERE only; results carry the standing query's id.",
            at=parameter,
        )


def _qualified(names: Names) -> Mapping[Span, str]:
    return {
        **{span: f"e.{quoted(name)}" for span, name in names.columns.items()},
        **{span: f"p.{quoted(name)}" for span, name in names.parameters.items()},
    }


def _check_where(where_sql: str, tree: exp.Expr, types: Types, parameters: Parameters) -> None:
    """Let DuckDB read the user's own words; what it refuses, we refuse at its place."""
    names = types.names
    columns = {name: names.column_type(name) for name in sorted(set(names.columns.values()))}
    rows = f"{_nulls(columns)} AS e, {_nulls(parameters.types)} AS p"
    try:
        (type_,) = check_query(f"SELECT ({where_sql}) FROM {rows}")
    except DuckError as error:
        at = _culprit(tree, types, parameters)
        raise duck_refusal(error, names, at, "SQL-032") from None
    if type_ not in {"BOOLEAN", '"NULL"'}:
        fact = f"The condition is of type {type_}, not BOOLEAN."
        raise names.source.error("SQL-034", fact, "Compare it with something.", at=tree)


def _nulls(columns: Mapping[str, pa.DataType]) -> str:
    values = [f"NULL::{duck_type(type_)} AS {quoted(name)}" for name, type_ in columns.items()]
    return f"(SELECT {', '.join(values) or '0 AS nothing'})"


def _culprit(tree: exp.Expr, types: Types, parameters: Parameters) -> exp.Expr:
    """Find the smallest condition that DuckDB refuses on its own."""
    for node in tree.find_all(exp.Connector, exp.Not, exp.Paren, bfs=False):
        for child in node.iter_expressions():
            if isinstance(child, exp.Connector | exp.Not | exp.Paren):
                continue
            try:
                expression_types([child], types, parameters)
            except DuckError:
                return child
    return tree
