"""From text to statements; every mistake becomes an error that points at its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.algebra.memories import LOOKUP_POLICIES
from penstock.language.assumptions import assumptions_in
from penstock.language.dialect import PENSTOCK, depths
from penstock.language.duckdb_checks import arrow_type, type_names
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.memory_clauses import law_in, policy_in, refusing, rows_in
from penstock.language.nodes import (
    CreateLookupNode,
    CreateRelationNode,
    CreateViewNode,
    DropRelationNode,
    DropSinkNode,
    DropSubscriptionNode,
    ExplainNode,
    ExplainTupleNode,
    KeepNode,
    ResumeNode,
    SubscribeNode,
    UnknownStatementNode,
)
from penstock.language.open_terms import MESSAGES, check_open_terms
from penstock.language.places import ScriptSource, suggestion
from penstock.language.plain_values import named_values, plain_value
from penstock.language.statements import (
    CreateLookup,
    CreateRelation,
    CreateView,
    DropRelation,
    DropSink,
    DropSubscription,
    Explain,
    ExplainTuple,
    ForEach,
    Keep,
    OptionValue,
    Resume,
    Select,
    SinkClause,
    SourceName,
    Statement,
    Subscribe,
)
from penstock.language.syntax_errors import (
    INSTEAD,
    refuse_odd_number,
    refuse_open_bracket,
    syntax_error,
    token_error,
)
from penstock.vocabulary.errors import Place

TEXT_LENGTH_MAX = 1_000_000
"""Characters of one script."""
WORDS_MAX = 50_000
"""Words and signs of one query: what is done to each is done in Python."""
NESTING_DEPTH_MAX = 32
"""Brackets inside brackets, and operators inside operators."""

CALLS_MAX = 4_000
"""Of Python, inside each other, while a text is read."""

STATEMENTS = (
    "CREATE STREAM",
    "CREATE TABLE",
    "CREATE VIEW",
    "SUBSCRIBE",
    "DROP STREAM",
    "DROP TABLE",
    "DROP VIEW",
    "DROP SUBSCRIPTION",
    "DROP SINK",
    "RESUME",
    "EXPLAIN",
    "KEEP",
    "SELECT",
)
VIEW_WORDS = frozenset({"view", "refresh", "store"})
"""What CREATE VIEW says in words of its own."""
WORDED = {"adapt": "ADAPT", "snapshot": "WITH SNAPSHOT", MESSAGES: "AS MESSAGES"}
"""Options that a statement says in words of its own."""
TOO_DEEP_REMEDY = "Simplify the expression, or compute a part of it in the stream's source."


def parse(text: str) -> list[Statement]:
    """Read a script.

    >>> parse("DROP SUBSCRIPTION a; EXPLAIN SUBSCRIPTION b")[1].of
    'b'
    """
    source = ScriptSource.whole(text)
    nodes = parse_nodes(source)[0]
    return [_statement(node, source) for node in nodes]


def parse_nodes(
    source: ScriptSource, words_max: int | None = None
) -> tuple[list[exp.Expr], list[Token]]:
    """Read a piece of script into sqlglot's trees; offsets count from the start of the piece."""
    text = source.text
    if len(text) > TEXT_LENGTH_MAX:
        raise source.error(
            "SQL-003",
            f"The text has {len(text):,} characters, {TEXT_LENGTH_MAX:,} are allowed.",
            "Split the script, or move constants into the rows of FOR EACH.",
        )
    try:
        tokens = PENSTOCK.tokenize(text)
    except TokenError as error:
        raise token_error(error, source) from None
    if words_max is not None and len(tokens) > words_max:
        raise source.error(
            "SQL-003",
            f"The query has {len(tokens):,} words and signs, {words_max:,} are allowed.",
            "Move constants into the rows of FOR EACH.",
        )
    for number, rest in pairwise(tokens):
        if number.token_type is TokenType.NUMBER and rest.start == number.end + 1:
            refuse_odd_number(number, rest, source)
    for token, depth in depths(tokens):
        if depth > NESTING_DEPTH_MAX:
            raise source.error(
                "SQL-004",
                f"More than {NESTING_DEPTH_MAX} brackets are open.",
                TOO_DEEP_REMEDY,
                at=token.start,
            )
    try:
        with _deep_calls():
            nodes = PENSTOCK.parser().parse(tokens, text)
    except ParseError as error:
        raise syntax_error(error, source) from None
    except RecursionError:
        fact = f"Operators are nested more than {NESTING_DEPTH_MAX} deep."
        raise source.error("SQL-004", fact, TOO_DEEP_REMEDY) from None
    refuse_open_bracket(tokens, source)
    return [node for node in nodes if node is not None], tokens


@contextmanager
def _deep_calls() -> Iterator[None]:
    """Let calls nest as deep as brackets may: each takes some sixty calls of the parser."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, CALLS_MAX))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _statement(node: exp.Expr, script: ScriptSource) -> Statement:
    translate = _TRANSLATIONS.get(type(node), _select)
    return translate(node, script)


def _source(node: exp.Expr, script: ScriptSource) -> ScriptSource:
    start, end = node.meta["start"], node.meta["end"] + 1
    return ScriptSource(script.script, script.start + start, script.start + end)


def _select(node: exp.Expr, script: ScriptSource) -> Select:
    if isinstance(node, UnknownStatementNode):
        words = node.name.strip() or "''"  # of a text that says nothing
        query = words in {"WITH", "FROM", "VALUES", "("}
        remedy = (
            "Write one SELECT … FROM … WHERE …."
            if query
            else INSTEAD.get(words.split()[0])
            or suggestion(words, STATEMENTS, f"Known are: {', '.join(STATEMENTS)}.")
        )
        raise script.error("SQL-002", f"No statement begins with {words}.", remedy, at=node)
    return Select(source=_source(node, script))


def _create_relation(node: exp.Expr, script: ScriptSource) -> CreateRelation:
    source = node.args["source"]
    quoted = isinstance(source, exp.Literal)
    name = SourceName.of_text(source.name) if quoted else _frame(source.name)
    return CreateRelation(
        source=_source(node, script),
        kind=node.args["kind"],
        name=node.name,
        from_=name,
        columns=_columns(node.expressions, script) if node.expressions else None,
        options=_options(node, script),
        places=_places(node, script),
        if_not_exists=bool(node.args.get("exists")),
        replaces=bool(node.args.get("replaces")),
    )


def _create_lookup(node: exp.Expr, script: ScriptSource) -> CreateLookup:
    cache, law = node.args["cache"], node.args.get("law")
    statement = CreateLookup(
        source=_source(node, script),
        name=node.name,
        from_=node.args["source"].name,
        key=node.args["key"].name,
        cache=rows_in(cache, "CACHE", script),
        using=policy_in(cache, LOOKUP_POLICIES, "lookup", script),
        law=None if law is None else law_in(law, script),
        columns=_columns(node.expressions, script) if node.expressions else None,
        options=_options(node, script),
        places=_places(node, script),
        if_not_exists=bool(node.args.get("exists")),
        replaces=bool(node.args.get("replaces")),
    )
    given = statement.key, statement.cache, statement.using, statement.law, statement.options
    words = {"FROM": node.args["source"], "KEY": node.args["key"], "MODEL": law}
    refuse = refusing(script, node, node.args.get("options") or (), words)
    lookup = lookup_of(statement.name, statement.from_, *given, refuse=refuse)
    if statement.columns is not None:
        lookup_relation(statement.name, statement.columns, lookup, refuse)
    return statement


def _frame(name: str) -> SourceName:
    return SourceName(kind="frame", rest=name)


def _columns(definitions: list[exp.Expr], script: ScriptSource) -> pa.Schema:
    fields: dict[str, pa.Field] = {}
    for definition in definitions:
        name, key = definition.name, definition.name.lower()
        if key in fields:
            fact = f"Column {name!r} is declared twice."
            raise script.error("SQL-006", fact, "Rename or remove one of them.", at=definition)
        type_sql = definition.args["kind"].sql("duckdb")
        type_ = arrow_type(type_sql)
        if type_ is None:
            raise script.error(
                "SQL-005",
                f"Column {name!r} has the type {type_sql}, which is not known.",
                suggestion(type_sql, type_names(), "Use one of DuckDB's types, such as DOUBLE."),
                at=definition,
            )
        fields[key] = pa.field(name, type_)
    return pa.schema(list(fields.values()))


def _options(node: exp.Expr, script: ScriptSource) -> dict[str, OptionValue]:
    values = named_values(node.args.get("options") or (), "option", script)
    for name, words in WORDED.items():
        if (said := node.args.get(name)) is not None:
            if name in values:
                fact = f"{words} is given twice."
                raise script.error("SQL-006", fact, "Remove one of them.", at=said)
            values[name] = True
    return values


def _places(node: exp.Expr, script: ScriptSource) -> dict[str, Place]:
    """Say where each option stands."""
    said = (node.args.get(name) for name in WORDED)
    options = [*(node.args.get("options") or ()), *said]
    return {each.name.lower(): script.place_of(each) for each in options if each is not None}


def _each(node: exp.Expr) -> ForEach | None:
    each, key = node.args.get("each"), node.args.get("key")
    if each is None:
        return None
    key_name = key.name if key is not None else None
    if isinstance(each, exp.Literal):
        return ForEach(path=each.name, key=key_name)
    return ForEach(frame=each.name, key=key_name)


def _subscribe(node: exp.Expr, script: ScriptSource) -> Subscribe:
    select = _select(node.expression, script)
    into = [(own.this.name, own.args.get("alias")) for own in node.args.get("into") or ()]
    options = _options(node, script)
    if options.get(MESSAGES) is True:
        check_open_terms(node.expression, script)
    return Subscribe(
        source=_source(node, script),
        name=node.name,
        select=select,
        each=_each(node),
        options=options,
        places=_places(node, script),
        sinks=tuple(SinkClause(address=to, name=own and own.name) for to, own in into),
    )


def _create_view(node: exp.Expr, script: ScriptSource) -> CreateView:
    bound, store = node.args["bound"], node.args.get("store")
    options = _options(node, script)
    refused = next((name for name in options if name in VIEW_WORDS), None)
    if refused is not None:
        fact = f"{refused!r} is no option of a view, but said in its own words."
        remedy = "Write CREATE VIEW name REFRESH WITHIN n SECONDS [STORE '…'] AS SELECT …."
        raise script.error("VIEW-057", fact, remedy, at=node)
    options |= {"view": node.name, "refresh": f"{bound.name} {node.args['unit'].name}"}
    if store is not None:
        options["store"] = store.name
    return CreateView(
        source=_source(node, script),
        name=node.name,
        select=_select(node.expression, script),
        options=options,
        places={**_places(node, script), "refresh": script.place_of(bound)},
    )


def _drop_sink(node: exp.Expr, script: ScriptSource) -> DropSink:
    exists = bool(node.args.get("exists"))
    of = node.expression.name
    return DropSink(source=_source(node, script), name=node.name, subscription=of, if_exists=exists)


def _drop_relation(node: exp.Expr, script: ScriptSource) -> DropRelation:
    return DropRelation(
        source=_source(node, script),
        kind=node.args["kind"],
        name=node.name,
        if_exists=bool(node.args.get("exists")),
    )


def _drop_subscription(node: exp.Expr, script: ScriptSource) -> DropSubscription:
    ids: list[str | int] | None = None
    if node.args.get("expressions") is not None:
        ids = []
        for item in node.expressions:
            value = plain_value(item, script)
            if isinstance(value, bool | float):
                fact = f"{item.sql('duckdb')} cannot be an id."
                raise script.error("SQL-007", fact, "Ids are strings or whole numbers.", at=item)
            ids.append(value)
    return DropSubscription(
        source=_source(node, script),
        name=node.name,
        ids=None if ids is None else tuple(ids),
        if_exists=bool(node.args.get("exists")),
    )


def _resume(node: exp.Expr, script: ScriptSource) -> Resume:
    return Resume(source=_source(node, script), name=node.name)


def _explain(node: exp.Expr, script: ScriptSource) -> Explain:
    named = isinstance(node.this, exp.Identifier)
    of = node.name if named else _select(node.this, script)
    return Explain(
        source=_source(node, script),
        of=of,
        each=_each(node),
        options=_options(node, script),
        places=_places(node, script),
        what_if=assumptions_in(node.args.get("what_if") or (), script),
    )


def _explain_tuple(node: exp.Expr, script: ScriptSource) -> ExplainTuple:
    values: dict[str, OptionValue | None] = {}
    for item in node.args["options"]:
        if item.name.lower() in {known.lower() for known in values}:
            fact = f"Column {item.name!r} is given twice."
            raise script.error("SQL-006", fact, "Remove one of them.", at=item)
        null = isinstance(item.expression, exp.Null)
        values[item.name] = None if null else plain_value(item.expression, script)
    return ExplainTuple(
        source=_source(node, script),
        relation=node.name,
        values=values,
        subscription=node.expression.name,
    )


_TRANSLATIONS: dict[type[exp.Expr], Callable[[exp.Expr, ScriptSource], Statement]] = {
    CreateRelationNode: _create_relation,
    CreateLookupNode: _create_lookup,
    CreateViewNode: _create_view,
    SubscribeNode: _subscribe,
    DropRelationNode: _drop_relation,
    DropSubscriptionNode: _drop_subscription,
    DropSinkNode: _drop_sink,
    ResumeNode: _resume,
    ExplainNode: _explain,
    KeepNode: lambda node, script: Keep(source=_source(node, script), limits=node.name),
    ExplainTupleNode: _explain_tuple,
}
