"""Outcomes: what became of drawn cases, and how each difference is replayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from penstock.lab.report import Check, Table, at_most

EXAMPLES_MAX = 20


@dataclass(frozen=True, slots=True)
class CaseDifference:
    """A case whose answer is not DuckDB's: its seed and number, its text, and what was found."""

    seed: int
    case: int
    text: str
    found: str


@dataclass(slots=True)
class FuzzOutcome:
    """What became of the cases of one fuzzer.

    `answers` counts rows or changes that were compared, so that a fuzzer whose cases are all
    empty is seen; `refusals` counts refused cases by code.
    """

    name: str
    cases: int = 0
    compared: int = 0
    answers: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    differences: list[CaseDifference] = field(default_factory=list)

    def add(self, other: FuzzOutcome) -> None:
        """Take over another part of the same fuzzer."""
        self.cases += other.cases
        self.compared += other.compared
        self.answers += other.answers
        self.refusals += other.refusals
        self.differences += other.differences

    @property
    def check(self) -> Check:
        """Claim that nothing differs."""
        return at_most(f"{self.name}: differences from DuckDB", len(self.differences), 0)


def outcome_tables(outcomes: list[FuzzOutcome]) -> tuple[Table, ...]:
    """Tell what was tried, what was refused and why, and what differs."""
    tried = Table(
        "Cases",
        ("fuzzer", "cases", "compared", "refused", "answers", "differences"),
        [
            (o.name, o.cases, o.compared, o.refusals.total(), o.answers, len(o.differences))
            for o in outcomes
        ],
    )
    refused = Table(
        "Refusals by code",
        ("fuzzer", "code", "cases"),
        [(o.name, code, count) for o in outcomes for code, count in o.refusals.most_common()],
    )
    differ = Table(
        "Differences",
        ("fuzzer", "seed", "case", "text", "found"),
        [
            (o.name, d.seed, d.case, d.text, d.found)
            for o in outcomes
            for d in o.differences[:EXAMPLES_MAX]
        ],
    )
    return tried, refused, differ
