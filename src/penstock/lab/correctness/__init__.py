"""`penstock lab correctness`: drawn queries and histories, every answer compared with DuckDB's.

Each fuzzer draws its cases from the seed and the case's number, so that a difference is replayed by
the seed and the number that are printed with it, whatever the size.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from penstock.lab.correctness.filters import CASES_PER_HOME, fuzz_filters
from penstock.lab.correctness.joins import KINDS, fuzz_joins
from penstock.lab.correctness.outcomes import Outcome, outcome_tables
from penstock.lab.correctness.parameter_sets import SETS_PER_HOME, fuzz_parameters
from penstock.lab.correctness.tables import fuzz_tables
from penstock.lab.draws import current_seed
from penstock.lab.report import Report, Size, at_least


@dataclass(frozen=True, slots=True)
class Fuzzer:
    """`fuzz(seed, first, cases)` runs the cases of one piece; `cases` are those of every size."""

    name: str
    fuzz: Callable[[int, int, int], Outcome]
    piece: int
    cases: dict[Size, int]


FUZZERS = (
    Fuzzer(
        "predicates", fuzz_filters, CASES_PER_HOME, {"tiny": 100, "small": 2_000, "full": 20_000}
    ),
    Fuzzer(
        "parameters", fuzz_parameters, SETS_PER_HOME, {"tiny": 200, "small": 2_000, "full": 20_000}
    ),
    Fuzzer("table_changes", fuzz_tables, 20, {"tiny": 8, "small": 100, "full": 1_000}),
    *(
        Fuzzer(kind, partial(fuzz_joins, kind), 20, {"tiny": 6, "small": 100, "full": 1_000})
        for kind in KINDS
    ),
)
COMPARED_MIN = 0.6
"""So large a share of the cases must not be refused, or the fuzzer says little."""


def run(size: Size) -> Report:
    """Run every fuzzer; full-sized ones use all cores."""
    seed = current_seed()
    outcomes = [_outcome(fuzzer, size, seed) for fuzzer in FUZZERS]
    shares = [
        at_least(f"{o.name}: share of cases compared", o.compared / o.cases, COMPARED_MIN)
        for o in outcomes
    ]
    return Report(
        experiment="correctness",
        size=size,
        tables=outcome_tables(outcomes),
        checks=(*(outcome.check for outcome in outcomes), *shares),
    )


def _outcome(fuzzer: Fuzzer, size: Size, seed: int) -> Outcome:
    cases = fuzzer.cases[size]
    firsts = range(0, cases, fuzzer.piece)
    pieces = [(seed, first, min(fuzzer.piece, cases - first)) for first in firsts]
    if size == "tiny":
        return _sum([fuzzer.fuzz(*piece) for piece in pieces])
    cores = len(os.sched_getaffinity(0))
    # Spawned: DuckDB and Arrow have threads, which a fork does not take along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        return _sum(list(pool.map(fuzzer.fuzz, *zip(*pieces, strict=True))))


def _sum(parts: list[Outcome]) -> Outcome:
    total = parts[0]
    for part in parts[1:]:
        total.add(part)
    return total
