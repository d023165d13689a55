"""Laws that a file tells, and laws so wide that no list of their keys has room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.memories import Memory, StreamLaw
from penstock.operators.bounded.forecast_streams import rows_needed
from penstock.operators.bounded.forecasts import curve_facts
from penstock.operators.bounded.law_families import declared_law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import BoundedNormal, Noise, Normal, Uniform
from penstock.vocabulary.errors import PenstockError


def offline(path: Path, **parameters: str) -> StreamLaw:
    return StreamLaw(family="offline", parameters={"file": str(path), **parameters})


def test_the_keys_of_a_file_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"other": ["a", "b"], "key": pa.array([7, 4], pa.int32())}), path)
    law = declared_law(offline(path, column="key"))
    assert law is not None
    assert law.keys.tolist() == [7, 4]


def write_nothing(_path: Path) -> None: ...


def write_words(path: Path) -> None:
    path.write_text("no parquet")


def write_texts(path: Path) -> None:
    pq.write_table(pa.table({"key": ["seven"]}), path)


def write_gaps(path: Path) -> None:
    pq.write_table(pa.table({"key": pa.array([1, None], pa.int64())}), path)


def write_no_columns(path: Path) -> None:
    pq.write_table(pa.table({}), path)


@pytest.mark.parametrize(
    "write", [write_nothing, write_words, write_texts, write_gaps, write_no_columns]
)
def test_keys_that_cannot_be_read_are_refused_with_a_reason(write, tmp_path: Path) -> None:
    path = tmp_path / "keys.parquet"
    write(path)
    with pytest.raises(PenstockError, match=r"ENG-043.*keys\.parquet"):
        declared_law(offline(path))


def test_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": [1]}), path)
    with pytest.raises(PenstockError, match="ENG-043"):
        declared_law(offline(path, column="nix"))


@pytest.mark.parametrize(
    "noise",
    [Normal(sigma=3e7), Uniform(half_width=10**9), BoundedNormal(sigma=1e9, half_width=2 * 10**9)],
    ids=lambda noise: type(noise).__name__,
)
def test_a_wide_law_is_drawn_as_it_is(noise: Noise) -> None:
    drawn = noise.draw(200_000, np.random.default_rng(1))
    assert drawn.min() >= noise.low - 10_000
    assert drawn.max() <= noise.high + 10_000
    assert np.gcd.reduce(np.diff(np.unique(drawn))) == 1, "all offsets of a cell come"
    lows = np.linspace(noise.low, noise.high, 21)
    cut = np.histogram(drawn, lows)[0] / len(drawn)
    masses = noise.masses(np.linspace(noise.low, noise.high, 20_001)[:-1])
    told = masses.reshape(20, -1).sum(axis=1)
    assert np.abs(cut - told / told.sum()).max() < 0.005


def test_a_wide_trend_is_forecast_without_listing_its_keys() -> None:
    law = LinearTrend(slope=1e9, intercept=0.0, noise=Normal(sigma=1e12))
    assert rows_needed((law, law), (1.0, 1.0), (None, None)) == pytest.approx(36_804, abs=4)
    curve = curve_facts(Memory(rows=100), (law, law), (1.0, 1.0), (50.0, 50.0))
    assert "never join" in curve["notes"][0]
