"""The recall estimate by example."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.recall_counts import keys_sliced
from penstock.operators.bounded.recall import LIMIT, NO_WINDOW, RecallMeter

FOREVER = (NO_WINDOW, NO_WINDOW)


def feed(
    meter: RecallMeter, streams: list[int], keys: list[int], times: list[int] | None = None,
    found: list[int] | None = None, owned: list[bool] | None = None,
) -> tuple[int, int]:  # fmt: skip
    stamps = np.array(times if times is not None else [0] * len(keys))
    return meter.feed(
        np.array(streams),
        np.array(keys),
        stamps,
        np.stack([stamps, stamps], axis=1),
        np.array(found if found is not None else [0] * len(keys)),
        None if owned is None else np.array(owned),
    )


def test_every_pair_counts_once_when_its_later_row_comes() -> None:
    meter = RecallMeter(FOREVER)
    assert feed(meter, [0, 0, 1], [7, 7, 7]) == (0, 2)
    assert feed(meter, [1, 0], [7, 7], found=[1, 2]) == (3, 4)
    assert feed(meter, [1, 0], [8, 9]) == (0, 0)
    assert meter.remembered == 4
    assert (meter.weight, meter.limit) == (1, LIMIT)


def test_rows_of_one_stream_do_not_join() -> None:
    assert feed(RecallMeter(FOREVER), [0, 0, 0], [1, 1, 1]) == (0, 0)


def test_rows_leave_with_their_window() -> None:
    meter = RecallMeter((10, 3))
    assert feed(meter, [0, 1], [7, 7], [0, 9]) == (0, 1)
    assert feed(meter, [1], [7], [10]) == (0, 0)
    assert meter.remembered == 2
    assert feed(meter, [0], [7], [12]) == (0, 1)
    assert feed(meter, [0], [5], [40]) == (0, 0)
    assert meter.remembered == 1


def test_one_side_may_have_a_window_and_the_other_none() -> None:
    meter = RecallMeter((2, NO_WINDOW))
    assert feed(meter, [0, 1, 1], [7, 7, 7], [0, 1, 2]) == (0, 1)
    assert feed(meter, [0], [7], [1000]) == (0, 2)
    assert meter.remembered == 2


def test_rows_of_other_shards_are_nothing() -> None:
    meter = RecallMeter(FOREVER)
    assert feed(meter, [0, 1], [7, 7], found=[0, 0], owned=[False, True]) == (0, 0)
    assert meter.remembered == 1


def test_extreme_keys_are_keys() -> None:
    ends = np.iinfo(np.int64)
    meter = RecallMeter(FOREVER)
    assert feed(meter, [0, 0, 1, 1], [ends.min, ends.max, ends.max, ends.min]) == (0, 2)


@pytest.mark.parametrize("sizes", [FOREVER, (5, 5), (100_000, NO_WINDOW)])
def test_the_limit_holds_at_every_row(sizes: tuple[int, int]) -> None:
    meter = RecallMeter(sizes, 20)
    rng = np.random.default_rng(1)
    for time in range(2000):
        feed(meter, [time % 2], [int(rng.integers(500))], [time])
        assert meter.remembered <= 20


def test_a_key_with_more_rows_than_the_limit_is_thinned() -> None:
    """Its rows are counted by some of them, right within a third; the other keys stay in."""
    meter = RecallMeter((NO_WINDOW - 1, NO_WINDOW - 1), 400)
    feed(meter, [0] * 5000, [7] * 5000, list(range(5000)))
    feed(meter, [0] * 200, list(range(100, 300)), [5000] * 200)
    assert meter.weight == 1
    assert 200 < meter.remembered <= 300
    _, there = feed(meter, [1], [7], [5001])
    assert there == pytest.approx(5000, rel=0.33)
    assert feed(meter, [1] * 200, list(range(100, 300)), [5002] * 200)[1] <= 200


def test_a_thinned_key_is_whole_again_when_its_rows_have_gone() -> None:
    meter = RecallMeter((100, 100), 40)
    feed(meter, [0] * 1000, [7] * 1000, [t // 20 for t in range(1000)])
    assert len(meter.arrays()["thinned"]) == 1
    feed(meter, [0] * 3, [7] * 3, [500, 501, 502])
    assert len(meter.arrays()["thinned"]) == 0
    assert feed(meter, [1], [7], [503]) == (0, 3)


def test_a_limit_of_one_entry_comes_to_an_end() -> None:
    meter = RecallMeter(FOREVER, 1)
    feed(meter, [0, 1] * 5000, list(range(10_000)))
    assert meter.remembered <= 1


def test_slices_are_nested_halves() -> None:
    keys = np.arange(20_000)
    shares, before = [], np.ones(20_000, dtype=np.bool_)
    for level in range(6):
        inside = np.empty(20_000, dtype=np.bool_)
        keys_sliced(keys, 12345, level, inside)
        assert not (inside & ~before).any()
        before = inside
        shares.append(inside.mean() * 2**level)
    assert shares == pytest.approx([1.0] * 6, rel=0.1)


def test_the_weight_counts_what_is_not_in_the_slice() -> None:
    """One pair per key, 4,096 keys and room for 64: the estimate is right within a quarter."""
    meter = RecallMeter(FOREVER, 64)
    _, there = feed(meter, [0, 1] * 4096, np.repeat(np.arange(4096), 2).tolist())
    assert meter.weight >= 64
    assert there == pytest.approx(4096, rel=0.25)


def test_a_restored_meter_goes_on_as_the_other_would() -> None:
    for sizes in (FOREVER, (50, 70), (50, NO_WINDOW)):
        rng = np.random.default_rng(2)
        one, two = RecallMeter(sizes, 30, seed=4), RecallMeter(sizes, 30, seed=4)
        first, then = rng.integers(40, size=(2, 300))
        times = np.arange(300)
        feed(one, (times % 2).tolist(), first.tolist(), times.tolist())
        two.restore(one.arrays())
        more = ((times % 2).tolist(), then.tolist(), (times + 300).tolist())
        assert feed(one, *more) == feed(two, *more)
        assert (one.weight, one.remembered) == (two.weight, two.remembered)
