"""From a SELECT to a logical plan, bound to the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.catalog import Catalog
from penstock.algebra.joins import StandingJoin
from penstock.algebra.logical import Output, StandingFilter
from penstock.algebra.lookups import LookupJoin
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.predicates import Branch
from penstock.language.bounded_joining import bind_bounded_join, check_two
from penstock.language.comparing import Types
from penstock.language.conditions import check_condition, never_matches
from penstock.language.filter_options import filter_options
from penstock.language.joining import bind_join
from penstock.language.lookup_joining import bind_lookup_join, looks_up
from penstock.language.memory_clauses import take_memory
from penstock.language.multi_joining import bind_multi_join, merge_using
from penstock.language.naming import Names, is_multi_way, names_of
from penstock.language.normalising import branches_of
from penstock.language.outputs import outputs_of
from penstock.language.parameters import Parameters
from penstock.language.parsing import parse_nodes
from penstock.language.places import Source
from penstock.language.refusing import check_functions, check_shape
from penstock.language.snapshots import take_snapshot, with_snapshot
from penstock.language.splicing import Pieces, cut, splice
from penstock.language.statements import Select
from penstock.language.terms import make_branches
from penstock.language.window_clauses import take_windows
from penstock.vocabulary.broken import broken_column


def bind(
    select: Select | str,
    catalog: Catalog,
    each: pa.Schema | None = None,
    options: Mapping[str, Any] | None = None,
) -> StandingFilter | StandingJoin | MultiJoin | BoundedJoin | LookupJoin:
    """Say what a query asks: its relations, its predicate, its outputs, its parameters.

    `each` is the schema of the rows of FOR EACH; a query without parameters needs none.
    `options` are those of OPTIONS (…), and `snapshot`: WITH SNAPSHOT.

    >>> from penstock.algebra.catalog import Relation
    >>> schema = pa.schema([("price", pa.float64())])
    >>> trades = Relation(name="trades", kind="stream", schema=schema)
    >>> plan = bind("SELECT * FROM trades WHERE price > 5", {"trades": trades})
    >>> plan.branches[0].ranges[0].lows, plan.constants
    ((Bound(parameter='$0', closed=False, negated=False),), {'$0': 5.0})
    """
    source = select.source if isinstance(select, Select) else Source.whole(select)
    asked, rest = take_snapshot(options or {})
    logical = _bind(source, catalog, each, rest)
    return with_snapshot(logical, catalog) if asked else logical


def _bind(
    source: Source, catalog: Catalog, each: pa.Schema | None, options: dict[str, Any]
) -> StandingFilter | StandingJoin | MultiJoin | BoundedJoin | LookupJoin:
    tree, tokens = _read(source)
    memory, tokens = take_memory(tree, tokens)
    query = check_shape(tree, source)
    check_functions(tokens, source)
    if memory is not None:
        check_two(query, memory, source)
    names = names_of(query, source, catalog, each, bounded=memory is not None)
    names.tokens = tokens
    for output in query.expressions:
        _refuse_parameters(output, source)
    if memory is not None:
        return bind_bounded_join(query, tokens, names, memory, options)
    if looks_up(names):
        return bind_lookup_join(query, tokens, names, options)
    if is_multi_way(query):
        return _bind_multi_way(query, tokens, names, options)
    joins = query.args.get("joins")
    within = joins[0].args.get("within") if joins else None
    pieces = cut(tokens, within.meta["start"] if within is not None else None)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    if joins:
        return bind_join(query, pieces, names, outputs, options)
    relation = names.scopes[0].relation
    bound = _bind_filter(query, pieces, names, outputs)
    chosen = filter_options(options, relation)
    return replace(bound, options=chosen, event_time=relation.event_time)


def _bind_multi_way(
    query: exp.Select, tokens: list[Token], names: Names, options: Mapping[str, Any]
) -> MultiJoin:
    windows = take_windows(query, names)
    merged = merge_using(query, names)
    pieces = cut(tokens)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    return bind_multi_join(query, pieces, names, outputs, windows, merged, options)


def _bind_filter(
    query: exp.Select, pieces: Pieces, names: Names, outputs: tuple[Output, ...]
) -> StandingFilter:
    relation = names.scopes[0].relation.name
    where = query.args.get("where")
    if where is None:
        return StandingFilter(relation=relation, branches=(Branch(),), outputs=outputs)
    types = Types(names)
    types.check(where.this)
    parameters = Parameters(types=types.parameters)
    where_sql = splice(pieces.where, names.source.text, names.qualified())
    check_condition(where_sql, where.this, types, parameters)
    branches = make_branches(branches_of(where.this, types.uniform), types, parameters)
    if not branches:
        raise never_matches(names, pieces.where[0].start)
    used = sorted({column.name for column in where.find_all(exp.Column)})
    return StandingFilter(
        relation=relation,
        branches=branches,
        outputs=outputs,
        parameters=parameters.types,
        constants=parameters.constants,
        column_types={name: names.column_type(name) for name in used},
        sees_broken=broken_column(names.scopes[0].relation.schema) in used,
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
