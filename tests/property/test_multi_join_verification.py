"""Verification of multi-way joins: it agrees with what is right, and sees what is not."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import WAITING_ROWS, WindowLength
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.trees import Join, JoinPlan, Leaf
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import PIECES, Part, assemble, write_part
from penstock.engine.verification import verify
from penstock.expressions.quotation import with_dots
from penstock.kinds import crossed_verification
from penstock.kinds.arrivals import arrive, rows_of
from penstock.kinds.binder import bind
from penstock.kinds.drop_boxes import passing
from penstock.kinds.multi_join.plans import Measure
from penstock.kinds.multi_join.verification import verify_multi_join
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import RecordedShelf
from penstock.registry.records import Declaration, Draft, Source
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Flags, Ints
from tests.oracle.multijoins import Condition, MultiJoinTwin, Streams, released
from tests.support.desk_runs import DeskRun
from tests.support.planners import planner_of
from tests.support.tables import BEGIN

SECOND_US = 1_000_000
LATENESS_S = 2
SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
TABLE = pa.schema([("k", pa.int64()), ("op", pa.string())])
TEXT = """
    SELECT a.n AS a, b.n AS b FROM a [ROWS 2], b [RANGE 3 SECONDS], t
    WHERE a.k = b.k AND b.k = t.k AND a.n <= :most
"""
EACH = [{"id": 1, "most": 1_000}, {"id": 2, "most": 6}]
ROWS = st.lists(
    st.tuples(st.sampled_from([None, 1, 2]), st.one_of(st.none(), st.integers(-3, 4))), max_size=4
)
CHANGES = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from(["insert", "delete"])), max_size=2
)
BATCHES = st.lists(st.tuples(ROWS, ROWS, CHANGES), min_size=1, max_size=4)

Batches = tuple[list[int | None], ...]
Drawn = list[
    tuple[
        list[tuple[int | None, int | None]],
        list[tuple[int | None, int | None]],
        list[tuple[int, str]],
    ]
]


def relations() -> tuple[Relation, ...]:
    streams = (
        Relation(
            name=name,
            kind="stream",
            schema=SCHEMA,
            event_time="ts",
            lateness_us=LATENESS_S * SECOND_US,
        )
        for name in "ab"
    )
    return (*streams, Relation(name="t", kind="table", schema=TABLE, change_column="op"))


def batch_rows(number: int, drawn: Drawn, first: int) -> dict[str, list[dict[str, Any]]]:
    """Give a batch's rows; times lie around 2 s per batch."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, own in zip("ab", drawn[number][:2], strict=True):
        rows[name] = [
            {
                "k": key,
                "n": first + place,
                "ts": None if at is None else BEGIN + timedelta(seconds=2 * number + at),
            }
            for place, (key, at) in enumerate(own)
        ]
        first += len(own)
    rows["t"] = [{"k": key, "op": op} for key, op in drawn[number][2]]
    return {name: own for name, own in rows.items() if own}


def spoil_one(run: DeskRun) -> bool:
    """Take the first logged match away; say whether there was one."""
    for number in range(run.batches):
        logged = run.desk.log.read(number)
        assert logged is not None
        for section in logged.sections:
            path = Path(f"{section.path}-matches.parquet")
            matches = pq.read_table(path)
            if section.relation.startswith("multi_join") and matches.num_rows:
                pq.write_table(matches.slice(1), path)
                return True
    return False


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=BATCHES, order=st.booleans(), spoiled=st.booleans(),
    waiting=st.sampled_from([1, 2, 4, WAITING_ROWS]),
)  # fmt: skip
@example(
    drawn=[([(1, 0), (1, 1)], [(1, 0), (1, 4)], [(1, "insert")]), ([(1, 4)], [(1, 4)], [])],
    order=True,
    spoiled=True,
    waiting=WAITING_ROWS,
)
def test_duckdb_finds_what_the_operator_finds(
    drawn: Drawn, order: bool, spoiled: bool, waiting: int
) -> None:
    options = {"headroom": 0.9998, "minimum_a": 0.4}
    chosen = {"waiting": waiting, **options}
    with tempfile.TemporaryDirectory() as home:
        run = DeskRun(Path(home) / "home", *relations())
        run.desk.subscribe(TEXT, name="s", each=EACH, options=chosen)
        first = 0
        for number in range(len(drawn)):
            rows = batch_rows(number, drawn, first)
            first += sum(len(own) for own in rows.values())
            run.batch(**rows)
            if number == 0:
                run.desk.subscribe(TEXT, name="later", each=EACH[:1], options=chosen)
            if number == 1 and order:
                assert shed(run, bound(options), run.desk.subscription("s").group)
                run.restart()
        lost = spoiled and spoil_one(run)
        answers = verify(run.desk.registry, run.desk.log)
        run.desk.close()
        assert all(answer.equal for answer in answers) == (not lost), answers


def shed(run: DeskRun, logical: MultiJoin, group: str) -> bool:
    """Close drop boxes as if an overload had been measured; say whether any row can go."""
    planner, registry = planner_of(run.desk), run.desk.registry
    with registry.reserve():
        measured = Measure(factor=1.0, sheds=True)
        proposal = planner.propose(logical, group, len(EACH), measured=measured)
        draft = Draft()
        plan = planner.book.add(draft, group, proposal.standing)
        planner.book.took(group, plan, registry.publish(draft))
    return plan.sheds


def bound(options: dict[str, Any] | None = None) -> Any:
    """Bind the text with parameters of the types that EACH has."""
    each = pa.schema([("id", pa.int64()), ("most", pa.int64())])
    return bind(TEXT, {each.name: each for each in relations()}, each, options)


@settings(max_examples=60)
@given(
    streams=st.lists(
        st.tuples(*[st.lists(st.one_of(st.none(), st.integers(0, 8)), max_size=6)] * 2),
        min_size=2,
        max_size=3,
    ),
    rows_max=st.integers(1, 3),
    range_s=st.integers(1, 4),
    share=st.sampled_from([1.0, 0.5]),
    boxes=st.sampled_from(["faithful", "subset"]),
)
def test_rows_stand_in_the_order_of_plain_loops(
    streams: list[Batches], rows_max: int, range_s: int, share: float, boxes: str
) -> None:
    """The counts along the order say which rows are active, as loops over all rows do."""
    logical = bound()
    windows = [WindowLength("rows", rows_max), WindowLength("range", range_s * SECOND_US)]
    sample = [logical.inputs[0], logical.inputs[1], logical.inputs[0]][: len(streams)]
    inputs = [
        replace(each, relation=str(number), window=windows[number % 2])
        for number, each in enumerate(sample)
    ]

    def half(number: int, arrivals: Ints, fraction: float) -> Flags:
        return np.asarray((arrivals + number) % 2 == 0) if fraction < 1 else arrivals >= 0

    def read(relation: str) -> tuple[pa.Table, Ints]:
        batches = streams[int(relation)]
        rows = [
            {"k": 1, "n": place, "ts": None if at is None else BEGIN + timedelta(seconds=at)}
            for place, at in enumerate(chain(*batches))
        ]
        numbers = np.repeat(np.arange(len(batches)), [len(times) for times in batches])
        return with_dots(pa.Table.from_pylist(rows, schema=SCHEMA)), numbers

    tree: Any = Leaf(0)
    for number in range(1, len(inputs)):
        tree = Join(tree, Leaf(number))
    plan = JoinPlan(tree=tree, passes=(share,) * len(inputs), boxes=boxes)  # type: ignore[arg-type]
    found = arrive(inputs, read, 2, 0, [(0, plan)], half, WAITING_ROWS)
    assert active_pairs(found, inputs) == plain_pairs(streams, inputs, share, boxes)


def active_pairs(found: Any, inputs: list[Any]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """List (younger row, active row) by the numbers that were found."""
    pairs = set()
    kept = {
        (number, row[".n"]): row for number, own in found.items() for row in own.table().to_pylist()
    }
    places = {
        (number, n): int(place)
        for number, own in found.items()
        for n, place in zip(own.rows[".n"].to_pylist(), own.position, strict=True)
    }
    for young, one in kept.items():
        for old, other in kept.items():
            window = inputs[old[0]].window
            name = f"_seen{old[0]}" if window.kind == "rows" else "_time"
            if places[old] < places[young] and one[name] - other[name] < window.size:
                pairs.add((young, old))
    return pairs


def plain_pairs(
    streams: list[Batches], inputs: list[Any], share: float, boxes: str
) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """List the same with the slow twin: whoever is kept when a row has arrived."""
    twin = MultiJoinTwin(
        [(each.window.kind, each.window.size) for each in inputs], [Condition((), lambda: False)]
    )
    told: Streams = {
        number: (
            [[None if at is None else at * SECOND_US for at in times] for times in batches],
            LATENESS_S * SECOND_US,
        )
        for number, batches in enumerate(streams)
    }
    pairs = set()
    for row in released(told):
        passes = share == 1.0 or (row.arrival + row.number) % 2 == 0
        if not passes and boxes == "faithful":
            continue
        twin.arrive(row.number, row.time, row.place, True, passes)
        if passes:
            young = (row.number, row.place)
            for number, kept in enumerate(twin.kept):
                pairs |= {(young, (number, k.row)) for k in kept if (number, k.row) != young}
    return pairs


def test_chunks_and_slices_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed_verification, "ROWS_PER_CHUNK", 1)
    monkeypatch.setattr(crossed_verification, "QUERIES_PER_SLICE", 1)
    run = DeskRun(tmp_path / "home", *relations())
    run.desk.subscribe(TEXT, name="s", each=EACH)
    chance = np.random.default_rng(1)
    for number in range(6):
        own = [[(1, int(at)) for at in np.sort(chance.integers(0, 3, 6))] for _ in range(2)]
        drawn: Drawn = [([], [], []) for _ in range(number)]
        drawn.append((list(own[0]), list(own[1]), [(1, "insert")]))
        run.batch(**batch_rows(number, drawn, 12 * number))
    (answer,) = verify(run.desk.registry, run.desk.log)
    assert answer.equal, answer
    assert answer.found > 20
    run.desk.close()


def test_a_drop_box_lets_its_share_pass_and_always_the_same_rows() -> None:
    arrivals = np.arange(100_000)
    passed = passing(1, arrivals, 0.3)
    assert abs(passed.mean() - 0.3) < 0.01
    assert np.array_equal(passed[500:600], passing(1, arrivals[500:600], 0.3))
    assert not np.array_equal(passed, passing(2, arrivals, 0.3))
    wider = passing(1, arrivals, 0.4)
    assert not (passed & ~wider).any(), "a wider box lets pass all that a narrower did"


def test_an_empty_log_is_equal(tmp_path: Path) -> None:
    answer = SubscriptionOutcome("s")
    parameters = pa.table(
        {"_query": [0], ".most": [1], "_first": [0], "_last": [1]},
        schema=pa.schema([(name, pa.int64()) for name in ("_query", ".most", "_first", "_last")]),
    )
    registry = Registry(tmp_path / "registry")
    declared = [Declaration(relation=each, source=Source()) for each in relations()]
    registry.publish(Draft(declarations=declared))
    verify_multi_join(
        AnswerComparison(
            answer=answer, registry=registry, log=ResultLog(tmp_path / "results"), group="g",
            logical=bound(), parameters=parameters, batches=[],
            versions=np.empty(0, dtype=np.int64), progress=lambda *_: None,
            shelf=RecordedShelf(),
        )
    )  # fmt: skip
    assert answer.equal


def test_pieces_of_several_shards_are_read_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """Shards of a cluster record whole pieces in turn, and note where each belongs."""
    log = ResultLog(tmp_path)
    pieces = {0: ([4, 5], [[0, 1, 1], [1, 0, 1]]), 1: ([3, 6], [[0, 0, 1], [1, 1, 1]])}
    parts = []
    for shard, (numbers, order) in pieces.items():
        table = pa.table({"n": pa.array(numbers, pa.int64())})
        table = table.replace_schema_metadata({PIECES: json.dumps(order)})
        part = Part(version=1, rows_in=2, sections=assemble([], {"a": table}, keep_all=True))
        parts.append(write_part(part, log.directory(0), log.part_name(0, shard)))
    logged = log.commit(0, 1, parts)
    rows, batch = rows_of([logged], "a", pa.schema([("n", pa.int64())]))
    assert rows[".n"].to_pylist() == [3, 4, 5, 6]
    assert batch.tolist() == [0, 0, 0, 0]
