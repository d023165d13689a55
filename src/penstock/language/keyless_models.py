"""Models without a key: what is said of them where rows may tell of several things."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from penstock.algebra.catalog import Relation
from penstock.algebra.models import ModelSource
from penstock.language.constants import is_constant
from penstock.vocabulary.types import ColumnKind, kind_of

NAMES = {ColumnKind.STRING, ColumnKind.INTEGER}
"""What may name things."""


def keyless_note(source: ModelSource, relation: Relation) -> str | None:
    """Say that one model is of all rows, unless these are chosen by a value, or could have no key.

    It may be meant so: a sensor alone in its stream needs no key.
    """
    if source.key:
        return None
    modelled = {each.observed for each in source.attributes}
    found = [
        field.name
        for field in relation.schema
        if field.name not in modelled and field.name != relation.event_time
        if kind_of(field.type) in NAMES
    ]
    if _chosen(source).intersection(found):
        return None
    counts = {name: relation.distinct.get(name, 0) for name in found}
    # A declared number of values says most, a text more than a number.
    found.sort(key=lambda name: (-counts[name], not _is_text(relation, name)))
    if not found or counts[found[0]] == 1:
        return None
    first, fact = found[0], f"{relation.name!r} is modelled without KEY"
    if counts[first] > 1:
        return (
            f"{fact}: the {counts[first]:,} values of {first!r} share one model. Write KEY {first},"
            f" or choose one of them, WHERE {first} = …."
        )
    return (
        f"{fact}: one model is of all its rows, whatever their {first!r}. If they tell of several "
        f"things, name these: KEY {first}."
    )


def _is_text(relation: Relation, name: str) -> bool:
    return kind_of(relation.schema.field(name).type) is ColumnKind.STRING


def _chosen(source: ModelSource) -> set[str]:
    """Give the columns of which rows must have one value."""
    if source.condition is None:
        return set()
    found = set()
    tree = sqlglot.parse_one(source.condition, dialect="duckdb").unnest()
    for term in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        own = term.unnest()
        if isinstance(own, exp.EQ):
            sides = own.left.unnest(), own.right.unnest()
            if any(map(is_constant, sides)):
                found |= {side.name for side in sides if isinstance(side, exp.Column)}
    return {source.columns[int(name.removeprefix("c"))] for name in found}
