"""Losses are summed by subject and told when they begin and when they have grown tenfold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from penstock.engine.losses import Losses, loss_words
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Key, Tally
from penstock.vocabulary.losses import CORRUPT_ROWS, LATE_ROWS, LOSSES
from penstock.vocabulary.shared_figures import CANDIDATES


def _report(batch: int, **told: dict[Key, int]) -> BatchReport:
    figures = FigureTable({subject: Tally(own) for subject, own in told.items()})
    return cast(BatchReport, SimpleNamespace(batch=batch, figures=figures))


def test_losses_are_told_once_and_then_when_they_have_grown() -> None:
    told: list[tuple[str, int, str]] = []
    losses = Losses(lambda subject, batch, text: told.append((subject, batch, text)))
    losses.take(_report(0, g={LATE_ROWS: 3, CANDIDATES: 9}))
    losses.take(_report(1, g={LATE_ROWS: 5}))
    losses.take(_report(2, g={LATE_ROWS: 22}, trades={CORRUPT_ROWS: 1}))
    assert losses.counts == {"g": {"late_rows": 30}, "trades": {"corrupt_rows": 1}}
    assert [(subject, batch) for subject, batch, _ in told] == [("g", 0), ("g", 2), ("trades", 2)]
    assert told[1][2].startswith("30 rows came later") and "lateness = " in told[1][2]


def test_every_loss_has_its_sentence() -> None:
    for name, loss in LOSSES.items():
        assert loss.words(1).startswith("1 ") and loss.words(1234).startswith("1,234 "), name
        assert all(text.endswith(".") for text in (loss.one, loss.help, loss.remedy)), name
    assert loss_words({"q": dict.fromkeys(LOSSES, 2)}) == [
        f"q: {loss.words(2)}" for loss in LOSSES.values()
    ]
