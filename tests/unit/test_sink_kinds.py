"""Sinks that are found by their address: a batch that comes again is as if it came once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.delivery.postgresql_sink import TOKENS, PostgresqlSink
from penstock.delivery.sink_kinds import BatchSink, SinkAddress, sink_at
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres
from tests.support.desks import desk_with_events

BATCH = pa.table(
    {"_id": ["a", "b"], "x": [1.5, float("nan")], "word": ["o\tne", None], "l": [[1, 2], None]}
)


def address(text: str) -> SinkAddress:
    return SinkAddress(text=text, engine="e", subscription="s/1")


def at(text: str) -> BatchSink:
    return sink_at(address(text))


def test_a_directory_has_a_file_for_each_batch(tmp_path: Path) -> None:
    for text in (str(tmp_path / "out"), f"file://{tmp_path}/out"):
        sink = at(text)
        sink.write(BATCH.slice(0, 1), "3:1")
        sink.write(BATCH, "4:2")
        sink.write(BATCH, "3:2")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["s%2F1-000000000003.parquet", "s%2F1-000000000004.parquet"]
    assert pq.read_table(tmp_path / "out" / files[0])["word"].to_pylist() == ["o\tne", None]


class Hook(BaseHTTPRequestHandler):
    """Keeps what is posted; answers with `status`."""

    status: ClassVar[int] = 204
    posted: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.posted.append((self.headers["Idempotency-Key"], body.decode()))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Hook, "posted", [])
    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    thread.join(60)
    server.server_close()


def test_a_webhook_is_posted_a_batch(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_PART", "t0ken")
    sink = at(hook + "?key=${SECRET_PART}")
    sink.write(BATCH, "3:2")
    ((key, body),) = Hook.posted
    assert key == "e/s/1/3:2"
    first, second = map(json.loads, body.splitlines())
    assert first == {"_id": "a", "x": 1.5, "word": "o\tne", "l": [1, 2]}
    assert second == {"_id": "b", "x": None, "word": None, "l": None}
    monkeypatch.setattr(Hook, "status", 503)
    with pytest.raises(ConnectionError, match="answered 503") as error:
        sink.write(BATCH, "4:2")
    assert "t0ken" not in str(error.value)


@pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
def test_postgresql_has_rows_and_token_in_one_transaction() -> None:
    with postgres.running() as server:
        sink = PostgresqlSink(alerts := address(server.url() + "?table=al%20erts"))
        for _ in range(2):  # a sink that begins anew knows what is there
            sink.close()
            sink = PostgresqlSink(alerts)
            sink.write(BATCH, "3:2")
            sink.write(BATCH.slice(1), "5:1")
            sink.write(BATCH, "3:2")
        other = BATCH.append_column("more", pa.array([1, 2]))
        with pytest.raises(Exception, match="more"):
            sink.write(other, "6:2")
        sink.write(BATCH.slice(0, 1), "7:1")
        sink.close()
        rows = server.execute('SELECT _id, word, l FROM "al erts"')
        assert rows == [("a", "o\tne", "[1, 2]"), ("b", None, None), ("b", None, None), rows[0]]
        assert server.execute(f"SELECT * FROM {TOKENS}") == [("e/s/1/al erts", "7:1")]


def test_what_cannot_be_a_sink_is_refused(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path)
    sub = desk.subscribe("SELECT n FROM t WHERE x > 1", name="sub")
    for text, code in (("kafka://host/topic", "DEL-004"), ("https://h/${NOT_SET_1}", "DEL-005")):
        with pytest.raises(PenstockError) as error:
            sub.to(text)
        assert error.value.code == code
    assert sub.to(str(tmp_path / "out"), name="files").cursor == "sub.files"
    desk.close()


def test_a_sink_without_its_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(PenstockError) as error:
        at("postgresql://me:${PASSWORD_1}@h/db".replace("${PASSWORD_1}", "hidden"))
    assert error.value.code == "DEL-006"
    assert "hidden" not in str(error.value)
