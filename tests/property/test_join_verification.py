"""Verification of joins against plain loops: it agrees with what is right, and sees what is not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.join import verification as join_verification
from penstock.kinds.join.verification import verify_join
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.vocabulary.errors import PenstockError
from tests.support.join_logs import (
    GROUP,
    Batch,
    Found,
    Query,
    Twin,
    logical,
    parameters,
    relation,
    write_log,
)

NAN = float("nan")
ROWS = st.tuples(
    st.sampled_from([None, 1, 2]), st.sampled_from([None, NAN, 0.0, 1.0]), st.integers(0, 5)
)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["insert", "insert", "delete", "update_before"]), ROWS), max_size=4
)
BATCHES = st.lists(st.fixed_dictionaries({"a": CHANGES, "b": CHANGES}), min_size=1, max_size=4)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from([None, 0.0, 1.0]), st.integers(1, 4), st.integers(0, 3), st.integers(1, 4)
    ),
    min_size=1,
    max_size=3,
)
LATENESS_S = 2


def insert_only(batches: list[Batch]) -> list[Batch]:
    return [
        {name: [("insert", row) for _, row in changes] for name, changes in batch.items()}
        for batch in batches
    ]


def judge(
    kind: str, mode: str, batches: list[Batch], queries: list[Query], spoiled: bool = False
) -> tuple[SubscriptionOutcome, bool]:
    """Verify a log, right or with one change left out; say also whether one was."""
    left_out: list[Found] = []

    def spoil(_: int, found: list[Found]) -> list[Found]:
        if spoiled and found and not left_out:
            left_out.append(found[0])
            return found[1:]
        return found

    catalog = {name: relation(name, kind, LATENESS_S) for name in ("a", "b")}
    answer = SubscriptionOutcome("s")
    with tempfile.TemporaryDirectory() as root:
        twin = Twin(kind, mode, queries, LATENESS_S)
        logged = write_log(Path(root), batches, twin, spoil)
        verify_join(
            answer,
            catalog,
            GROUP,
            0,
            logical(mode, kind, LATENESS_S),
            parameters(queries),
            logged,
            lambda *_: None,
        )
    return answer, bool(left_out)


@pytest.mark.parametrize("mode", ["full", "identify"])
@pytest.mark.parametrize("kind", ["table", "stream"])
@settings(max_examples=30)
@given(batches=BATCHES, drawn=QUERIES, spoiled=st.booleans())
def test_duckdb_finds_what_loops_find(
    kind: str,
    mode: str,
    batches: list[Batch],
    drawn: list[tuple[float | None, int, int, int]],
    spoiled: bool,
) -> None:
    if kind == "stream":
        batches = insert_only(batches)
    queries = [
        Query(number, least, window, first, first + length)
        for number, (least, window, first, length) in enumerate(drawn)
    ]
    answer, left_out = judge(kind, mode, batches, queries, spoiled)
    # Leaving one out of a pair of changes that cancel makes a difference too.
    assert answer.equal == (not left_out), answer
    if left_out:
        assert answer.examples


@pytest.mark.parametrize("mode", ["full", "identify"])
def test_chunks_and_slices_change_nothing(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_verification, "RESULTS_PER_CHUNK", 1)
    monkeypatch.setattr(join_verification, "QUERIES_PER_SLICE", 1)
    batches: list[Batch] = [
        {"a": [("insert", (1, 0.0, 0))], "b": [("insert", (1, 0.0, 0))]},
        {"b": [("insert", (1, 1.0, 0)), ("delete", (2, 0.0, 0))]},
        {"a": [("update_before", (1, 0.0, 0)), ("insert", (1, 1.0, 0))]},
    ]
    queries = [Query(0, 0.0, 1, 0, 9), Query(1, 1.0, 1, 1, 3)]
    answer, _ = judge("table", mode, batches, queries)
    assert answer.equal, answer
    assert answer.found == (7 if mode == "full" else 5)


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_verification, "COMPARISONS_MAX", 1)
    rows: list[tuple[str, tuple[int, float, int]]] = [
        ("insert", (1, float(x), 0)) for x in range(2)
    ]
    with pytest.raises(PenstockError, match=r"\[VER-003\]"):
        judge("table", "full", [{"a": list(rows), "b": list(rows)}], [Query(0, 1.0, 1, 0, 9)])


def test_an_empty_log_is_equal() -> None:
    answer, _ = judge("table", "full", [], [Query(0, 1.0, 1, 0, 9)])
    assert answer.equal


def test_late_rows_are_left_out() -> None:
    """The newest row of earlier batches counts, also one that matches nothing; not the batch's."""
    batches: list[Batch] = [
        {"a": [("insert", (1, 0.0, 10))], "b": [("insert", (2, 0.0, 20))]},
        {"b": [("insert", (1, 0.0, 18)), ("insert", (1, 0.0, 17)), ("insert", (1, 0.0, 40))]},
        {"a": [("insert", (1, 0.0, 8)), ("insert", (1, 0.0, 7))]},
    ]
    answer, _ = judge("stream", "full", batches, [Query(0, 0.0, 100, 0, 9)])
    assert answer.equal, answer
    # (10, 18), (10, 40), (8, 18), (8, 40): 17 and 7 come too late.
    assert answer.found == 4
