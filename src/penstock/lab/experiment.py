"""An experiment of the lab: a claim, and where it is tested."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from penstock.lab.draws import DEFAULT_SEED, seeded
from penstock.lab.papers import OWN, PAPERS
from penstock.lab.report import Report, Size


@dataclass(frozen=True, slots=True)
class Experiment:
    """A claim and how to test it."""

    name: str
    """What `penstock lab` calls it."""
    summary: str
    """What it shows, in one sentence."""
    reproduces: str
    """Whose figure or claim it runs again."""
    module: str
    """Where its `run(size)` is, which gives its findings one by one. It is imported when it is
    asked for: listing experiments must stay quick."""

    @property
    def cites(self) -> str:
        """The paper that the claim is from, or `own`."""
        return next((paper for paper, names in PAPERS.items() if self.name in names), OWN)

    def run(self, size: Size, seed: int = DEFAULT_SEED) -> Report:
        """Do it, all its draws coming from the seed, and report."""
        with seeded(seed):
            run = importlib.import_module(f"penstock.lab.{self.module}").run
            return Report.of(self.name, size, run(size))
