"""`penstock lab fuzz`: texts and parameters that nobody would write, each answered or refused.

Texts are mutations of the statements of golden files, documents and examples, and texts made to be
large: deep nesting, long lists, odd characters. Each is carried out at a desk, or refused with a
code; anything else is a fault. Cases are drawn from the seed and their number, so that each is
replayed by the two.
"""

from __future__ import annotations

from penstock.expressions.deadlines import REGISTRATION_S
from penstock.lab.draws import current_seed
from penstock.lab.fuzz.hostile_parameters import try_parameters
from penstock.lab.fuzz.hostile_texts import try_texts
from penstock.lab.fuzzers import TEXT_TOLD, Fuzzer, refused_and_wrong
from penstock.lab.report import Findings, Size, Table, at_most, sized

FUZZERS = (
    Fuzzer("texts", try_texts, 500, sized(150, 5_000, 100_000)),
    Fuzzer("parameter sets", try_parameters, 100, sized(40, 1_000, 10_000)),
)


def run(size: Size) -> Findings:
    """Try all texts and parameter sets; full-sized runs use all cores."""
    seed = current_seed()
    outcomes = [fuzzer.run(size, seed, "faults") for fuzzer in FUZZERS]
    yield Table(
        "Tried",
        ("fuzzer", "cases", "accepted", "refused", "faults", "slowest s", "which"),
        [
            (o.name, o.cases, o.answered, o.refusals.total(), len(o.faults), round(o.slowest_s, 3),
             o.slowest[:TEXT_TOLD])
            for o in outcomes
        ],
    )  # fmt: skip
    yield from refused_and_wrong(outcomes, "Faults", "raised")
    for o in outcomes:
        yield at_most(f"{o.name}: exceptions without a code", len(o.faults), 0)
        name = f"{o.name}: seconds of the slowest"
        yield at_most(name, round(o.slowest_s, 2), 2 * REGISTRATION_S, timed=True)
