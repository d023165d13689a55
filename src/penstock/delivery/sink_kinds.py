"""Kinds of sinks: who takes whole batches, found by the scheme of an address.

A package brings another kind by an entry point of the group `penstock.delivery.sinks`, whose name
is the scheme and whose value is called with a `SinkAddress` and gives a `BatchSink`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

import pyarrow as pa

from penstock.vocabulary.errors import PenstockError, resolved_text
from penstock.vocabulary.extensions import SINKS, extensions

OWN = {
    "file": "penstock.delivery.directory_sink:DirectorySink",
    "http": "penstock.delivery.webhook_sink:WebhookSink",
    "https": "penstock.delivery.webhook_sink:WebhookSink",
    "memory": "penstock.delivery.broker_sink:BrokerSink",
    "mqtt": "penstock.delivery.broker_sink:BrokerSink",
    "nats": "penstock.delivery.broker_sink:BrokerSink",
    "postgresql": "penstock.delivery.postgresql_sink:PostgresqlSink",
    "redis": "penstock.delivery.broker_sink:BrokerSink",
}
"""Penstock's own kinds by scheme; an address without a scheme is a directory."""
SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


@runtime_checkable
class BatchSink(Protocol):
    """Takes whole batches; raising means "not taken, try again later".

    It is idempotent by token: a batch that comes again, after a crash, has the same token, and
    must be as if it had come once. A token is `batch:changes`, and batches come in order. If it has
    a method `close`, that is called at the end of every run. If it has `stands_behind`, it is asked
    with what `write` is given, before that, in the beginning and after each failure: the batch that
    it gives is the last one that it has, and those behind that are given again.
    """

    def write(self, table: pa.Table, token: str, /) -> None:
        """Take a batch: _id, _query, _sign, the columns, _batch, _version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkAddress:
    """Where a sink is, and whose changes come there.

    `${NAME}` stands for a variable of the environment, so that secrets are in no file.

    >>> str(SinkAddress(text="postgresql://me:secret@db/market?x=1", engine="e", subscription="s"))
    'postgresql://db/…'
    >>> str(SinkAddress(text="out/alerts", engine="e", subscription="s"))
    'out/alerts'
    """

    text: str
    engine: str
    subscription: str
    resumes: bool = False
    """Whether the sink took changes in an earlier run."""

    @property
    def scheme(self) -> str:
        """What stands before `://`; a plain path is a `file`."""
        found = SCHEME.match(self.text)
        return found[1].lower() if found else "file"

    def __str__(self) -> str:
        """Show it without what may be secret: user, password, path and query."""
        if self.scheme == "file":
            return self.text
        return f"{self.scheme}://{urlsplit(self.text).hostname or ''}/…"

    def resolved(self) -> str:
        """Give the address with the environment's values; they are looked up now."""
        whose = f"The sink of {self.subscription!r} at {self}"
        return resolved_text(self.text, whose, "DEL-005")


def is_placed(text: str) -> bool:
    """Say whether an address is the same from everywhere: it has a scheme, or a variable says.

    >>> is_placed("https://host/hook"), is_placed("${OUT}/alerts"), is_placed("out/alerts")
    (True, True, False)
    """
    return bool(SCHEME.match(text)) or text.startswith("${")


def sink_at(address: SinkAddress) -> BatchSink:
    """Give the sink of an address, by its scheme."""
    own = {name: EntryPoint(name, value, SINKS) for name, value in OWN.items()}
    known = {**own, **extensions(SINKS)}
    if address.scheme not in known:
        raise PenstockError(
            "DEL-004",
            f"No kind of sinks has the scheme {address.scheme!r}.",
            f"Give a directory, or an address that begins with one of: {', '.join(known)}.",
        )
    made: BatchSink = known[address.scheme].load()(address)
    return made


class AddressedSink:
    """The sink of an address, opened when its first batch comes.

    So one that cannot be opened is tried again as one that does not answer, and harms no other.
    """

    def __init__(self, address: SinkAddress) -> None:
        self.address = address
        self._opened: BatchSink | None = None

    @property
    def stands_behind(self) -> Callable[[pa.Table, str], int | None] | None:
        """Ask behind which batch it stands, if it can be asked."""
        return getattr(self._open(), "stands_behind", None)

    def write(self, table: pa.Table, token: str) -> None:
        """Take a batch."""
        self._open().write(table, token)

    def _open(self) -> BatchSink:
        if self._opened is None:
            self._opened = sink_at(self.address)
        return self._opened

    def close(self) -> None:
        """Close it until the next batch."""
        opened, self._opened = self._opened, None
        if (close := getattr(opened, "close", None)) is not None:
            close()


def batch_of(token: str) -> int:
    """Give the batch of a token.

    >>> batch_of("17:3")
    17
    """
    return int(token.partition(":")[0])
