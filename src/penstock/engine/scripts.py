"""Scripts: SQL statements carried out one by one on an desk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.algebra.catalog import RELATION_KINDS
from penstock.engine.declarations import Declared
from penstock.engine.desk import Desk, Subscription
from penstock.engine.relations import Relations
from penstock.kinds.foreign_tables import foreign_table
from penstock.language.parser import parse
from penstock.language.statements import (
    CreateLookup,
    CreateRelation,
    DropSubscription,
    Explain,
    ExplainTuple,
    Select,
    Statement,
    Subscribe,
)
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.vocabulary.errors import PenstockError, Place

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True)
class ScriptOutcome:
    """What a script did."""

    subscriptions: list[Subscription] = field(default_factory=list)
    explanations: list[Explanation | TupleExplanation] = field(default_factory=list)


def execute(
    desk: Desk,
    text: str,
    frames: Mapping[str, Any] | None = None,
    relations: Relations | None = None,
) -> ScriptOutcome:
    """Carry out a script; `frames` are what its FROM and FOR EACH may name without quotes.

    Statements take effect in order; one that fails raises, and those before it stand.
    """
    outcome = ScriptOutcome()
    for statement in parse(text):
        try:
            _execute(desk, relations, statement, frames or {}, outcome)
        except PenstockError as error:
            error.place = _place_of(error, statement)
            raise
    return outcome


def _place_of(error: PenstockError, statement: Statement) -> Place | None:
    """Say where in the script an error stands: at an option, or in the statement's query."""
    if error.option is not None and error.option in statement.places:
        return statement.places[error.option]
    query = {Subscribe: "select", Explain: "of"}.get(type(statement), "")
    select = getattr(statement, query, None)
    if isinstance(select, Select) and error.place is not None and error.place.text == select.text:
        return select.source.place_within(error.place)
    return error.place


def _execute(
    desk: Desk,
    relations: Relations | None,
    statement: Statement,
    frames: Mapping[str, Any],
    outcome: ScriptOutcome,
) -> None:
    match statement:
        case CreateRelation():
            _create(relations, statement, frames)
        case CreateLookup(name=name, from_=source, key=column, cache=cache):
            assert relations is not None, "only an engine declares relations"
            own = statement
            asked = (own.columns, own.using, own.law, own.options)
            catalog = desk.registry.catalog
            relations.declare_asked(foreign_table(catalog, name, source, column, cache, *asked))
        case Subscribe(name=name, select=select, each=each, options=options):
            rows = None if each is None else each.path or _frame(frames, str(each.frame))
            key = each.key if each is not None else None
            if name in desk.registry.subscriptions:
                _check_same(desk, name, select.text, options)
                outcome.subscriptions.append(desk.subscription(name))
            else:
                outcome.subscriptions.append(desk.subscribe(select.text, name, rows, key, options))
        case DropSubscription(name=name, ids=ids, if_exists=if_exists):
            if name in desk.registry.subscriptions or not if_exists:
                desk.drop(name, ids)
        case Explain(of=of, each=each, options=options, what_if=what_if):
            query = of if isinstance(of, str) else of.text
            rows = None if each is None else each.path or _frame(frames, str(each.frame))
            outcome.explanations.append(desk.explain(query, rows, options, what_if))
        case ExplainTuple(subscription=name, relation=relation, values=values):
            outcome.explanations.append(desk.explain_tuple(name, relation, values))
        case Select():
            raise PenstockError(
                "ENG-013",
                "A query on its own has no subscriber.",
                "Write SUBSCRIBE <name> TO SELECT …, or EXPLAIN SELECT …",
            )


def _create(
    relations: Relations | None, statement: CreateRelation, frames: Mapping[str, Any]
) -> None:
    options = dict(statement.options)
    event_time = options.pop("event_time", None)
    changes = options.pop("changes", None)
    lateness = options.pop("lateness", None)
    named, keeps = {}, RELATION_KINDS[statement.kind].keeps
    if keeps:
        named = {name: str(options.pop(name)) for name in ("key", "sequence") if name in options}
    source: Any = str(statement.from_)
    if statement.from_.kind == "frame":
        source = _frame(frames, statement.from_.rest)
    text = source if isinstance(source, str) else ""
    declared = Declared.of_options(options, keeps, text)
    assert relations is not None, "only an engine declares relations"
    relations.declare(
        statement.kind,
        statement.name,
        source,
        event_time=None if event_time is None else str(event_time),
        changes=None if changes is None else str(changes),
        options=options,
        columns=statement.columns,
        lateness=None if lateness is None else str(lateness),
        declared=declared,
        **named,
    )


def _check_same(desk: Desk, name: str, text: str, options: Mapping[str, Any]) -> None:
    """Let a script run again on its home: what stands already must be what it says."""
    standing = desk.registry.subscriptions[name]
    same = " ".join(standing.sql.split()) == " ".join(text.split())
    if not same or dict(standing.options) != dict(options):
        raise PenstockError(
            "REG-018",
            f"Subscription {name!r} stands with {'other options' if same else 'another text'}.",
            f"Say DROP SUBSCRIPTION {name} first, or choose another name.",
        )


def _frame(frames: Mapping[str, Any], name: str) -> Any:  # any frame
    if name not in frames:
        known = ", ".join(sorted(frames)) or "none"
        raise PenstockError(
            "ENG-014",
            f"There is no frame {name!r}; those passed are: {known}.",
            "Pass it as frames={...}, or name a file in quotes.",
        )
    return frames[name]
