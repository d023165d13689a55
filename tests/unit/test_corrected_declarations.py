"""Declarations that are corrected or taken back before anybody uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.engine.declarations import declare_relation, undeclare_relation
from penstock.engine.home import Home
from penstock.engine.registration import draft_declaration
from penstock.language.parser import parse
from penstock.language.statements import CreateRelation, DropRelation
from penstock.registry.records import Declaration, Source
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

TIMES = pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = Relation(name="S", kind="stream", schema=TIMES, event_time="ts")
OTHER = replace(STREAM, event_time=None, schema=pa.schema([("w", pa.string())]))
BESIDE = replace(STREAM, name="beside")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Open a home with two streams."""
    desk = Desk(tmp_path / "home")
    for relation in (STREAM, BESIDE):
        declare_relation(desk.registry, desk.home, relation, Source(name="rate"))
    yield desk
    desk.close()


def again(desk: Desk) -> Registry:
    """Read what a later process would."""
    return Registry(desk.home.path / "registry", read_only=True)


def test_a_declaration_is_corrected_until_it_is_used(desk: Desk) -> None:
    registry, home = desk.registry, desk.home
    with pytest.raises(PenstockError, match=r"\[CAT-005\]"):
        declare_relation(registry, home, OTHER, Source(name="rate"))
    declare_relation(registry, home, OTHER, Source(name="rate"), replaces=True)
    assert again(desk).catalog == registry.catalog == {"beside": BESIDE, "s": OTHER}
    assert [step["relation"] for step in again(desk).steps.values()] == ["beside"]
    desk.subscribe("SELECT w FROM s WHERE w = 'a'", name="a")
    declare_relation(registry, home, OTHER, Source(name="rate"), replaces=True)  # as it stands
    with pytest.raises(PenstockError, match=r"\[ENG-061\].* a\."):
        declare_relation(registry, home, STREAM, Source(name="rate"), replaces=True)
    assert len(desk.subscription("a")) == 1
    assert again(desk).standing("a") == 1


def test_another_source_is_not_taken_silently(desk: Desk) -> None:
    registry, home = desk.registry, desk.home
    desk.subscribe("SELECT v FROM s WHERE v = 1", name="one")
    for same in (Source(name="rate"), Source(name="rate", options={"rows": "5"}), Source()):
        declare_relation(registry, home, STREAM, same)
    with pytest.raises(PenstockError, match=r"\[ENG-041\].*'rate'.*'parquet:/data'"):
        declare_relation(registry, home, STREAM, Source(name="parquet:/data"))
    declare_relation(registry, home, BESIDE, Source(name="parquet:/data"), replaces=True)
    assert again(desk).declarations["beside"].source == Source(name="parquet:/data")
    declare_relation(registry, home, BESIDE, Source(name="parquet:/data"))
    with pytest.raises(PenstockError, match=r"\[ENG-041\]"):
        declare_relation(registry, home, BESIDE, Source(name="rate"))


def test_another_event_time_or_lateness_is_not_passed_over(desk: Desk) -> None:
    for other in (replace(STREAM, lateness_us=5_000_000), replace(STREAM, event_time=None)):
        with pytest.raises(PenstockError, match=r"\[ENG-049\].*event time ts, lateness 60 sec"):
            declare_relation(desk.registry, desk.home, other, Source(name="rate"))
    declare_relation(desk.registry, desk.home, STREAM, Source(name="rate"))


def test_an_event_time_is_a_time_unless_the_home_has_it_otherwise(desk: Desk) -> None:
    """A home that was begun when such a declaration was taken goes on."""
    registry, home, source = desk.registry, desk.home, Source(name="rate")
    text = replace(STREAM, name="older", event_time="v")
    with pytest.raises(PenstockError, match=r"\[CAT-017\] .* 'v' of 'older' is int64.*: ts\."):
        declare_relation(registry, home, text, source)
    registry.publish(draft_declaration(Declaration(relation=text, source=source)))
    declare_relation(registry, home, text, source)
    assert again(desk).catalog["older"].event_time == "v"


def test_other_options_of_a_source_are_kept_for_later_runs(desk: Desk) -> None:
    """A later process reads with what the newest declaration said, not with what the first did."""
    tabs = Source(name="rate", options={"sep": "\t"})
    declare_relation(desk.registry, desk.home, STREAM, tabs)
    assert again(desk).declarations["s"].source == tabs
    version = desk.registry.version
    declare_relation(desk.registry, desk.home, STREAM, tabs)
    declare_relation(desk.registry, desk.home, replace(STREAM, rate=5.0), tabs)
    assert again(desk).declarations["s"].source == tabs
    assert again(desk).declarations["s"].relation.rate == 5.0
    assert desk.registry.version == version + 1


def test_a_declaration_is_taken_back_and_its_steps_with_it(desk: Desk) -> None:
    desk.subscribe("SELECT v FROM beside WHERE v = 1", name="one")
    undeclare_relation(desk.registry, desk.home.path, "s")
    later = again(desk)
    assert list(later.catalog) == ["beside"]
    assert later.standing("one") == 1
    assert not [step for step in later.steps.values() if step.get("relation") == "S"]
    with pytest.raises(PenstockError, match=r"\[ENG-062\].* beside\."):
        undeclare_relation(desk.registry, desk.home.path, "s")
    desk.drop("one")
    undeclare_relation(desk.registry, desk.home.path, "beside")
    assert not again(desk).catalog


def test_what_spark_reads_is_not_taken_back_and_not_added_to_while_it_runs(desk: Desk) -> None:
    home: Home = desk.home
    (home.path / "checkpoint").mkdir()
    with pytest.raises(PenstockError, match=r"\[ENG-061\]"):
        undeclare_relation(desk.registry, home.path, "s")
    late = replace(STREAM, name="late")
    with pytest.raises(PenstockError, match=r"\[ENG-008\].* while the engine runs"):
        declare_relation(desk.registry, home, late, Source(), is_running=True)
    home.settle(host="cluster")
    declare_relation(desk.registry, home, late, Source())
    assert "late" in again(desk).catalog


def test_what_scripts_say() -> None:
    create, drop = parse("CREATE OR REPLACE STREAM s FROM 'rate'; DROP TABLE IF EXISTS t")
    assert isinstance(create, CreateRelation)
    assert create.replaces
    assert isinstance(drop, DropRelation)
    assert (drop.kind, drop.name, drop.if_exists) == ("table", "t", True)
