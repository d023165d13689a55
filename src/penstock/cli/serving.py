"""`penstock serve` and `penstock token`: a home over HTTP, and who may use it.

The server stands on the same row as the command line, so it is found by its name when it is asked
for, and seen through what is written down here.
"""

from __future__ import annotations

import importlib
import ipaddress
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from rich.table import Table

from penstock.cli.screen import Screen
from penstock.cli.upkeep import HomePath, Json
from penstock.vocabulary.durations import UNITS_US, seconds
from penstock.vocabulary.errors import PenstockError

PORT = 8321
NEEDED = {"fastapi", "uvicorn", "websockets", "starlette", "pydantic", "h11", "anyio"}
SHORT = re.compile(r"\s*(\d+)\s*([smhd])\s*")
FIRST_SCOPES = ("read", "register")

token_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Make, list and revoke the access tokens with which `penstock serve` is used.",
)


class TokenFacts(Protocol):
    """What is kept of an access token."""

    id: str
    scopes: tuple[str, ...]
    expires_s: float | None
    rows_per_second: int | None
    connections: int | None


class TokenStore(Protocol):
    """The access tokens of a home."""

    @property
    def are_new(self) -> bool:
        """Whether nobody ever made one."""

    def create(
        self,
        scopes: Iterable[str],
        lifetime_s: float | None = None,
        rows_per_second: int | None = None,
        connections: int | None = None,
    ) -> tuple[str, TokenFacts]:
        """Make one; gives its text too."""

    def every(self) -> list[TokenFacts]:
        """List all."""

    def revoke(self, id_: str) -> None:
        """Let one be nobody's any more."""


def serve(
    home: HomePath,
    host: Annotated[
        str, typer.Option("--host", help="Other addresses than this one are reached from outside.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0: any.")] = PORT,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log no requests.")] = False,
    as_json: Json = False,
) -> None:
    """Serve a home over HTTP until Ctrl-C: its changes as they come, its queries, its views.

    It reads beside the engine, which may run in another process or not at all. Who uses it needs
    an access token. When a home is served for the first time, one that may do everything is made
    and shown, once. `/docs` tells what is served.

    ```
    penstock serve market-home
    curl -N -H "Authorization: Bearer $TOKEN" localhost:8321/subscriptions/alerts/changes
    ```
    """
    screen = Screen(as_json)
    path = _existing(home)
    run = _service()
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("penstock.server").setLevel(logging.WARNING if quiet else logging.INFO)
    tokens = _tokens(path)
    text = tokens.create(FIRST_SCOPES)[0] if tokens.are_new else None

    def tell(address: str) -> None:
        if as_json:
            screen.result({"address": address, "token": text})
            return
        screen.out.print(f"{home} is served at {address}, see {address}/docs.", soft_wrap=True)
        if text is not None:
            screen.out.print(f"Access token, shown once: {text}", soft_wrap=True)
        if not is_loopback(host):
            words = "Others reach it from outside, unencrypted: put a proxy with TLS before it."
            screen.out.print(f"[yellow]{words}[/]", soft_wrap=True)

    run(path, host, port, tell)


@token_app.command("create")
def create_token(
    home: HomePath,
    scopes: Annotated[
        list[str],
        typer.Option(
            "--scope",
            help="`read` (all), `read:NAME` (one subscription or view), or `register`; may be "
            "given more than once.",
            metavar="SCOPE",
        ),
    ],
    expires: Annotated[
        str | None,
        typer.Option("--expires", help="After so long.", metavar="7d"),
    ] = None,
    rows_per_second: Annotated[
        int | None,
        typer.Option("--rows-per-second", min=1, help="So many at most."),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option("--connections", min=1, help="So many open streams."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an access token, and print it: it is shown this once, and kept as a digest.

    ```
    penstock token create market-home --scope read:alerts --expires 7d --connections 10
    ```
    """
    screen = Screen(as_json)
    lives_s = None if expires is None else lifetime_s(expires)
    store = _tokens(_existing(home))
    text, token = store.create(scopes, lives_s, rows_per_second, connections)
    if as_json:
        screen.result({**_facts(token), "token": text})
        return
    typer.echo(text)


@token_app.command("list")
def list_tokens(home: HomePath, as_json: Json = False) -> None:
    """List the access tokens of a home: ids, scopes and limits, never the tokens themselves.

    ```
    penstock token list market-home
    ```
    """
    screen = Screen(as_json)
    found = [_facts(each) for each in _tokens(_existing(home)).every()]
    if as_json:
        screen.result({"tokens": found})
        return
    table = Table(title=None)
    for name in ("id", "scopes", "expires", "rows per second", "connections"):
        table.add_column(name)
    for facts in found:
        scopes = ", ".join(facts["scopes"])
        others = [facts[name] for name in ("expires", "rows_per_second", "connections")]
        table.add_row(facts["id"], scopes, *("-" if each is None else str(each) for each in others))
    screen.out.print(table)


@token_app.command("revoke")
def revoke_token(
    home: HomePath,
    token: Annotated[str, typer.Argument(help="Its id, as `list` shows it.", metavar="ID")],
    as_json: Json = False,
) -> None:
    """Let an access token be refused from now on; streams that it has open end.

    ```
    penstock token revoke market-home 1f0c77ab
    ```
    """
    screen = Screen(as_json)
    _tokens(_existing(home)).revoke(token)
    if as_json:
        screen.result({"revoked": token})
        return
    screen.out.print(f"Revoked {token}.", markup=False)


def lifetime_s(text: str) -> float:
    """Read how long a token lives: a number and a unit, which may be its first letter.

    >>> lifetime_s("7d"), lifetime_s("90 minutes")
    (604800.0, 5400.0)
    """
    short = SHORT.fullmatch(text)
    if short is None:
        return seconds(text)
    unit = next(each for each in UNITS_US if each.startswith(short[2]) and len(each) < 7)
    return seconds(f"{short[1]} {unit}")


def _facts(token: TokenFacts) -> dict[str, Any]:
    ends_s = token.expires_s
    return {
        "id": token.id,
        "scopes": list(token.scopes),
        "expires": None if ends_s is None else datetime.fromtimestamp(ends_s, UTC).isoformat(),
        "rows_per_second": token.rows_per_second,
        "connections": token.connections,
    }


def _existing(home: Path) -> Path:
    from penstock.cli.scripts import existing_home

    return existing_home(home)


def _tokens(home: Path) -> TokenStore:
    found: TokenStore = importlib.import_module("penstock.server.access").AccessTokens(home)
    return found


def _service() -> Callable[[Path, str, int, Callable[[str], None]], None]:
    """Find the server, whose packages are an extra."""
    try:
        found: Any = importlib.import_module("penstock.server.service")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        raise PenstockError(
            "SRV-001",
            f"`penstock serve` needs {error.name}, which is not installed.",
            "Say pip install 'penstock[server]'.",
        ) from None
    run: Callable[[Path, str, int, Callable[[str], None]], None] = found.serve_until_signal
    return run


def is_loopback(host: str) -> bool:
    """Say whether an address is reached from this machine alone.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.1")]
    [True, True, True, False, False]
    """
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
