"""`penstock edge`: subscribers of one's own, and the messages of a broker, without Spark.

Nothing of the engine is imported here: an edge is a small process.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.vocabulary.errors import PenstockError, resolved_text

if TYPE_CHECKING:
    from penstock.edges.edge import Edge
    from penstock.edges.notifications import Notifications

LOGGER = logging.getLogger("penstock.edges")
Aggregate = Annotated[
    str | None,
    typer.Option(
        "--aggregate",
        help="What subscribers ask for, of messages of SUM, AVG or COUNT.",
        metavar="count|sum|avg",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        help="Give server-sent events here, at /notifications; port 0 takes a free one.",
        metavar="127.0.0.1:PORT",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Which of the edges this is that the subscription's address names.",
        metavar="NAME",
    ),
]


def edge(
    broker: Annotated[
        str,
        typer.Option(
            "--broker", help="Where messages are published.", metavar="nats://HOST:PORT/ROOT"
        ),
    ],
    subscriptions: Annotated[
        Path,
        typer.Option(
            "--subscriptions",
            help="A row for each subscriber: an id, its ranges, its partition.",
            metavar="FILE.parquet|FILE.csv",
        ),
    ],
    listen: Listen = None,
    id_column: Annotated[str, typer.Option("--id", help="The column of the ids.")] = "id",
    low: Annotated[str, typer.Option("--low", help="The column of the ranges' lower ends.")] = "lo",
    high: Annotated[str, typer.Option("--high", help="That of their upper ends.")] = "hi",
    aggregate: Aggregate = None,
    name: Name = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no notifications; listeners get them.")
    ] = False,
) -> None:
    """Tell subscribers of aggregates or joins what changes for them, from a broker's messages.

    The subscription is one AS MESSAGES, with INTO that broker. Prints a JSON object per line: first
    every subscriber's value, then each change. Runs until Ctrl-C; needs no Spark. On SIGHUP, the
    file of subscribers is read again.

    ```
    penstock edge --broker nats://127.0.0.1:4222/market.lows --subscriptions ranges.parquet
    penstock edge --broker redis://host/lows --subscriptions r.csv --listen 127.0.0.1:8080 -q
    ```
    """
    from penstock.edges.edge import Edge
    from penstock.edges.event_streams import EventStreams, listen_address
    from penstock.edges.subscribers import RangeColumns, read_subscribers

    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    given = read_subscribers(subscriptions)
    place = None if listen is None else listen_address(listen)
    address = BrokerAddress.of(resolved_text(broker, "The address of the broker", "BRK-001"))
    streams: EventStreams | None = None

    def tell(notifications: Notifications) -> None:
        if not quiet:
            sys.stdout.write(notifications.lines())
            sys.stdout.flush()
        if streams is not None:
            streams.tell(notifications)

    columns = RangeColumns(id=id_column, low=low, high=high)
    announced = None if name is None else (name, broker_at(edge_address(address, name)))
    running = Edge(
        broker_at(address), given, tell, columns, aggregate=aggregate, announced=announced
    )
    if place is not None:
        streams = EventStreams(place, running.values)
        sys.stderr.write(f"Listening on http://{place[0]}:{streams.port}/notifications\n")
        sys.stderr.flush()
    _follow(running, subscriptions)
    if streams is not None:
        streams.close()


def _follow(running: Edge, file: Path) -> None:
    """Run an edge until a signal ends it; another lets it read its subscribers again."""
    from penstock.edges.subscribers import read_subscribers

    stop, again = threading.Event(), threading.Event()

    def read_again() -> None:
        while True:
            again.wait()
            again.clear()
            try:
                running.replace(read_subscribers(file))
            except PenstockError as error:
                LOGGER.warning("The new subscribers are not taken: %s", error)

    threading.Thread(target=read_again, daemon=True).start()
    signal.signal(signal.SIGHUP, lambda *_: again.set())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    running.run(stop)
