"""What a query gives: its SELECT list, stars expanded, in the user's own words."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.algebra.logical import Output
from penstock.language.checking import DuckError, types_of
from penstock.language.comparing import duck_refusal
from penstock.language.naming import Names, exact
from penstock.language.places import listing, suggestion
from penstock.language.splicing import quoted, splice
from penstock.vocabulary.errors import PenstockError


def outputs_of(
    expressions: Sequence[exp.Expr], items: Sequence[Sequence[Token]], names: Names
) -> tuple[Output, ...]:
    """Name and print each output; refuse two of one name, and what DuckDB refuses."""
    outputs: dict[str, Output] = {}
    computed: list[tuple[exp.Expr, str]] = []
    for expression, tokens in zip(expressions, items, strict=True):
        found = _star(expression, names)
        if found is None:
            output = _output(expression, tokens, names)
            found = [output]
            if not isinstance(expression.unalias(), exp.Column):
                computed.append((expression, output.sql))
        for output in found:
            if output.name.lower() in outputs:
                fact = f"Two outputs are named {output.name!r}."
                raise names.source.error("SQL-024", fact, "Add AS and a new name.", at=expression)
            outputs[output.name.lower()] = output
    _check(computed, names)
    return tuple(outputs.values())


def _star(expression: exp.Expr, names: Names) -> list[Output] | None:
    """Expand `*`, `t.*` and `* EXCLUDE (…)`; give None for everything else."""
    column = isinstance(expression, exp.Column)
    star = expression.this if column else expression
    if not isinstance(star, exp.Star):
        return None
    if column and not names.is_qualifier(expression.text("table")):
        fact = f"{expression.text('table')!r} is not the relation of this query."
        raise names.source.error("SQL-021", fact, f"Write {names.qualifier}.*.", at=expression)
    for modifier, value in star.args.items():
        if value and modifier != "except_":
            raise _star_refused(modifier, names, expression)
    excluded = {_excluded(item, names) for item in star.args.get("except_") or ()}
    kept = [name for name in names.relation.schema.names if name not in excluded]
    return [Output(name=name, sql=quoted(name)) for name in kept]


def _star_refused(modifier: str, names: Names, at: exp.Expr) -> PenstockError:
    fact = f"* {modifier.strip('_').upper()} is not supported in a standing query."
    return names.source.error("SQL-015", fact, "List the outputs one by one.", at=at)


def _excluded(item: exp.Expr, names: Names) -> str:
    known = names.relation.schema.names
    name = exact(item.name, known)
    if name is None:
        fact = f"{names.relation.name!r} has no column {item.name!r}."
        remedy = suggestion(item.name, known, f"Its columns are: {listing(known)}.")
        raise names.source.error("SQL-020", fact, remedy, at=item)
    return name


def _output(expression: exp.Expr, tokens: Sequence[Token], names: Names) -> Output:
    words = list(tokens)
    if isinstance(expression, exp.Alias):
        at = expression.args["alias"].meta["start"]
        if words[0].start == at:
            words = words[2:]
        else:
            words = [token for token in words if token.start < at]
            if words[-1].token_type is TokenType.ALIAS:
                words.pop()
    columns = {span: quoted(name) for span, name in names.columns.items()}
    sql = splice(words, names.source.text, columns)
    named = isinstance(expression, exp.Alias | exp.Column | exp.Dot)
    name = expression.alias_or_name if named else splice(words, names.source.text, {})
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
