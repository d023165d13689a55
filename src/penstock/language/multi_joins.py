"""Multi-way window joins: the planner's options, and that all inputs hang together."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.multi_joins import MultiJoin
from penstock.language.crossed_joins import bind_crossed
from penstock.language.join_terms import sides_of
from penstock.language.name_resolution import Names, tables_of
from penstock.language.planner_options import planner_options
from penstock.language.queries import Query
from penstock.language.window_clauses import take_windows


def bind_multi_way(asked: Query) -> MultiJoin:
    """Say what a join of windows asks."""
    query, names = asked.select, asked.names
    windows = take_windows(query, names)
    join, crossing = bind_crossed(query, asked.tokens, names, windows)
    called = [scope.qualifier for scope in names.scopes]
    chosen = planner_options(asked.options, called, join.crossing)
    if not chosen.get("products"):
        _check_connected(crossing, query, names)
    return MultiJoin.of(join, waiting=chosen.pop("waiting", WAITING_ROWS), options=chosen)


def _check_connected(atoms: Sequence[exp.Expr], query: exp.Select, names: Names) -> None:
    """Refuse a product: parts of the join that no term speaks of together."""
    parts = [{scope.side} for scope in names.scopes]
    for atom in atoms:
        met = [part for part in parts if part & sides_of(atom, names)]
        parts = [part for part in parts if part not in met] + [set[str]().union(*met)]
    if len(parts) == 1:
        return
    sides = [scope.side for scope in names.scopes]
    parts.sort(key=lambda part: min(map(sides.index, part)))
    called = [[s.qualifier for s in names.scopes if s.side in part] for part in parts]
    shown = [" and ".join(part) if len(part) < 3 else ", ".join(part) for part in called]
    fact = f"Nothing joins {' with '.join(f'({part})' for part in shown)}: all their rows meet."
    raise names.source.error(
        "SQL-086",
        fact,
        f"Add an equality, such as {called[0][0]}.column = {called[1][0]}.column; or say "
        "OPTIONS (products = TRUE).",
        at=tables_of(query)[min(map(sides.index, parts[1]))],
    )
