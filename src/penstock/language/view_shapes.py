"""What a view may say: joins, conditions, groups and aggregates; and why nothing else."""

from __future__ import annotations

from sqlglot import exp

from penstock.language.places import ScriptSource
from penstock.language.queries import Query
from penstock.language.refusals import FUNCTION_KINDS, check_functions, check_shape
from penstock.vocabulary.errors import PenstockError

INPUTS_MAX = 8
"""Base relations of one view."""
AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
"""Aggregates that follow from how they were and what came and went."""
UNMAINTAINED = (
    "is not maintained: of aggregates, a view has COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), "
    "AVG(x), MIN(x) and MAX(x), also with FILTER",
    "VIEW-053",
    "Use one of these, or make the rows a view and aggregate what you read.",
)
"""What is said of other aggregates: the fact, the code and the remedy."""
ORDER = "the rows of a view have no order, and one that comes may push another out"
WINDOW = "every row behind a change would change"
WHY: dict[str, tuple[str, str]] = {
    "order": ("ORDER BY", f"{ORDER}: order what you read"),
    "limit": ("LIMIT", f"{ORDER}: limit what you read"),
    "offset": ("OFFSET", f"{ORDER}: limit what you read"),
    "windows": ("WINDOW", WINDOW),
    "qualify": ("QUALIFY", WINDOW),
    "sample": ("Sampling", "chance gives other rows when a batch is run again"),
    "with_": ("WITH", "a view is one SELECT: create another view, and read it here"),
}
"""Clauses that are not maintained, and why."""


def checked_view(query: Query) -> exp.Select:
    """Refuse what cannot be maintained from changes alone, with the reason."""
    tree, source = query.tree, query.source
    if isinstance(tree, exp.Select):
        for name, (what, why) in WHY.items():
            if (found := tree.args.get(name)) is not None:
                raise _not_maintained(source, what, why, found)
        for node in tree.find_all(exp.Window):
            raise _not_maintained(source, "A window function", WINDOW, node)
    select = check_shape(tree, source, further=frozenset({"group", "having", "distinct"}))
    kinds = {**FUNCTION_KINDS, "aggregate": UNMAINTAINED}
    check_functions(query.tokens, source, frozenset(AGGREGATES.values()), kinds)
    joins = select.args.get("joins") or []
    if len(joins) >= INPUTS_MAX:
        raise source.error(
            "VIEW-051",
            f"The view joins {len(joins) + 1} relations, {INPUTS_MAX} may be.",
            "Join some of them in a view of their own, and read it here.",
            at=joins[INPUTS_MAX - 1].this,
        )
    for join in joins:
        if (within := join.args.get("within")) is not None:
            why = "what a view holds does not pass with time"
            raise _not_maintained(source, "WITHIN", why, within)
    for table in select.find_all(exp.Table):
        if windows := table.args.get("windows"):
            why = "what a view holds does not pass with time"
            raise _not_maintained(source, "A window", why, windows)
    if query.memory is not None:
        why = "a view holds every row: its store takes as much room as they need"
        raise _not_maintained(source, "MEMORY", why, query.memory)
    parameter = select.find(exp.Placeholder)
    if parameter is not None:
        raise source.error(
            "VIEW-052",
            f"The view has the parameter :{parameter.name}.",
            "Write a constant, or make it a column of the view and let readers compare.",
            at=parameter,
        )
    return select


def _not_maintained(source: ScriptSource, what: str, why: str, at: object) -> PenstockError:
    node = at[0] if isinstance(at, list) else at
    place = node if isinstance(node, exp.Expr) else None
    fact = f"{what} cannot be maintained from changes: {why}."
    return source.error("VIEW-050", fact, "Leave it out of the view.", at=place)


def aggregate_of(node: exp.Expr) -> tuple[str, exp.Expr | None, exp.Expr | None] | None:
    """Give an aggregate's function, argument and condition; None if a node is no aggregate."""
    condition = None
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this, node.this
    function = AGGREGATES.get(type(node))
    if function is None:
        return None
    argument: exp.Expr | None = node.this
    if isinstance(argument, exp.Star):
        argument = None
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        argument = argument.expressions[0]
        if function == "count":
            function = "count_distinct"
    return function, argument, condition


def check_aggregate(node: exp.Expr, source: ScriptSource) -> None:
    """Refuse forms of aggregates that are not maintained."""
    bare = node.this if isinstance(node, exp.Filter) else node
    distinct = isinstance(bare.this, exp.Distinct)
    several = distinct and len(bare.this.expressions) != 1
    further = any(value for name, value in bare.args.items() if name not in {"this", "big_int"})
    ordered = isinstance(bare.this, exp.Order | exp.Limit | exp.HavingMax)
    summed = distinct and isinstance(bare, exp.Sum | exp.Avg)
    if several or further or ordered or summed:
        what, code, remedy = UNMAINTAINED
        raise source.error(code, f"{bare.sql('duckdb')} {what}.", remedy, at=bare)
