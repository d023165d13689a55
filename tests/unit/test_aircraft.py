"""Real aircraft as a world: read from another package, which may be missing."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from penstock.vocabulary.errors import PenstockError
from penstock.worlds.aircraft import flown, positions
from penstock.worlds.catalogue import GeneratedOptions

ASKED = {"world": "aircraft", "stream": "positions"}


def test_positions_come_to_an_end_and_in_the_order_of_time() -> None:
    whole = GeneratedOptions.parse(ASKED)
    assert whole.rows is not None and 200_000 < whole.rows < 300_000
    assert GeneratedOptions.parse({**ASKED, "rows": "10"}).rows == 10
    assert GeneratedOptions.parse({**ASKED, "rows": "999999999"}).rows == whole.rows
    (last,) = whole.make(whole.rows - 3, whole.rows)
    assert last.num_rows == 3 and last.schema == whole.schema
    assert (np.diff(flown().at) >= 0).all()


def test_velocities_are_those_of_positions() -> None:
    """An aircraft is where its speed and track took it, but for what is received wrong."""
    rows = positions(0, 50_000).to_pandas()
    off = []
    for _, own in rows.groupby("aircraft"):
        after = own["ts"].diff().dt.total_seconds()
        for place, speed in (("x", "vx"), ("y", "vy")):
            gone = own[place].diff() - (own[speed] + own[speed].shift()) / 2 * after
            off.append(gone[(after > 0) & (after < 5)].abs())
    assert np.median(np.concatenate(off)) < 20


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    flown.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PenstockError, match="SRC-017") as caught:
        GeneratedOptions.parse(ASKED)
    assert "pip install --no-deps traffic" in caught.value.remedy
