"""`penstock explain`: how queries are, or would be, processed; nothing is started."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from penstock.cli.screen import Screen
from penstock.cli.scripts import existing_home, is_script, read_script
from penstock.cli.starting import start_spark
from penstock.engine import Desk, Engine
from penstock.engine.scripts import execute
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.vocabulary.errors import PenstockError

Answer = Explanation | TupleExplanation


def explain_target(target: str, home: Path | None, screen: Screen) -> None:
    """Explain a script's queries, or one query against the home that it would join."""
    if is_script(target):
        explanations: Sequence[Answer] = _of_script(Path(target), home, screen)
    elif home is None:
        raise PenstockError(
            "CLI-005",
            "A query on its own does not say what its streams are.",
            "Add --home DIR of an engine that knows them, or explain a script.",
        )
    else:
        desk = Desk(existing_home(home))
        try:
            explanations = [desk.explain(target)]
        finally:
            desk.close()
    if screen.as_json:
        screen.result({"explanations": [each.to_json() for each in explanations]})
        return
    for number, explanation in enumerate(explanations):
        screen.out.print(*([""] if number else []), _coloured(explanation), sep="\n")


def _of_script(path: Path, home: Path | None, screen: Screen) -> list[Answer]:
    """Carry a script out in its home, or in one that is thrown away, without starting it."""
    text = read_script(path)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as scratch,
        Engine(home or Path(scratch) / "home") as engine,
    ):
        start_spark(engine, screen)  # it knows the columns of the sources
        with screen.busy(f"Reading {path}"):
            outcome = execute(engine, text)
        if outcome.explanations:
            return outcome.explanations
        return [engine.explain(each.name) for each in outcome.subscriptions]


def _coloured(explanation: Answer) -> Text:
    """Give the text with its first line bold and slow paths in yellow."""
    first, *rest = explanation.text().splitlines()
    shown = Text(first, style="bold")
    for line in rest:
        style = "yellow" if line.lstrip().startswith("SLOW PATH") else "not bold"
        shown.append(f"\n{line}", style=style)
    return shown
