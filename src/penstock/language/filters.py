"""Filters: one relation, and its predicate as branches."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.algebra.logical import Output, StandingFilter
from penstock.algebra.predicates import Branch
from penstock.language.comparisons import Types
from penstock.language.conditions import check_condition, never_matches
from penstock.language.filter_options import filter_options
from penstock.language.name_resolution import Names
from penstock.language.normal_forms import branches_of
from penstock.language.outputs import outputs_of
from penstock.language.parameters import QueryParameters
from penstock.language.queries import Query
from penstock.language.splices import SplicedPieces, cut, splice
from penstock.language.terms import make_branches
from penstock.vocabulary.broken import broken_column


def bind_filter(query: Query) -> StandingFilter:
    """Say what a query of one relation asks."""
    select, names = query.select, query.names
    pieces = cut(query.tokens)
    names.resolve(select)
    outputs = outputs_of(select.expressions, pieces.items, names)
    relation = names.scopes[0].relation
    bound = _bind(select, pieces, names, outputs)
    chosen = filter_options(query.options, relation)
    return replace(bound, options=chosen, event_time=relation.event_time)


def _bind(
    query: exp.Select, pieces: SplicedPieces, names: Names, outputs: tuple[Output, ...]
) -> StandingFilter:
    relation = names.scopes[0].relation.name
    where = query.args.get("where")
    if where is None:
        return StandingFilter(relation=relation, branches=(Branch(),), outputs=outputs)
    types = Types(names)
    types.check(where.this)
    parameters = QueryParameters(types=types.parameters)
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
