"""Faults: what became of hostile cases, and how each fault is replayed."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from penstock.lab.report import Table
from penstock.vocabulary.errors import PenstockError

FAULTS_TOLD = 30
TEXT_TOLD = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """A case that raised something without a code: its seed and number, its text, and what."""

    seed: int
    case: int
    text: str
    raised: str


@dataclass(slots=True)
class FuzzTally:
    """What became of the cases of one fuzzer; `codes` counts refusals."""

    name: str
    cases: int = 0
    accepted: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""

    def attempt(self, seed: int, case: int, text: str, act: Callable[[], object]) -> None:
        """Carry out a case, and note what became of it."""
        self.cases += 1
        started = perf_counter()
        try:
            act()
            self.accepted += 1
        except PenstockError as error:
            self.codes[error.code] += 1
        except Exception as error:  # noqa: BLE001 — what has no code is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            raised = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
            self.faults.append(Fault(seed, case, text, raised))
        taken_s = perf_counter() - started
        if taken_s > self.slowest_s:
            self.slowest_s, self.slowest = taken_s, text

    def add(self, other: FuzzTally) -> None:
        """Take over another part of the same fuzzer."""
        self.cases += other.cases
        self.accepted += other.accepted
        self.codes += other.codes
        self.faults += other.faults
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest


def tally_tables(tallies: list[FuzzTally]) -> tuple[Table, ...]:
    """Tell what was tried, what was refused and why, what took longest, and every fault."""
    tried = Table(
        "Tried",
        ("fuzzer", "cases", "accepted", "refused", "faults", "slowest s", "which"),
        [
            (t.name, t.cases, t.accepted, t.codes.total(), len(t.faults), round(t.slowest_s, 3),
             t.slowest[:TEXT_TOLD])
            for t in tallies
        ],
    )  # fmt: skip
    refused = Table(
        "Refusals by code",
        ("fuzzer", "code", "cases"),
        [(t.name, code, count) for t in tallies for code, count in t.codes.most_common()],
    )
    faults = Table(
        "Faults",
        ("fuzzer", "seed", "case", "text", "raised"),
        [
            (t.name, f.seed, f.case, f.text[:TEXT_TOLD], f.raised[:TEXT_TOLD])
            for t in tallies
            for f in t.faults[:FAULTS_TOLD]
        ],
    )
    return tried, refused, faults
