"""Commands over what has come already, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.application import QUERIES
from penstock.cli.screen import Screen
from penstock.cli.upkeep import HomePath, Json

Script = Annotated[Path, typer.Argument(help="A file of SQL statements.", metavar="APP.SQL")]


def sweep(
    script: Script,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="The values of a parameter, a range with both ends or a list; may be given more "
            "than once: all combinations are asked.",
            metavar="NAME=FROM:TO:STEP|NAME=A,B",
        ),
    ],
    subscription: Annotated[
        str | None,
        typer.Option(
            "--subscription",
            help="Which query, where several have these parameters.",
            metavar="NAME",
        ),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(
            "--home",
            help="Take the rows that this home recorded. By default the script's sources are read.",
            metavar="DIR",
        ),
    ] = None,
    segments: Annotated[
        Path | None,
        typer.Option(
            "--segments",
            help="Where segments are kept. By default `segments` in the home, or beside the "
            "script.",
            metavar="DIR",
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option("--rows", min=1, max=100_000_000, help="Rows that are read of each source."),
    ] = 1_000_000,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the table.", metavar="FILE.csv|FILE.parquet"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask one model query with many values of its parameters, of rows that have come already.

    Models are made of the rows once, and kept as Parquet; all combinations are asked of them
    together. Of each: how many answers it has (ranges of time in which it holds for a key, or
    samples), for how long in all, and from when to when. They are those that a run would have
    told, with nothing expected: time ends with the last row.

    ```
    penstock sweep harbour.sql --set line=-4000:4000:500
    penstock sweep app.sql --set threshold=1:10:0.5 --set symbol=IBM,KO --home app-home --out t.csv
    ```
    """
    from penstock.cli.sweeping import SweepOptions, sweep_script

    options = SweepOptions(
        settings=tuple(settings), subscription=subscription, home=home, segments=segments,
        out=out, rows_max=rows,
    )  # fmt: skip
    sweep_script(script, options, Screen(as_json))


def plot(
    home: HomePath,
    name: Annotated[str, typer.Argument(help="A subscription.", metavar="SUBSCRIPTION")],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="The key to show, its values in their order. By default the one that was told "
            "most about.",
            metavar="VALUE[,VALUE]",
        ),
    ] = None,
    id_: Annotated[
        str | None,
        typer.Option("--id", help="A standing query of many.", metavar="ID"),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(
            "--last", help="Show so much of the time before the newest row.", metavar="'5 minutes'"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The file. By default SUBSCRIPTION.svg here.", metavar="FILE.svg|FILE.png"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a model query over time: its rows, the segments that stand for them, and its answers.

    The band is how far rows may be from a segment. What a segment said of the time to come and was
    withdrawn is dashed; diamonds are answers that were told before they came. The home must be
    recorded.

    ```
    penstock plot vessels-home lines --id pier --key 4 --out vessel.svg
    penstock plot vessels-home close --key 3,7 --last '2 minutes' --out close.png
    ```
    """
    from penstock.cli.plotting import plot_subscription

    values = () if key is None else tuple(each.strip() for each in key.split(","))
    plot_subscription(home, name, values, id_, last, out, Screen(as_json))


def add_past_commands(app: typer.Typer) -> None:
    """Add the commands to the others."""
    app.command(rich_help_panel=QUERIES)(sweep)
    app.command(rich_help_panel=QUERIES)(plot)
