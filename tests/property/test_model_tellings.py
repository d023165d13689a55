"""What model queries are told of a batch, and what stands after it, against the shortest code."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.place_orders import DIGITS, places_sort
from penstock.models.segments import WIDTH, Segments
from penstock.operators.model_query.expectations import turn
from penstock.operators.model_query.made_rows import MadePairs, RowContents
from penstock.operators.model_query.standing_segments import StandingSegments

Told = list[tuple[int, tuple[int, int], int]]
"""A slot, what a row says (when it begins, and a number), and a sign."""
TOLD = st.lists(
    st.tuples(st.integers(0, 2), st.tuples(st.integers(0, 6), st.integers(0, 2)),
              st.sampled_from([-1, 1])),
    max_size=30,
)  # fmt: skip


def pairs_of(told: Told) -> MadePairs:
    """Give every pair a row of its own, equal or not."""
    starts = np.array([start for _, (start, _), _ in told], np.int64)
    numbers = np.array([float(own) for _, (_, own), _ in told]).reshape(-1, 1)
    rows = RowContents.of(np.zeros((len(told), 1), np.int64), starts, starts, numbers)
    return MadePairs(
        rows, np.array([slot for slot, _, _ in told], np.int32), np.arange(len(told)),
        np.array([sign for _, _, sign in told], np.int8),
    )  # fmt: skip


def said(rows: RowContents) -> list[tuple[int, int]]:
    """Give what rows say."""
    return list(zip(rows.starts.tolist(), rows.numbers[:, 0].astype(int).tolist(), strict=True))


@given(TOLD, TOLD, st.integers(0, 6))
def test_signs_of_equal_rows_add_up(told: Told, expected: Told, now: int) -> None:
    results: Counter[tuple[int, tuple[int, int], bool]] = Counter()
    left: Counter[tuple[int, tuple[int, int]]] = Counter()
    for slot, row, sign in told:
        results[slot, row, row[0] > now] += sign
        left[slot, row] += sign if row[0] > now else 0
    for slot, row, sign in expected:
        comes = row[0] <= now
        results[slot, row, False] += sign if comes else 0
        results[slot, row, True] -= sign if comes else 0
        left[slot, row] += 0 if comes else sign

    turned = turn(pairs_of(told), pairs_of(expected), now)

    rows = said(turned.rows)
    signs, ahead = turned.sign.tolist(), turned.ahead.tolist()
    found: Counter[tuple[int, tuple[int, int], bool]] = Counter()
    for slot, event in zip(turned.slot.tolist(), turned.event.tolist(), strict=True):
        found[slot, rows[event], ahead[event]] += signs[event]
    assert found == {key: sign for key, sign in results.items() if sign}
    assert len(turned.slot) == sum(abs(sign) for sign in results.values())
    assert signs == sorted(signs), "what is taken back comes first"
    assert turned.confirmed == sum(row[0] <= now for _, row, _ in expected)

    stands = turned.expected
    kept = said(stands.rows)
    held: Counter[tuple[int, tuple[int, int]]] = Counter()
    for slot, at, sign in zip(stands.slot.tolist(), stands.row.tolist(), stands.sign.tolist(),
                              strict=True):  # fmt: skip
        held[slot, kept[at]] += sign
    assert held == {key: sign for key, sign in left.items() if sign}
    assert len(stands.slot) == sum(abs(sign) for sign in left.values())
    assert set(stands.row.tolist()) == set(range(len(stands.rows)))


SEGMENTS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4),
        st.sampled_from([1, -1]),
    ),
    max_size=40,
)  # fmt: skip


@given(SEGMENTS, st.integers(0, 6))
def test_what_was_taken_back_and_has_begun_goes(
    drawn: list[tuple[int, int, int, int, int]], now: int
) -> None:
    count = len(drawn)
    models = np.zeros((count, 1, WIDTH))
    models[:, 0, 0] = [key for key, _, _, _, _ in drawn]
    low = np.array([float(low) for _, _, low, _, _ in drawn])
    high = low + [float(size) for _, _, _, size, _ in drawn]
    sign = np.array([sign for *_, sign in drawn], np.int8)
    serial = np.array([serial for _, serial, _, _, _ in drawn], np.int64)
    key = np.array([[key] for key, *_ in drawn], np.int64).reshape(-1, 1)
    given_ = Segments(key, np.zeros(count, np.int64), low, high, models, sign, serial)
    standing = StandingSegments(1, 1)
    standing.take(given_, now * 1_000_000)

    stays = [end > now or (begin == end == now) for begin, end in zip(low, high, strict=True)]
    net: Counter[tuple[int, int, float]] = Counter()
    words = [(int(key[i, 0]), int(serial[i]), float(high[i])) for i in range(count)]
    begun = [i for i in range(count) if stays[i] and low[i] <= now]
    for i in begun:
        net[words[i]] += int(sign[i])
    wanted = [i for i in range(count) if stays[i] and not (i in begun and net[words[i]] == 0)]
    assert standing.segments.low.tolist() == low[wanted].tolist()
    assert standing.segments.sign.tolist() == sign[wanted].tolist()
    assert standing.segments.serial.tolist() == serial[wanted].tolist()


@given(st.lists(st.integers(-5, 5), max_size=200))
def test_equal_keys_stay_as_they_stand(keys: list[int]) -> None:
    own, count = np.array(keys, np.int64), len(keys)
    order, (spare, desk) = np.arange(count), np.empty((2, count), np.int64)
    places_sort(own, order, spare, desk, count)
    assert order.tolist() == np.argsort(own, kind="stable").tolist()


@pytest.mark.parametrize("low, high", [(0, 1), (-5, 6), (0, 10**6), (-(2**63), 2**63 - 1)])
@pytest.mark.parametrize("count", [DIGITS - 1, DIGITS, 5_000])
def test_many_keys_are_put_in_order_by_their_digits(low: int, high: int, count: int) -> None:
    own = np.random.default_rng(count).integers(low, high, count)
    own[[0, -1]] = high, low
    order = np.arange(count)[::-1].copy()
    expected = order[np.argsort(own[order], kind="stable")]
    spare, desk = np.empty((2, count), np.int64)
    places_sort(own, order, spare, desk, count)
    assert order.tolist() == expected.tolist()
