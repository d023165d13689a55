"""Lanes: each row reaches the shards that need it, and no other."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation, keep_step
from penstock.algebra.physical import Division
from penstock.operators.protocol import Share
from penstock.spark.cluster import standing
from penstock.spark.lanes import Lane, Lanes
from penstock.vocabulary import shared_figures
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import QUERIES

ROWS = pa.table({"k": list("abcdefgh"), "j": list("hgfedcba"), "op": ["+"] * 8})
KEYS = (4, 7, 9)


def spread(division: Division, turn: int = 0) -> dict[int, list[str]]:
    lane = Lane(division, KEYS)
    return {key: own["k"].to_pylist() for key, own in lane.spread("t", ROWS, turn)}


def test_filters_take_whole_batches_in_turn() -> None:
    assert [list(spread(None, turn)) for turn in range(4)] == [[4], [7], [9], [4]]
    assert spread(None) == {4: list("abcdefgh")}


def test_a_key_divides_rows_among_the_shards() -> None:
    found = spread((("t", ("k",)), ("u", ("x",))))
    assert sorted(k for own in found.values() for k in own) == list("abcdefgh")
    assert len(found) > 1
    assert spread((("t", ("k",)),)) == found, "the other relation does not matter"


def test_two_keys_of_one_relation_take_a_row_to_the_shards_of_both() -> None:
    by_k, by_j = spread((("t", ("k",)),)), spread((("t", ("j",)),))
    both = spread((("t", ("k",)), ("t", ("j",))))
    assert {key: set(own) for key, own in both.items()} == {
        key: {*by_k.get(key, ()), *by_j.get(key, ())} for key in KEYS
    }


def test_without_a_key_every_shard_sees_all() -> None:
    assert spread((("t", ()), ("u", ()))) == {key: list("abcdefgh") for key in KEYS}
    assert spread((("u", ()),)) == {}, "nobody there reads it"


def test_tables_are_kept_in_the_lanes_of_their_joins() -> None:
    kept = keep_step(Relation(name="t", kind="table", schema=ROWS.schema, change_column="op"))
    assert Lane((("t", ("k",)), ("u", ("x",))), KEYS).hosts(kept)
    assert not Lane((("u", ("x",)),), KEYS).hosts(kept)
    assert Lane(None, KEYS).hosts(kept), "there all changes pass once"


@pytest.mark.parametrize("key", [(), ("j",)])
def test_changes_that_speak_of_one_row_meet_in_one_shard(key: tuple[str, ...]) -> None:
    table = Relation(name="t", kind="table", schema=ROWS.schema, change_column="op", key=key)
    twice = pa.concat_tables([ROWS, ROWS.set_column(2, "op", pa.array(["-"] * 8))])
    lane = Lane(None, KEYS, (keep_step(table),))
    found = {number: own["k"].to_pylist() for number, own in lane.spread("t", twice, 0)}
    assert sorted(k for own in found.values() for k in own) == sorted("abcdefgh" * 2)
    assert all(sorted(own) == sorted(2 * sorted({*own})) for own in found.values())
    assert len(found) > 1
    joined = Lane((("t", ("k",)),), KEYS, (keep_step(table),))
    shown = [own.num_rows for _, own in joined.spread("t", twice, 0)]
    assert sum(shown) == (48 if key else 16), "a row with a key may move to any shard"


def test_a_key_tells_lane_and_share() -> None:
    lanes = Lanes((Lane(None, (0, 1)), Lane((("t", ()),), (2, 3))))
    assert lanes.keys == (0, 1, 2, 3)
    assert lanes.of(3) == (lanes.lanes[1], Share(1, 2))
    with pytest.raises(AssertionError, match="no shard"):
        lanes.of(8)


def test_queries_count_once_per_lane_and_rows_add_up() -> None:
    one, other = Lane(None, (0, 1)), Lane((("t", ()),), (2, 3))
    held = shared_figures.ROWS
    shards = [
        (one, Tally({QUERIES: 5})),
        (one, Tally({QUERIES: 5})),
        (other, Tally({QUERIES: 2, (held, 0): 3})),
        (other, Tally({QUERIES: 2, (held, 0): 4})),
    ]
    told = standing((lane, FigureTable({"toy": own})) for lane, own in shards)
    assert told["toy"] == Tally({QUERIES: 7, (held, 0): 7})
