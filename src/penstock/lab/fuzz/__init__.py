"""`penstock lab fuzz`: texts and parameters that nobody would write, each answered or refused.

Texts are mutations of the statements of golden files, documents and examples, and texts made to be
large: deep nesting, long lists, odd characters. Each is carried out at a desk, or refused with a
code; anything else is a fault. Cases are drawn from the seed and their number, so that each is
replayed by the two.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import starmap

from penstock.expressions.deadlines import REGISTRATION_S
from penstock.lab.draws import current_seed
from penstock.lab.fuzz.faults import FuzzTally, tally_tables
from penstock.lab.fuzz.hostile_parameters import try_parameters
from penstock.lab.fuzz.hostile_texts import try_texts
from penstock.lab.report import Findings, Size, at_most, sized
from penstock.lab.timing import say

TOLD = 20
"""So many times at most does a fuzzer say how far it is."""


@dataclass(frozen=True, slots=True)
class HostileFuzzer:
    """`attempt(seed, first, cases)` tries the cases of one piece."""

    name: str
    attempt: Callable[[int, int, int], FuzzTally]
    piece: int
    cases: dict[Size, int]


FUZZERS = (
    HostileFuzzer("texts", try_texts, 500, sized(150, 5_000, 100_000)),
    HostileFuzzer("parameter sets", try_parameters, 100, sized(40, 1_000, 10_000)),
)


def run(size: Size) -> Findings:
    """Try all texts and parameter sets; full-sized runs use all cores."""
    seed = current_seed()
    tallies = [_tried(fuzzer, size, seed) for fuzzer in FUZZERS]
    yield from tally_tables(tallies)
    for tally in tallies:
        yield at_most(f"{tally.name}: exceptions without a code", len(tally.faults), 0)
        name = f"{tally.name}: seconds of the slowest"
        yield at_most(name, round(tally.slowest_s, 2), 2 * REGISTRATION_S, timed=True)


def _tried(fuzzer: HostileFuzzer, size: Size, seed: int) -> FuzzTally:
    cases = fuzzer.cases[size]
    firsts = range(0, cases, fuzzer.piece)
    pieces = [(seed, first, min(fuzzer.piece, cases - first)) for first in firsts]
    if size == "tiny":
        return _sum(fuzzer, cases, starmap(fuzzer.attempt, pieces))
    # Spawned: DuckDB and Arrow have threads, which a fork does not take along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
        return _sum(fuzzer, cases, pool.map(fuzzer.attempt, *zip(*pieces, strict=True)))


def _sum(fuzzer: HostileFuzzer, cases: int, parts: Iterable[FuzzTally]) -> FuzzTally:
    total = FuzzTally(fuzzer.name)
    for part in parts:
        before = TOLD * total.cases // cases
        total.add(part)
        if TOLD * total.cases // cases > before:
            say(f"fuzz: {total.cases:,} of {cases:,} {fuzzer.name}, {len(total.faults)} faults")
    return total
