"""`penstock explain`: how queries are, or would be, processed; nothing is started."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from penstock.cli.screen import Screen
from penstock.cli.scripts import is_script, read_home, read_script
from penstock.cli.startup import start_spark
from penstock.engine import Engine
from penstock.engine.early_checks import check_early
from penstock.engine.explanation import drawing_of
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.vocabulary.errors import PenstockError

Answer = Explanation | TupleExplanation

STYLES = {"SLOW PATH": "yellow", "ABUNDANT": "green", "TIGHT": "yellow", "INSUFFICIENT": "bold red"}
"""How lines are shown that begin with a word of weight."""


def explain_target(
    target: str,
    home: Path | None,
    screen: Screen,
    what_if: str = "",
    drawing: Path | None = None,
) -> None:
    """Explain a script's queries, or one query against the home that it would join.

    `what_if` takes figures of multi-way joins for granted; `drawing` is a file for their plans, and
    for what budgets of memory bring.
    """
    if is_script(target):
        explanations: Sequence[Answer] = _of_script(Path(target), home, screen, what_if)
    elif home is None:
        fact = "A query on its own does not say what its streams are."
        remedy = "Add --home DIR of an engine that knows them, or explain a script."
        if " " not in target and Path(target).is_dir():
            fact = f"{target} is a directory, and no query."
            remedy = f"Name a subscription of it: penstock explain NAME --home {target}."
        raise PenstockError("CLI-005", fact, remedy)
    else:
        with read_home(home) as desk:
            explanations = [desk.explain(target, what_if=what_if)]
    if drawing is not None:
        _draw(explanations, drawing, screen)
    if screen.as_json:
        screen.result({"explanations": [each.to_json() for each in explanations]})
        return
    for number, explanation in enumerate(explanations):
        parts = (*([""] if number else []), _coloured(explanation))
        screen.out.print(*parts, sep="\n", soft_wrap=True)


def _of_script(path: Path, home: Path | None, screen: Screen, what_if: str) -> list[Answer]:
    """Carry a script out in its home, or in one that is thrown away, without starting it.

    With `what_if`, its EXPLAIN statements stand back behind its subscriptions.
    """
    text = read_script(path)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as scratch,
        Engine(home or Path(scratch) / "home") as engine,
    ):
        check_early(engine.desk, text)
        start_spark(engine, screen)  # it knows the columns of the sources
        with screen.busy(f"Reading {path}"):
            outcome = engine.sql(text)
        if outcome.explanations and not what_if:
            return outcome.explanations
        plain: list[Answer] = [engine.explain(each.name) for each in outcome.subscriptions]
        if not what_if:
            return plain
        texts = [each.name for each in outcome.subscriptions] or [
            each.sql for each in outcome.explanations if isinstance(each, Explanation)
        ]
        planned = [
            name for name in texts if len(texts) == 1 or engine.explain(name).plan is not None
        ]
        return [engine.explain(name, what_if=what_if) for name in planned] or plain


def _draw(explanations: Sequence[Answer], path: Path, screen: Screen) -> None:
    """Draw every plan and every memory curve: the first into the file named, others beside it."""
    told = [each for each in explanations if isinstance(each, Explanation)]
    drawings = [drawn for each in told if (drawn := drawing_of(each)) is not None]
    if not drawings:
        raise PenstockError(
            "ENG-037",
            "None of the queries has a plan or a memory curve to draw.",
            "Draw multi-way window joins, or joins and lookups with a budget and a known model; "
            "or, after a run, a query by its name with --home DIR, by the models that were found.",
        )
    for number, drawn in enumerate(drawings):
        name = path if not number else path.with_stem(f"{path.stem}-{number + 1}")
        name.write_text(drawn, encoding="utf-8")
        screen.progress.print(f"[dim]Drawn: {name}[/]")


def _coloured(explanation: Answer) -> Text:
    """Give the text with its first line bold, slow paths in yellow, verdicts as they are."""
    first, *rest = explanation.text().splitlines()
    shown = Text(first, style="bold")
    for line in rest:
        word = next((word for word in STYLES if line.lstrip().startswith(word)), "")
        shown.append(f"\n{line}", style=STYLES.get(word, "not bold"))
    return shown
