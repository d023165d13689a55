"""`penstock lab correctness`: drawn queries and histories, every answer compared with DuckDB's.

Each fuzzer draws its cases from the seed and the case's number, so that a difference is replayed by
the seed and the number that are printed with it, whatever the size.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import starmap

from penstock.lab.correctness.filters import CASES_PER_HOME, fuzz_filters
from penstock.lab.correctness.joins import KINDS, fuzz_joins
from penstock.lab.correctness.outcomes import FuzzOutcome, outcome_tables
from penstock.lab.correctness.parameter_sets import SETS_PER_HOME, fuzz_parameters
from penstock.lab.correctness.tables import fuzz_tables
from penstock.lab.draws import current_seed
from penstock.lab.report import Findings, Size, at_least, sized
from penstock.lab.timing import say


@dataclass(frozen=True, slots=True)
class Fuzzer:
    """`fuzz(seed, first, cases)` runs the cases of one piece; `cases` are those of every size."""

    name: str
    fuzz: Callable[[int, int, int], FuzzOutcome]
    piece: int
    cases: dict[Size, int]


FUZZERS = (
    Fuzzer("predicates", fuzz_filters, CASES_PER_HOME, sized(100, 2_000, 20_000)),
    Fuzzer("parameters", fuzz_parameters, SETS_PER_HOME, sized(200, 2_000, 20_000)),
    Fuzzer("table_changes", fuzz_tables, 20, sized(8, 100, 1_000)),
    *(Fuzzer(kind, partial(fuzz_joins, kind), 20, sized(4, 100, 1_000)) for kind in KINDS),
)
TOLD = 20
"""So many times at most does a fuzzer say how far it is."""
COMPARED_MIN = 0.6
"""So large a share of the cases must not be refused, or the fuzzer says little."""


def run(size: Size) -> Findings:
    """Run every fuzzer; full-sized ones use all cores."""
    seed = current_seed()
    outcomes = [_outcome(fuzzer, size, seed) for fuzzer in FUZZERS]
    shares = [
        at_least(f"{o.name}: share of cases compared", o.compared / o.cases, COMPARED_MIN)
        for o in outcomes
    ]
    yield from outcome_tables(outcomes)
    yield from (outcome.check for outcome in outcomes)
    yield from shares


def _outcome(fuzzer: Fuzzer, size: Size, seed: int) -> FuzzOutcome:
    cases = fuzzer.cases[size]
    firsts = range(0, cases, fuzzer.piece)
    pieces = [(seed, first, min(fuzzer.piece, cases - first)) for first in firsts]
    if size == "tiny":
        return _sum(fuzzer, cases, starmap(fuzzer.fuzz, pieces))
    cores = len(os.sched_getaffinity(0))
    # Spawned: DuckDB and Arrow have threads, which a fork does not take along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        return _sum(fuzzer, cases, pool.map(fuzzer.fuzz, *zip(*pieces, strict=True)))


def _sum(fuzzer: Fuzzer, cases: int, parts: Iterable[FuzzOutcome]) -> FuzzOutcome:
    """Add up what comes, and tell how far it is: a full run takes an hour."""
    total = FuzzOutcome(fuzzer.name)
    for part in parts:
        before = TOLD * total.cases // cases
        total.add(part)
        if TOLD * total.cases // cases > before:
            wrong = len(total.differences)
            say(f"correctness: {fuzzer.name}, {total.cases:,} of {cases:,} cases, {wrong} differ")
    return total
