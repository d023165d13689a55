"""The result log, its parts and its readers; without an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.logical import Output
from penstock.delivery.changes import Change, ChangeReader
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import (
    Part,
    assemble,
    part_from_bytes,
    part_to_bytes,
    write_part,
)
from penstock.delivery.sheets import SheetSelection
from penstock.vocabulary.batches import Results
from penstock.vocabulary.errors import PenstockError

EVENTS = pa.table({"n": [10, 11, 12, 13], "op": ["insert", "delete", "u", "update_before"]})
OUTPUTS = (Output(name="n", sql='"n"'), Output(name="twice", sql='"n" * 2'))


def results(query: list[int], event: list[int], rows: pa.Table | None = None) -> Results:
    return Results(
        relation="t",
        query=np.array(query, dtype=np.int64),
        event=np.array(event, dtype=np.int32),
        rows=rows,
    )


def part_of(*found: tuple[str, Results], keep_all: bool = False, version: int = 1) -> Part:
    return Part(version=version, rows_in=4, sections=assemble(found, {"t": EVENTS}, keep_all))


def commit(log: ResultLog, batch: int, *parts: Part) -> None:
    written = [
        write_part(part, log.directory(batch), log.part_name(batch, shard))
        for shard, part in enumerate(parts)
    ]
    log.commit(batch, max((part.version for part in parts), default=0), written)


def selecting(
    group: str, queries: list[int] | None, change_column: str | None = None
) -> Callable[[], list[SheetSelection]]:
    selection = SheetSelection(
        group=group,
        outputs=OUTPUTS,
        change_column=change_column,
        queries=None if queries is None else np.array(queries, dtype=np.int64),
        ids=lambda numbers: pa.array([f"q{number}" for number in numbers]),
    )
    return lambda: [selection]


def read(
    log: ResultLog, what: Callable[[], list[SheetSelection]], since: str | None = None
) -> list[Change]:
    return list(ChangeReader(log, lambda *_: None).changes(what, since))


def test_an_event_is_kept_once_and_only_if_it_matched() -> None:
    part = part_of(("g", results([1, 2, 3], [3, 1, 3])), ("h", results([9], [1])))
    (section,) = part.sections
    assert section.events["n"].to_pylist() == [11, 13]
    assert section.matches["event"].to_pylist() == [1, 0, 1, 0]
    assert section.groups == {"g": (0, 3), "h": (3, 4)}
    assert part.matches == 4


def test_recorded_input_is_kept_whole_and_in_order() -> None:
    part = part_of(("g", results([1], [3])), keep_all=True)
    assert part.sections[0].events.equals(EVENTS)
    assert part.sections[0].matches["event"].to_pylist() == [3]
    assert part_of(keep_all=True).sections[0].matches.num_rows == 0
    assert part_of().sections == ()


def test_several_results_of_one_group_are_one_slice() -> None:
    part = part_of(("g", results([1], [0])), ("g", results([2], [1])), ("h", results([3], [2])))
    assert part.sections[0].groups == {"g": (0, 2), "h": (2, 3)}


def test_rows_that_an_operator_made_are_its_groups_own() -> None:
    made = pa.table({"total": [1.5, 2.5]})
    part = part_of(("g", results([1, 2], [0, 1], rows=made)), ("h", results([3], [2])))
    assert [section.relation for section in part.sections] == ["t", "g"]
    assert part.sections[1].events.equals(made)


MADE = pa.table(
    {
        "i0.n": pa.array([1, 2, 3], pa.int64()),
        "i1.n": pa.array([None, None, None], pa.int64()),
        "_sign": pa.array([1, -1, 1], pa.int8()),
    }
)


def test_made_rows_of_several_results_follow_each_other() -> None:
    """A group may give results more than once in a batch; recorded input stands beside them."""
    found = (
        ("g", results([1, 2], [2, 0], rows=MADE)),
        ("h", results([5], [1], rows=MADE)),
        ("g", results([3], [1], rows=MADE.slice(1))),
    )
    part = part_of(*found, keep_all=True)
    assert [section.relation for section in part.sections] == ["t", "g", "h"]
    assert part.sections[0].events.equals(EVENTS)
    assert part.sections[0].groups == {}
    own = part.sections[1]
    assert own.groups == {"g": (0, 3)}
    assert own.events["i0.n"].to_pylist() == [1, 3, 3]
    assert own.events.take(own.matches["event"])["i0.n"].to_pylist() == [3, 1, 3]
    assert part.sections[2].events.equals(MADE.slice(1, 1))
    again = part_from_bytes(part_to_bytes(part))
    assert again.sections[1].events.equals(own.events)


def test_made_rows_carry_their_signs(tmp_path: Path) -> None:
    """Also where a whole column is NULL, and beside rows of a table with signs of their own."""
    log = ResultLog(tmp_path)
    commit(log, 0, part_of(("g", results([2, 1, 1], [1, 0, 2], rows=MADE)), keep_all=True))
    commit(log, 1, part_of(keep_all=True))
    outputs = (
        Output(name="n", sql='"i0.n"'),
        Output(name="other", sql='"i1.n"'),
        Output(name="sum", sql='"i0.n" + coalesce("i1.n", 10)'),
    )
    plain, computed = (
        read(
            log,
            lambda chosen=chosen: [  # type: ignore[misc]
                SheetSelection(
                    group="g", outputs=chosen, change_column=None, queries=None, ids=pa.array
                )
            ],
        )
        for chosen in (outputs[:2], outputs)
    )
    for changes in (plain, computed):
        assert [(c.id, c.sign, c.row["n"]) for c in changes] == [(1, 1, 1), (2, -1, 2), (1, 1, 3)]
        assert all(c.row["other"] is None and c.batch == 0 for c in changes)
    assert [c.row["sum"] for c in computed] == [11, 12, 13]


@pytest.mark.parametrize("keep_all", [False, True])
def test_a_part_passes_through_spark_as_bytes(keep_all: bool) -> None:
    part = part_of(("g", results([1, 2], [3, 1])), keep_all=keep_all)
    again = part_from_bytes(part_to_bytes(part))
    assert (again.version, again.rows_in, again.matches) == (1, 4, 2)
    assert again.sections[0].events.equals(part.sections[0].events)
    assert again.sections[0].matches.equals(part.sections[0].matches)
    assert again.sections[0].groups == part.sections[0].groups
    empty = Part(version=7, rows_in=0)
    assert part_from_bytes(part_to_bytes(empty)) == empty


def test_a_batch_counts_when_it_is_committed(tmp_path: Path) -> None:
    log = ResultLog(tmp_path)
    part = part_of(("g", results([1], [0])))
    write_part(part, log.directory(0), log.part_name(0, 0))
    assert log.read(0) is None
    assert log.newest() == -1
    assert read(log, selecting("g", None)) == []
    commit(log, 0, part)
    commit(log, 0, part)  # it may run again
    assert log.newest() == 0
    assert [change.row["n"] for change in read(log, selecting("g", None))] == [10]


def test_batches_are_many_and_in_order(tmp_path: Path) -> None:
    log = ResultLog(tmp_path)
    for batch in (0, 1, 999, 1000, 1001):
        commit(log, batch)
    assert log.newest() == 1001
    assert log.read(1000) is not None
    assert log.read(2) is None


def test_readers_see_a_fixed_order_and_only_their_own(tmp_path: Path) -> None:
    log = ResultLog(tmp_path)
    commit(
        log, 0,
        part_of(("g", results([2, 1, 2, 5], [3, 3, 0, 0])), ("h", results([7], [0]))),
        part_of(("g", results([1], [2]))),
    )  # fmt: skip
    found = read(log, selecting("g", [1, 2]))
    assert [(c.id, c.row) for c in found] == [
        ("q2", {"n": 10, "twice": 20}), ("q1", {"n": 13, "twice": 26}),
        ("q2", {"n": 13, "twice": 26}), ("q1", {"n": 12, "twice": 24}),
    ]  # fmt: skip
    assert [c.token for c in found] == ["0:1", "0:2", "0:3", "0:4"]
    assert [c.id for c in read(log, selecting("g", None))].count("q5") == 1
    assert read(log, selecting("g", [])) == []
    assert read(log, selecting("elsewhere", None)) == []


def test_a_token_resumes_behind_its_change(tmp_path: Path) -> None:
    log = ResultLog(tmp_path)
    commit(log, 0, part_of(("g", results([1, 1], [0, 1]))), part_of(("g", results([1], [2]))))
    commit(log, 1)
    commit(log, 2, part_of(("g", results([1], [3])), version=4))
    whole = read(log, selecting("g", [1]))
    assert [c.batch for c in whole] == [0, 0, 0, 2]
    assert [c.version for c in whole] == [1, 1, 1, 4]
    for at, change in enumerate(whole):
        assert read(log, selecting("g", [1]), change.token) == whole[at + 1 :]
    for bad in ("", "1", "a:b", "1:2:3"):
        with pytest.raises(PenstockError, match=r"\[DEL-001\]"):
            read(log, selecting("g", [1]), bad)


def test_a_change_column_gives_the_signs(tmp_path: Path) -> None:
    log = ResultLog(tmp_path)
    commit(log, 0, part_of(("g", results([1, 1, 1, 1], [0, 1, 2, 3]))))
    found = read(log, selecting("g", [1], change_column="op"))
    assert [(c.row["n"], c.sign) for c in found] == [(10, 1), (11, -1), (12, 1), (13, -1)]
