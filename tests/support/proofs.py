"""What must hold of a home whose engine was killed again and again, kind by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from penstock.algebra.physical import PLAN_PORT
from penstock.engine import Desk
from penstock.operators.catalogue import figures_of
from penstock.operators.model_query.figures import MIGRATIONS
from penstock.vocabulary.shared_figures import ROWS
from tests.support import (
    bounded_victim,
    filter_victim,
    gate_victim,
    join_victim,
    model_victim,
    multi_join_victim,
    range_victim,
    shared_victim,
    table_victim,
)
from tests.support.bounded_streams import Asking, Moving
from tests.support.desk_runs import DeskRun
from tests.support.lookup_victim import NAMES as LOOKUPS
from tests.support.tables import bag

Outcomes = Mapping[str, Any]


def prove_filters(desk: Desk, acknowledged: set[str], events: int) -> None:
    """Every event is in exactly one batch, and each batch answers for the queries of its version.

    Asked without DuckDB, of what stood when.
    """
    names = [filter_victim.name_of(number) for number in range(filter_victim.QUERIES)]
    for number, name in enumerate(names):
        standing = [
            id_
            for block in desk.registry.blocks[name]
            for id_, alive in zip(block.table["id"].to_pylist(), block.alive, strict=True)
            if alive
        ]
        dropped = [0] if number % 3 == 0 else []
        assert sorted(standing) == [i for i in range(filter_victim.ROWS_EACH) if i not in dropped]
    own = {done for done in acknowledged if done[:3] in names}
    assert own <= {f"{name}{what}" for name in names for what in ("", "-0", "*1")}

    seen: Counter[int] = Counter()
    expected: Counter[tuple[str, int, int]] = Counter()
    lives = [
        (name, id_, row["p_low"], row["p_high"], block.version, dropped)
        for name in names
        for _, block in desk.registry.history(name)
        for row, id_, dropped in zip(
            block.table.to_pylist(), block.table["id"].to_pylist(), block.dropped, strict=True
        )
    ]
    for batch in range(desk.log.newest() + 1):
        logged = desk.log.read(batch)
        assert logged is not None, f"batch {batch} is not in the log"
        rows = [
            row
            for section in logged.sections
            if section.relation == "ticks"
            for row in section.events().to_pylist()
        ]
        seen.update(row["n"] for row in rows)
        expected.update(
            (name, id_, row["n"])
            for name, id_, low, high, since, until in lives
            if since <= logged.version < until
            for row in rows
            if low <= row["x"] <= high
        )
    assert seen == Counter(range(events))
    found = Counter(
        (name, change.id, change.row["n"])
        for name in names
        for change in desk.subscription(name).changes(follow=False)
    )
    assert found == expected
    assert found, "nothing matched: nothing was proved"
    # The parameters that stood first are those that were given.
    assert {(low, high) for name, _, low, high, _, _ in lives if name == names[0]} == {
        (row["low"], row["high"]) for row in filter_victim.rows_of(0)
    }


def prove_joins(desk: Desk, outcomes: Outcomes) -> None:
    """Every class of joins found something, and what was dropped is."""
    found: Counter[int] = Counter()
    for number in range(join_victim.QUERIES):
        name = join_victim.name_of(number)
        assert len(desk.subscription(name)) == join_victim.ROWS_EACH - (number % 2 == 0)
        found[number % len(join_victim.TEXTS)] += outcomes[name].found
    assert all(found[kind] for kind in range(len(join_victim.TEXTS))), "a class found nothing"


def prove_multi_joins(desk: Desk, outcomes: Outcomes) -> None:
    """One plan stands in each group, whatever its subscriptions asked for."""
    names = [multi_join_victim.name_of(number) for number in range(multi_join_victim.QUERIES)]
    for number, name in enumerate(names):
        left = 1 if number % 4 == 3 else multi_join_victim.ROWS_EACH - (number % 4 == 0)
        assert len(desk.subscription(name)) == left
    for group in {desk.subscription(name).group for name in names}:
        assert desk.registry.entries(group)[PLAN_PORT].num_rows == 1, "one plan stands"
    assert sum(outcomes[name].found for name in names) > 100, "nothing was proved"


def prove_bounded_joins(
    desk: Desk, outcomes: Outcomes, streams: Moving, straight: Path | None
) -> None:
    """The budget held in every batch; without a stop, the same pairs are found."""
    for number in range(bounded_victim.QUERIES):
        name = bounded_victim.name_of(number)
        assert len(desk.subscription(name)) == bounded_victim.ROWS_EACH - (number >= 4)
        assert outcomes[name].found > 20
        assert outcomes[name].may_miss == (number % 2 == 0)
    group = desk.subscription(bounded_victim.name_of(0)).group
    held = [
        sum(told[group].total(ROWS) for _, told in desk.log.figures(batch, figures_of))
        for batch in range(desk.log.newest() + 1)
    ]
    assert 0 < max(held) <= bounded_victim.TIGHT_ROWS
    if straight is not None:
        same_in_one_go(desk, streams, straight)


def same_in_one_go(desk: Desk, streams: Moving, home: Path) -> None:
    """Run all rows at once, without a stop: the same pairs are found."""
    catalog, name = desk.registry.catalog, bounded_victim.name_of(0)
    straight = DeskRun(home, catalog["r"], catalog["s"])
    each = [{"id": i, "least": i} for i in range(bounded_victim.ROWS_EACH)]
    straight.desk.subscribe(bounded_victim.TIGHT, name=name, each=each)
    tables = {stream: feeder.rows for stream, feeder in streams.feeders.items()}
    straight.batch(
        **{stream: table.cast(catalog[stream].schema) for stream, table in tables.items()}
    )
    one, two = (own.subscription(name).read() for own in (desk, straight.desk))
    assert bag(one, "_id", "r", "s") == bag(two, "_id", "r", "s")
    straight.desk.close()


def prove_lookups(desk: Desk, outcomes: Outcomes, asking: Asking) -> None:
    """Every row was answered once, those too that waited for the database."""
    assert not any(outcomes[name].missing for name in LOOKUPS)
    found = desk.subscription(LOOKUPS[0]).read()
    wanted = found.filter(pc.equal(found["_id"], 0))
    rows = sorted(zip(*(wanted[c].to_pylist() for c in ("n", "k", "price")), strict=True))
    assert rows == asking.expected


def prove_tables(desk: Desk, standing: Mapping[int, float]) -> None:
    """What came less what went is what stands, for those who began with a first answer.

    Who began with none has seen every change since the first batch.
    """
    for number in range(table_victim.QUERIES):
        if number == 2:
            continue  # it came later, without what stood
        found = desk.subscription(table_victim.name_of(number)).read()
        for id_ in range(1, table_victim.ROWS_EACH):
            own = found.filter(pc.equal(found["_id"], id_))
            rows: Counter[tuple[int, float]] = Counter()
            for k, x, sign in zip(*(own[c].to_pylist() for c in ("k", "x", "_sign")), strict=True):
                rows[k, x] += sign
            least = 10.0 * id_
            expected = {(k, x): 1 for k, x in standing.items() if x >= least}
            assert {row: count for row, count in rows.items() if count} == expected, (number, id_)


def prove_view(desk: Desk, standing: Mapping[int, float]) -> None:
    """A view over the table has every change once, whatever it was killed at."""
    parts: dict[int, list[float]] = {}
    for k, x in standing.items():
        parts.setdefault(k % 3, []).append(x)
    found = desk.view(table_victim.VIEW).read(fresh=True).to_pylist()
    assert {row["part"]: (row["n"], row["most"]) for row in found} == {
        part: (len(own), max(own)) for part, own in parts.items()
    }


def prove_ranges(desk: Desk, standing: Mapping[int, float]) -> None:
    """What goes is what came before it, and what came last is the answer over what stands."""
    for number in range(range_victim.QUERIES):
        values: dict[int, tuple[Any, ...]] = {}
        for change in desk.subscription(range_victim.name_of(number)).changes(follow=False):
            row = tuple(change.row.values())
            if change.sign > 0:
                values[change.id] = row
            elif change.id in values:
                assert values.pop(change.id) == row, (number, change)
        for id_, (low, high) in enumerate(range_victim.RANGES):
            own = [x for k, x in standing.items() if low <= k <= high]
            if id_ or number > 1:  # the first query of the first ones was dropped
                assert values[id_] == (min(own, default=None), len(own)), (number, id_)


def prove_models(desk: Desk, outcomes: Outcomes, told: list[model_victim.Told]) -> None:
    """What was told of courses, added up, is what the slow twin tells."""
    names = [model_victim.name_of(number) for number in range(model_victim.QUERIES)]
    assert all(outcomes[name].found for name in names)
    expected, found = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for id_, sign, *rest in told:
        expected[id_, *rest] += sign
    for change in desk.subscription(names[0]).changes(follow=False):
        key, starts, ends, _curve = change.row.values()
        times = (round(moment.timestamp() * 1_000_000) for moment in (starts, ends))
        found[change.id, key, *times] += change.sign
    assert {row: n for row, n in found.items() if n} == {row: n for row, n in expected.items() if n}


def prove_shared_memories(desk: Desk, outcomes: Outcomes) -> None:
    """The one budget of all joins held in every batch, and each of them found something."""
    names = [shared_victim.name_of(number) for number in range(shared_victim.QUERIES)]
    assert all(outcomes[name].found for name in names)
    (group,) = {desk.subscription(name).group for name in names}
    held = [
        sum(told[group].total(ROWS) for _, told in desk.log.figures(batch, figures_of))
        for batch in range(desk.log.newest() + 1)
    ]
    assert 0 < max(held) <= shared_victim.MEMORY_ROWS


def prove_gates(desk: Desk, outcomes: Outcomes) -> None:
    """All shapes read one stream, which was forced from plan to plan, and each found something."""
    names = [gate_victim.name_of(number) for number in range(len(gate_victim.TEXTS))]
    assert all(outcomes[name].found for name in names)
    (stream,) = {
        own for name in names for own in desk.registry.steps[desk.subscription(name).group]["reads"]
    }
    told = [
        own[stream][MIGRATIONS]
        for batch in range(desk.log.newest() + 1)
        for _, own in desk.log.figures(batch, figures_of)
    ]
    assert sum(told) >= gate_victim.PLANS // 2  # several may come into force with one batch


def told_by_batch(home: Path) -> dict[int, Counter[tuple[Any, ...]]]:
    """Give what readers of the first lookup find in every batch that is logged."""
    desk = Desk(home)
    found = desk.subscription(LOOKUPS[0]).read()
    told = {
        batch: bag(found.filter(pc.equal(found["_batch"], batch)), "_id", "n", "k", "price")
        for batch in range(desk.log.newest() + 1)
    }
    desk.close()
    return told
