"""An engine of multi-way joins is killed (-9) again and again; nothing is lost, nothing doubled."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support.killing_multi_joins import kill_and_prove_multi_joins

pytestmark = [pytest.mark.crash, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


def test_multi_joins_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        kill_and_prove_multi_joins("embedded", tmp_path, Path(scratch), seed)
