"""A deletion takes the oldest equal row, whatever else shares its cells."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.hash_tables import EMPTY
from penstock.kernels.made_rows import pairs_sort, triples_number
from penstock.kernels.retractions import heads_place, rows_change

changes = st.lists(
    st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 1), st.integers(0, 1)), max_size=40
)


@given(batches=st.lists(changes, max_size=6))
def test_a_delete_takes_the_oldest_equal_row(
    batches: list[list[tuple[bool, int, int, int]]],
) -> None:
    room = 256
    prints, values = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    codes, following, last = (np.zeros(room, dtype=np.int32) for _ in range(3))
    cells = np.full(512, EMPTY, dtype=np.int32)
    held: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    chains, first = 0, 0
    for batch in batches:
        signs = np.array([1 if insert else -1 for insert, *_ in batch], dtype=np.int8)
        columns = np.array([row[1:] for row in batch], dtype=np.int64).reshape(-1, 3).T
        fresh = np.arange(first, first + np.count_nonzero(signs > 0), dtype=np.int32)
        first += len(fresh)
        slots = np.empty(len(batch), dtype=np.int32)
        chains += rows_change(
            cells, (prints, codes, values, following, last), signs, fresh,
            columns[0].copy(), columns[1].astype(np.int32), columns[2].copy(), slots,
        )  # fmt: skip
        new = iter(fresh.tolist())
        expected = []
        for insert, *row in batch:
            own = held[row[0], row[1], row[2]]
            if insert:
                own.append(next(new))
                expected.append(own[-1])
            else:
                expected.append(own.popleft() if own else -1)
        assert slots.tolist() == expected
        assert chains == sum(bool(own) for own in held.values()) == np.count_nonzero(cells >= 0)
        again = np.full(1024, EMPTY, dtype=np.int32)
        heads_place(again, cells, prints)
        assert sorted(again[again >= 0].tolist()) == sorted(own[0] for own in held.values() if own)


@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=40))
def test_pairs_are_brought_together_and_rows_made_once(pairs: list[tuple[int, int]]) -> None:
    tuples, slots = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
    sorted_tuples, sorted_slots = np.empty_like(tuples), np.empty_like(slots)
    pairs_sort(tuples, slots, np.zeros(7, dtype=np.int64), sorted_tuples, sorted_slots)
    together = list(zip(sorted_tuples.tolist(), sorted_slots.tolist(), strict=True))
    assert together == sorted(pairs, key=lambda pair: pair[0])
    events, made_tuples, made_slots = (np.empty(len(pairs), dtype=np.int32) for _ in range(3))
    seen, number = np.full(10, -1, dtype=np.int32), np.zeros(10, dtype=np.int32)
    made = triples_number(
        sorted_tuples, sorted_slots, seen, number, 100, events, made_tuples, made_slots
    )
    rows = list(zip(made_tuples[:made].tolist(), made_slots[:made].tolist(), strict=True))
    assert sorted(rows) == sorted(set(pairs))
    assert [rows[event - 100] for event in events.tolist()] == together
