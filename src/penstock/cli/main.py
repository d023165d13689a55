"""The command `penstock`: arguments in, engine calls out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock import __version__
from penstock.cli.application import EXIT_ERROR, ITSELF, PROGRAMS, QUERIES, application
from penstock.cli.edge import edge
from penstock.cli.home_commands import add_home_commands
from penstock.cli.past_commands import add_past_commands
from penstock.cli.screen import Screen, show_error, show_notices_once
from penstock.cli.upkeep import Json

EXIT_DIFFERENT = 1
EXIT_WAITING = 3


app = application()

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="The engine's directory.", metavar="DIR"),
]
HostOption = Annotated[
    Literal["auto", "embedded", "cluster"],
    typer.Option(
        "--host",
        help="Where operators live: in this process, or in Spark's workers. "
        "auto: embedded on a local master.",
    ),
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def penstock(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Standing queries by the million over Spark streams.

    Register a query once and be told of every row that it matches. Begin with `penstock demo`.
    """
    assert not version
    show_notices_once()
    # Policies of one's own may stand where the command is given, as Spark's workers find them.
    sys.path.append(str(Path.cwd()))


@app.command(rich_help_panel=QUERIES)
def run(
    script: Annotated[Path, typer.Argument(help="A file of SQL statements.", metavar="APP.SQL")],
    home: Home = None,
    host: HostOption = "auto",
    once: Annotated[bool, typer.Option("--once", help="Process what is there, then end.")] = False,
    patience: Annotated[
        str | None,
        typer.Option(
            "--patience",
            help="With --once: how long a database that does not answer is waited for. "
            "By default a minute.",
            metavar="30s",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.0, help="End after so long."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the input, so that it can be verified.")
    ] = False,
    printed: Annotated[
        list[str] | None,
        typer.Option(
            "--print",
            help="Print this subscription's changes; may be given more than once.",
            metavar="NAME",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Carry out a script and run its engine until Ctrl-C.

    Everything durable is kept in the home directory, by default APP-home here: run the script
    again and it goes on where it stopped.

    With --once, ends with 3 when rows still wait for a database: the next run goes on with them.

    ```
    penstock run market.sql --print alerts
    penstock run market.sql --once --record --home /tmp/market
    ```
    """
    from penstock.cli.run import RunOptions, run_script, still_waiting
    from penstock.cli.scripts import home_of

    options = RunOptions(
        home=home,
        host=host,
        once=once,
        patience=patience,
        seconds=seconds,
        record=record,
        printed=tuple(printed or ()),
    )
    waiting = run_script(script, options, Screen(as_json, quiet))
    if once and waiting:
        show_error(still_waiting(waiting, home_of(script, home)))
        raise typer.Exit(EXIT_WAITING)


@app.command(rich_help_panel=QUERIES)
def explain(
    target: Annotated[
        str, typer.Argument(help="A script, or a query in quotes.", metavar="APP.SQL|QUERY")
    ],
    home: Home = None,
    what_if: Annotated[
        str,
        typer.Option(
            "--what-if",
            help="Figures of multi-way joins to take for granted.",
            metavar="'RATE(C) = 500/S, …'",
        ),
    ] = "",
    drawing: Annotated[
        Path | None,
        typer.Option(
            "--draw",
            help="Draw plans of multi-way joins, and what budgets of memory bring.",
            metavar="FILE.svg",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how queries are processed: grouped with what, indexed on what, what is left over.

    Of a multi-way window join: whether it will keep up, its tree, what that costs, and what is
    dropped if it must be. Of a join or lookup with a budget of rows: what how much memory brings.

    Of a script, its EXPLAIN statements are answered; if it has none, every subscription is
    explained. Nothing is started. A query needs the home of an engine that knows its streams.

    ```
    penstock explain market.sql
    penstock explain "SELECT * FROM trades WHERE price > 100" --home market-home
    penstock explain factory.sql --what-if "rate(c) = 500/s, cores = 4" --draw plan.svg
    ```
    """
    from penstock.cli.explanation import explain_target

    explain_target(target, home, Screen(as_json), what_if, drawing)


@app.command(rich_help_panel=QUERIES)
def advise(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet or CSV: two to join, or one to look up.", metavar="FILE [FILE]"
        ),
    ],
    keys: Annotated[
        list[str],
        typer.Option(
            "--key",
            help="A column that rows join by; LEFT=RIGHT where names differ; given for each.",
            metavar="COLUMN",
        ),
    ],
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Budgets to try. By default they double until nothing is missed.",
            metavar="ROWS,ROWS,…",
        ),
    ] = "",
    within: Annotated[
        str,
        typer.Option(
            "--within",
            help="How long rows join: so many rows of their stream, or, with --time, a duration.",
            metavar="2000|'2 seconds'",
        ),
    ] = "",
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            help="The event time, which orders the rows of both files. Without, they take turns "
            "until one file ends.",
            metavar="COLUMN",
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option("--rows", min=1, max=1_000_000, help="Rows that are read of each file."),
    ] = 50_000,
    drawing: Annotated[
        Path | None,
        typer.Option("--draw", help="Draw all curves.", metavar="FILE.svg"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how much memory a join or a lookup needs, from rows that came once.

    The rows are run through the engine's own caches, under every policy and with several budgets;
    beside them stands the best that could have been done. At the end: which policy, how many rows,
    which laws, and the clause to write.

    ```
    penstock advise trades.parquet quotes.parquet --key symbol --time ts --within '2 seconds'
    penstock advise orders.csv shipments.csv --key id=order_id --memory 100,1000 --draw curves.svg
    penstock advise requests.parquet --key product
    ```
    """
    from penstock.cli.advice import AdviseOptions, advise_files

    options = AdviseOptions(
        files=tuple(files), keys=tuple(keys), budgets=memory, within=within, time=time,
        rows_max=rows, drawing=drawing,
    )  # fmt: skip
    advise_files(options, Screen(as_json))


@app.command(rich_help_panel=QUERIES)
def verify(
    target: Annotated[
        Path, typer.Argument(help="A script, or a home directory.", metavar="APP.SQL|HOME")
    ],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Ask DuckDB the same queries of the recorded input, and compare.

    Every file of the result log is checked against its manifest, the log against what Spark
    committed, and what subscribers read against their SELECT lists. Ends with 0 when all of it is
    right, with 1 when something differs, is missing or damaged, with 2 when nothing does and
    something could not be verified. Of a join with a budget of rows, the share of the matches that
    it kept is told. The script must have run with --record.

    ```
    penstock verify market.sql
    penstock verify ./market-home --json
    ```
    """
    from penstock.cli.verification import verify_target

    state = verify_target(target, home, Screen(as_json))
    if state != "equal":
        raise typer.Exit(EXIT_DIFFERENT if state == "different" else EXIT_ERROR)


add_past_commands(app)
add_home_commands(app)
app.command(rich_help_panel=PROGRAMS)(edge)


@app.command(rich_help_panel=ITSELF)
def demo(
    seconds: Annotated[float, typer.Option("--seconds", min=1.0, help="How long to run.")] = 40.0,
    queries: Annotated[
        int, typer.Option("--queries", min=100, max=10_000_000, help="How many stand at first.")
    ] = 100_000,
    home: Annotated[
        Path | None,
        typer.Option(
            "--home",
            help="Keep everything in this new directory; otherwise it is removed at the end.",
            metavar="DIR",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Ask DuckDB whether all is right.")
    ] = True,
    host: HostOption = "auto",
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw the last display as an SVG file.", hidden=True),
    ] = None,
    as_json: Json = False,
) -> None:
    """Watch a hundred thousand standing queries on a made-up market.

    Queries come and go while it runs. At the end, a few matches in words, and DuckDB's answer to
    the same queries on the same input. Takes about a minute and a half.

    ```
    penstock demo
    penstock demo --queries 1000000 --seconds 30 --home ./demo-home
    ```
    """
    from penstock.cli.demo import DemoOptions, run_demo

    options = DemoOptions(
        seconds=seconds, queries=queries, home=home, host=host, verify=check, picture=picture
    )
    if not run_demo(options, Screen(as_json)):
        raise typer.Exit(EXIT_DIFFERENT)


@app.command(rich_help_panel=ITSELF)
def warm(
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, help="By default one per core."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compile every kernel now, so that no query waits for it later.

    The code is kept in NUMBA_CACHE_DIR, or else in the virtual environment or, without one, in your
    cache directory, for all processes: yours and Spark's workers'. What is there already is not
    compiled again.

    ```
    penstock warm
    NUMBA_CACHE_DIR=/opt/kernels penstock warm --processes 2
    ```
    """
    from penstock.cli.warm import warm_kernels

    warm_kernels(Screen(as_json, quiet), processes)


@app.command(rich_help_panel=ITSELF)
def lab(
    name: Annotated[
        str, typer.Argument(help="An experiment, or `list`.", metavar="EXPERIMENT|list")
    ],
    size: Annotated[
        Literal["tiny", "small", "full"],
        typer.Option("--size", help="Seconds, a few minutes, or as long as the paper's."),
    ] = "small",
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, help="All data of the experiment are drawn from it."),
    ] = 0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the figure.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rerun an experiment that proves one of the engine's claims; ends with 1 if it does not.

    ```
    penstock lab list
    penstock lab filters --size tiny --plot filters.svg
    penstock lab join-cache-compare --seed 7 --json
    ```
    """
    from penstock.cli.laboratory import run_experiment

    if not run_experiment(name, size, seed, plot, Screen(as_json)):
        raise typer.Exit(EXIT_DIFFERENT)
