"""Hostile texts and parameters are answered or refused with a code; a fault is noticed."""

from __future__ import annotations

from penstock.lab.fuzz.hostile_parameters import try_parameters
from penstock.lab.fuzz.hostile_texts import statements, try_texts
from penstock.lab.fuzzers import FuzzOutcome

TEXTS, SETS = 40, 14
"""A part of a tiny run: each case registers something."""


def test_every_text_is_answered_or_refused_with_a_code(seed: int) -> None:
    assert len(statements()) > 100, "golden files, documents and examples are read"
    outcome = try_texts(seed, 0, TEXTS)
    assert not outcome.faults
    assert (
        outcome.answered and outcome.answered + outcome.refusals.total() == outcome.cases == TEXTS
    )


def test_every_parameter_set_is_answered_or_refused_with_a_code(seed: int) -> None:
    outcome = try_parameters(seed, 0, SETS)
    assert not outcome.faults
    assert outcome.answered and outcome.cases == SETS


def test_what_has_no_code_is_a_fault() -> None:
    def fail() -> None:
        raise KeyError("x")

    outcome = FuzzOutcome("made up")
    outcome.attempt(7, 3, "a text", fail)
    (fault,) = outcome.faults
    assert (fault.seed, fault.case, fault.text) == (7, 3, "a text") and "KeyError" in fault.found
