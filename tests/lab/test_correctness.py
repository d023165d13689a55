"""Drawn queries have DuckDB's answers, and a falsified answer is noticed."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from penstock.lab.correctness.columns import draw_events
from penstock.lab.correctness.filters import ROW, ROWS, _asked, _compare
from penstock.lab.correctness.outcomes import Outcome


def test_a_wrong_answer_is_a_difference() -> None:
    events = draw_events(np.random.default_rng(0), ROWS).append_column(
        ROW, pa.array(np.arange(ROWS))
    )
    with duckdb.connect(":memory:") as db:
        db.register("given", events)
        db.execute("CREATE TABLE r AS FROM given")
        text = "i32 > 0 AND CAST(s AS INTEGER) = 1"
        expected, failed = _asked(db, text)
        assert failed, "the predicate fails on some rows"
        outcome = Outcome("predicates")
        _compare(outcome, db, 1, 0, text, expected)
        assert not outcome.differences
        _compare(outcome, db, 1, 0, text, expected ^ {min(failed)})
        _compare(outcome, db, 1, 0, "nonsense(i8)", set())
    assert len(outcome.differences) == 2
