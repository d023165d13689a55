"""Early checks: what is wrong with a script, as far as that shows before Spark starts.

Spark takes seconds to start. A path, an option or a query that is wrong need not wait for it.
Nothing is declared or registered here. What only Spark can tell, such as the columns of ORC files,
is left until it runs, and with it the queries that name such a relation.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.engine.declarations import refuse_timeless, source_options
from penstock.engine.desk import Desk
from penstock.engine.parameters import load_parameters
from penstock.engine.registration import DEFAULT_KEY
from penstock.engine.scripts import placed, rows_of
from penstock.kinds.binder import bind
from penstock.kinds.table import kind_of
from penstock.language.parser import parse
from penstock.language.relations import relation_of
from penstock.language.statements import (
    CreateLookup,
    CreateRelation,
    CreateView,
    DropRelation,
    Explain,
    ForEach,
    Select,
    Statement,
    Subscribe,
)
from penstock.language.substitution import named_relations
from penstock.spark.source_texts import SourceText

QUERIES_MAX = 200
"""So many texts are looked at twice, now and when they are registered; others only then."""
FILE_BYTES_MAX = 1 << 24
"""Parameters in larger files are read once, when they are registered."""


def check_early(desk: Desk, text: str) -> None:
    """Refuse a script of which something is wrong, with the place.

    It raises what carrying the script out would raise.
    """
    known = dict(desk.registry.catalog)
    checks = _EarlyChecks(known, set(desk.registry.subscriptions))
    for statement in parse(text):
        with placed(statement):
            checks.check(statement)


class _EarlyChecks:
    """What is known of relations at a statement of a script."""

    def __init__(self, known: dict[str, Relation], standing: set[str]) -> None:
        self._known, self._standing = known, standing
        self._unclear: set[str] = set()
        self._queries = 0

    def check(self, statement: Statement) -> None:
        """Refuse a statement that could not be carried out behind those before it."""
        match statement:
            case CreateRelation():
                self._create(statement)
            case CreateLookup(name=name):
                self._unclear.add(name.lower())
            case DropRelation(name=name):
                self._known.pop(name.lower(), None)
            case CreateView(name=name, select=select, options=options):
                if name not in self._standing:
                    self._bind(select, None, options, name)
            case Subscribe(name=name, select=select, each=each, options=options):
                if name not in self._standing:
                    self._bind(select, each, options)
            case Explain(of=Select() as select, each=each, options=options):
                self._bind(select, each, options)

    def _create(self, statement: CreateRelation) -> None:
        name = statement.name.lower()
        if statement.from_.kind == "frame":
            rows_of(ForEach(frame=statement.from_.rest), {})
        options, declared = source_options(statement)
        source = SourceText.of(str(statement.from_), options)
        source.check(statement.columns is not None)
        if name in self._known and not statement.replaces:
            return
        columns = source.columns(statement.columns)
        if columns is None:
            self._known.pop(name, None)
            self._unclear.add(name)
            return
        relation = relation_of(replace(statement, columns=columns))
        refuse_timeless(relation, self._known)
        self._known[name] = declared.told(relation)
        self._unclear.discard(name)

    def _bind(
        self, select: Select, each: ForEach | None, options: dict[str, str | int | float | bool],
        view: str | None = None,
    ) -> None:  # fmt: skip
        """Bind a query as registering it would, if all that it names is clear."""
        self._queries += 1
        is_clear = self._queries <= QUERIES_MAX and not named_relations(select.text) & self._unclear
        parameters = self._parameters(each) if is_clear else None
        if not is_clear or (parameters is None) != (each is None):
            if view is not None:
                self._unclear.add(view.lower())
            return
        logical = bind(select.text, self._known, parameters, options)
        step = logical.step()
        relation = kind_of(step).relation(logical) if view is not None else None
        if relation is not None:
            self._known[relation.name.lower()] = relation

    def _parameters(self, each: ForEach | None) -> pa.Schema | None:
        """Give the columns of parameters, unless they are many."""
        found = rows_of(each, {})
        if found is None:
            return None
        path = Path(found)
        if path.is_file() and path.stat().st_size > FILE_BYTES_MAX:
            return None
        assert each is not None, "there are rows"
        return load_parameters(path, each.key or DEFAULT_KEY).table.schema
