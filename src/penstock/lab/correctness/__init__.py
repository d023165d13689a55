"""`penstock lab correctness`: drawn queries and histories, every answer compared with DuckDB's.

Each fuzzer draws its cases from the seed and the case's number, so that a difference is replayed by
the seed and the number that are printed with it, whatever the size.
"""

from __future__ import annotations

from functools import partial

from penstock.lab.correctness.filters import CASES_PER_HOME, fuzz_filters
from penstock.lab.correctness.joins import KINDS, fuzz_joins
from penstock.lab.correctness.parameter_sets import SETS_PER_HOME, fuzz_parameters
from penstock.lab.correctness.tables import fuzz_tables
from penstock.lab.correctness.views import fuzz_views
from penstock.lab.draws import current_seed
from penstock.lab.fuzzers import Fuzzer, refused_and_wrong
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized

FUZZERS = (
    Fuzzer("predicates", fuzz_filters, CASES_PER_HOME, sized(100, 2_000, 20_000)),
    Fuzzer("parameters", fuzz_parameters, SETS_PER_HOME, sized(200, 2_000, 20_000)),
    Fuzzer("table_changes", fuzz_tables, 20, sized(8, 100, 1_000)),
    Fuzzer("views", fuzz_views, 10, sized(4, 60, 600)),
    *(Fuzzer(kind, partial(fuzz_joins, kind), 20, sized(4, 100, 1_000)) for kind in KINDS),
)
COMPARED_MIN = 0.6
"""So large a share of the cases must not be refused, or the fuzzer says little."""


def run(size: Size) -> Findings:
    """Run every fuzzer; full-sized ones use all cores."""
    seed = current_seed()
    outcomes = [fuzzer.run(size, seed, "differ") for fuzzer in FUZZERS]
    yield Table(
        "Cases",
        ("fuzzer", "cases", "compared", "refused", "answers", "differences"),
        [
            (o.name, o.cases, o.answered, o.refusals.total(), o.answers, len(o.faults))
            for o in outcomes
        ],
    )
    yield from refused_and_wrong(outcomes, "Differences")
    for o in outcomes:
        yield at_most(f"{o.name}: differences from DuckDB", len(o.faults), 0)
    for o in outcomes:
        yield at_least(f"{o.name}: share of cases compared", o.answered / o.cases, COMPARED_MIN)
