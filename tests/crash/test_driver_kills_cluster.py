"""An engine of every capability on the cluster host is killed (-9) again and again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support.killing import kill_and_prove

pytestmark = [pytest.mark.crash, pytest.mark.spark, pytest.mark.slow]


def test_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        kill_and_prove("cluster", tmp_path, Path(scratch), seed)
