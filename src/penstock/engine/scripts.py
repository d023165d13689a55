"""Scripts: SQL statements carried out one by one on an desk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.algebra.catalog import RELATION_KINDS
from penstock.delivery.sink_kinds import is_placed
from penstock.engine.declarations import KEY_OPTIONS, OWN_OPTIONS, source_options
from penstock.engine.desk import Desk, Subscription
from penstock.engine.errands import Done
from penstock.engine.registration import REFUSALS_SHOWN, Request, first_refusals
from penstock.engine.relations import Relations
from penstock.engine.standing_rows import told_apart
from penstock.kinds.foreign_tables import foreign_table
from penstock.language.parser import parse
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
    Resume,
    Select,
    Statement,
    Subscribe,
)
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.vocabulary.errors import PenstockError, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUESTS_MAX = 1_000
"""So many subscriptions of a script become one version; whoever else registers waits for that."""


@dataclass(slots=True)
class ScriptOutcome:
    """What a script did."""

    subscriptions: list[Subscription] = field(default_factory=list)
    explanations: list[Explanation | TupleExplanation] = field(default_factory=list)

    def done(self, version: int) -> Done:
        """Say in short what it did, to whoever asked from another process."""
        made = [(each.name, each.receipt) for each in self.subscriptions if each.receipt]
        refusals = [each for name, receipt in made for each in first_refusals(name, receipt)]
        refused = sum(receipt.refused.num_rows for _, receipt in made)
        return Done(version=version, refused=refused, refusals=refusals[:REFUSALS_SHOWN])


def execute(
    desk: Desk,
    text: str,
    frames: Mapping[str, Any] | None = None,
    relations: Relations | None = None,
    directory: Path | None = None,
) -> ScriptOutcome:
    """Carry out a script; `frames` are what its FROM and FOR EACH may name without quotes.

    Statements take effect in order; one that fails raises, and those before it stand. Files and
    sinks are seen from the `directory`, or from where this process stands.
    """
    outcome = ScriptOutcome()
    requests = Requests(desk, outcome)
    for written in parse(text):
        statement = written if directory is None else _seen_from(written, directory)
        if isinstance(statement, Subscribe) and not requests.knows(statement.name):
            requests.add(statement, frames or {})
        else:
            requests.register()
            with placed(statement):
                _execute(desk, relations, statement, frames or {}, outcome)
    requests.register()
    return outcome


class Requests:
    """Subscriptions that follow each other in a script: registered together, as one version."""

    def __init__(self, desk: Desk, outcome: ScriptOutcome) -> None:
        self._desk, self._outcome = desk, outcome
        self._waiting: dict[str, tuple[Subscribe, Request]] = {}

    def knows(self, name: str) -> bool:
        """Say whether a subscription stands, or waits to be registered."""
        return name in self._waiting or name in self._desk.registry.subscriptions

    def add(self, statement: Subscribe, frames: Mapping[str, Any]) -> None:
        """Bind and plan a subscription; it is registered with those that come with it."""
        name, each = statement.name, statement.each
        key = each.key if each is not None else None
        try:
            with placed(statement):
                request = self._desk.request(
                    name, statement.select.text, rows_of(each, frames), key, statement.options
                )
        except PenstockError:
            self.register()
            raise
        self._waiting[name] = statement, request
        if len(self._waiting) == REQUESTS_MAX:
            self.register()

    def register(self) -> None:
        """Register those that wait, in their order."""
        waiting, self._waiting = self._waiting, {}
        with self._desk.registry.together() if waiting else nullcontext():
            for statement, request in waiting.values():
                with placed(statement):
                    into = [(each.address, each.name) for each in statement.sinks]
                    made = self._desk.register(request, statement.each is None, into)
                self._outcome.subscriptions.append(made)


@contextmanager
def placed(statement: Statement) -> Iterator[None]:
    """Say of errors where in the script they stand."""
    try:
        yield
    except PenstockError as error:
        error.place = _place_of(error, statement)
        raise


def _place_of(error: PenstockError, statement: Statement) -> Place | None:
    """Say where in the script an error stands: at an option, or in the statement's query."""
    if error.option is not None and error.option in statement.places:
        return statement.places[error.option]
    query = {Subscribe: "select", CreateView: "select", Explain: "of"}.get(type(statement), "")
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
        case CreateRelation() | CreateLookup() | CreateView() | DropRelation():
            _declare(desk, relations, statement, frames, outcome)
        case Subscribe():
            outcome.subscriptions.append(_standing(desk, statement))
        case DropSubscription(name=name, ids=ids, if_exists=if_exists):
            if name in desk.registry.subscriptions or not if_exists:
                desk.drop(name, ids)
        case DropSink(name=sink, subscription=name, if_exists=if_exists):
            desk.sinks.drop(name, sink, if_exists)
        case Resume(name=name):
            desk.resume(name)
        case Keep(limits=limits):
            desk.keep(limits)
        case Explain(of=of, each=each, options=options, what_if=what_if):
            if isinstance(of, str):
                desk.check(of)
            query = of if isinstance(of, str) else of.text
            rows = rows_of(each, frames)
            key = None if each is None else each.key
            outcome.explanations.append(desk.explain(query, rows, options, what_if, key))
        case ExplainTuple(subscription=name, relation=relation, values=values):
            outcome.explanations.append(desk.explain_tuple(name, relation, values))
        case Select():
            raise PenstockError(
                "ENG-013",
                "A query on its own has no subscriber.",
                "Write SUBSCRIBE <name> TO SELECT …, or EXPLAIN SELECT …",
            )


def _declare(
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
            if own.replaces:
                catalog = {key: each for key, each in catalog.items() if key != name.lower()}
            table = foreign_table(catalog, name, source, column, cache, *asked)
            relations.declare_asked(table, own.replaces)
        case CreateView(name=name, select=select, options=options):
            if name in desk.registry.subscriptions:
                outcome.subscriptions.append(_standing(desk, statement))
            else:
                outcome.subscriptions.append(desk.subscribe(select.text, name, options=options))
        case DropRelation(name=name, if_exists=if_exists, is_kept=True):
            if name in desk.registry.subscriptions or not if_exists:
                desk.drop(name)
        case DropRelation(name=name, if_exists=if_exists):
            assert relations is not None, "only an engine declares relations"
            if name.lower() in desk.registry.catalog or not if_exists:
                relations.undeclare(name)


def _create(
    relations: Relations | None, statement: CreateRelation, frames: Mapping[str, Any]
) -> None:
    own = {
        name: None if (value := statement.options.get(name)) is None else str(value)
        for name in (*OWN_OPTIONS, *KEY_OPTIONS)
        if name in OWN_OPTIONS or RELATION_KINDS[statement.kind].keeps
    }
    source: Any = str(statement.from_)
    if statement.from_.kind == "frame":
        source = _frame(frames, statement.from_.rest)
    options, declared = source_options(statement)
    assert relations is not None, "only an engine declares relations"
    relations.declare(
        statement.kind,
        statement.name,
        source,
        options=options,
        columns=statement.columns,
        declared=declared,
        replaces=statement.replaces,
        **own,
    )


def _standing(desk: Desk, statement: Subscribe | CreateView) -> Subscription:
    """Let a script run again on its home: what stands already must be what it says.

    Sinks that it names beside those that there are come to them. Rows of its file that differ from
    what stands are told in a notice, and change nothing.
    """
    name = statement.name
    standing = desk.registry.subscriptions[name]
    same = " ".join(standing.sql.split()) == " ".join(statement.select.text.split())
    if not same or dict(standing.options) != dict(statement.options):
        raise PenstockError(
            "REG-018",
            f"Subscription {name!r} stands with {'other options' if same else 'another text'}.",
            f"Drop it first, once: penstock drop HOME {name}. Or choose another name.",
        )
    if isinstance(statement, Subscribe):
        for sink in statement.sinks:
            desk.sinks.add(name, sink.address, sink.name)
        path = None if statement.each is None else statement.each.path
        apart = told_apart(desk.registry, name, path) if path else None
        if apart is not None:
            desk.watcher.tell_subscription(name, str(apart))
    return desk.subscription(name)


def _seen_from(statement: Statement, directory: Path) -> Statement:
    """Give a statement whose files and directories are seen from somewhere else."""
    if isinstance(statement, Subscribe):
        sinks = [
            each
            if is_placed(each.address)
            else replace(each, address=str(directory / each.address))
            for each in statement.sinks
        ]
        statement = replace(statement, sinks=tuple(sinks))
        if statement.each is not None and statement.each.path is not None:
            path = str(directory / statement.each.path)
            statement = replace(statement, each=replace(statement.each, path=path))
    return statement


def rows_of(each: ForEach | None, frames: Mapping[str, Any]) -> Any:  # any frame, or a path
    """Give what FOR EACH names."""
    return None if each is None else each.path or _frame(frames, str(each.frame))


def _frame(frames: Mapping[str, Any], name: str) -> Any:  # any frame
    if name not in frames:
        known = ", ".join(sorted(frames)) or "none"
        raise PenstockError(
            "ENG-014",
            f"There is no frame {name!r}; those passed are: {known}.",
            "Pass it as frames={...}; files and sources stand in single quotes.",
        )
    return frames[name]
