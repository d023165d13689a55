"""Changes over HTTP: nothing is lost or doubled, whoever reads slowly, comes again, or goes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random

import httpx
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from penstock.delivery.retention import KeepLimits, LogUpkeep, UpkeepPace
from penstock.server import served_home, streams
from penstock.server.batches import ServedBatch
from tests.support.serving import (
    CUSTOMERS,
    PATIENCE_S,
    OrderRun,
    ServedOrders,
    be_patient,
    followed,
    next_numbers,
    numbers,
    refused,
)
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OrderRun]:
    with OrderRun(tmp_path / "home") as run:
        run.more(10)
        run.more(0)
        run.more(7)
        yield run


@pytest.fixture
def served(run: OrderRun) -> Iterator[ServedOrders]:
    with ServedOrders(run.desk.home.path) as served:
        yield served


def test_a_client_that_comes_again_misses_and_doubles_nothing(
    run: OrderRun, served: ServedOrders
) -> None:
    """Whatever the place at which a connection breaks, also inside a batch and between batches."""
    found: list[int] = []
    token = ""
    with served.client() as client:
        for wanted in (0, 1, 3, 8, 2, 9, 5, 40):
            upto = min(len(found) + wanted, run.orders)
            headers = {"Last-Event-ID": token} if token else {}
            address = "/subscriptions/whole/changes?after=start"
            with client.stream("GET", address, headers=headers) as response:
                for line in response.iter_lines():
                    if line.startswith("id: "):
                        token = line[4:]
                    if line.startswith("data: "):
                        found.append(json.loads(line[6:])["n"])
                    if len(found) == upto and not line:
                        break
            run.more(3)
        found += numbers(client, "whole", after=token)
    assert found == list(range(run.orders))


def test_one_id_of_many_has_tokens_of_its_own(run: OrderRun, served: ServedOrders) -> None:
    own = [n for n in range(run.orders) if n % CUSTOMERS == 1]
    with served.client() as client:
        assert numbers(client, "each", id="c1") == own
        with followed(client, "each", id="c1", after="0:2") as found:
            run.more(4)
            own = [n for n in range(run.orders) if n % CUSTOMERS == 1][2:]
            assert next_numbers(found, len(own)) == own
        assert refused(client.get("/subscriptions/each/changes?id=nobody")) == (404, "REG-017")


def test_who_is_told_nothing_is_told_how_far_it_is(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while batches come that have nothing for it: its token must not grow old."""
    monkeypatch.setattr(streams, "LIFE_S", 0.05)
    run.desk.subscribe("SELECT n FROM orders WHERE customer = 99", name="never")
    with served.client() as client, followed(client, "never") as found:
        run.more(4)
        while next(found) != ("4:0", None):
            pass
        with followed(client, "each", id="c1", after="now") as one:
            run.batch(orders=[{"n": -1, "customer": 2, "note": ""}])
            while (told := next(one)) != ("5:0", None):
                assert told[1] is None


def test_what_comes_is_sent_to_all_who_wait(run: OrderRun, served: ServedOrders) -> None:
    before = run.orders
    client = served.client()
    with client, followed(client, "whole", after="now") as one, followed(client, "each") as other:
        assert next(one) == ("3:0", None)
        run.more(5)
        assert next_numbers(one, 5) == list(range(before, run.orders))
        assert sorted(next_numbers(other, run.orders)) == list(range(run.orders))
        with followed(client, "whole", after="3:2") as late:
            assert [next(late)[0] for _ in range(4)] == ["3:2", "3:3", "3:4", "3:5"]


def test_a_websocket_gives_the_same_with_tokens(run: OrderRun, served: ServedOrders) -> None:
    address = served.address.replace("http", "ws") + "/subscriptions/{}/changes?after={}"
    headers = {"Authorization": f"Bearer {served.token}"}
    with connect(address.format("whole", "start"), additional_headers=headers) as client:
        told = [json.loads(client.recv()) for _ in range(3)]
        assert [each["token"] for each in told] == ["0:0", "0:10", "2:7"]
        assert [row["n"] for each in told for row in each["changes"]] == list(range(run.orders))
    again = f"{address.format('whole', '2:5')}&token={served.token}"
    with connect(again) as client:
        run.more(2)
        told = [json.loads(client.recv()) for _ in range(3)]
        assert [len(each["changes"]) for each in told] == [0, 2, 2]
        run.desk.drop("whole")
        assert json.loads(client.recv())["error"]["code"] == "REG-001"
        with pytest.raises(ConnectionClosed):
            client.recv()
    for wrong, status, code in (
        ("/changes", 401, "SRV-002"),
        ("/changes?token=x", 401, "SRV-003"),
        ("/changes?after=9:9&token=" + served.token, 422, "SRV-013"),
        ("/changes?afer=9:9&token=" + served.token, 422, "SRV-007"),
        ("/elsewhere", 404, "SRV-006"),
    ):
        with pytest.raises(InvalidStatus) as refusal:
            connect(address.partition("/changes")[0].format("each") + wrong)
        assert refusal.value.response.status_code == status
        assert json.loads(refusal.value.response.body)["code"] == code


def test_a_dropped_subscription_ends_its_streams(run: OrderRun, served: ServedOrders) -> None:
    with served.client() as client:
        with followed(client, "whole", after="now") as found:
            next(found)
            run.desk.drop("whole")
            told = [data for _, data in found]
        assert told[-1] and told[-1]["error"]["code"] == "REG-001"
        assert refused(client.get("/subscriptions/whole/changes")) == (404, "REG-001")


def test_a_home_that_cannot_be_followed_for_a_while_is_gone_on_with(
    run: OrderRun, served: ServedOrders
) -> None:
    """Whatever the reason: a client is told so by /health, and misses nothing."""
    following = run.desk.log.manifest(run.desk.log.newest() + 1)
    with served.client() as client, followed(client, "whole", after="now") as found:
        following.mkdir()
        until(lambda: client.get("/health").status_code == 503)
        assert refused(client.get("/health")) == (503, "SRV-021")
        following.rmdir()
        until(lambda: client.get("/health").status_code == 200)
        first = run.orders
        run.more(3)
        assert next_numbers(found, 3) == list(range(first, first + 3))


def test_wrong_places_to_begin_are_refused(run: OrderRun, served: ServedOrders) -> None:
    with served.client() as client:
        for after in ("4:0", "3:1", "99:0", "-1:0", "1:-1"):
            answer = client.get(f"/subscriptions/whole/changes?after={after}")
            assert refused(answer) == (422, "SRV-013"), after
        for after in ("x", "1", "1:2:3", "1:b"):
            answer = client.get(f"/subscriptions/whole/changes?after={after}")
            assert refused(answer) == (422, "DEL-001"), after


def put_away(run: OrderRun) -> list[int]:
    """Run many batches, of which few are kept; give the orders that are."""
    for _ in range(30):
        run.more(2)
    upkeep = LogUpkeep(run.desk.log, UpkeepPace(spare_batches=2, volume_batches=5))
    list(upkeep.steps(KeepLimits.of_text("60 KB"), 0.0))
    first = run.desk.log.first()
    assert 3 < first < run.batches - 1
    return list(range(run.orders))[-2 * (run.batches - first) :]


def test_results_that_are_gone_are_refused_and_never_skipped(
    run: OrderRun, served: ServedOrders
) -> None:
    """Files move into volumes and go while a server reads; whoever begins at the start does so."""
    kept = put_away(run)
    with served.client() as client:
        answer = client.get("/subscriptions/whole/changes?after=2:1")
        assert refused(answer) == (410, "DEL-008")
        assert numbers(client, "whole") == kept


def test_a_server_that_lags_behind_what_is_kept_goes_on_with_that(
    run: OrderRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was stopped for a while, say; who waited for what went is told."""
    monkeypatch.setattr(served_home, "LOOK_S", PATIENCE_S)
    with ServedOrders(run.desk.home.path) as served, served.client() as client:
        with followed(client, "whole", after="now") as found:
            next(found)
            kept = put_away(run)
            assert numbers(client, "whole") == kept
            *_, (_, told) = found
            assert told is not None and told["error"]["code"] == "DEL-008"
        first = run.orders
        run.more(3)
        assert numbers(client, "whole") == [*kept, *range(first, first + 3)]
    assert "went before the server saw them" in caplog.text


def silent(served: ServedOrders, name: str) -> socket.socket:
    """Ask for a stream and read nothing of it."""
    place = httpx.URL(served.address)
    client = socket.create_connection((place.host, place.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    head = f"GET /subscriptions/{name}/changes HTTP/1.1\r\nHost: x\r\n"
    client.sendall(f"{head}Authorization: Bearer {served.token}\r\n\r\n".encode())
    return client


def test_a_client_that_reads_nothing_is_cut_off_and_harms_nobody(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_home, "FEED_BYTES_MAX", 1 << 20)
    with served.client() as client, followed(client, "whole", after="now") as found:
        next(found)
        with silent(served, "whole"):
            got = []
            while not served.metric("clients_cut_off"):
                run.more(100, note="x" * 5_000)
                got += next_numbers(found, 100)
                assert len(got) < 20_000
            served.until("streams_open", 1)
            run.more(3)
            got += next_numbers(found, 3)
        assert got == list(range(17, run.orders))


def test_a_client_that_takes_nothing_of_the_past_is_cut_off(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STALL_S", 0.3)
    for _ in range(6):
        run.more(100, note="x" * 5_000)
    with silent(served, "whole"):
        served.until("clients_cut_off", 1)
        served.until("streams_open", 0)


@settings(max_examples=30)
@given(
    ids=st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=12),
)
def test_pieces_together_are_the_batch(ids: list[str], cuts: list[int]) -> None:
    batch = ServedBatch(5, pa.table({"_id": ids, "n": range(len(ids))}))
    for wanted in (None, "a", "z"):
        rows = None if wanted is None else batch.rows_of(wanted)
        own = [at for at, id_ in enumerate(ids) if wanted in {None, id_}]
        start, got, tokens = 0, [], []
        for cut in [*cuts, len(own)]:
            stop = min(start + cut, len(own))
            if stop > start:
                text = batch.text("events", rows, start, stop).decode()
                got += [json.loads(x[6:])["n"] for x in text.split("\n") if x[:5] == "data:"]
                tokens += [x[4:] for x in text.split("\n") if x[:3] == "id:"]
                told = json.loads(batch.text("messages", rows, start, stop))
                assert [row["n"] for row in told["changes"]] == own[start:stop]
                assert told["token"] == f"5:{stop}"
            start = stop
        assert got == own
        assert tokens == [f"5:{number}" for number in range(1, len(own) + 1)]


def test_clients_that_come_and_go_among_commits_have_everything_once(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """With a window of three batches they are now before it, now in it, now abreast."""
    monkeypatch.setattr(served_home, "FEED_BATCHES_MAX", 3)
    monkeypatch.setattr(streams, "LIFE_S", 0.01)
    ended = threading.Event()

    def commit() -> None:
        chance = Random(seed)
        for _ in range(60):
            run.more(chance.choice((0, 1, 2, 5, 9)))
        ended.set()

    def read(client_seed: int) -> tuple[str | None, list[int]]:
        chance, token, found = Random(client_seed), "0:0", list[int]()
        id_ = chance.choice([None, "c0", "c1"])
        asked = {} if id_ is None else {"id": id_}
        with served.client() as client:
            while not ended.is_set():
                with followed(client, "each", after=token, **asked) as told:
                    for each in islice(told, chance.choice((1, 2, 5, 30))):
                        token, data = each
                        found += [data["n"]] if data else []
            found += numbers(client, "each", after=token, **asked)
        return id_, found

    with ThreadPoolExecutor(5) as pool:
        reading = [pool.submit(read, seed + number) for number in range(1, 5)]
        pool.submit(commit).result()
        for id_, found in (each.result() for each in reading):
            every = range(run.orders)
            wanted = [n for n in every if id_ in {None, f"c{n % CUSTOMERS}"}]
            assert sorted(found) == wanted, f"seed {seed}, id {id_}"
