"""Requests of all kinds: registered, dropped, refused, and never answered with a failure."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from penstock.engine.errands import Done, Errands
from penstock.engine.scripts import execute
from penstock.server import gate, lines, reception, served_home
from penstock.server.access import ALL, AccessTokens
from penstock.server.refusals import STATUS
from penstock.server.service import listen
from penstock.vocabulary.errors import PenstockError
from tests.support.serving import (
    OrderRun,
    ServedOrders,
    be_patient,
    followed,
    next_numbers,
    numbers,
    refused,
)

ONE = "SELECT n FROM orders WHERE customer = :customer"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OrderRun]:
    with OrderRun(tmp_path / "home") as run:
        run.more(8)
        yield run


@pytest.fixture
def served(run: OrderRun) -> Iterator[ServedOrders]:
    with ServedOrders(run.desk.home.path) as served:
        yield served


@pytest.fixture
def engine(run: OrderRun) -> Iterator[None]:
    """Do what the engine of a home does with errands while it runs."""

    def carry_out(script: str, directory: Path) -> Done:
        return execute(run.desk, script, directory=directory).done(run.desk.registry.version)

    errands = Errands(run.desk.home.path, carry_out, run.desk.kept.read)
    errands.begin()
    yield
    errands.finish()


def there_and_back(client: httpx.Client) -> None:
    rows = [{"id": "x", "customer": 1}, {"id": "y", "customer": "none"}, {"id": "z", "customer": 3}]
    asked = {"name": "it's", "sql": ONE, "parameters": rows}
    made = client.post("/subscriptions", json=asked)
    assert made.status_code == 201, made.text
    told = made.json()
    assert (told["name"], told["queries"], told["given"]) == ("it's", 2, 3)
    (row,) = told["refusals"]
    assert (told["refused"], row["row"], row["code"]) == (1, 1, "REG-005")
    assert "none" in row["reason"]
    assert client.get("/subscriptions/it's").json()["queries"] == 2
    assert refused(client.post("/subscriptions", json=asked)) == (409, "REG-002")
    assert client.delete("/subscriptions/it's?id=x").json()["version"] > told["version"]
    assert client.get("/subscriptions/it's").json()["queries"] == 1
    assert client.delete("/subscriptions/it's").status_code == 200
    assert refused(client.delete("/subscriptions/it's")) == (404, "REG-001")
    single = client.post("/subscriptions", json={"sql": "SELECT n FROM orders WHERE customer = 2"})
    assert single.json()["queries"] == 1
    assert client.delete(f"/subscriptions/{single.json()['name']}").status_code == 200


def test_queries_come_and_go_while_an_engine_runs(
    run: OrderRun, served: ServedOrders, engine: None
) -> None:
    with served.client() as client:
        there_and_back(client)
        asked = {"name": "new", "sql": ONE, "parameters": [{"id": 7, "customer": 1}]}
        assert client.post("/subscriptions", json=asked).status_code == 201
        with followed(client, "new", id="7") as found:
            run.more(4)
            assert next_numbers(found, 1) == [9]
    assert sorted(each.name for each in (run.desk.home.path / "errands").iterdir()) == []


def test_queries_come_and_go_while_nobody_runs(run: OrderRun, served: ServedOrders) -> None:
    run.desk.close()
    with served.client() as client:
        there_and_back(client)
        assert client.get("/subscriptions?limit=1").json()["next"] == "each"
        names = client.get("/subscriptions?after=each").json()["subscriptions"]
        assert [each["name"] for each in names] == ["whole"]


def test_what_is_misspelt_is_refused(run: OrderRun, served: ServedOrders) -> None:
    """`ids` for `id` dropped all queries of a subscription, `afer` began at the start."""
    with served.client() as client:
        for wrong, meant in (("ids=c1", "'id'"), ("Id=c1", "'id'"), ("x=1", "Known are: id.")):
            answer = client.delete(f"/subscriptions/each?{wrong}")
            assert refused(answer) == (422, "SRV-007"), wrong
            assert meant in answer.json()["remedy"]
        for path in ("/subscriptions?aftr=a", "/subscriptions/whole/changes?afer=1:0", "/health?x"):
            assert refused(client.get(path)) == (422, "SRV-007"), path
        asked = {"name": "new", "sql": ONE, "parameters": [{"id": 7, "customer": 1}], "keey": "id"}
        assert refused(client.post("/subscriptions", json=asked)) == (422, "SRV-007")
        listed = client.get("/subscriptions").json()["subscriptions"]
    assert {each["name"]: each["queries"] for each in listed} == {"each": 4, "whole": 1}


def test_names_with_a_slash_are_served(run: OrderRun, served: ServedOrders) -> None:
    run.desk.subscribe("SELECT n FROM orders", name="a/b c")
    run.more(2)
    with served.client() as client:
        there = f"/subscriptions/{quote('a/b c', safe='')}"
        assert client.get(there).json()["name"] == "a/b c"
        told = client.get(f"{there}/changes?follow=false").text
        assert told.count("data: ") == 2
        assert refused(client.get("/views/a%2Fb")) == (404, "VIEW-065")
        run.desk.close()
        assert client.delete(there).status_code == 200


def test_a_suspended_view_is_told_as_such(
    run: OrderRun, served: ServedOrders, engine: None
) -> None:
    options = {"view": "v", "refresh": "1 minute", "policy": "immediate"}
    run.desk.subscribe("SELECT count(*) AS n FROM orders", name="v", options=options)
    run.more(2)
    with served.client() as client:
        told = client.get("/views/v").json()
        assert (told["columns"], told["rows"], "notice" in told) == (["n"], [{"n": 2}], False)
        assert told["staleness"]["pending"] == {"orders": 0}
        run.desk.suspended.suspend(run.desk.registry.subscriptions["v"].group, "[RUN-013] Slow.")
        told = client.get("/views/v").json()
    assert told["rows"] == [{"n": 2}]
    assert "[VIEW-066] The view 'v' is suspended" in told["notice"] and "RUN-013" in told["notice"]


def test_many_register_at_once_while_nobody_runs(run: OrderRun, served: ServedOrders) -> None:
    run.desk.close()

    def register(at: int) -> int:
        with served.client() as client:
            asked = {"name": f"s{at}", "sql": f"SELECT n FROM orders WHERE customer = {at}"}
            return client.post("/subscriptions", json=asked).status_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(register, range(12))) == {201}
    assert len(names_of(served)) == 14


def test_texts_reach_neither_files_nor_sinks(run: OrderRun, served: ServedOrders) -> None:
    run.desk.close()
    secret = run.desk.home.path.parent / "secret.csv"
    secret.write_text("id,customer\na,1\n")
    with served.client() as client:
        for sql in (
            f"{ONE} FOR EACH ROW OF '{secret}'",
            f"{ONE} FOR EACH ROW OF frame",
            "SELECT n FROM orders INTO 'out'",
            "SELECT n FROM orders; DROP SUBSCRIPTION whole",
        ):
            answer = client.post("/subscriptions", json={"sql": sql})
            assert refused(answer) == (422, "ENG-067"), sql
        for sql in (f"{ONE} FOR EACH ROW OF '{secret}' --", f"{ONE} /*", f"{ONE};", f"{ONE} INTO"):
            body = {"sql": sql, "parameters": [{"id": 1, "customer": 1}]}
            assert client.post("/subscriptions", json=body).status_code == 422, sql
        answer = client.post("/subscriptions", json={"sql": f"SELECT * FROM '{secret}'"})
        assert answer.status_code == 422
        assert refused(client.post("/subscriptions", json={"sql": "SELECT x FROM orders"})) == (
            422, "SQL-020",
        )  # fmt: skip
    assert [each["name"] for each in names_of(served)] == ["each", "whole"]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT MIN(n) FROM orders WHERE n BETWEEN 1 AND 3", "AGG-008"),
        ("SELECT MIN(n), MAX(n) FROM orders WHERE n > 3 AS MESSAGES", "AGG-008"),
        ("SELECT n FROM orders MODEL n WHERE n > 3", "MDL-003"),
        ("SELECT n FROM orders MODEL n NOTHING KEY customer WHERE n > 3", "MDL-001"),
        ("SELECT n FROM orders WHERE (", "SQL-001"),
    ],
)
def test_a_text_of_any_kind_that_is_refused_is_the_clients_affair(
    sql: str, code: str, run: OrderRun, served: ServedOrders
) -> None:
    """No failure of the server, which clients would try again."""
    run.desk.close()
    with served.client() as client:
        assert refused(client.post("/subscriptions", json={"sql": sql})) == (422, code)


def names_of(served: ServedOrders) -> list[dict[str, Any]]:
    with served.client() as client:
        found: list[dict[str, Any]] = client.get("/subscriptions").json()["subscriptions"]
        return found


def test_an_engine_that_does_not_answer_is_told(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.errands.TAKEN_S_MAX", 0.1)
    with served.client() as client:
        answer = client.delete("/subscriptions/whole")
        assert refused(answer) == (503, "ENG-065") and answer.headers["Retry-After"]
        assert len(numbers(client, "whole")) == 8


def test_metrics_are_what_prometheus_reads(run: OrderRun, served: ServedOrders) -> None:
    with served.client() as client:
        with followed(client, "whole") as found:
            next(found)
            run.more(4)
            assert len(next_numbers(found, 12)) == 12
            answer = client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    told = {name: sum(s.value for s in own.samples) for name, own in families.items()}
    assert (told["penstock_events"], told["penstock_batches"]) == (4, 1)
    assert (told["penstock_streams_open"], told["penstock_rows_sent"]) == (1, 12)
    assert (told["penstock_subscriptions"], told["penstock_clients_cut_off"]) == (2, 0)


def test_bodies_have_a_size_and_a_time(
    served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "BODY_BYTES_MAX", 1_000)
    with served.client() as client:
        large = b'{"sql": "' + b" " * 2_000 + b'"}'
        assert refused(client.post("/subscriptions", content=large)) == (413, "SRV-008")
        chunks = iter([large[:900], large[900:]])
        assert refused(client.post("/subscriptions", content=chunks)) == (413, "SRV-008")
    monkeypatch.setattr(gate, "BODY_S", 0.1)
    place = httpx.URL(served.address)
    with socket.create_connection((place.host, place.port)) as slow:
        slow.sendall(b"POST /subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12")
        told = slow.makefile("rb").read()
        assert b" 408 " in told and b"SRV-014" in told


def test_who_connects_and_says_nothing_is_hung_up(
    run: OrderRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "SPEAK_S", 0.1)
    with ServedOrders(run.desk.home.path) as served:
        place = httpx.URL(served.address)
        silent = socket.create_connection((place.host, place.port))
        with silent, suppress(ConnectionResetError):
            assert silent.recv(1) == b""


def test_what_is_no_http_is_refused_with_a_code(served: ServedOrders) -> None:
    place = httpx.URL(served.address)
    with socket.create_connection((place.host, place.port)) as client:
        client.sendall(b"HELLO\r\n\r\n")
        told = client.makefile("rb").read()
        assert told.startswith(b"HTTP/1.1 400 ") and b"SRV-007" in told


def test_refusals_of_the_server_itself(
    run: OrderRun, served: ServedOrders, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served.client() as client:
        assert refused(client.get("/elsewhere")) == (404, "SRV-006")
        assert refused(client.put("/subscriptions")) == (405, "SRV-018")
        assert refused(client.get("/subscriptions?limit=0")) == (422, "SRV-007")
        assert refused(client.post("/subscriptions", content=b"{")) == (422, "SRV-007")
        assert refused(client.get("/views/whole")) == (404, "VIEW-065")
        monkeypatch.setattr(reception, "STREAMS_MAX", 0)
        assert refused(client.get("/subscriptions/whole/changes")) == (503, "SRV-011")
        monkeypatch.setattr(served_home, "VISITS_MAX", 0)
        assert refused(client.delete("/subscriptions/whole")) == (503, "SRV-020")
        # A failure that nobody foresaw is told without its traceback.
        monkeypatch.setattr(reception.Reception, "metrics", lambda _self: 1 / 0)
        answer = client.get("/metrics")
        assert refused(answer) == (500, "SRV-012") and "ZeroDivision" not in answer.text
    taken = listen("127.0.0.1", 0)
    with pytest.raises(PenstockError) as error:
        listen("127.0.0.1", taken.getsockname()[1])
    taken.close()
    assert error.value.code == "SRV-019"


def test_a_home_that_is_damaged_is_told_as_ill(run: OrderRun, served: ServedOrders) -> None:
    log = run.desk.log
    log.manifest(1).write_text("{}")
    with served.client() as client:
        while (answer := client.get("/health")).status_code == 200:
            pass
        assert refused(answer) == (503, "DEL-003")


# Anything that a client may send

NAMES = st.sampled_from(["whole", "each", "none", "it's", "ü", " ", "a%2Fb", "..", "\x00"])
TEXTS = st.one_of(
    st.text(max_size=20), NAMES, st.sampled_from(["start", "now", "0:1", "-1", "true"])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda own: st.one_of(st.lists(own, max_size=3), st.dictionaries(TEXTS, own, max_size=3)),
    max_leaves=6,
)
BODIES = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {"sql": st.one_of(TEXTS, st.just(ONE), st.just("SELECT n FROM orders"))},
        optional={
            "name": st.one_of(NAMES, VALUES),
            "parameters": st.one_of(
                VALUES,
                st.lists(st.fixed_dictionaries({"id": VALUES, "customer": VALUES}), max_size=3),
            ),
            "key": VALUES,
        },
    ),
)


@pytest.fixture(scope="module")
def drawn(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ServedOrders, httpx.Client]]:
    home = tmp_path_factory.mktemp("drawn") / "home"
    with OrderRun(home) as run:
        run.more(8)
    with ServedOrders(home) as served, httpx.Client(base_url=served.address, timeout=600) as client:
        yield served, client


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_request_is_answered_with_a_failure(
    drawn: tuple[ServedOrders, httpx.Client], data: st.DataObject
) -> None:
    """Drawn from the OpenAPI document: what it allows, what it forbids, and what is no request."""
    served, client = drawn
    document = client.get("/openapi.json").json()
    path = data.draw(st.sampled_from(sorted(document["paths"])))
    method = data.draw(st.sampled_from([*document["paths"][path], "get", "post", "put", "head"]))
    operation = document["paths"][path].get(method, {})
    places: dict[str, dict[str, str]] = {"query": {}, "header": {}, "path": {}}
    for each in operation.get("parameters", []):
        if each["required"] or data.draw(st.booleans()):
            places[each["in"]][each["name"]] = data.draw(TEXTS)
    headers = {
        name: "".join(
            letter for letter in value if letter.isprintable() and letter.isascii()
        ).strip()
        for name, value in places["header"].items()
    }
    if data.draw(st.integers(0, 9)):
        headers["authorization"] = f"Bearer {served.token}"
    name = data.draw(NAMES) if "{name}" in path else ""
    query = {**places["query"], "follow": "false"} if path.endswith("/changes") else places["query"]
    content = json.dumps(data.draw(BODIES)).encode() if method in {"post", "put"} else None
    if content and not data.draw(st.integers(0, 9)):
        content = data.draw(st.binary(max_size=40))
    address = path.replace("{name}", quote(name, safe="%"))
    answer = client.request(method, address, params=query, content=content, headers=headers)
    assert answer.status_code < 500, answer.text
    documented = {int(status) for status in operation.get("responses", {})}
    assert answer.status_code in documented | {404, 405, 422}, (method, path, answer.text)
    if answer.status_code >= 400 and method != "head":
        assert refused(answer)[1]


def test_every_status_is_told_in_the_document_and_the_page_needs_nothing_else(
    drawn: tuple[ServedOrders, httpx.Client],
) -> None:
    paths = drawn[1].get("/openapi.json").json()["paths"]
    told = {int(each) for own in paths.values() for op in own.values() for each in op["responses"]}
    assert set(STATUS.values()) - told <= {405, 500}
    page = drawn[1].get("/docs").text
    assert all(path in page for path in paths) and "http" not in page


def test_the_command_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    with OrderRun(tmp_path / "home") as run:
        run.more(3)
    home = str(tmp_path / "home")

    def began() -> tuple[subprocess.Popen[str], dict[str, Any]]:
        command = [sys.executable, "-m", "penstock", "serve", home, "--port", "0", "--json"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            said += line
        return process, json.loads(said)

    first, said = began()
    headers = {"Authorization": f"Bearer {said['token']}"}
    client = httpx.Client(base_url=said["address"], headers=headers, timeout=600)
    with client, followed(client, "whole") as found:
        assert next_numbers(found, 3) == [0, 1, 2]
        os.kill(first.pid, signal.SIGTERM)
        assert list(found) == []
    log = first.communicate()[1]
    assert first.returncode == 0 and "GET /subscriptions/whole/changes 200" in log
    assert said["token"] not in log and "Traceback" not in log
    second, said = began()
    assert said["token"] is None, "it is shown once"
    second.send_signal(signal.SIGINT)
    second.communicate()
    assert second.returncode == 0
    (kept,) = AccessTokens(tmp_path / "home").every()
    assert kept.scopes == ALL
