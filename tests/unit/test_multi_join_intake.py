"""Rows that wait: in order, no more than may, and what a floor means for those that come later."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.operators.shared.intake import Arrived, Intake, hurry, released_until

SCHEMA = pa.schema([("n", pa.int64())])


def intakes(*streams: list[int], lateness: int = 0) -> list[Intake]:
    """Make inputs, each with rows that wait and that moved its clock."""
    made = [Intake(number, lateness, SCHEMA) for number in range(len(streams))]
    for each, times in zip(made, streams, strict=True):
        come(each, times)
    return made


def come(each: Intake, times: list[int]) -> list[bool]:
    """Let rows come; say which are late."""
    array = np.array(times, dtype=np.int64)
    late = each.late(array, np.ones(len(array), dtype=np.bool_))
    array = array[~late]
    first = each.number_rows(len(array))
    table = pa.table({"n": first + np.arange(len(array))}, schema=SCHEMA)
    each.take(Arrived(times=array, kept=np.ones(len(array), dtype=np.bool_), table=table))
    return late.tolist()


def released(made: list[Intake]) -> list[list[int]]:
    until = [released_until(made, each.number) for each in made]
    return [each.release(end).times.tolist() for each, end in zip(made, until, strict=True)]


def waiting(made: list[Intake]) -> list[list[int]]:
    return [each.waiting.times.tolist() for each in made]


def test_below_the_limit_nothing_hurries() -> None:
    made = intakes([1, 2, 3], [])
    assert hurry(made, 3) == 0
    assert released(made) == [[], []]
    assert [each.floor for each in made] == [made[0].floor] * 2 < [0, 0]


def test_rows_that_need_not_wait_do_not_hurry() -> None:
    made = intakes([1, 2, 3, 4], [3])
    assert hurry(made, 2) == 0, "four of five are free anyhow"
    assert released(made) == [[1, 2, 3], [3]]
    assert hurry(made, 2) == 0


def test_the_oldest_of_all_streams_hurry() -> None:
    made = intakes([5, 1, 9], [4, 8], [], lateness=10)
    assert hurry(made, 2) == 3
    assert released(made) == [[1, 5], [4], []]
    assert waiting(made) == [[9], [8], []]


def test_rows_behind_the_floor_are_late_and_those_on_it_are_not() -> None:
    made = intakes([], [4, 5, 6], [])
    assert hurry(made, 1) == 2
    assert released(made) == [[], [4, 5], []]
    # A row of time 5 of the first input would stand before the one that went, of the others not.
    assert come(made[0], [4, 5, 6]) == [True, True, False]
    assert come(made[2], [4, 5]) == [True, False]
    assert made[0].reached == 6
    assert made[2].reached == 5
    assert come(made[1], [5, 6]) == [True, False], "late by its own clock"


def test_a_stream_in_order_is_never_late_by_its_own_rows() -> None:
    made = intakes([7, 7, 7], [])
    assert hurry(made, 1) == 3, "rows of one time go together"
    assert released(made) == [[7, 7, 7], []]
    assert come(made[0], [7, 7]) == [False, False]
    assert hurry(made, 1) == 0, "they wait for nothing: all that can come is behind them"
    assert released(made) == [[7, 7], []]


def test_the_floor_and_the_clock_of_another_let_rows_go_together() -> None:
    made = intakes([3], [1, 4], [9], lateness=0)
    assert released(made) == [[3], [1], []]
    come(made[2], [10])
    come(made[1], [6, 8])
    # 4 and 6 of the second wait for the first, 9 and 10 of the third too.
    assert waiting(made) == [[], [4, 6, 8], [9, 10]]
    assert hurry(made, 4) == 1
    assert [each.floor for each in made] == [5, 4, 4]
    assert released(made) == [[], [4], []]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("count", range(1, 9))
def test_in_twos_so_many_go_that_an_odd_last_row_may_wait(most: int, count: int) -> None:
    made = intakes(list(range(count)), [])
    hurried = hurry(made, most, together=2)
    (gone, _) = released(made)
    assert len(gone) == hurried
    assert count - (len(gone) - len(gone) % 2) <= most


def test_in_twos_the_row_that_waits_for_its_fellow_counts() -> None:
    made = intakes([1, 2, 3], [1])
    # Both rows of time 1 are free, and two would wait on; with one of them its fellow must go.
    assert hurry(made, 1, together=2) == 2
    assert released(made) == [[1, 2, 3], [1]]


def test_what_is_kept_of_an_input_comes_back() -> None:
    made = intakes([4, 5, 6], [])
    hurry(made, 1)
    again = Intake(0, 0, SCHEMA)
    again.restore(made[0].facts())
    assert (again.clock, again.floor, again.arrived) == (6, 5, 3)
    assert again.facts() == made[0].facts()
