"""What a standing query may not say, and what to say instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.expressions.catalogue import functions
from penstock.language.dialect import depths
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

OPERATOR_DEPTH_MAX = 100
"""Operators inside operators; a chain of ANDs or ORs counts once."""
SCHEMAS = frozenset({"main", "system", "pg_catalog"})
"""Where DuckDB's own functions are."""
INPUTS_MAX = 16
"""Relations of one join."""

JOIN = ("SQL-010", "Write … JOIN … ON … for every relation.")
AGGREGATE = (
    "SQL-011",
    "Keep the answer in a view, CREATE VIEW name REFRESH WITHIN 1 SECOND AS SELECT …, and ask for "
    "its rows; or aggregate what is delivered.",
)
ORDER = (
    "SQL-012",
    "Leave it out: rows are delivered as they arrive, without end. The n lowest values of a range "
    "are asked for by SELECT MIN(x, n), the highest by MAX(x, n).",
)
NESTED = ("SQL-013", "Write one SELECT … FROM … WHERE …, without a query inside.")
WINDOW = ("SQL-014", "Ask for the rows, and compute over windows what is delivered.")
OTHER = ("SQL-015", "Write SELECT … FROM … WHERE … only.")

CLAUSES: dict[str, tuple[str, tuple[str, str]]] = {
    "joins": ("A join inside a join", JOIN),
    "laterals": ("A lateral join", JOIN),
    "distinct": ("DISTINCT", AGGREGATE),
    "group": ("GROUP BY", AGGREGATE),
    "having": ("HAVING", AGGREGATE),
    "order": ("ORDER BY", ORDER),
    "limit": ("LIMIT", ORDER),
    "offset": ("OFFSET", ORDER),
    "with_": ("WITH", NESTED),
    "windows": ("WINDOW", WINDOW),
    "qualify": ("QUALIFY", WINDOW),
    "sample": ("Sampling", OTHER),
    "locks": ("Locking", OTHER),
    "into": ("INTO", OTHER),
    "pivots": ("PIVOT", OTHER),
    "match": ("MATCH_RECOGNIZE", OTHER),
}
UNMATCHED = "Write JOIN … ON …: rows without a partner are not delivered."
JOINS: dict[str, str] = {
    "LEFT": UNMATCHED,
    "RIGHT": UNMATCHED,
    "FULL": UNMATCHED,
    "OUTER": UNMATCHED,
    "SEMI": "Write JOIN … ON …, and take each row once from what is delivered.",
    "ANTI": "Subscribe to each relation, and compare what is delivered.",
    "NATURAL": "Write JOIN … USING (column, …).",
    "CROSS": "Write JOIN … ON x.column = y.column.",
    "ASOF": "Write JOIN … ON … WITHIN n SECONDS, and take the nearest of what is delivered.",
}
"""Kinds of joins that are refused, and what to write instead."""
FUNCTION_KINDS: dict[str, tuple[str, str, str]] = {
    "aggregate": ("is an aggregate", *AGGREGATE),
    "window": ("is a window function", *WINDOW),
    "table": ("makes rows", *OTHER),
    "volatile": (
        "does not depend on the row alone",
        "SQL-023",
        "A standing query must give the same answer when a batch is replayed: "
        "compare with a constant, or with a column such as the event time.",
    ),
    "outside": (
        "is none that a standing query may call",
        "SQL-027",
        "Call a function whose value follows from its arguments alone.",
    ),
}


def check_shape(
    tree: exp.Expr, source: ScriptSource, further: frozenset[str] = frozenset()
) -> exp.Select:
    """Refuse everything but `SELECT … FROM one relation, or a join of several, WHERE …`.

    `further` are clauses that may stand there too.
    """
    if isinstance(tree, exp.SetOperation):
        raise refused_clause("A combination of queries", NESTED, source, tree)
    if not isinstance(tree, exp.Select):
        raise refused_clause("A query in brackets", NESTED, source, tree)
    for name, value in tree.args.items():
        if value and name not in {"expressions", "from_", "joins", "where", *further}:
            what, refusal = CLAUSES.get(name, (name.strip("_").upper(), OTHER))
            raise refused_clause(what, refusal, source, value)
    _check_from(tree, source)
    for node in tree.walk():
        _check_node(node, tree, source)
    check_depth(tree, source)
    return tree


def refused_clause(
    what: str, refusal: tuple[str, str], source: ScriptSource, at: object
) -> PenstockError:
    """Refuse a clause that no standing query has."""
    code, remedy = refusal
    node = at[0] if isinstance(at, list) else at
    place = node if isinstance(node, exp.Expr) else None
    return source.error(code, f"{what} is not supported in a standing query.", remedy, at=place)


def _check_from(tree: exp.Select, source: ScriptSource) -> None:
    from_ = tree.args.get("from_")
    if from_ is None:
        raise source.error("SQL-015", "The query has no FROM.", "Add FROM and a stream's name.")
    if not tree.expressions:
        fact = "Nothing stands between SELECT and FROM."
        raise source.error("SQL-001", fact, "List columns, or write SELECT * for all.")
    _check_table(from_.this, source)
    joins = tree.args.get("joins") or []
    for join in joins:
        _check_join(join, source)
    if len(joins) >= INPUTS_MAX:
        raise source.error(
            "SQL-087",
            f"The query joins {len(joins) + 1} relations, {INPUTS_MAX} may be.",
            "Join some of them in a source, or in a subscription of their own.",
            at=joins[INPUTS_MAX - 1].this,
        )


def _check_join(join: exp.Join, source: ScriptSource) -> None:
    check_join_kind(join, source)
    _check_table(join.this, source)
    for name, value in join.args.items():
        if value and name not in {"this", "on", "using", "kind", "within"}:
            raise refused_clause(f"{name.strip('_').upper()} in a join", JOIN, source, value)


def check_join_kind(join: exp.Join, source: ScriptSource) -> None:
    """Refuse all joins but INNER ones."""
    kind = join.args.get("method") or join.args.get("side") or join.args.get("kind") or "INNER"
    if isinstance(join.this, exp.Lateral):
        raise refused_clause("A LATERAL join", JOIN, source, join)
    if kind != "INNER":
        article = "An" if kind[0] in "AEIOU" else "A"
        remedy = JOINS.get(kind, JOIN[1])
        raise refused_clause(f"{article} {kind} join", ("SQL-010", remedy), source, join.this)


def _check_table(table: exp.Expr, source: ScriptSource) -> None:
    if not isinstance(table, exp.Table):
        raise refused_clause("A query in FROM", NESTED, source, table)
    if not isinstance(table.this, exp.Identifier):
        raise refused_clause("A function in FROM", OTHER, source, table)
    for name, value in table.args.items():
        if value and name not in {"this", "alias", "db", "catalog", "windows"}:
            what, refusal = CLAUSES.get(name, (name.strip("_").upper(), OTHER))
            raise refused_clause(what, refusal, source, value)
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        raise refused_clause("Renaming columns in FROM", OTHER, source, alias)


def _check_node(node: exp.Expr, tree: exp.Select, source: ScriptSource) -> None:
    if isinstance(node, exp.Query) and node is not tree and not isinstance(node, exp.Table):
        raise refused_clause("A query inside the query", NESTED, source, node)
    check_expression_node(node, source)


def check_expression_node(node: exp.Expr, source: ScriptSource) -> None:
    """Refuse what no expression of a standing query may be."""
    if isinstance(node, exp.Window):
        raise refused_clause("A window function", WINDOW, source, node)
    if isinstance(node, exp.Columns):
        raise refused_clause("COLUMNS(…)", OTHER, source, node)
    positional = isinstance(node, exp.Parameter) or (
        isinstance(node, exp.Placeholder) and "start" not in node.meta
    )
    if positional:
        fact = "Parameters are named with a colon."
        raise source.error("SQL-044", fact, "Write :name instead of ?, $1 or $name.", at=node)


def check_depth(tree: exp.Select, source: ScriptSource) -> None:
    """Bound the depth of the tree, so that nothing after this recurses without end."""
    pending: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > OPERATOR_DEPTH_MAX:
            raise source.error(
                "SQL-004",
                f"Operators are nested more than {OPERATOR_DEPTH_MAX} deep.",
                "Simplify the expression, or compute a part of it in the stream's source.",
                at=node,
            )
        for child in node.iter_expressions():
            chain = isinstance(node, exp.And | exp.Or) and type(child) is type(node)
            pending.append((child, depth if chain else depth + 1))


def check_functions(
    tokens: Sequence[Token],
    source: ScriptSource,
    may: frozenset[str] = frozenset(),
    kinds: Mapping[str, tuple[str, str, str]] = FUNCTION_KINDS,
) -> None:
    """Refuse functions that are not a value of the row: aggregates, clocks, dice, tables.

    The words of the text decide, not sqlglot's names for them: DuckDB will read those words. Those
    that `may` be called are not asked for what they are. `kinds` says what is said of the others.
    """
    known = functions()
    for place, token in enumerate(tokens):
        follower = tokens[place + 1] if place + 1 < len(tokens) else None
        called = follower is not None and follower.token_type is TokenType.L_PAREN
        name = token.text.lower()
        bare = not called and token.token_type in DuckDBParser.NO_PAREN_FUNCTIONS
        kind = "volatile" if bare else known.get(name) if called else None
        if called and name == "age" and _arguments(tokens, place) == 1:
            kind = "volatile"  # age(ts) is how long ago that was, which DuckDB's catalogue hides.
        told = None if kind is None or name in may else kinds.get(kind)
        if told is not None and token.token_type is not TokenType.STRING:
            what, code, remedy = told
            shown = token.text if bare else f"{token.text}()"
            raise source.error(code, f"{shown} {what}.", remedy, at=token.start)


def _arguments(tokens: Sequence[Token], place: int) -> int:
    """Count the arguments of a call; what stands before a dot is the first, if it is no schema."""
    inside = [0]
    count = 0
    for token, depth in depths(list(tokens[place + 1 :])):
        if depth == 0 and token.token_type is TokenType.R_PAREN:
            break
        inside.append(depth)
        count += depth == 1 and token.token_type is TokenType.COMMA
    count += max(inside) > 0
    dotted = place > 1 and tokens[place - 1].token_type is TokenType.DOT
    return count + (dotted and tokens[place - 2].text.lower() not in SCHEMAS)
