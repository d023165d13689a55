"""Fuzzers: drawn cases, in pieces over all cores; each fault is replayed by seed and number."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import starmap
from time import perf_counter

from penstock.lab.report import Size, Table
from penstock.lab.timing import say
from penstock.vocabulary.errors import PenstockError

FAULTS_TOLD = 30
TEXT_TOLD = 300
TOLD = 20
"""So many times at most does a fuzzer say how far it is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A case that went wrong: its seed and number, its text, and what was found."""

    seed: int
    case: int
    text: str
    found: str


@dataclass(slots=True)
class FuzzOutcome:
    """What became of the cases of one fuzzer.

    `answered` counts cases that were not refused, `answers` the rows or changes that were
    compared, so that a fuzzer whose cases are all empty is seen; `refusals` counts refused cases by
    code.
    """

    name: str
    cases: int = 0
    answered: int = 0
    answers: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""

    def attempt(self, seed: int, case: int, text: str, act: Callable[[], object]) -> None:
        """Carry out a case, and note what became of it; what has no code is a fault."""
        self.cases += 1
        started = perf_counter()
        try:
            act()
            self.answered += 1
        except PenstockError as error:
            self.refusals[error.code] += 1
        except Exception as error:  # noqa: BLE001 — what has no code is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            raised = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
            self.faults.append(Fault(seed, case, text, raised))
        taken_s = perf_counter() - started
        if taken_s > self.slowest_s:
            self.slowest_s, self.slowest = taken_s, text

    def add(self, other: FuzzOutcome) -> None:
        """Take over another part of the same fuzzer."""
        self.cases += other.cases
        self.answered += other.answered
        self.answers += other.answers
        self.refusals += other.refusals
        self.faults += other.faults
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest


@dataclass(frozen=True, slots=True)
class Fuzzer:
    """`fuzz(seed, first, cases)` runs the cases of one piece; `cases` are those of every size."""

    name: str
    fuzz: Callable[[int, int, int], FuzzOutcome]
    piece: int
    cases: dict[Size, int]

    def run(self, size: Size, seed: int, faults: str) -> FuzzOutcome:
        """Run all cases of a size, on all cores but for tiny ones; `faults` is their word."""
        cases = self.cases[size]
        firsts = range(0, cases, self.piece)
        pieces = [(seed, first, min(self.piece, cases - first)) for first in firsts]
        if size == "tiny":
            return self._sum(cases, starmap(self.fuzz, pieces), faults)
        # Spawned: DuckDB and Arrow have threads, which a fork does not take along.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
            return self._sum(cases, pool.map(self.fuzz, *zip(*pieces, strict=True)), faults)

    def _sum(self, cases: int, parts: Iterable[FuzzOutcome], faults: str) -> FuzzOutcome:
        """Add up what comes, and tell how far it is: a full run takes an hour."""
        total = FuzzOutcome(self.name)
        for part in parts:
            before = TOLD * total.cases // cases
            total.add(part)
            if TOLD * total.cases // cases > before:
                told = f"{total.cases:,} of {cases:,} cases, {len(total.faults)} {faults}"
                say(f"{self.name}: {told}")
        return total


def refused_and_wrong(
    outcomes: list[FuzzOutcome], title: str, found: str = "found"
) -> tuple[Table, Table]:
    """Tell what was refused and why, and every fault, in a table with this title."""
    refused = Table(
        "Refusals by code",
        ("fuzzer", "code", "cases"),
        [(o.name, code, count) for o in outcomes for code, count in o.refusals.most_common()],
    )
    faults = Table(
        title,
        ("fuzzer", "seed", "case", "text", found),
        [
            (o.name, f.seed, f.case, f.text[:TEXT_TOLD], f.found[:TEXT_TOLD])
            for o in outcomes
            for f in o.faults[:FAULTS_TOLD]
        ],
    )
    return refused, faults
