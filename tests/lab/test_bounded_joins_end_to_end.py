"""Joins with a budget through Spark keep what their kernels keep, at the smallest size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from penstock.algebra.memories import Memory
from penstock.lab.caching.pipeline import fed_by_hand, kept_by, told_memory
from penstock.lab.caching.pipeline_streams import BoundedEffort, BoundedStreams
from penstock.lab.experiments import EXPERIMENTS
from penstock.operators.bounded.policies_baselines import Rand

NAME = "bounded-joins-end-to-end"


@pytest.mark.spark
def test_the_experiment_at_tiny_size(tmp_path: Path) -> None:
    report = EXPERIMENTS[NAME].run("tiny")
    assert report.checks and not report.broken
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["experiment"] == NAME
    report.plot(tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text()


def test_by_hand_all_rows_are_found_when_all_have_room() -> None:
    streams = BoundedStreams(BoundedEffort(ticks=300, window=40, files=1))
    room = streams.window_rows + 2
    everything = fed_by_hand(streams, told_memory(streams.law(), room))
    assert len(everything) == kept_by(streams, room, Rand()) > 100
    ticks = np.arange(streams.effort.ticks)
    same = streams.keys[0][:, None] == streams.keys[1][None, :]
    # A row of s comes half a tick after that of r.
    apart = ticks[:, None] - ticks[None, :]
    window = streams.effort.window
    close = (apart <= window) & (-apart < window)
    assert len(everything) == int((same & close).sum())
    part = fed_by_hand(streams, Memory(rows=8, laws=(streams.law(), streams.law())))
    assert set(map(tuple, part.tolist())) < set(map(tuple, everything.tolist()))
