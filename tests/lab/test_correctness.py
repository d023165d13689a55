"""Drawn queries have DuckDB's answers, and a falsified answer is noticed."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.lab.correctness import COMPARED_MIN, FUZZERS
from penstock.lab.correctness.columns import draw_events
from penstock.lab.correctness.filters import ROW, ROWS, _asked, _compare
from penstock.lab.correctness.joins import _over_budget, fuzz_joins
from penstock.lab.correctness.lookups import DuckdbShop
from penstock.lab.correctness.views import fuzz_views
from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.fuzzers import Fault, Fuzzer, FuzzOutcome
from penstock.operators.lookup.figures import ROWS_CACHED
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS as HELD
from penstock.vocabulary.shared_figures import ROWS_BUDGET


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
        outcome = FuzzOutcome("predicates")
        _compare(outcome, db, 1, 0, text, expected)
        assert not outcome.faults
        _compare(outcome, db, 1, 0, text, expected ^ {min(failed)})
        _compare(outcome, db, 1, 0, "nonsense(i8)", set())
    assert len(outcome.faults) == 2


def test_a_wrong_lookup_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckdbShop, "table", lambda shop, _: shop.tables[0].slice(0, 0))
    outcome = fuzz_joins("lookup_join", 0, 0, 1)
    assert outcome.answered and "surplus" in outcome.faults[0].found


def test_a_wrong_view_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.views.flushes.FlushStatements._updated", lambda _: "SELECT 1")
    outcome = fuzz_views(0, 2, 1)
    assert "missing" in outcome.faults[0].found


def test_more_rows_than_the_budget_are_a_difference() -> None:
    told = {"g": Tally({(HELD, 0): 2, (HELD, 1): 1, ROWS_BUDGET: 3}), "h": Tally({(HELD, 0): 9})}
    assert _over_budget(FigureTable(told)) == []
    told["g"][ROWS_CACHED] = 1
    assert _over_budget(FigureTable(told)) == ["g holds 4 rows of 3"]


@pytest.mark.parametrize("fuzzer", FUZZERS, ids=lambda fuzzer: fuzzer.name)
def test_drawn_cases_have_duckdbs_answers(fuzzer: Fuzzer, seed: int) -> None:
    outcome = fuzzer.fuzz(seed, 0, fuzzer.cases["tiny"])
    assert outcome.answered >= COMPARED_MIN * outcome.cases and outcome.answers
    assert not outcome.faults


def test_a_difference_fails_the_experiment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fuzz(seed: int, first: int, cases: int) -> FuzzOutcome:
        wrong = [Fault(seed, first, "a text", "what was found")]
        return FuzzOutcome("made up", cases, cases, cases, faults=wrong)

    made_up = Fuzzer("made up", fuzz, 5, {"tiny": 10, "small": 10, "full": 10})
    monkeypatch.setattr("penstock.lab.correctness.FUZZERS", (made_up,))
    report = EXPERIMENTS["correctness"].run("tiny", 7)
    assert "made up: 10 of 10 cases, 2 differ" in " ".join(capsys.readouterr().err.split())
    (differences, share) = report.checks
    assert (differences.value, differences.passed, share.passed) == (2, False, True)
    assert [row["seed"] for row in report.to_json()["figures"]["Differences"]] == [7, 7]
