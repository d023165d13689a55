"""What a query gives: its SELECT list, stars expanded, in the user's own words."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.algebra.logical import Output
from penstock.expressions.quotation import numbered, quoted
from penstock.language.comparisons import duck_refusal
from penstock.language.duckdb_checks import DuckError, types_of
from penstock.language.name_resolution import Names, Scope, exact
from penstock.language.splices import splice
from penstock.vocabulary.errors import PenstockError


def outputs_of(
    expressions: Sequence[exp.Expr], items: Sequence[Sequence[Token]], names: Names
) -> tuple[Output, ...]:
    """Name and print each output; refuse two of one name, and what DuckDB refuses."""
    outputs: dict[str, Output] = {}
    computed: list[tuple[exp.Expr, str]] = []
    for expression, tokens in zip(expressions, items, strict=True):
        found = starred(expression, names)
        several = found is not None and len(names.scopes) > 1
        if found is None:
            output = _output(expression, tokens, names)
            found = [output]
            if not isinstance(expression.unalias(), exp.Column):
                computed.append((expression, output.sql))
        for output in found:
            name = numbered(output.name, outputs) if several else output.name
            if name.lower() in outputs:
                fact = f"Two outputs are named {name!r}."
                raise names.source.error("SQL-024", fact, "Add AS and a new name.", at=expression)
            outputs[name.lower()] = Output(name=name, sql=output.sql)
    _check(computed, names)
    return tuple(outputs.values())


def starred(expression: exp.Expr, names: Names) -> list[Output] | None:
    """Expand `*`, `t.*` and `* EXCLUDE (…)`; give None for everything else."""
    column = isinstance(expression, exp.Column)
    star = expression.this if column else expression
    if not isinstance(star, exp.Star):
        return None
    qualifier = expression.text("table") if column else ""
    scopes = [scope for scope in names.scopes if not qualifier or scope.is_called(qualifier)]
    if not scopes:
        fact = f"{qualifier!r} is not {'the' if len(names.scopes) == 1 else 'a'} relation of this "
        remedy = " or ".join(f"{scope.qualifier}.*" for scope in names.scopes)
        raise names.source.error("SQL-021", f"{fact}query.", f"Write {remedy}.", at=expression)
    for modifier, value in star.args.items():
        if value and modifier != "except_":
            raise _star_refused(modifier, names, expression)
    excluded = {
        name for item in star.args.get("except_") or () for name in _excluded(item, scopes, names)
    }
    kept: list[Output] = []
    for scope in scopes:
        for name in scope.columns:
            again = len(scopes) > 1 and names.is_merged(scope, name)
            if scope.named(name) not in excluded and not again:
                kept.append(Output(name=name, sql=quoted(scope.named(name))))
    return kept


def _star_refused(modifier: str, names: Names, at: exp.Expr) -> PenstockError:
    fact = f"* {modifier.strip('_').upper()} is not supported in a standing query."
    return names.source.error("SQL-015", fact, "List the outputs one by one.", at=at)


def _excluded(item: exp.Expr, scopes: Sequence[Scope], names: Names) -> list[str]:
    """Name the columns that EXCLUDE leaves out: of both relations, if both have one."""
    qualifier = item.text("table")
    meant = [scope for scope in scopes if not qualifier or scope.is_called(qualifier)]
    found = [s.named(c) for s in meant if (c := exact(item.name, s.columns)) is not None]
    if not found:
        names.find(item, meant or scopes)
    return found


def unaliased(expression: exp.Expr, tokens: Sequence[Token]) -> list[Token]:
    """Give the words of an output without the name that it is given."""
    words = list(tokens)
    if isinstance(expression, exp.Alias):
        at = expression.args["alias"].meta["start"]
        if words[0].start == at:  # DuckDB's `alias: expression`
            return words[2:]
        words = [token for token in words if token.start < at]
        if words[-1].token_type is TokenType.ALIAS:
            words.pop()
    return words


def _output(expression: exp.Expr, tokens: Sequence[Token], names: Names) -> Output:
    words = unaliased(expression, tokens)
    columns = {span: quoted(name) for span, name in names.columns.items()}
    sql = splice(words, names.source.text, columns)
    named = isinstance(expression, exp.Alias | exp.Column | exp.Dot)
    name = expression.alias_or_name if named else splice(words, names.source.text, {})
    if isinstance(expression, exp.Column):
        name = names.bare(name)
    return Output(name=name, sql=sql)


def _check(computed: Sequence[tuple[exp.Expr, str]], names: Names) -> None:
    columns: dict[str, pa.DataType] = {
        name: names.column_type(name) for name in sorted(set(names.columns.values()))
    }
    if not computed:
        return
    try:
        types_of([sql for _, sql in computed], columns)
    except DuckError as error:
        at = computed[0][0]
        for expression, sql in computed:
            try:
                types_of([sql], columns)
            except DuckError:
                at = expression
                break
        raise duck_refusal(error, names, at, "SQL-032") from None
