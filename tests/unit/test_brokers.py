"""Brokers: what is published is kept once, in order, and read again from a position on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError

from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.protocol import Broker, BrokerReading, Publication
from penstock.lab.brokers import PROGRAMS, missing, running

PATIENCE_S = 600.0
ROOTS = count()


@pytest.fixture(scope="module", params=["memory", *PROGRAMS])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the address of a broker without a root."""
    if request.param == "memory":
        yield "memory://here"
        return
    if (reason := missing(request.param)) is not None:
        pytest.skip(reason)
    with running(request.param) as server:
        yield server.url


@pytest.fixture
def url(place: str) -> str:
    return f"{place}/test.r{next(ROOTS)}"


def at(url: str) -> Broker:
    return broker_at(BrokerAddress.of(url))


def some(subject: str, *numbers: tuple[int, int]) -> list[Publication]:
    return [Publication(subject, f"{subject} {b} {p}".encode(), b, p) for b, p in numbers]


def taken(reading: BrokerReading, count: int) -> list[Publication]:
    found: list[Publication] = []
    while len(found) < count or reading.is_behind:
        found += reading.take(PATIENCE_S)
    return found


def test_what_comes_again_is_kept_once(url: str) -> None:
    first = at(url)
    first.publish([*some("a", (3, 0)), *some("b.x", (3, 1)), *some("a", (3, 2))])
    first.publish([*some("a", (3, 0)), *some("b.x", (3, 1)), *some("a", (3, 2), (3, 3))])
    first.close()
    second = at(url)
    second.publish([*some("b.x", (3, 1)), *some("a", (3, 3)), *some("b.x", (4, 0))])
    newest = second.newest("a")
    assert newest is not None and newest.number == (3, 3) and second.newest("c") is None
    reading = second.read(["a", "b.x"])
    found = taken(reading, 5)
    whole = some("a", (3, 0), (3, 2), (3, 3)) + some("b.x", (3, 1), (4, 0))
    assert found == sorted(whole, key=lambda own: own.number)
    assert reading.take(0.05) == []
    reading.close()
    second.close()


def test_reading_begins_behind_a_position_and_goes_on(url: str) -> None:
    broker = at(url)
    broker.publish(some("a", (1, 0)))
    position = broker.publish(some("b", (1, 1)))
    broker.publish([*some("a", (2, 0)), *some("b", (2, 1)), *some("c", (2, 2))])
    reading = broker.read(["a", "b"], position)
    assert taken(reading, 2) == [*some("a", (2, 0)), *some("b", (2, 1))]
    broker.publish([*some("c", (3, 0)), *some("b", (3, 1))])
    assert taken(reading, 1) == some("b", (3, 1))
    reading.close()
    broker.close()


def test_what_is_older_than_the_newest_is_not_taken(url: str) -> None:
    """However long ago it was published: no window of the broker's own decides."""
    broker = at(url)
    broker.publish(some("a", (1, 0), (2, 0)))
    broker.close()
    again = at(url)
    again.publish(some("a", (1, 1)))
    reading = again.read(["a"])
    assert taken(reading, 2) == some("a", (1, 0), (2, 0))
    reading.close()
    again.close()


def test_the_newest_value_of_a_name_is_kept(url: str) -> None:
    broker = at(url)
    assert broker.kept() == {}
    broker.keep({"one": b"1", "two": b"2" * 100_000})
    broker.keep({"one": b"3", "three": b"\0\xff"})
    broker.close()
    again = at(url)
    assert again.kept() == {"one": b"3", "two": b"2" * 100_000, "three": b"\0\xff"}
    again.close()


@pytest.mark.skipif(missing("nats") is not None, reason=missing("nats") or "")
def test_what_came_before_nats_was_lost_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, next_msg = count(), Subscription.next_msg

    async def lost(own: Subscription, timeout: float | None = 1.0) -> object:
        if next(asked) == 1:
            raise ConnectionClosedError
        return await next_msg(own, timeout)

    monkeypatch.setattr(Subscription, "next_msg", lost)
    with running("nats") as server:
        broker = at(f"{server.url}/test.lost")
        broker.publish(some("a", (1, 0), (1, 1), (1, 2)))
        reading = broker.read(["a"])
        with pytest.raises(ConnectionError):
            reading.take(PATIENCE_S)
        found = reading.take(PATIENCE_S)
        assert found[:1] == some("a", (1, 0)), "what was not given is not behind us"
        assert found + taken(reading, 3 - len(found)) == some("a", (1, 0), (1, 1), (1, 2))
        reading.close()
        broker.close()
