"""The lookup join: what is asked of the source, what waits, what is refused, what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.operators.lookup import LOOKUP_JOIN, LookupJoinOperator, check, explain, facts
from penstock.operators.lookup import operator as operator_module
from penstock.operators.lookup.figures import (
    ABSENT,
    BREAKER_OPEN,
    BROKEN,
    FAILURES,
    FETCHED,
    FETCHES,
    REFERENCES,
    ROWS_CACHED,
)
from penstock.operators.lookup.live_facts import BrokenKey
from penstock.operators.protocol import Share
from penstock.operators.shared.common_keys import text_hashes
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Key
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    HITS,
    NULL_VALUES,
    RESULTS,
    ROWS_BUDGET,
    ROWS_WAITING,
)
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


def row(number: int, key: int | None, **values: Any) -> Row:
    return {"k": key, "s": "a", "x": 1.0, "y": 1, "t": 0, "n": number, **values}


def table(keys: Any, first: int = 1000) -> list[Row]:
    return [row(first + key, key) for key in keys]


class Group:
    """An operator over a DuckDB file with one query that wants everything."""

    def __init__(self, path: Path, form: str = "number", local: str = "plain", **parts: Any):
        self.path = path
        self.logical = lookup_join(form, local, path, **parts)
        self.step = step_of(self.logical)
        self.operator = LookupJoinOperator(self.step)
        self.operator.apply(queries_of(self.logical, [ASKED], 0))
        self.next = 0

    def bring(self, *keys: int | None, **values: Any) -> list[int]:
        """Bring rows of these keys; give the numbers of the stream's rows that were answered."""
        rows = [row(self.next + i, key, **values) for i, key in enumerate(keys)]
        self.next += len(keys)
        return self.rows(rows)

    def rows(self, rows: list[Row]) -> list[int]:
        batch = {STREAM: stream_table(rows)} if rows else {}
        return names_of(self.operator.process(batch), 1 - self.step.looked_up)

    def counts(self, *keys: Key) -> tuple[int, ...]:
        return tuple(self.operator.counts()[key] for key in keys)

    @property
    def waiting(self) -> int:
        return self.operator.sizes()[ROWS_WAITING]

    def die(self) -> None:
        self.path.rename(self.path.with_suffix(".away"))

    def revive(self) -> None:
        self.path.with_suffix(".away").rename(self.path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "shop.duckdb"
    write_table(place, table(range(100)))
    return place


def test_every_key_is_asked_for_once_while_it_is_held(path: Path) -> None:
    group = Group(path, rows=10, batch=3)
    assert group.bring(1, 2, 1, 3, 4, 2) == list(range(6))
    assert group.counts(REFERENCES, HITS, FETCHED, FETCHES) == (6, 2, 4, 2)
    assert group.bring(4, 3, 2, 1) == [6, 7, 8, 9]
    assert group.counts(REFERENCES, HITS, FETCHED, FETCHES) == (4, 4, 0, 0)


def test_a_key_that_went_is_asked_for_again(path: Path) -> None:
    group = Group(path, rows=2, policy="LRU")
    group.bring(1, 2, 3)
    group.bring(1)
    assert group.counts(HITS, FETCHED) == (0, 1)
    group.bring(3)
    assert group.counts(HITS, FETCHED) == (1, 0)
    assert group.operator.sizes()[ROWS_CACHED] == 2


def test_rows_in_hand_are_bounded_by_chunks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_module, "CHUNK_ROWS", 4)
    group = Group(path, rows=3)
    assert group.bring(*range(30)) == list(range(30))
    assert group.counts(REFERENCES, FETCHED, FETCHES) == (30, 30, 8)
    assert group.operator.looking.held.contents.chunks < 8


def test_keys_without_a_row_are_remembered(path: Path) -> None:
    group = Group(path, rows=5)
    assert group.bring(500, 1, 500) == [1]
    assert group.counts(FETCHED, ABSENT, HITS) == (2, 1, 1)
    assert group.bring(500) == []
    assert group.counts(FETCHED, ABSENT, HITS) == (0, 0, 1)
    assert group.operator.sizes()[ROWS_CACHED] == 2


def test_null_keys_join_nothing(path: Path) -> None:
    group = Group(path)
    assert group.bring(None, 1, None) == [1]
    assert group.counts(NULL_VALUES, REFERENCES, (ARRIVED, 0)) == (2, 1, 3)


def test_rows_that_nobody_wants_are_not_looked_up(path: Path) -> None:
    group = Group(path, local="ranges")
    group.operator.apply(
        QueryChanges(
            adds=queries_of(group.logical, [{**ASKED, "xl": 5.0, "xh": 6.0}], 1).adds,
            drops=np.array([0]),
        )
    )
    rows = [row(1, 1, x=1.0), row(2, 2, x=5.5)]
    assert group.rows(rows) == [2]
    assert group.counts(REFERENCES, FETCHED, (ARRIVED, 0)) == (1, 1, 2)


def test_broken_rows_are_refused_and_harm_no_other(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute(
            "CREATE TABLE u AS SELECT i AS k, 'a' AS s, CASE WHEN i = 3 THEN 'dear' ELSE '1.5' END "
            "AS x, CASE WHEN i = 4 THEN 4611686018427387904 ELSE i END AS y, "
            "TIMESTAMP '1970-01-01' AS t, "
            "1000 + i AS n FROM range(8) AS r(i)"
        )
        db.execute("INSERT INTO u SELECT * FROM u WHERE k = 5")
    group = Group(path, rows=10)
    assert group.bring(1, 3, 4, 5, 6, 3) == [0, 2, 4]
    assert group.counts(BROKEN, ABSENT, FETCHED) == (2, 0, 5)
    assert facts(group.operator).broken_keys == (
        BrokenKey(key="3", reason="x is 'dear', not double"),
        BrokenKey(key="5", reason="several rows have this key"),
    )
    assert group.bring(3, 5, 1) == [8]
    assert group.counts(BROKEN, FETCHED) == (0, 0)


def test_a_dead_source_lets_rows_wait_and_answers_them_in_order(path: Path) -> None:
    group = Group(path, rows=10, waiting=50)
    group.bring(1, 2)
    group.die()
    assert group.bring(3, 1) == []
    assert group.counts(FAILURES, FETCHED) == (1, 0)
    assert (group.waiting, group.operator.sizes()[BREAKER_OPEN]) == (2, 1)
    assert group.bring(2, 4) == []
    assert group.rows([]) == []
    assert group.waiting == 4
    group.revive()
    assert group.rows([]) == [2, 3, 4, 5]
    assert (group.waiting, group.operator.sizes()[BREAKER_OPEN]) == (0, 0)
    assert group.counts(REFERENCES, RESULTS, (ARRIVED, 0)) == (4, 4, 0)
    assert group.bring(5) == [6]


def altered(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.parametrize("column", ["x", "k"])
def test_a_table_that_loses_a_column_lets_rows_wait(path: Path, column: str) -> None:
    group = Group(path, rows=10)
    assert group.bring(1) == [0]
    altered(path, f"ALTER TABLE u RENAME COLUMN {column} TO lost")
    assert group.bring(2, 1) == []
    assert f"has no column '{column}'" in str(facts(group.operator).last_failure)
    altered(path, f"ALTER TABLE u RENAME COLUMN lost TO {column}")
    assert group.rows([]) == [1, 2]


def test_a_column_that_changes_its_type_breaks_the_rows_that_no_longer_fit(path: Path) -> None:
    group = Group(path, rows=10)
    altered(
        path, "ALTER TABLE u ALTER y TYPE VARCHAR", "UPDATE u SET y = 'many' WHERE k = 3",
        "ALTER TABLE u ALTER k TYPE DOUBLE",
    )  # fmt: skip
    assert group.bring(2, 3, 4) == [0, 2]
    reason = BrokenKey(key="3", reason="y is 'many', not int64")
    assert facts(group.operator).broken_keys == (reason,)


def test_rows_of_the_table_without_a_key_are_nobodys(path: Path) -> None:
    altered(path, "INSERT INTO u BY NAME SELECT NULL AS k, s, x, y, t, n FROM u WHERE k < 5")
    group = Group(path, rows=10)
    assert group.bring(1, None, 500, 2) == [0, 3]
    assert group.counts(ABSENT, BROKEN, NULL_VALUES, FAILURES) == (1, 0, 1, 0)


def test_answers_that_come_too_late_let_rows_wait(path: Path) -> None:
    altered(
        path, "ALTER TABLE u RENAME TO quick",
        "CREATE VIEW u AS SELECT * REPLACE (x + (SELECT count(*) FROM range(20000000) a(i), "
        "range(20000000) b(j) WHERE i * j % 7 = 9) AS x) FROM quick",
    )  # fmt: skip
    group = Group(path, rows=10, timeout=0.3)
    assert group.bring(1, 2) == []
    assert "did not answer within 0.3 s" in str(facts(group.operator).last_failure)
    altered(path, "DROP VIEW u", "ALTER TABLE quick RENAME TO u")
    while not (found := group.rows([])):  # on a busy machine the answer may be late again
        pass
    assert found == [0, 1]


def test_an_open_breaker_leaves_the_source_alone(path: Path) -> None:
    group = Group(path, retries=2, cooldown=3600.0)
    group.die()
    group.bring(1)
    assert group.counts(FAILURES) == (3,)
    group.revive()
    assert group.bring(2) == []
    assert group.counts(FAILURES, FETCHES) == (0, 0)
    told = facts(group.operator)
    assert (told.breaker, told.waiting, told.failures) == ("open", 2, 3)
    assert "no such file" in str(told.last_failure)


def test_what_is_cached_needs_no_source(path: Path) -> None:
    group = Group(path, rows=10)
    group.bring(1, 2)
    group.die()
    assert group.bring(2, 1) == [2, 3]


def test_too_many_rows_that_wait_fail_the_batch(path: Path) -> None:
    group = Group(path, waiting=3)
    group.die()
    group.bring(1, 2, 3)
    snapshot = group.operator.snapshot()
    with pytest.raises(PenstockError) as caught:
        group.bring(4)
    assert str(caught.value).startswith("[LKP-009] 4 rows of 'a' wait")
    assert "nothing is lost" in str(caught.value)
    # The host brings the batch again to a copy of the state before.
    group.operator = LookupJoinOperator(group.step, snapshot)
    group.operator.apply(queries_of(group.logical, [ASKED], 0))
    group.revive()
    assert group.bring(4) == [0, 1, 2, 4]


def test_a_query_sees_no_row_that_came_before_it(path: Path) -> None:
    group = Group(path)
    group.die()
    group.bring(1)
    group.operator.apply(queries_of(group.logical, [ASKED], 1))
    group.bring(2)
    group.revive()
    (result,) = group.operator.process({})
    assert result.rows is not None
    names = result.rows["i0.n"].to_pylist()
    pairs = zip(result.query.tolist(), [names[e] for e in result.event.tolist()], strict=True)
    assert sorted(pairs) == [(0, 0), (0, 1), (1, 1)]


def test_rows_that_waited_for_a_query_that_went_are_asked_again(path: Path) -> None:
    group = Group(path, local="ranges")
    narrow = queries_of(group.logical, [{**ASKED, "xl": 5.0, "xh": 6.0}], 1)
    group.operator.apply(narrow)
    group.die()
    assert group.rows([row(1, 1, x=1.0), row(2, 2, x=5.5)]) == []
    group.operator.apply(QueryChanges(drops=np.array([0])))
    group.revive()
    assert group.rows([]) == [2]
    assert group.counts(REFERENCES) == (2,)


def test_rows_that_nobody_waits_for_any_more_are_let_go(path: Path) -> None:
    group = Group(path)
    group.die()
    group.bring(1, 2)
    group.operator.apply(QueryChanges(drops=np.array([0])))
    follower = LookupJoinOperator(group.step)
    follower.apply(queries_of(group.logical, [ASKED], 0))
    delta = group.operator.delta()
    assert delta is not None
    follower.catch_up(delta)
    follower.apply(QueryChanges(drops=np.array([0])))
    assert group.rows([]) == []
    assert group.waiting == 0
    delta = group.operator.delta()
    assert delta is not None
    follower.catch_up(delta)
    assert follower.snapshot() == group.operator.snapshot()


def test_old_rows_are_fetched_anew_by_event_time(path: Path) -> None:
    group = Group(path, rows=10, timed=True, max_age=1.0)
    second = 1_000_000
    group.bring(1, 2, t=0)
    write_table(path, [row(2000 + k, k) for k in range(100)])
    group.bring(1, t=second)
    assert group.counts(HITS, FETCHED) == (1, 0)
    results = group.operator.process({STREAM: stream_table([row(9, 1, t=second + 1)])})
    assert group.counts(HITS, FETCHED, REFERENCES) == (0, 1, 1)
    assert results[0].rows is not None
    assert results[0].rows["i1.n"].to_pylist() == [2001]
    group.bring(2, 1, t=5)
    assert group.counts(HITS, FETCHED) == (1, 1), "time does not go back"


def test_rows_cannot_grow_old_without_event_time(path: Path) -> None:
    check(step_of(lookup_join("number", "plain", path, timed=True, max_age=1.0)))
    with pytest.raises(PenstockError, match="LKP-007"):
        check(step_of(lookup_join("number", "plain", path, max_age=1.0)))


def invert_odd(multiplier: int) -> int:
    return pow(multiplier, -1, 1 << 64)


def colliding_texts() -> tuple[str, str]:
    """Find two texts with one hash: of two words of eight signs, the second can be solved for."""
    multiplier, finisher, mask = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, (1 << 64) - 1

    def mixed(state: int, word: int) -> int:
        state = (state ^ word) * finisher & mask
        return state ^ (state >> 31)

    def unmixed(state: int) -> int:
        state ^= (state >> 31) ^ (state >> 62)
        return state * invert_odd(finisher) & mask

    def word_of(text: bytes) -> int:
        return int.from_bytes(text, "big")

    start = 16 * multiplier & mask
    one = b"penstock lookups"
    target = unmixed(mixed(mixed(start, word_of(one[:8])), word_of(one[8:])))
    for number in range(1_000_000):
        first = f"{number:08d}".encode()
        second = target ^ mixed(start, word_of(first))
        if all(32 <= byte < 127 for byte in second.to_bytes(8, "big")):
            return one.decode(), (first + second.to_bytes(8, "big")).decode()
    raise AssertionError("no such text")


def test_texts_with_one_hash_are_two_keys(tmp_path: Path) -> None:
    one, other = colliding_texts()
    hashes = text_hashes(pa.array([one, other]))
    assert one != other
    assert hashes[0] == hashes[1]
    path = tmp_path / "shop.duckdb"
    write_table(path, [row(1, 1, s=one), row(2, 2, s=other)])
    group = Group(path, form="text", rows=4)
    rows = [row(10, 0, s=one), row(11, 0, s=other), row(12, 0, s=one), row(13, 0, s=other)]
    for _ in range(2):
        (result,) = group.operator.process({STREAM: stream_table(rows)})
        assert result.rows is not None
        assert result.rows["i1.n"].to_pylist() == [1, 2, 1, 2]
    assert group.counts(HITS, FETCHED) == (4, 0)
    (result,) = group.operator.process({STREAM: stream_table(rows[1:2])})
    assert result.rows is not None
    assert result.rows["i1.n"].to_pylist() == [2]


def test_shards_share_the_budget(path: Path) -> None:
    step = step_of(lookup_join("number", "plain", path, rows=10))
    budgets = [LookupJoinOperator(step, None, Share(n, 3)).sizes()[ROWS_BUDGET] for n in range(3)]
    assert budgets == [4, 3, 3]


def test_explain_and_facts_tell_all_but_passwords(path: Path) -> None:
    group = Group(path, rows=7, policy="LFU", max_age=2.0, timed=True)
    group.bring(1, 1, 1, 2)
    told = facts(group.operator)
    assert told.hit_rate == 0.5
    assert (told.references, told.hits, told.breaker) == (4, 2, "closed")
    assert told.to_json()["cache"] == group.operator.looking.cache.facts(), "nothing is left out"
    assert list(told.shown()) == ["cache", "breaker"], "what says something"
    assert LOOKUP_JOIN.facts is facts
    shown = explain(group.step, queries_of(group.logical, [ASKED], 0).adds)
    assert (shown["class"], shown["stream"], shown["looked_up"]) == ("lookup join", "a", "u")
    assert (shown["cache_rows"], shown["policy"], shown["queries"]) == (7, "LFU", 1)
    assert shown["max_age_us"] == 2_000_000


def test_the_step_is_what_its_description_says(path: Path) -> None:
    step = step_of(lookup_join("further", "texts", path, policy="HEEB"))
    assert LOOKUP_JOIN.step_from_json(step.to_json()) == step
    assert LOOKUP_JOIN.tells_apart
    LOOKUP_JOIN.warm_up(step)
