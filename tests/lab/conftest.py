"""Experiments at their smallest size: one run, held against all that every experiment promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.report import Report
from penstock.operators.join.routing.constants import VARIABLE as ROUTER
from penstock.planning.constants import VARIABLE as PLANNER

SEED = 1
SPARK = {
    "filters",
    "joins-end-to-end",
    "window-joins-end-to-end",
    "bounded-joins-end-to-end",
    "view-intake",
    "range-min-server-time",
    "models-end-to-end",
    "sharing-migrations",
    "edge-latency",
}
"""They start Spark."""
EXACT = {"zipf-coverage", "h1-curves", "benefit-curves", "window-plans"}
"""They draw nothing: every figure is computed."""
UNTIMED = {
    "hotspots",
    "shedding-throughput",
    "join-cache-compare",
    "join-cache-sweep",
    "join-cache-lifetimes",
    "look-ahead",
    "histogram-policy",
    "memory-allocation",
    "temperature-cache",
    "cache-peers",
    "memory-curve",
    "maintenance-plans",
    "unstable-streams",
    "range-min-messages",
    "network-traffic",
    "stock-trace",
    "selectivity-bounds",
}
"""No clock decides any of their figures, and computing them again takes a few seconds at most."""
UNJUDGED = {"model-aggregate", "model-join", "routing-join-rate", "routing-selection-rate"}
"""They claim nothing at their smallest size."""

TinyRun = Callable[[str], tuple[Report, dict[str, Any]]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Watch which seeds are drawn from."""
    make = np.random.default_rng
    seen: list[tuple[int, ...]] = []

    def watched(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, np.random.SeedSequence):
            seen.append(tuple(seed.spawn_key))
        return make(seed)

    monkeypatch.setattr(np.random, "default_rng", watched)
    return seen


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: list[tuple[int, ...]]) -> TinyRun:
    """Run an experiment; give its report, and what machines read of it.

    Its claims hold, all that it drew is of the seed, it can be drawn and stores nothing. What no
    clock decides comes again from the same seed; from another it follows, as every draw is of it.
    """

    def run(name: str) -> tuple[Report, dict[str, Any]]:
        home = tmp_path / "home"
        home.mkdir()
        if name not in SPARK:
            for variable in (ROUTER, PLANNER):
                monkeypatch.delenv(variable, raising=False)
            monkeypatch.setenv("HOME", str(home))
        report = EXPERIMENTS[name].run("tiny", SEED)
        facts: dict[str, Any] = json.loads(json.dumps(report.to_json()))
        assert (facts["experiment"], facts["seed"]) == (name, SEED)
        assert not report.broken and bool(facts["checks"]) == (name not in UNJUDGED)
        assert facts["figures"] and all(facts["figures"].values())
        if name in EXACT:
            assert facts["figures"] == _figures(name, SEED + 1), "a seed decides what is computed"
        else:
            assert drawn and set(drawn) == {(SEED,)}
        if name in UNTIMED:
            assert facts["figures"] == _figures(name, SEED)
        assert not list(home.rglob("*penstock*")), "a tiny run stores nothing"
        picture = tmp_path / "figure.svg"
        report.plot(picture)
        assert picture.stat().st_size > 1000 or not report.figures
        return report, facts

    return run


def _figures(name: str, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(EXPERIMENTS[name].run("tiny", seed).to_json()))
    figures: dict[str, Any] = found["figures"]
    return figures
