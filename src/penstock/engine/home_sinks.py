"""The sinks of a home: those that it knows by their address, and those of this process.

An address is part of a subscription's record in the registry. So a sink that was given by one goes
on in every process that runs the home, and ends with its subscription. A function cannot be written
down: it is given again after a restart, and goes on by its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from penstock.delivery.cursors import HOME, PROCESS, cursor_of, parts_of
from penstock.delivery.directory_sink import directory_of
from penstock.delivery.sink_kinds import AddressedSink, BatchSink, SinkAddress, sink_at
from penstock.delivery.sinks import Sink, SinkRunner
from penstock.engine.home import Home
from penstock.engine.readers import HomeReaders
from penstock.engine.registration import record_of
from penstock.registry.records import Draft, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkFacts:
    """A sink of a subscription: where it is, and the token up to which it has taken everything.

    The address is shown without what may be secret; that of a function is None.
    """

    subscription: str
    name: str
    address: str | None
    token: str | None


class HomeSinks:
    """Adds, lists and drops the sinks of a home."""

    def __init__(self, home: Home, registry: Registry, readers: HomeReaders) -> None:
        self._home, self._registry, self._readers = home, registry, readers
        self._pool = readers.sinks
        if not home.is_read_only:
            for record in registry.subscriptions.values():
                self.take(record)

    def take(self, record: SubscriptionRecord, before: SubscriptionRecord | None = None) -> None:
        """Feed the sinks of a subscription that are not fed yet; `before` did not have new ones."""
        for name, text in record.sinks.items():
            cursor = cursor_of(record.name, name, HOME)
            if before is not None and name not in before.sinks:
                self._pool.cursors.forget(cursor)  # of one that was dropped as the power went
            if self._pool.runner(cursor) is None:
                resumes = self._pool.cursors.token(cursor) is not None
                sink = AddressedSink(replace(self._address(record.name, text), resumes=resumes))
                self._readers.feed(self._pool.add(record.name, sink, name, HOME))

    def _place(
        self, name: str, sinks: Mapping[str, str], text: str, called: str | None
    ) -> tuple[str, str]:
        """Give the name and the address of a sink as the home keeps them; refuse a bad address.

        One without a name is called by its kind. An address that is there already is that sink.
        """
        if not text.strip():
            raise PenstockError(
                "DEL-019",
                f"The sink of {name!r} has a blank address.",
                "Name a directory, or write an address such as https://host/path.",
            )
        address = self._address(name, text)
        kept = _from_anywhere(address)
        if address.scheme == "file":
            self._refuse_own(replace(address, text=kept))
        kind = type(sink_at(replace(address, text=kept))).__name__
        names = (f"{kind}-{number}" if number > 1 else kind for number in count(1))
        known = (each for each, other in sinks.items() if other == kept)
        return called or next(known, None) or next(n for n in names if n not in sinks), kept

    def placed(
        self, record: SubscriptionRecord, given: Iterable[tuple[str, str | None]]
    ) -> SubscriptionRecord:
        """Give the record of a subscription with sinks by address and, if they have one, name."""
        sinks = dict(record.sinks)
        for text, called in given:
            name, kept = self._place(record.name, sinks, text, called)
            sinks[name] = kept
        return replace(record, sinks=sinks)

    def add(
        self,
        name: str,
        sink: Sink | BatchSink | str | os.PathLike[str],
        called: str | None = None,
    ) -> SinkRunner:
        """Feed a sink with a subscription's changes: see `Subscription.to`."""
        if not isinstance(sink, str | os.PathLike):
            return self._add_own(record_of(self._registry, name), sink, called)
        with self._registry.reserve():
            return self._add(record_of(self._registry, name), os.fspath(sink), called)

    def _add(self, record: SubscriptionRecord, text: str, called: str | None) -> SinkRunner:
        """Let the changes of a subscription go to an address, from now on and in all runs."""
        name, kept = self._place(record.name, record.sinks, text, called)
        cursor, before = cursor_of(record.name, name, HOME), record
        if record.sinks.get(name) != kept:
            record = replace(record, sinks={**record.sinks, name: kept})
            self._registry.publish(Draft(subscriptions=[record]))
            if (elsewhere := self._pool.runner(cursor)) is not None:
                elsewhere.stop()
        self.take(record, before)
        runner = self._pool.runner(cursor)
        assert runner is not None
        return runner

    def _add_own(
        self, record: SubscriptionRecord, sink: Sink | BatchSink, called: str | None
    ) -> SinkRunner:
        """Feed a sink of this process with the changes of a subscription."""
        if not callable(sink) and not isinstance(sink, BatchSink):
            raise PenstockError(
                "DEL-014",
                f"A {type(sink).__name__} takes no changes.",
                "Give an address, a function of a change, or an object with `write(table, token)`.",
            )
        if called in record.sinks:
            raise PenstockError(
                "DEL-013",
                f"A sink {called!r} of {record.name!r} is kept in the home, with its address.",
                f"Choose another name, or say DROP SINK {called} OF {record.name} first.",
            )
        runner = self._pool.add(record.name, sink, called)
        self._readers.feed(runner)
        return runner

    def drop(self, name: str, called: str, if_exists: bool = False) -> None:
        """Feed a sink of a subscription no more, and forget how far it has read."""
        with self._registry.reserve():
            record = record_of(self._registry, name)
            known = [each.name for each in self.of(name)]
            if called in record.sinks:
                left = {other: text for other, text in record.sinks.items() if other != called}
                self._registry.publish(Draft(subscriptions=[replace(record, sinks=left)]))
                self._pool.remove(cursor_of(name, called, HOME))
            elif called in known:
                self._pool.remove(cursor_of(name, called, PROCESS))
            elif not if_exists:
                raise PenstockError(
                    "DEL-012",
                    f"There is no sink {called!r} of {name!r}.",
                    f"Those that there are: {', '.join(known) or 'none'}.",
                )

    def forget(self, record: SubscriptionRecord) -> None:
        """Let the sinks of a subscription go that was dropped."""
        for name in record.sinks:
            self._pool.remove(cursor_of(record.name, name, HOME))

    def of(self, *names: str) -> list[SinkFacts]:
        """List the sinks of subscriptions."""
        tokens, found = self._pool.cursors.tokens(), list[SinkFacts]()
        live: dict[str, str | None] = {runner.cursor: None for runner in self._pool.runners}
        own: dict[str, list[tuple[str, str | None]]] = {}
        for cursor, token in (live | tokens).items():
            for subscription, name in parts_of(cursor) if HOME not in cursor else ():
                own.setdefault(subscription, []).append((name, token))
        for of in names:
            for name, text in record_of(self._registry, of).sinks.items():
                token = tokens.get(cursor_of(of, name, HOME))
                shown = str(self._address(of, text))
                found.append(SinkFacts(subscription=of, name=name, address=shown, token=token))
            for name, token in own.get(of, ()):
                found.append(SinkFacts(subscription=of, name=name, address=None, token=token))
        return found

    def _refuse_own(self, address: SinkAddress) -> None:
        """Refuse a directory in the home: what lies there is Penstock's own."""
        if directory_of(address).resolve().is_relative_to(self._home.path.resolve()):
            raise PenstockError(
                "DEL-018",
                f"The sink of {address.subscription!r} at {address} is in the home, where only "
                "Penstock's own files are.",
                "Name a directory beside the home.",
            )

    def _address(self, name: str, text: str) -> SinkAddress:
        return SinkAddress(text=text, engine=self._home.engine, subscription=name)


def _from_anywhere(address: SinkAddress) -> str:
    """Give the text of an address as it is kept: a directory is where this process means it."""
    if address.scheme != "file":
        return address.text
    if directory_of(address).is_absolute():
        return address.text
    return str(Path.cwd() / Path(address.text.removeprefix("file://")).expanduser())
