"""The bounds of lookups: rows that wait in shards, ages over restarts, errors that end or mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.lookups import LookupJoin
from penstock.operators.lookup import LookupJoinOperator
from penstock.operators.lookup.fetches import Fetching, Settings
from penstock.operators.lookup.figures import FETCHED
from penstock.operators.protocol import WHOLE, Share
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import HITS, ROWS_WAITING
from tests.support.joins import Row
from tests.support.lookups import (
    ASKED,
    STREAM,
    lookup_join,
    names_of,
    queries_of,
    step_of,
    stream_table,
    write_table,
)

SECOND = 1_000_000
KEYS = pa.array([1, 2])
ROWS = pa.table({"id": [1]})


def row(number: int, key: int, time: int = 0) -> Row:
    return {"k": key, "s": "a", "x": 1.0, "y": 1, "t": time, "n": number}


def started(
    logical: LookupJoin, snapshot: bytes | None = None, share: Share = WHOLE
) -> LookupJoinOperator:
    operator = LookupJoinOperator(step_of(logical), snapshot, share)
    operator.apply(queries_of(logical, [ASKED], 0))
    return operator


def bring(operator: LookupJoinOperator, rows: list[Row]) -> list[int]:
    batch = {STREAM: stream_table(rows)} if rows else {}
    return names_of(operator.process(batch), 1 - operator.step.looked_up)


@pytest.mark.parametrize(("number", "count", "most"), [(0, 1, 10), (0, 3, 4), (2, 3, 4), (0, 5, 2)])
def test_shards_divide_the_rows_that_may_wait(
    tmp_path: Path, number: int, count: int, most: int
) -> None:
    """All shards together let about as many rows wait as one would."""
    logical = lookup_join("number", "plain", tmp_path / "away.duckdb", rows=6, waiting=10)
    operator = started(logical, share=Share(number, count))
    assert bring(operator, [row(n, n) for n in range(most)]) == []
    assert operator.sizes()[ROWS_WAITING] == most
    with pytest.raises(PenstockError, match=f"LKP-009.* {most} may"):
        bring(operator, [row(most, most)])


@pytest.mark.parametrize("by", ["snapshot", "delta"])
def test_rows_are_as_old_after_a_restart_as_before(tmp_path: Path, by: str) -> None:
    path = tmp_path / "shop.duckdb"
    write_table(path, [row(1000 + k, k) for k in range(10)])
    logical = lookup_join("number", "plain", path, rows=10, timed=True, max_age=1.0)
    first = started(logical)
    bring(first, [row(0, 1, time=SECOND)])
    bring(first, [row(1, 2, time=2 * SECOND)])
    again = started(logical, first.snapshot() if by == "snapshot" else None)
    if by == "delta":
        delta = first.delta()
        assert delta is not None
        again.catch_up(delta)
    assert again.snapshot() == first.snapshot()
    for operator in (first, again):
        # The first row is older than a second now, the second is not.
        assert bring(operator, [row(2, 1, time=2 * SECOND + 1), row(3, 2, time=0)]) == [2, 3]
        counts = operator.counts()
        assert (counts[HITS], counts[FETCHED]) == (1, 1)


def test_a_restart_loses_no_row_that_waits(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    logical = lookup_join("number", "plain", path, rows=10)
    first, follower = started(logical), started(logical)
    assert bring(first, [row(n, n) for n in range(4)]) == []
    delta = first.delta()
    assert delta is not None
    follower.catch_up(delta)
    copies = [first, follower, started(logical, first.snapshot())]
    assert [copy.sizes()[ROWS_WAITING] for copy in copies] == [4, 4, 4]
    write_table(path, [row(1000 + k, k) for k in range(10)])
    assert [bring(copy, []) for copy in copies] == [[0, 1, 2, 3]] * 3


class Failing:
    """A source that fails with these codes, one after another, and answers from then on."""

    def __init__(self, *codes: str) -> None:
        self.codes = list(codes)
        self.asked = 0

    def columns(self, timeout_s: float) -> pa.Schema:
        return ROWS.schema

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        self.asked += 1
        if self.codes:
            raise PenstockError(self.codes.pop(0), "It is away.", "Wait.")
        return ROWS

    def close(self) -> None:
        pass


def fetching(source: Failing, times: list[float], **settings: Any) -> Fetching:
    given = Settings(**{"retries": 2, "backoff_s": 0.0, "cooldown_s": 5.0, **settings})
    return Fetching(source, given, clock=lambda: times[0], sleep=lambda _: None)


@pytest.mark.parametrize("code", ["LKP-001", "LKP-002"])
def test_errors_that_last_are_told_at_once(code: str) -> None:
    source = Failing(code)
    with pytest.raises(PenstockError, match=code):
        fetching(source, [0.0]).ask(KEYS)
    assert source.asked == 1


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_a_question_is_asked_once_and_then_as_often_as_is_allowed(retries: int) -> None:
    source = Failing(*["LKP-003"] * 9)
    asking = fetching(source, [0.0], retries=retries)
    assert asking.ask(KEYS) is None
    assert source.asked == 1 + retries
    assert (asking.failures, asking.fetches, asking.breaker) == (1 + retries, 0, "open")


def test_an_answer_that_cannot_be_read_closes_the_breaker() -> None:
    """The source is there again: the next question has all its retries."""
    times = [0.0]
    source = Failing("LKP-003", "LKP-003", "LKP-003", "LKP-011", "LKP-003", "LKP-003")
    asking = fetching(source, times)
    assert asking.ask(KEYS) is None
    times[0] = 5.0
    with pytest.raises(PenstockError, match="LKP-011"):
        asking.ask(KEYS)
    assert asking.breaker == "closed"
    assert asking.ask(KEYS) is ROWS
    assert source.asked == 7
