"""`penstock check` and `penstock repair`: whether a home is whole, and what can be mended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from penstock.cli.screen import Screen
from penstock.vocabulary.counts import counted

if TYPE_CHECKING:
    from penstock.spark.restoration import Flaw

EXIT_NOT_WHOLE = 1
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout; all else goes to stderr.")
]
HomePath = Annotated[Path, typer.Argument(help="The engine's directory.", metavar="HOME")]


def check(home: HomePath, as_json: Json = False) -> None:
    """Check that every file of a home is there and as it was written.

    Registry, results, state and Spark's checkpoint are held against the sizes and checksums that
    were noted when they were written. Nothing is changed. Ends with 0 when the home is whole, with
    1 when something is wrong: each such file is named, with its remedy.

    ```
    penstock check ./market-home
    penstock check ./market-home --json
    ```
    """
    if not check_target(home, Screen(as_json)):
        raise typer.Exit(EXIT_NOT_WHOLE)


def repair(home: HomePath, as_json: Json = False) -> None:
    """Mend what can be mended in a home without losing anything.

    What is changed is copied beside the home first. Spark's checkpoint is made again from the
    manifests of batches, announcements from the registry. Ends with 1 when something is left that
    only a copy of the home can bring back.

    ```
    penstock repair ./market-home
    ```
    """
    if not repair_target(home, Screen(as_json)):
        raise typer.Exit(EXIT_NOT_WHOLE)


def check_target(home: Path, screen: Screen) -> bool:
    """Check a home, and say whether it is whole."""
    from penstock.cli.scripts import existing_home
    from penstock.engine.home_check import check_home

    found = check_home(existing_home(home))
    if screen.as_json:
        facts = {"batches": found.batches, "files": found.files}
        screen.result({"home": str(home), **facts, "flaws": [_facts(own) for own in found.flaws]})
    elif found.flaws:
        _show(found.flaws, "Not as they were written", screen)
    else:
        batches = counted(found.batches, "batch", "batches")
        words = f"{batches} and {counted(found.files, 'file')} of results were checked."
        screen.out.print(f"[green]Whole[/]: {words}")
    return not found.flaws


def repair_target(home: Path, screen: Screen) -> bool:
    """Repair a home, and say whether it is whole now."""
    from penstock.cli.scripts import existing_home
    from penstock.engine.home_check import repair_home

    done = repair_home(existing_home(home))
    if screen.as_json:
        mended, left = ([_facts(own) for own in each] for each in (done.done, done.left))
        copy = None if done.copy is None else str(done.copy)
        screen.result({"home": str(home), "mended": mended, "left": left, "copy": copy})
        return not done.left
    if done.done:
        _show(done.done, "Mended; nothing is lost", screen)
        screen.out.print(f"What was there before is in {done.copy}.", markup=False, soft_wrap=True)
    if done.left:
        _show(done.left, "Not mended", screen)
    if not done.done and not done.left:
        screen.out.print("[green]Whole[/]: there was nothing to repair.")
    return not done.left


def _facts(flaw: Flaw) -> dict[str, Any]:
    return {
        "code": flaw.finding.code,
        "file": str(flaw.finding.file),
        "fact": flaw.finding.fact,
        "remedy": flaw.remedy,
        "mendable": flaw.mend is not None,
    }


def _show(flaws: list[Flaw], title: str, screen: Screen) -> None:
    table = Table(title=title, title_justify="left", show_lines=True)
    for name in ("code", "file", "fact", "remedy"):
        table.add_column(name, overflow="fold")
    for flaw in flaws:
        finding = flaw.finding
        table.add_row(finding.code, str(finding.file), finding.fact, flaw.remedy)
    screen.out.print(table)
