"""Residuals are exact, on candidates only; threads that split a batch change nothing."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.logical import StandingFilter, filter_step
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual
from penstock.operators.filter import FilterOperator, register
from penstock.operators.shared import threads as threads_module
from penstock.vocabulary.batches import QueryChanges
from tests.oracle.filters import known, matches

NUMBERS = st.sampled_from([None, float("nan"), -2.0, -0.5, 0.0, 1.0, 2.5, 7.0])
TEXTS = st.sampled_from([None, "", "a", "ab", "ba", "abc"])
PATTERNS = st.sampled_from([None, "%", "a%", "%b", "_b", "abc"])
TYPES = {"x": pa.float64(), "s": pa.string()}
PARAMETERS = {
    "low": pa.float64(),
    "factor": pa.float64(),
    "pattern": pa.string(),
    "key": pa.string(),
}


def twin(columns: list[Any], own: list[Any]) -> bool | None:
    """`abs(c0) * r0 > 2 AND c1 LIKE r1` with NULL for NaN, term by term."""
    (x, text), (factor, pattern) = columns, own
    above = abs(x) * factor > 2 if known(x) and known(factor) else None
    like = None
    if text is not None and pattern is not None:
        like = fnmatchcase(text, pattern.replace("%", "*").replace("_", "?"))
    if above is False or like is False:
        return False
    return None if above is None or like is None else True


@settings(max_examples=120)
@given(
    events=st.lists(st.fixed_dictionaries({"x": NUMBERS, "s": TEXTS}), max_size=25),
    rows=st.lists(
        st.fixed_dictionaries(
            {"low": NUMBERS, "factor": NUMBERS, "pattern": PATTERNS, "key": TEXTS}
        ),
        min_size=1,
        max_size=12,
    ),
    ranged=st.booleans(),
    keyed=st.booleans(),
    twice=st.booleans(),
    threads=st.sampled_from([1, 2, 3]),
)
def test_residual_means_what_the_twin_says(
    events: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    ranged: bool,
    keyed: bool,
    twice: bool,
    threads: int,
) -> None:
    residual = Residual(
        sql="abs(c0) * r0 > 2 AND c1 LIKE r1",
        columns=("x", "s"),
        parameters=("factor", "pattern"),
    )
    above = Range(column="x", lows=(Bound(parameter="low", closed=False),), highs=())
    equal = Equality(column="s", parameters=("key",))
    branch = Branch(
        equalities=(equal,) if keyed else (), ranges=(above,) if ranged else (), residual=residual
    )
    # A second branch makes pairs that two entries find: they must come once.
    logical = StandingFilter(
        relation="t",
        branches=(branch, Branch(ranges=(above,))) if twice else (branch,),
        outputs=(),
        parameters=PARAMETERS,
        column_types=TYPES,
    )
    step = filter_step(logical)
    given_rows = pa.Table.from_pylist(rows, pa.schema(list(PARAMETERS.items())))
    registration = register(logical, step, given_rows, 0)
    operator = FilterOperator(step, threads=threads)
    operator.apply(QueryChanges(adds=registration.adds))
    batch = pa.Table.from_pylist(events, pa.schema(list(TYPES.items())))
    with patch.object(threads_module, "PART_MIN", 3):
        found = [
            (int(event), int(query))
            for results in operator.process({"t": batch})
            for event, query in zip(results.event, results.query, strict=True)
        ]
    assert len(found) == len(set(found))
    assert set(found) == matches(logical, dict(enumerate(rows)), events, twin)
