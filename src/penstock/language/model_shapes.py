"""What SELECTs of a model query may be made of."""

from __future__ import annotations

from sqlglot import exp

from penstock.language.places import ScriptSource
from penstock.language.refusals import (
    CLAUSES,
    JOIN,
    NESTED,
    OTHER,
    check_expression_node,
    check_join_kind,
    refused_clause,
)

MAY = frozenset({"expressions", "from_", "joins", "where", "group", "having", "model_clauses"})
OF_TABLES = frozenset({"this", "alias", "db", "catalog", "windows", "models"})
OF_JOINS = frozenset({"this", "on", "using", "kind", "within"})


def check_select(select: exp.Expr, source: ScriptSource) -> None:
    """Refuse clauses that a SELECT over functions of time does not have."""
    if not isinstance(select, exp.Select):
        raise refused_clause("A combination of queries", NESTED, source, select)
    for name, value in select.args.items():
        if value and name not in MAY:
            what, refusal = CLAUSES.get(name, (name.strip("_").upper(), OTHER))
            raise refused_clause(what, refusal, source, value)
    from_ = select.args.get("from_")
    if from_ is None:
        raise source.error("SQL-015", "The query has no FROM.", "Add FROM and a stream's name.")
    _check_table(from_.this, source)
    for join in select.args.get("joins") or ():
        check_join_kind(join, source)
        for name, value in join.args.items():
            if value and name not in OF_JOINS:
                raise refused_clause(f"{name.strip('_').upper()} in a join", JOIN, source, value)
        within = join.args.get("within")
        if within is not None:
            fact = "WITHIN bounds joins of rows, and functions of time meet while both hold."
            remedy = "Leave WITHIN out; a window, [SIZE 10 SECONDS], bounds what is kept."
            raise source.error("MDL-008", fact, remedy, at=within)
        _check_table(join.this, source)
    parts = [*select.expressions, *(j.args.get("on") for j in select.args.get("joins") or ())]
    parts += [select.args.get(name) for name in ("where", "group", "having")]
    for part in parts:
        if part is not None:
            _check_expression(part, source)


def _check_table(table: exp.Expr, source: ScriptSource) -> None:
    if isinstance(table, exp.Subquery):
        further = [n for n, v in table.args.items() if v and n not in {"this", "alias", "windows"}]
        if further or not isinstance(table.this, exp.Select):
            raise refused_clause("What stands in these brackets", NESTED, source, table)
    elif not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise refused_clause("A function in FROM", OTHER, source, table)
    else:
        for name, value in table.args.items():
            if value and name not in OF_TABLES:
                what, refusal = CLAUSES.get(name, (name.strip("_").upper(), OTHER))
                raise refused_clause(what, refusal, source, value)
        for model in table.args.get("models") or ():
            for modelled in model.expressions:
                _check_expression(modelled, source)
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        raise refused_clause("Renaming columns in FROM", OTHER, source, alias)


def _check_expression(tree: exp.Expr, source: ScriptSource) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Query) and not isinstance(node, exp.Table):
            raise refused_clause("A query inside an expression", NESTED, source, node)
        check_expression_node(node, source)
        if isinstance(node, exp.Alias) and node is not tree:
            raise refused_clause("A name inside an expression", OTHER, source, node)


def windows_of(table: exp.Expr, source: ScriptSource) -> exp.Expr | None:
    """Give the window of what stands in FROM; refuse two of them, and those of rows."""
    windows = table.args.get("windows") or []
    if len(windows) > 1:
        fact = f"{table.alias_or_name!r} has {len(windows)} windows."
        raise source.error("MDL-008", fact, "Keep one of them.", at=windows[1])
    if windows and windows[0].args["kind"] != "size":
        fact = f"{windows[0].args['kind'].upper()} is no window of a model query."
        remedy = "Write [SIZE 10 SECONDS ADVANCE 2 SECONDS]."
        raise source.error("MDL-008", fact, remedy, at=windows[0])
    return windows[0] if windows else None
