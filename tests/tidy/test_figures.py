"""Figures are declared once each, in words, and their page says what the declarations say.

`PENSTOCK_UPDATE=1` writes the tables of the page anew.
"""

from __future__ import annotations

import os

import pytest

from penstock.engine.figures import ENGINE_FIGURES
from penstock.operators.catalogue import OPERATORS
from penstock.server.figures import SERVER_FIGURES
from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import (
    CORRUPT_ROWS,
    FAILED_OUTPUTS,
    FUTURE_ROWS,
    LOSSES,
    UNANSWERED_ROWS,
    Loss,
)
from penstock.vocabulary.shared_figures import ACTUAL_COST
from tests.tidy.tree import ROOT

PAGE = ROOT / "docs/reference/figures.md"
HEAD = "| figure | labels | unit | kind | shards | {} |\n|---|---|---|---|---|---|\n"


def every() -> dict[str, Figure]:
    """Give all figures of operators by name."""
    return {f.name: f for kind in OPERATORS.values() for f in kind.figures}


def tellers(figure: Figure) -> str:
    """Name the kinds that tell a figure."""
    kinds = [name.replace("_", " ") for name, kind in OPERATORS.items() if figure in kind.figures]
    return f" Told by: {', '.join(kinds)}."


def row(figure: Figure, more: str = "") -> str:
    if not figure.is_exposed:
        more += " Monitors are not told."
    cells = (
        f"`{figure.name}`", ", ".join(figure.labels), figure.unit, figure.kind, figure.merge,
        f"{figure.help[:1].upper()}{figure.help[1:]}{more}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def tables() -> str:
    """Give the tables of the page."""
    groups = [figure for figure in every().values() if not isinstance(figure, Loss)]
    sections = {
        "The engine": [row(figure) for figure in ENGINE_FIGURES],
        "Groups": [row(ACTUAL_COST), *(row(figure, tellers(figure)) for figure in groups)],
        "Losses": [row(figure, f" {figure.remedy}") for figure in LOSSES.values()],
        "The server": [row(figure) for figure in SERVER_FIGURES],
    }
    head = HEAD.format("what it says")
    parts = [f"\n## {title}\n\n{head}{''.join(rows)}" for title, rows in sections.items()]
    return "".join(parts)


def test_the_page_says_what_is_declared() -> None:
    beginning, first, rest = PAGE.read_text().partition("\n## The engine\n")
    if os.environ.get("PENSTOCK_UPDATE"):
        PAGE.write_text(beginning + tables())
        return
    assert first + rest == tables(), "PENSTOCK_UPDATE=1 writes the tables anew"


@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_a_name_has_one_declaration(kind: str) -> None:
    others = {
        figure.name: figure
        for figure in (ACTUAL_COST, *ENGINE_FIGURES, *SERVER_FIGURES, *LOSSES.values())
    }
    known = every() | others
    names = [figure.name for figure in OPERATORS[kind].figures]
    assert len(names) == len(set(names))
    for figure in OPERATORS[kind].figures:
        assert figure is known[figure.name], f"{figure.name} is declared twice"


def test_declarations_are_words_and_names_hold_no_numbers() -> None:
    for figure in (
        ACTUAL_COST,
        *ENGINE_FIGURES,
        *SERVER_FIGURES,
        *LOSSES.values(),
        *every().values(),
    ):
        for word in (figure.name, *figure.labels):
            assert word.isidentifier() and word.islower(), word
            assert not any(letter.isdigit() for letter in word), word
        assert figure.help.endswith("."), figure.name
        assert figure.unit.isalpha(), figure.name


def test_every_loss_is_told_by_somebody() -> None:
    told = {figure for kind in OPERATORS.values() for figure in kind.figures}
    hosts_and_readers = {CORRUPT_ROWS, FUTURE_ROWS, FAILED_OUTPUTS, UNANSWERED_ROWS}
    assert set(LOSSES.values()) - told == hosts_and_readers
