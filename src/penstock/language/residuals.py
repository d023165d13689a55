"""What no index serves: a boolean expression per branch, with its constants lifted out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.predicates import Residual
from penstock.expressions.quotation import dotted, quoted, theirs
from penstock.language.comparisons import FLIPPED, Types, duck_refusal
from penstock.language.constants import is_constant
from penstock.language.dialect import EXTENT, Span
from penstock.language.duckdb_checks import DuckError, arrow_type, types_of
from penstock.language.name_resolution import Names, variables_of
from penstock.language.own_words import Wording
from penstock.language.parameters import QueryParameters
from penstock.vocabulary.types import ColumnKind, kind_of

TAKEN = re.compile(r"[cr]\d+")
LIFTED_LIST_MAX = 16
"""Longer lists stay in the text: such a query rarely has a sibling of the same length."""


def residual(conjuncts: Sequence[exp.Expr], types: Types, parameters: QueryParameters) -> Residual:
    """Say conjuncts over `c0`, `c1`, … and `r0`, `r1`, …, in an order that constants don't move.

    `types` knows the columns; `parameters` takes the constants that are lifted.
    """
    turned = [_constant_last(conjunct) for conjunct in conjuncts]
    for conjunct in turned:
        _lift(conjunct, types, parameters)
    if len(turned) > 1:
        turned.sort(key=_shape(types.names).say)
    columns: list[str] = []
    names: list[str] = []
    refuse_variables(turned, types.names)
    wording = Wording(
        types.names,
        lambda name, span: _cast(f"c{_place(columns, name)}", span, types.names),
        lambda name, span: _cast(f"r{_place(names, name)}", span, types.names),
    )
    texts = [wording.say_beside(conjunct) for conjunct in turned]
    said = Residual(sql=" AND ".join(texts), columns=tuple(columns), parameters=tuple(names))
    _check(said, conjuncts, types, parameters)
    return said


def _place(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _cast(name: str, span: Span | None, names: Names) -> str:
    """Give a column or parameter under its new name, cast as the user's own words are."""
    type_ = names.casts.get(span) if span is not None else None
    return f"CAST({name} AS {type_})" if type_ else name


def _shape(names: Names) -> Wording:
    """Say what constants do not change."""
    return Wording(
        names,
        lambda name, _: quoted(name),
        lambda name, _: "?" if name.startswith("$") else f":{name}",
    )


def refuse_variables(conjuncts: Sequence[exp.Expr], names: Names) -> None:
    """Refuse a variable of a lambda that would take the place of a column: `c0`, `r1`."""
    for conjunct in conjuncts:
        for node in conjunct.find_all(exp.Lambda, exp.Comprehension):
            for name in variables_of(node):
                if TAKEN.fullmatch(name.lower()):
                    fact = f"The variable {name!r} has a name that columns take here."
                    remedy = "Rename it: any other name but c or r with a number will do."
                    raise names.source.error("SQL-035", fact, remedy, at=conjunct)


def _constant_last(node: exp.Expr) -> exp.Expr:
    """Turn `5 < x * 2` into `x * 2 > 5`, so that both are of one shape."""
    if type(node) in FLIPPED and is_constant(node.this) and not is_constant(node.expression):
        return FLIPPED[type(node)](this=node.expression.copy(), expression=node.this.copy())
    return node


def _lift(conjunct: exp.Expr, types: Types, parameters: QueryParameters) -> None:
    """Mark constants that may become parameters: the type they meet decides how."""
    pairs = list(_liftable(conjunct, types))
    met = _types_met([other for _, other in pairs], types, parameters)
    for (node, _), type_ in zip(pairs, met, strict=True):
        constant = types.constant(node)
        if constant is None or constant.kind is None or type_ is None or "lifted" in node.meta:
            continue
        # All whole numbers as int64, so that 5 and 5,000,000,000 give one shape.
        wide = pa.int64() if kind_of(type_) is ColumnKind.INTEGER else type_
        fitted = types.fit(node, wide) if kind_of(wide) is not ColumnKind.OTHER else None
        if fitted is not None and (EXTENT in node.meta or isinstance(node, exp.Literal)):
            node.meta["lifted"] = parameters.lift(fitted.value, wide)


def _liftable(conjunct: exp.Expr, types: Types) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Find constants that are compared with something that is not: (constant, the other side).

    A lambda's body is left alone: what its variable is cannot be told from outside.
    """
    for node in conjunct.walk(prune=lambda node: isinstance(node, exp.Lambda | exp.Comprehension)):
        pairs: list[tuple[exp.Expr, exp.Expr]] = []
        if type(node) in FLIPPED or isinstance(node, exp.Like | exp.ILike):
            pairs = [(node.expression, node.this)]
        elif isinstance(node, exp.Between | exp.In):
            items = node.expressions or [node.args.get("low"), node.args.get("high")]
            if len(items) <= LIFTED_LIST_MAX and _of_one_kind(items, types):
                pairs = [(item, node.this) for item in items]
        for constant, other in pairs:
            if is_constant(constant) and not is_constant(other):
                yield constant, other


def _of_one_kind(items: Sequence[exp.Expr | None], types: Types) -> bool:
    """Say whether items are constants that bring each other to no other type."""
    constants = [types.constant(item) if item is not None else None for item in items]
    kinds = {constant.kind for constant in constants if constant is not None} - {None}
    return None not in constants and (
        len(kinds) <= 1 or kinds == {ColumnKind.INTEGER, ColumnKind.DECIMAL}
    )


def _types_met(
    sides: Sequence[exp.Expr], types: Types, parameters: QueryParameters
) -> list[pa.DataType | None]:
    found: dict[int, pa.DataType | None] = {}
    asked: list[exp.Expr] = []
    for side in sides:
        bare = side.unnest()
        if isinstance(bare, exp.Column):
            found[id(side)] = types.names.column_type(bare.name)
        elif isinstance(bare, exp.Placeholder):
            found[id(side)] = parameters.types[bare.name]
        else:
            asked.append(side)
    if asked:
        try:
            answers = expression_types(asked, types, parameters)
        except DuckError as error:
            raise duck_refusal(error, types.names, asked[0], "SQL-032") from None
        found.update((id(s), arrow_type(a)) for s, a in zip(asked, answers, strict=True))
    return [found[id(side)] for side in sides]


def expression_types(
    expressions: Sequence[exp.Expr], types: Types, parameters: QueryParameters
) -> tuple[str, ...]:
    """Ask DuckDB for the types of expressions over resolved columns and parameters."""
    met: dict[str, pa.DataType] = {}

    def column(name: str, _: Span | None) -> str:
        met[dotted(name)] = types.names.column_type(name)
        return theirs(name)

    def parameter(name: str, _: Span | None) -> str:
        met[f":{name}"] = parameters.types[name]
        return quoted(f":{name}")

    wording = Wording(types.names, column, parameter)
    return types_of([wording.say(expression) for expression in expressions], met)


def _check(
    printed: Residual, conjuncts: Sequence[exp.Expr], types: Types, parameters: QueryParameters
) -> None:
    met = {f"c{i}": types.names.column_type(name) for i, name in enumerate(printed.columns)}
    met.update((f"r{i}", parameters.types[name]) for i, name in enumerate(printed.parameters))
    try:
        (type_,) = types_of([printed.sql], met)
    except DuckError as error:
        raise duck_refusal(error, types.names, conjuncts[0], "SQL-032") from None
    if type_ not in {"BOOLEAN", '"NULL"'}:
        raise types.names.source.error(
            "SQL-034",
            f"The condition is of type {type_}, not BOOLEAN.",
            "Compare it with something, such as <> 0.",
            at=conjuncts[0],
        )
