"""Commands on a home: what it is, what stands in it, what was found."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.application import HOMES, PROGRAMS
from penstock.cli.screen import Screen
from penstock.cli.serving import serve, token_app
from penstock.cli.upkeep import HomePath, Json, check, repair

Subscribed = Annotated[str, typer.Argument(help="A subscription.", metavar="NAME")]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        help="A standing query of the subscription; may be given more than once.",
        metavar="ID",
    ),
]


def status(home: HomePath, as_json: Json = False) -> None:
    """Say whether an engine runs, what stands, how far it is, and what the home takes.

    ```
    penstock status market-home
    ```
    """
    from penstock.cli.homes import show_status

    show_status(home, Screen(as_json))


def list_all(home: HomePath, as_json: Json = False) -> None:
    """List the relations, the subscriptions and the sinks of a home.

    ```
    penstock list market-home
    ```
    """
    from penstock.cli.homes import show_list

    show_list(home, Screen(as_json))


def tail(
    home: HomePath,
    name: Subscribed,
    last: Annotated[
        int, typer.Option("--last", "-n", min=0, help="So many of the changes that are there.")
    ] = 10,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            help="The token of a change: all behind it. `start` means all.",
            metavar="TOKEN",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more until Ctrl-C.")
    ] = False,
    ids: Ids = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per change, with its token.")
    ] = False,
) -> None:
    """Print the last changes of a subscription, and those that come.

    Any number of processes may do so while the engine runs.

    ```
    penstock tail market-home alerts -f
    penstock tail market-home alerts --since start --id anna --json
    ```
    """
    from penstock.cli.homes import TailOptions, show_tail

    options = TailOptions(
        last=None if since else last,
        since=None if since == "start" else since,
        follow=follow,
        ids=tuple(ids or ()),
    )
    show_tail(home, name, options, Screen(as_json))


def drop(home: HomePath, name: Subscribed, ids: Ids = None, as_json: Json = False) -> None:
    """Drop a subscription, or some of its standing queries.

    What was found stays in the home. If an engine runs there, it is asked to do it.

    ```
    penstock drop market-home alerts --id anna
    ```
    """
    from penstock.cli.homes import drop_queries

    drop_queries(home, name, tuple(ids or ()), Screen(as_json))


def sql(
    home: HomePath,
    text: Annotated[str, typer.Argument(help="Statements.", metavar="TEXT")],
    as_json: Json = False,
) -> None:
    """Carry out SUBSCRIBE, CREATE VIEW, DROP, RESUME or KEEP on a home.

    If an engine runs there, it is asked to do it: all of these come and go while it runs.

    ```
    penstock sql market-home "SUBSCRIBE big TO SELECT ts FROM trades WHERE size > 900 INTO 'big'"
    ```
    """
    from penstock.cli.homes import carry_out

    carry_out(home, text, Screen(as_json))


def query(
    home: HomePath,
    text: Annotated[str, typer.Argument(help="A SELECT over one view.", metavar="SELECT")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="First bring in everything that waits.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read a view: as of its last flushes, or fresh within its bound.

    If an engine runs there, it is asked.

    ```
    penstock query shop-home "SELECT region, low FROM cheapest ORDER BY low" --fresh
    ```
    """
    from penstock.cli.homes import show_view

    show_view(home, text, fresh, Screen(as_json))


def resume(home: HomePath, name: Subscribed, as_json: Json = False) -> None:
    """Let a suspended subscription run again.

    What came while it was suspended is not answered. If an engine runs there, it is asked to do it.

    ```
    penstock resume market-home alerts
    ```
    """
    from penstock.cli.homes import resume_queries

    resume_queries(home, name, Screen(as_json))


def add_home_commands(app: typer.Typer) -> None:
    """Add the commands to the others."""
    app.command(rich_help_panel=HOMES)(status)
    app.command("list", rich_help_panel=HOMES)(list_all)
    for command in (tail, query, sql, drop, resume, check, repair):
        app.command(rich_help_panel=HOMES)(command)
    app.command(rich_help_panel=PROGRAMS)(serve)
    app.add_typer(token_app, name="token", rich_help_panel=PROGRAMS)
