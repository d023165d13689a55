"""Model queries through Spark at the smallest size: both hosts tell the same, and peers count."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.models import following, joining, moving_averages, peers
from penstock.lab.models.workload import coastal_vessels, moving_objects, regular_ticks
from tests.lab.conftest import TinyRun

pytestmark = pytest.mark.spark


def test_models_end_to_end_at_tiny_size(tiny: TinyRun) -> None:
    tiny("models-end-to-end")


def test_migrations_at_tiny_size(tiny: TinyRun) -> None:
    """Plans change behind every batch, and the engine's process is killed."""
    tiny("sharing-migrations")


def test_peers_count_the_same_and_who_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "FLINK_PYTHON", peers.FLINK_PYTHON / "absent")
    chance = np.random.default_rng(5)
    objects = moving_objects(chance, 4, 400, 20, 1_000)
    asked = [
        following.peer_query(coastal_vessels(chance, 20, 700)),
        joining.peer_query(objects.at, objects.key % 2, objects.x),
        moving_averages.peer_query(regular_ticks(chance, 3, 3_000, 100_000)),
    ]
    for query in asked:
        found = peers.peer_runs(query, "small")
        assert found["DuckDB"].count == found["Spark"].count
        assert found["DuckDB"].count
        assert found["Flink"].seconds is None
        (*_, said) = peers.beside("peers", found, 1.0).rows
        assert said == ("Flink", None, None, None, "Flink is not installed: make peers")
