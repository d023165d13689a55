"""Addresses of brokers: which broker, where, and the root below which all subjects are.

`nats://user:secret@host:4222/market.lows?keep_bytes=1000000`: the path is the root.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.vocabulary.errors import PenstockError

if TYPE_CHECKING:
    from penstock.brokers.protocol import Broker

PLACES = {
    "memory": "penstock.brokers.in_process:InProcessBroker",
    "mqtt": "penstock.brokers.mqtt_broker:MqttBroker",
    "nats": "penstock.brokers.nats_broker:NatsBroker",
    "redis": "penstock.brokers.redis_broker:RedisBroker",
}
"""The brokers by the scheme of their addresses."""
NOTICES_BYTES = 1 << 20
"""So much room has what an edge tells of itself, where a broker reserves it."""
PORTS = {"memory": 0, "mqtt": 1883, "nats": 4222, "redis": 6379}
WORD = re.compile(r"[A-Za-z0-9_-]+")
ESCAPED = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    """Where a broker is, and where in it."""

    scheme: str
    host: str
    port: int
    root: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(text: str, root: str = "") -> BrokerAddress:
        """Read an address; `root` is where in the broker, if its path does not say.

        >>> BrokerAddress.of("nats://127.0.0.1/market.lows?buckets=8").root
        'market.lows'
        >>> BrokerAddress.of("redis://127.0.0.1", root="penstock.lows").root
        'penstock.lows'
        """
        parts = urlsplit(text)
        scheme = parts.scheme.lower()
        try:
            port = parts.port or PORTS[scheme]
        except (KeyError, ValueError):
            raise PenstockError(
                "BRK-001",
                "The address of a broker cannot be read.",
                "Write nats://host:port/root, redis://… or mqtt://….",
            ) from None
        own = parts.path.strip("/") or root
        if not own or not all(WORD.fullmatch(word) for word in own.split(".")):
            raise PenstockError(
                "BRK-001",
                f"{own!r} is no root of subjects.",
                "Write words of letters, digits, _ and - with dots between: nats://host/market.lows.",
            )
        return BrokerAddress(
            scheme=scheme, host=parts.hostname or "127.0.0.1", port=port, root=own,
            user=parts.username and unquote(parts.username),
            password=parts.password and unquote(parts.password),
            options=dict(parse_qsl(parts.query)),
        )  # fmt: skip

    def words(self, name: str) -> tuple[str, ...]:
        """Give an option that is words with commas between them; none, if it is not there."""
        text = self.options.get(name, "")
        found = tuple(text.split(",")) if name in self.options else ()
        if len(set(found)) < len(found) or not all(WORD.fullmatch(word) for word in found):
            raise PenstockError(
                "BRK-003",
                f"{name}={text} in the address of a broker are no different words.",
                f"Write {name}=north,south, for example: letters, digits, _ and -.",
            )
        return found

    def number(self, name: str, otherwise: int) -> int:
        """Give an option that is a whole number above zero."""
        text = self.options.get(name, str(otherwise))
        if not text.isdigit() or int(text) < 1:
            raise PenstockError(
                "BRK-003",
                f"{name}={text} in the address of a broker is no number above zero.",
                f"Write {name}={otherwise}, for example.",
            )
        return int(text)


def edge_address(place: BrokerAddress, name: str) -> BrokerAddress:
    """Give where the edge of a name tells what it holds: beside the root, not below it.

    >>> edge_address(BrokerAddress.of("nats://127.0.0.1/market.lows"), "north").root
    'market.lows-edge-north'
    """
    options = {**place.options, "keep_bytes": str(NOTICES_BYTES)}
    return replace(place, root=f"{place.root}-edge-{name}", options=options)


def subject_word(text: str) -> str:
    """Give a text as one word of a subject; unlike texts have unlike words.

    >>> subject_word("anna_1"), subject_word("a b.c"), subject_word("é-"), subject_word("")
    ('anna_1', 'a-20-b-2E-c', '-E9--2D-', '-')
    """
    return ESCAPED.sub(lambda sign: f"-{ord(sign[0]):X}-", text) or "-"


def broker_at(address: BrokerAddress) -> Broker:
    """Give the broker of an address; it connects when something is asked of it."""
    module, _, name = PLACES[address.scheme].partition(":")
    made: Broker = getattr(importlib.import_module(module), name)(address)
    return made


def client(module: str, package: str, broker: str) -> ModuleType:
    """Import the client of a broker; refuse where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise PenstockError(
            "BRK-002",
            f"{broker} needs the package {package}.",
            f"Install penstock with it: pip install '{package}'.",
        ) from None
