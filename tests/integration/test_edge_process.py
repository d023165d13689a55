"""`penstock edge`: a small process that prints and streams notifications, and may be killed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress
from penstock.edges import event_streams
from penstock.edges.event_streams import EventStreams
from penstock.edges.notifications import Notifications
from penstock.lab.brokers import missing, running
from tests.support.offers import Offers
from tests.support.waiting import until as until_true

HEAVY = ("pyspark", "duckdb", "pandas", "sqlglot", "penstock.engine", "penstock.spark")


def started(url: str, file: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock", "edge", "--broker", url]
    return subprocess.Popen(
        [*command, "--subscriptions", str(file), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until(process: subprocess.Popen[str], batch: int, values: dict, answers: dict) -> None:
    """Read notifications until all values are those of a batch."""
    assert process.stdout is not None
    while values != answers:
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        told = json.loads(line)
        values[told["id"]] = told["value"]


def ended(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=600)
    return errors


@pytest.mark.crash
@pytest.mark.skipif(missing("nats") is not None, reason=missing("nats") or "")
def test_a_killed_edge_goes_on_with_what_holds(tmp_path: Path) -> None:
    offers = Offers(9)
    given = offers.subscribers(30)
    pyarrow.csv.write_csv(given.rename_columns(["who", "site", "from", "to"]), tmp_path / "s.csv")
    pq.write_table(given, tmp_path / "s.parquet")
    with running("nats") as server:
        url = f"{server.url}/offers.lows"
        named = SinkAddress(text=url + "?edges=north", engine="e", subscription="lows")
        sink = BrokerSink(named)
        first = started(
            url, tmp_path / "s.csv", "--id", "who", "--low", "from", "--high", "to",
            "--listen", "127.0.0.1:0", "--name", "north",
        )  # fmt: skip
        sink.write(offers.change(come=20, go=0), "0:1")
        values: dict = {}
        until(first, 0, values, offers.answers(given))
        assert first.stderr is not None
        told = first.stderr.readline()
        while not told.startswith("Listening on "):
            told = first.stderr.readline()
        place = told.split()[-1]
        with urlopen(place + "?id=s3", timeout=600) as stream:
            sink.write(offers.change(), "1:1")
            until(first, 1, values, offers.answers(given))
            held = urlopen(place.replace("notifications", "values?id=s3"), timeout=600).read()
            assert json.loads(held)["value"] == values["s3"]
            batch, before = 1, values["s3"]
            while values["s3"] == before:
                batch += 1
                sink.write(offers.change(), f"{batch}:1")
                until(first, batch, values, offers.answers(given))
            seen = [stream.readline() for _ in range(3)]
        assert json.loads(seen[1].removeprefix(b"data: "))["id"] == "s3"
        first.kill()
        ended(first)
        sink.write(offers.change(), f"{batch + 1}:1")
        second = started(url, tmp_path / "s.parquet", "--name", "north")
        again: dict = {}
        until(second, batch + 1, again, offers.answers(given))
        more = pa.concat_tables([given, pa.table({**given.slice(3, 1).to_pydict(), "id": ["x"]})])
        (tmp_path / "s.parquet").write_text("no longer Parquet")
        second.send_signal(signal.SIGHUP)
        assert second.stderr is not None
        while "EDG-001" not in second.stderr.readline():
            assert second.poll() is None
        pq.write_table(more, tmp_path / "s.parquet")
        second.send_signal(signal.SIGHUP)
        until(second, batch + 1, again, offers.answers(more))
        second.terminate()
        ended(second)
        assert second.returncode == 0
        sink.close()


def test_an_edge_imports_no_engine() -> None:
    own = "penstock.cli.main, penstock.edges.edge, penstock.edges.event_streams"
    code = f"import sys, {own}; print([n for n in {HEAVY} if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("broker", "file", "listen", "code"),
    [
        ("nats://127.0.0.1/r", "absent.parquet", "127.0.0.1:0", "EDG-001"),
        ("nats://127.0.0.1/r", "absent.txt", "127.0.0.1:0", "EDG-001"),
        ("nats://127.0.0.1/r", "s.parquet", "0.0.0.0:80", "EDG-004"),
        ("${PENSTOCK_NOWHERE}", "s.parquet", "127.0.0.1:0", "BRK-001"),
    ],
)
def test_what_cannot_be_is_refused(
    broker: str, file: str, listen: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(Offers(1).subscribers(2), "s.parquet")
    asked = ["edge", "--broker", broker, "--subscriptions", file, "--listen", listen]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 2 and code in ran.output


def test_a_client_that_takes_nothing_holds_no_thread_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert event_streams.NotificationRequest.timeout is not None, "it waits without end"
    monkeypatch.setattr(event_streams.NotificationRequest, "timeout", 0.3)
    streams = EventStreams(("127.0.0.1", 0), lambda _ids: None)
    told = Notifications(batch=1, ids=pa.array(["a" * 9_000_000]), values=pa.array([1]))
    clients = [socket.create_connection(("127.0.0.1", streams.port)) for _ in range(3)]
    for client in clients[:2]:
        client.sendall(b"GET /notifications HTTP/1.1\r\n\r\n")
    until_true(lambda: len(streams._clients) == 2)
    streams.tell(told)
    until_true(lambda: not streams._clients)
    assert clients[2].recv(1) == b"", "one that asks nothing is still served"
    for client in clients:
        client.close()
    streams.close()


def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "WAITING_MAX", 2)
    monkeypatch.setattr(event_streams, "CLIENTS_MAX", 1)
    streams = EventStreams(("127.0.0.1", 0), lambda _ids: None)
    told = Notifications(batch=1, ids=pa.array(["a"]), values=pa.array([1]))
    client = streams.join(frozenset())
    assert client is not None and streams.join(frozenset()) is None
    for _ in range(3):
        streams.tell(told)
    assert not streams.has(client) and client.qsize() == 2
    streams.close()
