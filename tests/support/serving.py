"""A server on an ephemeral port of this machine, over a home that is filled without Spark."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

import httpx
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.server.access import ALL, AccessTokens
from penstock.server.service import HomeServer, listen, serve
from tests.support.desk_runs import DeskRun
from tests.support.waiting import until

SCHEMA = pa.schema([("n", pa.int64()), ("customer", pa.int64()), ("note", pa.string())])
CUSTOMERS = 4
PATIENCE_S = 600.0
LIMITS_S = (
    "penstock.server.streams.LIFE_S",
    "penstock.server.streams.STALL_S",
    "penstock.server.lines.SPEAK_S",
    "penstock.server.gate.BODY_S",
    "penstock.engine.errands.TAKEN_S_MAX",
    "penstock.engine.errands.ANSWER_S_MAX",
)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody be too slow on a busy machine; a test that is about a limit sets its own."""
    for name in LIMITS_S:
        monkeypatch.setattr(name, PATIENCE_S)


class OrderRun(DeskRun):
    """A stream of orders, numbered; `whole` is told all of them, `each` by customer."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, Relation(name="orders", kind="stream", schema=SCHEMA))
        rows = [{"id": f"c{at}", "customer": at} for at in range(CUSTOMERS)]
        self.desk.subscribe("SELECT n, note FROM orders WHERE customer >= 0", name="whole")
        self.desk.subscribe(
            "SELECT n FROM orders WHERE customer = :customer", name="each", each=rows
        )
        self.orders = 0

    def more(self, orders: int, note: str = "") -> None:
        """Run a batch with so many orders, customer by customer."""
        numbers = range(self.orders, self.orders + orders)
        rows = [{"n": n, "customer": n % CUSTOMERS, "note": note} for n in numbers]
        self.batch(orders=rows)
        self.orders += orders


class ServedOrders:
    """A server in a thread, and clients of it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tokens = AccessTokens(home)
        self.token, _ = self.tokens.create(ALL)
        listening = listen("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._server: HomeServer | None = None
        began = threading.Event()

        def run() -> None:
            def told(server: HomeServer) -> None:
                self._server = server
                began.set()

            asyncio.run(serve(home, listening, told))

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert began.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def client(self, token: str | None = None) -> httpx.Client:
        """Give a client with an access token, by default one that may do everything."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=PATIENCE_S)

    def allowed(self, *scopes: str, **limits: Any) -> httpx.Client:
        """Give a client with an access token of its own."""
        return self.client(self.tokens.create(scopes, **limits)[0])

    def metric(self, name: str) -> int:
        """Give a figure of the server as Prometheus reads it."""
        with self.client() as client:
            text = client.get("/metrics").text
        found = re.findall(rf"^penstock_{name}(?:_total)?(?:{{.*}})? (\d+)$", text, re.MULTILINE)
        return sum(map(int, found))

    def until(self, name: str, value: int) -> None:
        """Wait until a figure of the server is so much."""
        until(lambda: self.metric(name) == value)


Event = tuple[str, dict[str, Any] | None]
"""The token of a server-sent event, and its data if it has any."""


def events(response: httpx.Response) -> Iterator[Event]:
    """Read server-sent events as a browser does."""
    token, data = "", None
    for line in response.iter_lines():
        word, _, rest = line.partition(": ")
        if word == "id":
            token = rest
        elif word == "data":
            data = json.loads(rest)
        elif not line:
            yield token, data
            data = None


@contextmanager
def followed(client: httpx.Client, name: str, **asked: str) -> Iterator[Iterator[Event]]:
    """Open a stream of a subscription's changes."""
    with client.stream("GET", f"/subscriptions/{name}/changes", params=asked) as response:
        assert response.status_code == 200, response.read()
        yield events(response)


def next_numbers(found: Iterator[Event], count: int) -> list[int]:
    """Wait for the numbers of so many orders."""
    return [data["n"] for _, data in islice((each for each in found if each[1]), count) if data]


def numbers(client: httpx.Client, name: str, **asked: str) -> list[int]:
    """Read the numbers of all orders that are there."""
    with followed(client, name, follow="false", **asked) as found:
        return [data["n"] for _, data in found if data is not None]


def refused(response: httpx.Response) -> tuple[int, str]:
    """Give status and code of a refusal, which says a fact and a remedy too."""
    told = response.json()
    assert told["fact"] and told["remedy"], told
    return response.status_code, told["code"]
