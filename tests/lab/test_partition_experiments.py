"""The experiments on partitions run at their smallest size, and what they draw is a picture."""

from __future__ import annotations

import pytest

from tests.lab.conftest import TinyRun


@pytest.mark.parametrize(
    "name", ["zipf-coverage", "maintenance", "interval-histograms", "hotspots"]
)
def test_experiment_at_tiny_size(name: str, tiny: TinyRun) -> None:
    tiny(name)
