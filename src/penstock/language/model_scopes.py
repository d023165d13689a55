"""What the names of a model query stand for: keys, functions of time, and columns of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.models import ModelStage
from penstock.language.model_sources import SourceDraft
from penstock.language.name_resolution import exact, is_variable
from penstock.language.places import ScriptSource, listing, suggestion
from penstock.vocabulary.errors import PenstockError

ReferenceKind = Literal["key", "attribute", "carried", "row", "own"]
ABSENT = {
    "starts": "Ask for at: values are sampled. Without SAMPLE there are starts and ends.",
    "ends": "Ask for at: values are sampled. Without SAMPLE there are starts and ends.",
    "at": "Ask for starts and ends; or add SAMPLE EVERY 1 SECOND, for values at instants.",
    "status": "Add HORIZON, for answers before their time comes; others have no status.",
}
"""What to write where a column of answers is not there."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key column of a stage; without a name the query cannot speak of it."""

    name: str | None
    type: pa.DataType
    is_carried: bool = False
    """Whether it is a column of rows that is constant during a segment, and no part of the key."""


@dataclass(frozen=True, slots=True)
class TimedAttribute:
    """An attribute of a stage, and the highest power of time in it."""

    name: str | None
    degree: int
    is_difference: bool = False
    """Whether it is made of attributes that are taken from each other."""


@dataclass(frozen=True, slots=True)
class ModelScope:
    """What stands in FROM: a relation with its models, or a query in brackets."""

    qualifier: str
    key: tuple[KeyColumn, ...]
    attributes: tuple[TimedAttribute, ...]
    make: Callable[[], ModelStage]
    """Gives its stage, once the whole query is read: conditions on rows are the source's."""
    node: exp.Expr
    draft: SourceDraft | None = None
    window: exp.Expr | None = None

    def is_called(self, name: str) -> bool:
        """Say whether `name.` before a column means this."""
        return name.lower() == self.qualifier.lower()

    @property
    def named(self) -> list[str]:
        """The names that the query may use."""
        own = [*(each.name for each in self.key), *(each.name for each in self.attributes)]
        found = [name for name in own if name is not None]
        rows = self.draft.relation.schema.names if self.draft is not None else []
        return list(dict.fromkeys([*found, *rows]))


@dataclass(frozen=True, slots=True)
class NameReference:
    """What a name stands for: the position of a key column or attribute, or a column of rows."""

    kind: ReferenceKind
    position: int
    scope: int
    name: str


@dataclass(slots=True)
class ModelNames:
    """The names of one SELECT; positions count through all scopes, as a join's do.

    `merged` are names that USING makes one: a bare one means the first relation's.
    """

    source: ScriptSource
    scopes: Sequence[ModelScope]
    own: Sequence[str] = ()
    """The columns of answers that are none of the inputs: starts, ends, at, status."""
    merged: set[str] = field(default_factory=set)

    @property
    def key(self) -> tuple[KeyColumn, ...]:
        """The key columns of all scopes."""
        return tuple(each for scope in self.scopes for each in scope.key)

    @property
    def attributes(self) -> tuple[TimedAttribute, ...]:
        """The attributes of all scopes."""
        return tuple(each for scope in self.scopes for each in scope.attributes)

    def scope_of_key(self, position: int) -> tuple[int, int]:
        """Give the scope of a key column, and its position there."""
        for number, scope in enumerate(self.scopes):
            if position < len(scope.key):
                return number, position
            position -= len(scope.key)
        raise AssertionError(position)

    def scope_of_attribute(self, position: int) -> int:
        """Give the scope of an attribute."""
        for number, scope in enumerate(self.scopes):
            if position < len(scope.attributes):
                return number
            position -= len(scope.attributes)
        raise AssertionError(position)

    def references(self, tree: exp.Expr) -> list[NameReference]:
        """Say what all names of an expression stand for."""
        return [self.find(column) for column in columns_in(tree)]

    def find(self, column: exp.Column) -> NameReference:
        """Say what a name stands for, or refuse it."""
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        first = parts[0]
        meant = [n for n, scope in enumerate(self.scopes) if scope.is_called(first.name)]
        if len(parts) > 1 and meant:
            parts = parts[1:]
        elif len(parts) > 1 and not any(exact(first.name, s.named) for s in self.scopes):
            raise self._not_qualifier(first, parts[-1])
        else:
            meant = list(range(len(self.scopes)))
        name = parts[0].name
        found = [each for number in meant if (each := self._in_scope(number, name)) is not None]
        is_own = len(column.parts) == 1 and exact(name, list(self.own)) is not None
        timed = [each for each in found if each.kind not in {"row", "carried"}]
        if is_own and not timed:
            return NameReference("own", 0, 0, exact(name, list(self.own)) or name)
        if len(found) > 1 and name.lower() in self.merged:
            found = found[:1]
        if len(found) == 1:
            return found[0]
        if found:
            written = " or ".join(f"{self.scopes[e.scope].qualifier}.{e.name}" for e in found)
            fact = f"Several relations have a column {name!r}."
            raise self.source.error("SQL-025", fact, f"Write {written}.", at=column)
        raise self._unknown(name, [self.scopes[number] for number in meant], column)

    def _in_scope(self, number: int, name: str) -> NameReference | None:
        scope = self.scopes[number]
        keys = sum(len(each.key) for each in self.scopes[:number])
        attributes = sum(len(each.attributes) for each in self.scopes[:number])
        own = exact(name, scope.named)
        if own is None:
            return None
        for place, timed in enumerate(scope.attributes):
            if timed.name == own:
                return NameReference("attribute", attributes + place, number, own)
        for place, key in enumerate(scope.key):
            if key.name == own:
                kind: ReferenceKind = "carried" if key.is_carried else "key"
                return NameReference(kind, keys + place, number, own)
        return NameReference("row", 0, number, own)

    def _not_qualifier(self, first: exp.Expr, last: exp.Expr) -> PenstockError:
        fact = f"{first.name!r} is neither a relation of this query nor a column of one."
        written = " or ".join(f"{scope.qualifier}.{last.name}" for scope in self.scopes)
        remedy = f"Write {written}, or the column alone."
        return self.source.error("SQL-021", fact, remedy, at=first)

    def _unknown(self, name: str, scopes: Sequence[ModelScope], at: exp.Expr) -> PenstockError:
        missing = exact(name, list(ABSENT))
        if missing is not None:
            fact = f"The answer has no column {missing!r} here."
            return self.source.error("MDL-010", fact, ABSENT[missing], at=at)
        known = list(dict.fromkeys([*(n for s in scopes for n in s.named), *self.own]))
        where = f"{scopes[0].qualifier!r} has" if len(scopes) == 1 else "No relation has"
        fact = f"{where} {'no' if len(scopes) == 1 else 'a'} column {name!r}."
        remedy = suggestion(name, known, f"There are: {listing(known)}.")
        return self.source.error("SQL-020", fact, remedy, at=at)


def columns_in(tree: exp.Expr) -> Iterator[exp.Column]:
    """Give the columns that an expression names; a lambda's variables are none."""
    for node in tree.walk():
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            continue
        if not is_variable(node):
            yield node
