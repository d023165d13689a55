"""Access tokens: who is refused what, with which code, also on streams that are open."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.server.access import AccessToken, AccessTokens
from penstock.server.limits import TokenUse
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


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OrderRun]:
    with OrderRun(tmp_path / "home") as run:
        run.more(10)
        yield run


@pytest.fixture
def served(run: OrderRun) -> Iterator[ServedOrders]:
    with ServedOrders(run.desk.home.path) as served:
        yield served


ADDRESSES = (
    ("GET", "/metrics"),
    ("GET", "/subscriptions"),
    ("GET", "/subscriptions/whole"),
    ("GET", "/subscriptions/whole/changes"),
    ("GET", "/views/v"),
    ("POST", "/subscriptions"),
    ("DELETE", "/subscriptions/whole"),
)


def test_without_an_access_token_that_counts_nothing_is_told(served: ServedOrders) -> None:
    text, expired = served.tokens.create(["read", "register"], lifetime_s=0.0)
    other = f"penstock_{expired.id}_{text[-43:-1]}{'A' if text[-1] != 'A' else 'E'}"
    for method, address in ADDRESSES:
        with served.client() as client:
            body = {"sql": "SELECT n FROM orders"} if method == "POST" else None
            for token, code in (
                ("", "SRV-002"),
                ("Basic eDp5", "SRV-002"),
                ("Bearer x", "SRV-003"),
                (f"Bearer {served.token}x", "SRV-003"),
                (f"Bearer {served.token[:-1]}", "SRV-003"),
                (f"Bearer penstock_{'0' * 8}_{served.token[-43:]}", "SRV-003"),
                (f"Bearer {other}", "SRV-003"),
                (f"Bearer {text}", "SRV-004"),
            ):
                headers = {"Authorization": token}
                answer = client.request(method, address, json=body, headers=headers)
                assert refused(answer) == (401, code), (method, address, token)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
    with served.client("nobody") as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/docs").status_code == client.get("/openapi.json").status_code == 200


def test_a_token_does_what_its_scopes_say_and_no_more(served: ServedOrders) -> None:
    body = {"sql": "SELECT n FROM orders WHERE customer = 1"}
    with served.allowed("read:each") as one:
        assert [own["name"] for own in one.get("/subscriptions").json()["subscriptions"]] == [
            "each"
        ]
        assert one.get("/subscriptions/each").json()["queries"] == 4
        assert len(numbers(one, "each")) == 10
        for method, address in ADDRESSES:
            if address != "/subscriptions" or method == "POST":
                answer = one.request(method, address, json=body if method == "POST" else None)
                assert refused(answer) == (403, "SRV-005"), (method, address)
    with served.allowed("read") as every:
        assert len(numbers(every, "whole")) == 10
        assert refused(every.post("/subscriptions", json=body)) == (403, "SRV-005")
        assert refused(every.delete("/subscriptions/whole")) == (403, "SRV-005")
    with served.allowed("register") as writer:
        assert writer.get("/subscriptions").json()["subscriptions"] == []
        assert refused(writer.get("/subscriptions/whole/changes")) == (403, "SRV-005")


def test_streams_end_when_their_token_is_revoked(run: OrderRun, served: ServedOrders) -> None:
    text, token = served.tokens.create(["read"])
    with served.client(text) as client, served.client() as other:
        with followed(client, "whole", after="now") as found, followed(other, "whole") as rest:
            next(found)
            served.tokens.revoke(token.id)
            told = [data for _, data in found if data]
            assert [own["error"]["code"] for own in told] == ["SRV-003"]
            run.more(2)
            assert next_numbers(rest, 12) == list(range(12))
        assert refused(client.get("/subscriptions")) == (401, "SRV-003")


def test_streams_end_when_their_token_expires(tmp_path: Path) -> None:
    """A clock that is set: nobody waits for a time to pass."""
    now_s = [1_000.0]
    tokens = AccessTokens(tmp_path, clock=lambda: now_s[0])
    text, token = tokens.create(["read"], lifetime_s=60.0)
    assert tokens.admitted(text) == token
    now_s[0] += 60.0
    with pytest.raises(PenstockError) as error:
        tokens.admitted(text)
    assert error.value.code == "SRV-004"


def test_open_streams_are_limited_and_counted_down(served: ServedOrders) -> None:
    with served.allowed("read", connections=2) as client:
        with followed(client, "whole") as one, followed(client, "each") as two:
            next(one), next(two)
            answer = client.get("/subscriptions/whole/changes")
            assert refused(answer) == (429, "SRV-009")
            assert answer.headers["Retry-After"] == "1"
            assert client.get("/subscriptions").status_code == 200
        served.until("streams_open", 0)
        with followed(client, "whole") as again:
            next(again)


def test_rows_per_second_hold_a_stream_back_and_lose_nothing(
    run: OrderRun, served: ServedOrders
) -> None:
    run.more(40)
    with served.allowed("read", rows_per_second=100) as client:
        assert numbers(client, "whole") == list(range(50))
        assert numbers(client, "whole") == list(range(50))
        assert numbers(client, "whole") == list(range(50))


def test_rows_that_go_together_are_refused_when_a_second_has_had_its_own() -> None:
    now_s = 0.0
    token = AccessToken(id="x", digest="", scopes=(), rows_per_second=10)
    use = TokenUse(token, clock=lambda: now_s)
    use.take_at_once(25)
    now_s = 1.5
    with pytest.raises(PenstockError) as error:
        use.take_at_once(1)
    assert error.value.code == "SRV-010" and use.grant(5) == 0
    now_s = 1.7
    use.take_at_once(1)


def test_what_is_kept_of_a_token_is_no_token(served: ServedOrders) -> None:
    (path,) = (served.home / "server" / "tokens").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert served.token.rpartition("_")[2] not in path.read_text()
    whole = path.read_text()
    path.write_text(whole.replace("register", "read"))
    with served.client() as client:
        assert refused(client.get("/subscriptions")) == (503, "SRV-017")
    other = path.with_name("0123abcd.json")
    other.write_text(whole)
    with pytest.raises(PenstockError, match="SRV-017"):
        AccessTokens(served.home).of_id("0123abcd")


def test_tokens_on_the_command_line(tmp_path: Path) -> None:
    with OrderRun(tmp_path / "home"):
        pass
    home = str(tmp_path / "home")

    def penstock(*words: str) -> str:
        result = CliRunner().invoke(app, ["token", *words])
        assert result.exit_code == 0, result.output
        return result.stdout

    made = json.loads(
        penstock(
            "create", home, "--scope", "read:each", "--scope", "register", "--expires", "7d",
            "--rows-per-second", "1000", "--connections", "10", "--json",
        )
    )  # fmt: skip
    (listed,) = json.loads(penstock("list", home, "--json"))["tokens"]
    text = made.pop("token")
    assert made == listed and listed["scopes"] == ["read:each", "register"]
    assert (listed["rows_per_second"], listed["connections"]) == (1000, 10)
    assert AccessTokens(tmp_path / "home").admitted(text).id == listed["id"]
    assert "read:each, register" in penstock("list", home)
    assert penstock("create", home, "--scope", "read").startswith("penstock_")
    penstock("revoke", home, listed["id"])
    assert len(json.loads(penstock("list", home, "--json"))["tokens"]) == 1
    for words, code in (
        (["revoke", home, "../../etc"], "SRV-016"),
        (["revoke", home, listed["id"]], "SRV-016"),
        (["create", home, "--scope", "write"], "SRV-015"),
        (["create", home, "--scope", "read:"], "SRV-015"),
        (["create", home, "--scope", "read", "--expires", "soon"], "CAT-006"),
        (["list", str(tmp_path)], "CLI-003"),
    ):
        result = CliRunner().invoke(app, ["token", *words])
        assert (result.exit_code, result.stderr[:7].strip()) == (2, code)


def test_a_missing_extra_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OrderRun(tmp_path / "home"):
        pass
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "penstock.server.service", raising=False)
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "home")])
    assert result.exit_code == 2
    assert result.stderr.startswith("SRV-001") and "penstock[server]" in result.stderr
    assert not (tmp_path / "home" / "server").exists(), "no token is made in vain"
