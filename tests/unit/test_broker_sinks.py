"""Sinks in brokers: a batch that comes again is as if it came once, also behind a crash."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from itertools import count

import pyarrow as pa
import pytest

from penstock.brokers import addresses
from penstock.brokers.addresses import BrokerAddress, broker_at
from penstock.brokers.protocol import Publication
from penstock.delivery import broker_sink
from penstock.delivery.broker_sink import BrokerSink
from penstock.delivery.sink_kinds import SinkAddress, sink_at
from penstock.lab.brokers import PROGRAMS, missing, running
from penstock.vocabulary.errors import PenstockError

ROOTS = count()
BATCH = pa.table({"_id": ["b", "a b", "b"], "x": [1.5, float("nan"), 2.5], "_batch": [3, 3, 3]})


def at(text: str, engine: str = "e") -> BrokerSink:
    return BrokerSink(SinkAddress(text=text, engine=engine, subscription="s/1"))


@pytest.fixture
def root() -> str:
    return f"memory://sinks/r{next(ROOTS)}"


def published(url: str, *subjects: str) -> list[Publication]:
    broker = broker_at(BrokerAddress.of(url))
    reading = broker.read(subjects or ["changes"])
    found: list[Publication] = []
    while reading.is_behind:
        found += reading.take(10.0)
    reading.close()
    broker.close()
    return found


@pytest.mark.parametrize("scheme", ["memory", *PROGRAMS])
def test_brokers_are_found_by_their_schemes(scheme: str) -> None:
    made = sink_at(SinkAddress(text=f"{scheme}://127.0.0.1/r", engine="e", subscription="s"))
    assert isinstance(made, BrokerSink)


def test_a_batch_is_lines_of_json_under_one_subject(root: str) -> None:
    at(root).write(BATCH, "3:3")
    at(root).write(BATCH, "3:3")
    (own,) = published(root)
    assert own.number == (3, 0)
    lines = [json.loads(line) for line in own.payload.splitlines()]
    assert lines == [
        {"_id": "b", "x": 1.5, "_batch": 3},
        {"_id": "a b", "x": None, "_batch": 3},
        {"_id": "b", "x": 2.5, "_batch": 3},
    ]


def test_arrow_and_subjects_by_id(root: str) -> None:
    at(root + "?format=arrow&by=id").write(BATCH, "3:3")
    first, second = published(root, "changes.a-20-b", "changes.b")
    read = [pa.ipc.open_stream(own.payload).read_all() for own in (first, second)]
    assert [len(table) for table in read] == [1, 2] and read[1]["x"].to_pylist() == [1.5, 2.5]
    assert read[1].column_names == BATCH.column_names


@pytest.mark.parametrize("form", ["json", "arrow"])
def test_a_large_batch_is_published_in_parts(
    form: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_sink, "PUBLISH_BYTES_MAX", 4_000)
    rows = pa.table({"_id": ["i"] * 1_000, "n": range(1_000)})
    at(f"{root}?format={form}").write(rows, "7:1000")
    found = published(root)
    assert len(found) > 3 and [own.part for own in found] == list(range(len(found)))
    if form == "arrow":
        told = [n for own in found for n in pa.ipc.open_stream(own.payload).read_all()["n"]]
        assert [n.as_py() for n in told] == list(range(1_000))
    else:
        lines = [json.loads(line)["n"] for own in found for line in own.payload.splitlines()]
        assert lines == list(range(1_000))


def test_a_root_belongs_to_one_subscription(root: str) -> None:
    at(root).write(BATCH, "3:3")
    with pytest.raises(PenstockError, match="'s/1' of the engine 'e'") as refused:
        at(root, engine="other").write(BATCH, "4:3")
    assert refused.value.code == "BRK-004"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nats://127.0.0.1:x/r", "BRK-001"),
        ("redis://127.0.0.1/a b", "BRK-001"),
        ("memory://here/r?keep=none", "BRK-003"),
        ("memory://here/r?by=nothing", "BRK-003"),
    ],
)
def test_bad_addresses_are_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        at(text)
    assert refused.value.code == code


def test_a_missing_client_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(PenstockError, match="pip install 'redis'") as refused:
        addresses.client("redis", "redis", "Redis")
    assert refused.value.code == "BRK-002"


@pytest.fixture(params=PROGRAMS)
def scheme(request: pytest.FixtureRequest) -> Iterator[str]:
    if (reason := missing(request.param)) is not None:
        pytest.skip(reason)
    return request.param


def write(sink: BrokerSink, table: pa.Table, batch: int) -> None:
    """Try again, as whoever feeds a sink does."""
    for _ in range(20_000):
        try:
            return sink.write(table, f"{batch}:1")
        except ConnectionError:
            time.sleep(0.02)
    raise AssertionError("the broker does not come back")


@pytest.mark.crash
def test_a_broker_that_dies_loses_and_doubles_nothing(scheme: str) -> None:
    """It dies between batches and under one; the sink is tried again, by another process too."""
    with running(scheme) as server:
        url = f"{server.url}/crash.test"
        sink = at(url)
        for batch in range(12):
            rows = pa.table({"_id": ["i"], "n": [batch]})
            if batch in {3, 4, 8}:
                server.kill()
                for _ in range(2):
                    with pytest.raises(ConnectionError):
                        sink.write(rows, f"{batch}:1")
                server.start()
            if batch == 6:
                sink.broker.close()
                sink = at(url)
                sink.write(pa.table({"_id": ["i"], "n": [batch - 1]}), f"{batch - 1}:1")
            write(sink, rows, batch)
        found = published(url)
        told = [json.loads(line)["n"] for own in found for line in own.payload.splitlines()]
        assert told == list(range(12))
        sink.close()
