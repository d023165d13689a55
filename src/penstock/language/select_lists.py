"""SELECT lists as their users wrote them: what verification has DuckDB evaluate.

Readers get outputs whose names were replaced by those of the joined row. Here no name is replaced,
only put in quotes, since DuckDB has more reserved words: it finds names itself, in inputs that are
called as in FROM, so that it can accuse our resolving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import Output
from penstock.expressions.quotation import quoted
from penstock.language.dialect import Span
from penstock.language.memory_clauses import take_memory
from penstock.language.name_resolution import Scope, names_of
from penstock.language.outputs import unaliased
from penstock.language.parser import parse_nodes
from penstock.language.places import ScriptSource
from penstock.language.refusals import check_shape
from penstock.language.shared_memories import shared_streams
from penstock.language.splices import cut, splice
from penstock.vocabulary.names import RESERVED

ROW = f"{RESERVED}row"
"""The column by which the inputs of one answer belong together; no column of users is so called."""


@dataclass(frozen=True, slots=True)
class SelectInput:
    """An input as FROM calls it; `columns` are pairs: its own name, that in the joined row."""

    qualifier: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SelectList:
    """A SELECT list in its user's words, and the inputs `in0`, `in1`, … that it speaks of.

    `careful` is the same list with every expression in TRY: a value that cannot be computed is
    NULL. Both are evaluated `FROM` `source`.
    """

    text: str
    careful: str
    inputs: tuple[SelectInput, ...]
    source: str

    @property
    def merges(self) -> bool:
        """Say whether USING makes columns one."""
        return " USING (" in self.source

    def sql(self, careful: bool = False) -> str:
        """Give the query: the list, then the row that each answer belongs to."""
        items = self.careful if careful else self.text
        return (
            f"SELECT {items}, {quoted(self.inputs[0].qualifier)}.{quoted(ROW)} FROM {self.source}"
        )


def select_list(sql: str, catalog: Catalog) -> SelectList:
    r"""Find the SELECT list of a text that was bound before.

    >>> import pyarrow as pa
    >>> from penstock.algebra.catalog import Relation
    >>> schema = pa.schema([("n", pa.int64())])
    >>> catalog = {"t": Relation(name="t", kind="stream", schema=schema)}
    >>> select_list("SELECT  N+1 AS m FROM t AS a WHERE n > 1", catalog).sql()
    'SELECT "N"+1 AS m, "a"."\x01row" FROM in0 AS "a"'
    """
    source = ScriptSource.whole(sql)
    (tree,), tokens = parse_nodes(source)
    memory, tokens = take_memory(tree, tokens)
    query = check_shape(tree, source)
    shared = [stream.scope for stream in shared_streams(query, memory, source, catalog)]
    names = names_of(query, source, catalog, None, bounded=memory is not None, shared=shared)
    items = list(zip(query.expressions, cut(tokens).items, strict=True))
    text = ", ".join(splice(item, source.text, _quotes(own)) for own, item in items)
    careful = ", ".join(_careful(own, item, source.text) for own, item in items)
    inputs = tuple(
        SelectInput(scope.qualifier, tuple((name, scope.named(name)) for name in scope.columns))
        for scope in names.scopes
    )
    return SelectList(text, careful, inputs, _from(query, names.scopes))


def resolved_list(outputs: Sequence[Output], columns: Sequence[str]) -> SelectList:
    """Give outputs as readers evaluate them: where DuckDB has no words for what a text means.

    A change that affects a query has the row of one side alone, and USING would merge nothing.
    """
    text = ", ".join(f"({each.sql}) AS o{number}" for number, each in enumerate(outputs))
    joined = SelectInput("joined", tuple((name, name) for name in columns))
    return SelectList(text, text, (joined,), 'in0 AS "joined"')


def with_columns(listed: SelectList, made: Sequence[str]) -> SelectList:
    """Give a list with columns of the joined row behind it."""
    known = {
        joined: f"{quoted(each.qualifier)}.{quoted(own)}"
        for each in listed.inputs
        for own, joined in each.columns
    }
    more = "".join(f", {known[each]}" for each in made)
    return replace(listed, text=listed.text + more, careful=listed.careful + more)


def _quotes(expression: exp.Expr) -> dict[Span, str]:
    """Put the names of columns in quotes, and of what qualifies them."""
    return {
        Span(part.meta["start"], part.meta["end"] + 1): quoted(part.name)
        for column in expression.find_all(exp.Column)
        for part in column.parts
        if isinstance(part, exp.Identifier) and "start" in part.meta
    }


def _careful(expression: exp.Expr, item: list[Token], text: str) -> str:
    """Put an expression in TRY; stars and columns cannot fail."""
    words = unaliased(expression, item)
    alias = f" AS {quoted(expression.alias)}" if isinstance(expression, exp.Alias) else ""
    own = splice(words, text, _quotes(expression))
    bare = expression.unalias()
    if isinstance(bare, exp.Column | exp.Star):
        return f"{own}{alias}"
    return f"TRY({own}){alias}"


def _from(query: exp.Select, scopes: tuple[Scope, ...]) -> str:
    """Write FROM anew over the inputs: commas, JOIN and USING as they stand, rows by their number.

    USING makes columns one, which is what a star shows.
    """
    names = [quoted(scope.qualifier) for scope in scopes]
    parts = [f"in0 AS {names[0]}"]
    for number, join in enumerate(query.args.get("joins") or (), start=1):
        using = [quoted(column.name) for column in join.args.get("using") or ()]
        own = f"in{number} AS {names[number]}"
        if using:
            parts.append(f" JOIN {own} USING ({', '.join(using)})")
        elif join.args.get("on") is not None:
            parts.append(f" JOIN {own} ON TRUE")
        else:
            parts.append(f", {own}")
    rows = [f"{name}.{quoted(ROW)} = {names[0]}.{quoted(ROW)}" for name in names[1:]]
    return "".join(parts) + (f" WHERE {' AND '.join(rows)}" if rows else "")
