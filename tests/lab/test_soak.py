"""A home and its processes stay small as time goes on, and an experiment on it that can fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.delivery.retention import UpkeepPace
from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.soak import simulated_year
from penstock.lab.soak.simulated_year import YearHome
from penstock.lab.soak.trends import Trend, trend_of
from penstock.storage import state

BATCHES, SAMPLES = 160, 40
ALL = {name: getattr(simulated_year, name) for name in ("COMING", "LASTING", "VIEWS")}
SOON = UpkeepPace(spare_batches=5, volume_batches=10, versions=20, listed=10)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what happens every thousand batches happen every ten."""
    monkeypatch.setattr(state, "SNAPSHOT_EVERY_BATCHES", 8)
    monkeypatch.setattr(simulated_year, "COMING", simulated_year.COMING[:2])
    monkeypatch.setattr(simulated_year, "LASTING", {"cheap": simulated_year.LASTING["cheap"]})
    monkeypatch.setattr(simulated_year, "VIEWS", {})
    monkeypatch.setattr(simulated_year, "STANDING", 2)
    monkeypatch.setattr(simulated_year, "RETAINED", 10)


def lived(place: Path, names: tuple[str, ...] = ("files", "home MB")) -> dict[str, Trend]:
    with YearHome(place / "home", BATCHES, SOON) as year:
        samples = list(year.live(SAMPLES))
    return {name: trend_of([float(str(own[name])) for own in samples]) for name in names}


def test_a_simulated_year_keeps_a_home_small(tmp_path: Path) -> None:
    for name, trend in lived(tmp_path).items():
        assert trend.flat(name).passed, (name, trend)


def test_all_kinds_live_through_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, texts in ALL.items():
        monkeypatch.setattr(simulated_year, name, texts)
    monkeypatch.setattr(simulated_year, "STANDING", len(ALL["COMING"]))
    with YearHome(tmp_path / "home", len(ALL["COMING"]), SOON) as year:
        list(year.live(1))
        found = year.found
    assert set(found) == {*ALL["LASTING"], *ALL["VIEWS"]}, found


@pytest.mark.parametrize("idle", ["tidy", "shorten", "expire"])
def test_a_home_that_is_not_kept_small_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: str
) -> None:
    def nothing(*_arguments: object, **_named: object) -> Iterator[bool]:
        return iter(())

    place = {
        "tidy": "penstock.registry.store.Registry.tidy",
        "shorten": "penstock.engine.upkeep.shorten_lists",
        "expire": "penstock.delivery.retention.LogUpkeep._expire",
    }[idle]
    monkeypatch.setattr(place, nothing)
    trends = lived(tmp_path)
    assert not all(trend.flat(name).passed for name, trend in trends.items()), trends


def test_trends_tell_growth_from_saw_teeth() -> None:
    saw = [100.0 + step % 7 for step in range(200)]
    assert trend_of(saw).flat("saw").passed
    leak = [each + 0.1 * step for step, each in enumerate(saw)]
    assert not trend_of(leak).flat("leak").passed
    assert trend_of(list(reversed(leak))).flat("what shrinks").passed


@pytest.mark.spark
def test_the_experiment_looks_at_a_year_and_at_an_engine() -> None:
    report = EXPERIMENTS["soak"].run("tiny")
    assert not report.broken, report.notes
    year, _, engine, _ = report.tables
    for table in (year, engine):
        last = dict(zip(table.columns, table.rows[-1], strict=True))
        assert all(float(str(last[name])) >= 1 for name in ("resident MB", "files", "batches"))
