"""What a range aggregate may say: which conditions are its range, its partition, and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.catalog import Relation
from penstock.language.comparisons import ColumnComparison, Types, can_index, comparison
from penstock.language.name_resolution import Names, exact
from penstock.language.normal_forms import Conjuncts
from penstock.language.own_words import Wording
from penstock.language.queries import Query
from penstock.language.terms import HIGHS, LOWS
from penstock.language.view_shapes import aggregate_of

BOUNDS = LOWS.keys() | HIGHS.keys()
ATTRIBUTES_MAX = 2
"""Columns of which a query may have ranges."""
APART = ("group", "having", "distinct", "joins")
"""Clauses that make a query another kind's, or nobody's."""


def is_range_aggregate(query: Query) -> bool:
    """Say whether a query asks for aggregates of the rows of one relation that it chooses."""
    tree = query.tree
    if not isinstance(tree, exp.Select) or query.memory is not None:
        return False
    if tree.args.get("where") is None or any(tree.args.get(name) for name in APART):
        return False
    return any(aggregate_of(node) for each in tree.expressions for node in each.walk())


@dataclass(slots=True)
class RangeConditions:
    """The conditions of a query by what they do: `keys` and `bounds` go by column."""

    keys: dict[str, list[exp.Expr]] = field(default_factory=dict)
    bounds: dict[str, list[exp.Expr]] = field(default_factory=dict)
    rest: list[exp.Expr] = field(default_factory=list)

    @classmethod
    def of(cls, atoms: Conjuncts, names: Names, *, is_open: bool) -> RangeConditions:
        """Sort conditions; where ranges are `is_open`, constants are asked of rows."""
        found = cls()
        for atom in atoms:
            own = comparison(atom)
            if own is None or (is_open and not _has_parameter(atom)):
                found.rest.append(atom)
            elif own.operator in BOUNDS and _indexed(own, names, range_=True):
                found.bounds.setdefault(own.column, []).append(atom)
            elif own.operator is exp.EQ and _indexed(own, names, range_=False):
                found.keys.setdefault(own.column, []).append(atom)
            else:
                found.rest.append(atom)
        return found

    def choose(self, names: Names, at: exp.Expr) -> list[str]:
        """Choose the attributes that have ranges; bounds of others are asked of rows.

        They are those that parameters bound; without parameters, one that has both ends.
        """
        varying = [
            name for name, atoms in self.bounds.items() if any(_has_parameter(a) for a in atoms)
        ]
        if len(varying) > ATTRIBUTES_MAX:
            shown = ", ".join(names.shown(name) for name in varying)
            raise names.source.error(
                "AGG-002",
                f"The query has ranges of {shown}: ranges of two columns at most are maintained.",
                "Keep the ranges of two columns as parameters, and write the others as constants.",
                at=self.bounds[varying[ATTRIBUTES_MAX]][0],
            )
        if not self.bounds:
            raise names.source.error(
                "AGG-001",
                "The query aggregates rows that are chosen by no range.",
                "Add a range, such as price BETWEEN :low AND :high; for aggregates of all rows, "
                "CREATE VIEW … REFRESH WITHIN … AS SELECT ….",
                at=at,
            )
        widest = max(self.bounds, key=lambda name: len({*map(_side, self.bounds[name])}))
        chosen = sorted(varying) or [widest]
        for name in [each for each in self.bounds if each not in chosen]:
            self.rest += self.bounds.pop(name)
        for name, atoms in self.keys.items():
            # A column equals one value at a time: a second equality is asked of rows.
            self.rest += atoms[1:]
            self.keys[name] = atoms[:1]
        return chosen


def _indexed(own: ColumnComparison, names: Names, *, range_: bool) -> bool:
    return can_index(names.column_type(own.column), range_=range_)


def _has_parameter(node: exp.Expr) -> bool:
    return node.find(exp.Placeholder) is not None


def _side(atom: exp.Expr) -> bool:
    own = comparison(atom)
    assert own is not None
    return own.operator in LOWS


def row_condition(
    atoms: Iterable[exp.Expr], types: Types
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """Say conditions over `c0`, `c1`, … with their constants in them; none may have a parameter.

    Gives the text, its columns, and the conditions in the words that `verify` asks.
    """
    names, columns, texts, own_words = types.names, list[str](), list[str](), list[str]()

    def column(name: str, _span: object) -> str:
        if name not in columns:
            columns.append(name)
        return f"c{columns.index(name)}"

    def parameter(name: str, _span: object) -> str:
        raise names.source.error(
            "AGG-003",
            f"The parameter :{name} is in a condition that is neither a range nor an equality of "
            "a column: each query would aggregate rows of its own.",
            "Write a constant, or compare a column with the parameter by =, <, <=, >, >= or "
            "BETWEEN.",
            at=next(iter(atom.find_all(exp.Placeholder)), atom),
        )

    spans = names.qualified()
    words = Wording(names, column, parameter)
    own = Wording(names, lambda name, span: spans[span] if span else name, parameter)
    for atom in atoms:
        texts.append(words.say_beside(atom))
        own_words.append(own.say_beside(atom))
    text = " AND ".join(texts) if texts else None
    return text, tuple(columns), tuple(own_words)


def open_parameters(query: Query, relation: Relation) -> pa.Schema:
    """Type the parameters of messages, which nobody brings: as what they are compared with."""
    found: dict[str, pa.DataType] = {}
    for node in query.tree.find_all(exp.Placeholder):
        around = node.find_ancestor(exp.Predicate, exp.Between)
        columns = [] if around is None else list(around.find_all(exp.Column))
        names = [exact(each.name, relation.schema.names) for each in columns]
        types = [relation.schema.field(name).type for name in names if name is not None]
        found.setdefault(node.name, types[0] if types else pa.null())
    return pa.schema(list(found.items()))
